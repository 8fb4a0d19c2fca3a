// SPDX-License-Identifier: Apache-2.0
// host.mounts judged on literal nodes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/catalogue.hpp"
#include "lib/profile/limits/host.hpp"
#include "tests/checks/ask.hpp"
#include "tests/support/printers.hpp"

namespace muster::host_mounts_test {
namespace {

using ::testing::ElementsAre;

const Mount kRoot{
    .point = "/", .type = "ext4", .source = "/dev/sda1", .space = Space{.total_bytes = 1}};
const Mount kHome{
    .point = "/home", .type = "nfs4", .source = "filer:/home", .space = Space{.total_bytes = 1}};

Findings judge(std::vector<Mount> mounts, std::vector<RequiredMount> required = {}) {
  return ask(checks::host_mounts::check, {.mounts = observed(Mounts{.mounts = std::move(mounts)})},
             {.host = HostLimits{
                  .mounts = {.required = std::move(required), .answer_within = Seconds{2}}}});
}

Expected failure(std::string device, Remedy remedy) {
  return {.device = std::move(device), .outcome = Outcome::fail, .remedy = remedy};
}

const RequiredMount kHomeRequired{.point = "/home", .type = "nfs*", .writable = true};

TEST(HostMountsTest, PassesWithEveryRequiredMount) {
  EXPECT_THAT(judge({kRoot, kHome}, {kHomeRequired}), ElementsAre(passes()));
}

TEST(HostMountsTest, FailsAMissingMount) {
  EXPECT_THAT(judge({kRoot}, {kHomeRequired}),
              ElementsAre(fails("/home", Remedy::fix_config, {false, true})));
}

TEST(HostMountsTest, AnUnusedAutomountIsUnknown) {
  const auto findings = ask(
      checks::host_mounts::check,
      {.mounts = observed(Mounts{.mounts = {kRoot}, .automounts = {"/home"}})},
      {.host = HostLimits{.mounts = {.required = {kHomeRequired}, .answer_within = Seconds{2}}}});
  EXPECT_THAT(findings, ElementsAre(unknown("/home")));
}

TEST(HostMountsTest, FailsAnotherType) {
  Mount home = kHome;
  home.type = "ext4";
  Expected expected = failure("/home", Remedy::fix_config);
  expected.observed = "ext4";
  expected.limit = "nfs*";
  EXPECT_THAT(judge({home}, {kHomeRequired}), ElementsAre(expected));
}

TEST(HostMountsTest, FailsAReadOnlyMountThatMustBeWritable) {
  Mount root = kRoot;
  root.read_only = true;
  Expected expected = failure("/", Remedy::fix_config);
  expected.observed = "read-only";
  expected.limit = "writable";
  EXPECT_THAT(judge({root}, {{.point = "/", .writable = true}}), ElementsAre(expected));
  EXPECT_THAT(judge({root}, {{.point = "/"}}), ElementsAre(passes()));
}

TEST(HostMountsTest, FailsAHungMountOnceWhetherRequiredOrNot) {
  Mount home = kHome;
  home.hung = true;
  home.space = Fact<Space>::unreadable("no answer within 2 s");
  Expected expected = failure("/home", Remedy::restart_service);
  expected.limit = 2.0;
  expected.unit = "s";
  EXPECT_THAT(judge({kRoot, home}, {kHomeRequired}), ElementsAre(expected));
  EXPECT_THAT(judge({kRoot, home}), ElementsAre(expected));
}

TEST(HostMountsTest, FailsARequiredMountThatAnswersWithAnError) {
  Mount home = kHome;
  home.space = Fact<Space>::unreadable("statfs /home: Stale file handle");
  EXPECT_THAT(judge({home}, {kHomeRequired}),
              ElementsAre(failure("/home", Remedy::restart_service)));
}

TEST(HostMountsTest, IsUndecidedAboutAnotherMountThatAnswersWithAnError) {
  Mount home = kHome;
  home.space = Fact<Space>::unreadable("statfs /home: Stale file handle");
  EXPECT_THAT(judge({kRoot, home}), ElementsAre(unknown("/home")));
}

TEST(HostMountsTest, LetsFuseMountsRefuseOthers) {
  const Mount fuse{.point = "/run/user/1/doc",
                   .type = "fuse.portal",
                   .source = "portal",
                   .space = Fact<Space>::unreadable("statfs: Permission denied")};
  EXPECT_THAT(judge({kRoot, fuse}), ElementsAre(passes()));
}

TEST(HostMountsTest, JudgesTheMountThatLiesOnTop) {
  Mount below = kHome;
  below.hung = true;
  EXPECT_THAT(judge({below, kHome}, {kHomeRequired}), ElementsAre(passes()));
}

TEST(HostMountsTest, ShowsMountPointsAsPrintableText) {
  const Mount odd{.point = "/mnt/a\nb", .type = "nfs4", .source = "filer:/a", .hung = true};
  Expected expected = failure(R"(/mnt/a\x0ab)", Remedy::restart_service);
  expected.limit = 2.0;
  expected.unit = "s";
  EXPECT_THAT(judge({odd}), ElementsAre(expected));
}

TEST(HostMountsTest, IsUndecidedWhereNothingIsMounted) {
  EXPECT_THAT(judge({}), ElementsAre(unknown()));
}

}  // namespace
}  // namespace muster::host_mounts_test
