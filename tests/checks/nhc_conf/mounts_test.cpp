// SPDX-License-Identifier: Apache-2.0
// check_fs_mount in the forms that NHC documents.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/nhc_conf/judging.hpp"
#include "tests/checks/nhc_conf/judge_as.hpp"
#include "tests/support/printers.hpp"

namespace muster::nhc::mounts_test {
namespace {

using ::testing::ElementsAre;

const Snapshot kNode{
    .mounts = observed(Mounts{
        .mounts = {{.point = "/", .type = "ext4", .source = "/dev/sda1"},
                   {.point = "/net/scratch", .type = "nfs", .source = "fs1:/export"},
                   {.point = "/net/scratch", .type = "lustre", .source = "fs2:/scratch"},
                   {.point = "/opt", .type = "nfs4", .source = "fs1:/opt", .read_only = true}}})};

const Finding kRoot{.device = "/",
                    .outcome = Outcome::pass,
                    .message = "/ is mounted (ext4 from /dev/sda1, writable)"};
const Finding kScratch{.device = "/net/scratch",
                       .outcome = Outcome::pass,
                       .message = "/net/scratch is mounted (lustre from fs2:/scratch, writable)"};

Finding wrong(std::string point, std::string message, std::string seen, std::string wanted) {
  return {.device = std::move(point),
          .outcome = Outcome::fail,
          .message = std::move(message),
          .observed = std::move(seen),
          .limit = std::move(wanted),
          .remedy = Remedy::fix_config};
}

const Finding kNotMounted{.device = "/home",
                          .outcome = Outcome::fail,
                          .message = "/home is not mounted",
                          .observed = false,
                          .limit = true,
                          .remedy = Remedy::fix_config};

TEST(NhcMountTest, TakesThePositionalForm) {
  EXPECT_THAT(judge_as("check_fs_mount", kNode, {"/"}), ElementsAre(kRoot));
  EXPECT_THAT(judge_as("check_fs_mount", kNode, {"/", "/dev/sda1", "ext*"}), ElementsAre(kRoot));
  EXPECT_THAT(judge_as("check_fs_mount", kNode, {"/", "", "/ext[34]/"}), ElementsAre(kRoot));
  EXPECT_THAT(judge_as("check_fs_mount", kNode, {"/home"}), ElementsAre(kNotMounted));
}

TEST(NhcMountTest, TakesTheFormWithOptions) {
  EXPECT_THAT(judge_as("check_fs_mount_rw", kNode,
                       {"-t", "lustre", "-s", "fs[0-9]:/*", "-f", "/net/scratch"}),
              ElementsAre(kScratch));
  EXPECT_THAT(judge_as("check_fs_mount", kNode, {"/home", "-f", "/"}), ElementsAre(kNotMounted));
  EXPECT_THAT(judge_as("check_fs_mount", kNode, {"-f", "/", "--", "/home"}),
              ElementsAre(kRoot, kNotMounted));
  EXPECT_THAT(judge_as("check_fs_mount", kNode, {"-f/", "/net/scratch"}),
              ElementsAre(kRoot, kScratch));
}

TEST(NhcMountTest, TheLastMountOfAPointIsTheOneThatIsSeen) {
  EXPECT_THAT(judge_as("check_fs_mount", kNode, {"/net/scratch", "", "nfs"}),
              ElementsAre(wrong("/net/scratch", "/net/scratch is mounted as lustre, wanted nfs",
                                "lustre", "nfs")));
}

TEST(NhcMountTest, AnotherSourceFails) {
  EXPECT_THAT(judge_as("check_fs_mount", kNode, {"/", "!/dev/sda*"}),
              ElementsAre(wrong("/", "/ is mounted from /dev/sda1, wanted !/dev/sda*", "/dev/sda1",
                                "!/dev/sda*")));
}

TEST(NhcMountTest, ReadOnlyAndWritableAreTold) {
  EXPECT_THAT(judge_as("check_fs_mount_rw", kNode, {"/"}), ElementsAre(kRoot));
  EXPECT_THAT(judge_as("check_fs_mount_rw", kNode, {"/opt"}),
              ElementsAre(wrong("/opt", "/opt is mounted read-only, wanted writable", "ro", "rw")));
  EXPECT_THAT(judge_as("check_fs_mount_ro", kNode, {"/"}),
              ElementsAre(wrong("/", "/ is mounted writable, wanted read-only", "rw", "ro")));
  EXPECT_THAT(judge_as("check_fs_mount", kNode, {"-o", "!/(^|,)ro($|,)/", "/"}),
              ElementsAre(kRoot));
}

TEST(NhcMountTest, OtherOptionsAreNotObserved) {
  EXPECT_THAT(judge_as("check_fs_mount", kNode, {"-o", "*noatime*", "/"}),
              ElementsAre(Finding{
                  .device = "/",
                  .outcome = Outcome::unknown,
                  .message = "not judged: of the options of mounts only rw and ro are observed"}));
}

TEST(NhcMountTest, AFailureThatIsNotFatalWarns) {
  auto warning = kNotMounted;
  warning.outcome = Outcome::warn;
  EXPECT_THAT(judge_as("check_fs_mount", kNode, {"-0", "/home"}), ElementsAre(warning));
}

TEST(NhcMountTest, SaysWhatItDoesNotCarryOut) {
  auto finding = kNotMounted;
  finding.message += " (not carried out: -r -e)";
  EXPECT_THAT(judge_as("check_fs_mount", kNode, {"-r", "-e", "mount -a", "-f", "/home"}),
              ElementsAre(finding));
}

TEST(NhcMountTest, WhatHoldsNoDataIsJudgedAlike) {
  auto node = kNode;
  node.mounts->kernel =
      std::vector<KernelMount>{{.point = "/proc", .type = "proc", .source = "proc"},
                               {.point = "/home", .type = "autofs", .source = "/etc/auto.home"},
                               {.point = "/net/scratch", .type = "autofs", .source = "-hosts"}};
  EXPECT_THAT(judge_as("check_fs_mount_rw", node, {"-t", "proc", "-s", "proc", "-f", "/proc"}),
              ElementsAre(Finding{.device = "/proc",
                                  .outcome = Outcome::pass,
                                  .message = "/proc is mounted (proc from proc, writable)"}));
  EXPECT_EQ(judge_as("check_fs_mount_ro", node, {"/proc"}).front().outcome, Outcome::fail);
  EXPECT_EQ(judge_as("check_fs_mount", node, {"/sys"}).front().message, "/sys is not mounted");
  EXPECT_EQ(judge_as("check_fs_mount", node, {"/home"}).front().message,
            "/home is mounted (autofs from /etc/auto.home, writable)");
  // It may well be nfs, and cannot be written, once somebody uses it.
  EXPECT_EQ(judge_as("check_fs_mount_rw", node, {"-f", "/home"}).front().outcome, Outcome::unknown);
  EXPECT_EQ(judge_as("check_fs_mount", node, {"-t", "nfs", "-f", "/home"}).front().outcome,
            Outcome::unknown);
  EXPECT_EQ(judge_as("check_fs_mount", node, {"-F", "/home"}).front().outcome, Outcome::unknown);
  // What the automounter has mounted lies on top.
  EXPECT_THAT(judge_as("check_fs_mount", node, {"-F", "/net/scratch"}), ElementsAre(kScratch));
}

TEST(NhcMountTest, EarlierSnapshotsLackWhatHoldsNoData) {
  for (const auto* point : {"/proc", "/sys/fs/cgroup", "/run/rpc_pipefs"}) {
    EXPECT_THAT(
        judge_as("check_fs_mount", kNode, {point}),
        ElementsAre(Finding{
            .device = point,
            .outcome = Outcome::unknown,
            .message = fmt::format(
                "not judged: file systems that hold no data are not observed, as {}", point)}));
  }
  EXPECT_EQ(judge_as("check_fs_mount", kNode, {"/dev/shm"}).front().outcome, Outcome::fail);
  EXPECT_EQ(judge_as("check_fs_mount", kNode, {"/misc", "", "autofs"}).front().outcome,
            Outcome::unknown);
}

TEST(NhcMountTest, AutomaticMountsAreNotMade) {
  EXPECT_THAT(judge_as("check_fs_mount", kNode, {"-F", "/net/scratch"}), ElementsAre(kScratch));
  EXPECT_THAT(judge_as("check_fs_mount", kNode, {"-F", "/home"}),
              ElementsAre(Finding{
                  .device = "/home",
                  .outcome = Outcome::unknown,
                  .message = "not judged: /home is not mounted, and muster does not make it be"}));
}

// By autofs: at the point of a direct map, and below the point of an indirect one.
TEST(NhcMountTest, AnAutomountThatNobodyHasUsedIsNoFailure) {
  auto node = kNode;
  node.mounts->automounts = {"/home", "/net/scratch"};
  for (const auto* point : {"/home", "/home/alice"}) {
    const Finding expected{
        .device = point,
        .outcome = Outcome::unknown,
        .message = fmt::format("not judged: {} is mounted when it is used, and nobody has used it",
                               point)};
    EXPECT_THAT(judge_as("check_fs_mount", node, {point}), ElementsAre(expected));
    EXPECT_THAT(judge_as("check_fs_mount", node, {point, "fs1:/home", "nfs4"}),
                ElementsAre(expected));
    EXPECT_THAT(judge_as("check_fs_mount_rw", node, {"-t", "nfs4", "-f", point}),
                ElementsAre(expected));
    EXPECT_THAT(judge_as("check_fs_mount_ro", node, {"-0", "-f", point}), ElementsAre(expected));
  }
  EXPECT_THAT(judge_as("check_fs_mount", node, {"/net/scratch"}), ElementsAre(kScratch));
  EXPECT_EQ(judge_as("check_fs_mount", node, {"/homes"}).front().outcome, Outcome::fail);
  EXPECT_EQ(judge_as("check_fs_mount", node, {"/net"}).front().outcome, Outcome::fail);
}

TEST(NhcMountTest, RefusesWhatItCannotRead) {
  const auto message = [](const Arguments& arguments) {
    return judge_as("check_fs_mount", kNode, arguments).front().message;
  };
  EXPECT_EQ(message({"-x", "/"}), "not judged: there is no option -x");
  EXPECT_EQ(message({"-t"}), "not judged: option -t needs a value");
  EXPECT_EQ(message({"-0"}), "not judged: no mount point is named");
  EXPECT_THAT(message({"/", "/(/"}), ::testing::HasSubstr("the expression /(/"));
}

}  // namespace
}  // namespace muster::nhc::mounts_test
