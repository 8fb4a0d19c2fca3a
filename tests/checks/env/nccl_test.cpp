// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "checks/catalogue.hpp"
#include "lib/profile/limits/environment.hpp"
#include "tests/checks/ask.hpp"
#include "tests/support/printers.hpp"

namespace muster::env_nccl_test {
namespace {

using ::testing::ElementsAre;

Snapshot node_with(std::vector<NcclSetting> settings) {
  Snapshot snapshot;
  snapshot.environment = observed(Environment{.nccl = std::move(settings)});
  snapshot.network = observed(Network{.interfaces = {{.name = "eth0"}, {.name = "ib0"}}});
  return snapshot;
}

Profile limits() {
  Profile profile;
  profile.env->nccl.require = {{"NCCL_IGNORE_CPU_AFFINITY", "1"},
                               {"NCCL_TOPO_FILE", "/opt/topo.xml"}};
  profile.env->nccl.harmful = {{"NCCL_IB_DISABLE", "1"}, {"NCCL_TOPO_FILE", ""}};
  return profile;
}

std::vector<NcclSetting> good() {
  return {{"NCCL_IGNORE_CPU_AFFINITY", "1", "/etc/nccl.conf:1"},
          {"NCCL_TOPO_FILE", "/opt/topo.xml", "/etc/nccl.conf:2"}};
}

Findings judged(const Snapshot& snapshot, const Profile& profile = limits()) {
  return ask(checks::env_nccl::check, snapshot, profile);
}

Findings judged_with(NcclSetting setting) {
  auto settings = good();
  settings.push_back(std::move(setting));
  return judged(node_with(std::move(settings)));
}

TEST(EnvNcclTest, PassesWhenAllAgree) {
  EXPECT_THAT(judged(node_with(good())),
              ElementsAre(Finding{.device = "node",
                                  .outcome = Outcome::pass,
                                  .message = "2 settings as expected, none that hurts"}));
}

TEST(EnvNcclTest, AMissingFileIsOneFinding) {
  EXPECT_THAT(judged(node_with({})),
              ElementsAre(Finding{
                  .device = "node",
                  .outcome = Outcome::warn,
                  .message = "not set in /etc/nccl.conf or the environment: "
                             "NCCL_IGNORE_CPU_AFFINITY=1, NCCL_TOPO_FILE=/opt/topo.xml",
                  .observed = std::string(),
                  .limit = std::string("NCCL_IGNORE_CPU_AFFINITY=1, NCCL_TOPO_FILE=/opt/topo.xml"),
                  .remedy = Remedy::fix_config}));
}

TEST(EnvNcclTest, TheEnvironmentWinsOverTheFile) {
  EXPECT_THAT(
      judged_with({"NCCL_TOPO_FILE", "/tmp/x.xml", "environment"}),
      ElementsAre(Finding{
          .device = "NCCL_TOPO_FILE",
          .outcome = Outcome::warn,
          .message = R"(NCCL_TOPO_FILE is "/tmp/x.xml" (environment), expected "/opt/topo.xml")",
          .observed = std::string("/tmp/x.xml"),
          .limit = std::string("/opt/topo.xml"),
          .remedy = Remedy::fix_config}));
}

TEST(EnvNcclTest, NamesSettingsThatHurt) {
  EXPECT_THAT(
      judged_with({"NCCL_IB_DISABLE", "1", "/etc/nccl.conf:3"}),
      ElementsAre(Finding{
          .device = "NCCL_IB_DISABLE",
          .outcome = Outcome::warn,
          .message = "NCCL_IB_DISABLE=\"1\" (/etc/nccl.conf:3) hurts jobs on this kind of node",
          .observed = std::string("1"),
          .limit = std::string("unset"),
          .remedy = Remedy::fix_config}));
  EXPECT_EQ(judged_with({"NCCL_IB_DISABLE", "0", "/etc/nccl.conf:3"}).front().outcome,
            Outcome::pass);
}

TEST(EnvNcclTest, NamesContradictions) {
  auto settings = good();
  settings.push_back({"NCCL_DEBUG", "WARN", "/etc/nccl.conf:3"});
  settings.push_back({"NCCL_DEBUG", "INFO", "environment"});
  EXPECT_THAT(
      judged(node_with(settings)),
      ElementsAre(Finding{
          .device = "NCCL_DEBUG",
          .outcome = Outcome::warn,
          .message = R"(NCCL_DEBUG is "WARN" in /etc/nccl.conf:3 and "INFO" in environment, )"
                     "which wins",
          .observed = std::string("INFO"),
          .limit = std::string("WARN"),
          .remedy = Remedy::fix_config}));
}

TEST(EnvNcclTest, KnowsHowNcclNamesSocketInterfaces) {
  for (const auto* const fine : {"eth", "eth0,none", "^docker", "=eth0", "lo", "eth0:1", ""}) {
    EXPECT_EQ(judged_with({"NCCL_SOCKET_IFNAME", fine, "environment"}).front().outcome,
              Outcome::pass)
        << fine;
  }
  for (const auto* const wrong : {"bond0", "=eth", "eth01", "=lo0,bond0"}) {
    EXPECT_EQ(judged_with({"NCCL_SOCKET_IFNAME", wrong, "environment"}).front().device,
              "NCCL_SOCKET_IFNAME")
        << wrong;
  }
}

TEST(EnvNcclTest, SkipsWhereNothingIsSetAndNothingExpected) {
  EXPECT_THAT(judged(node_with({}), Profile{}),
              ElementsAre(Finding{
                  .device = "node",
                  .outcome = Outcome::skip,
                  .message = "no NCCL setting is made here, and none expected by this profile"}));
}

TEST(EnvNcclTest, SettingsThatCannotBeReadAreUnknown) {
  Snapshot snapshot = node_with({});
  snapshot.environment.facts.nccl =
      Fact<std::vector<NcclSetting>>::unreadable("read /etc/nccl.conf: Is a directory");
  EXPECT_THAT(
      judged(snapshot),
      ElementsAre(Finding{
          .device = "node",
          .outcome = Outcome::unknown,
          .message = "what steers NCCL is not known: read /etc/nccl.conf: Is a directory"}));
}

}  // namespace
}  // namespace muster::env_nccl_test
