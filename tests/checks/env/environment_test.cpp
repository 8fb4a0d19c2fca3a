// SPDX-License-Identifier: Apache-2.0
// The settings and libraries of jobs judged on literal nodes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "checks/catalogue.hpp"
#include "tests/checks/ask.hpp"
#include "tests/support/printers.hpp"

namespace muster::environment_test {
namespace {

namespace env_nccl {

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

constexpr AskedCheck judged{checks::env_nccl::check, limits};

Findings judged_with(NcclSetting setting) {
  auto settings = good();
  settings.push_back(std::move(setting));
  return judged(node_with(std::move(settings)));
}

TEST(EnvNcclTest, TheEnvironmentWinsOverTheFile) {
  EXPECT_THAT(judged_with({"NCCL_TOPO_FILE", "/tmp/x.xml", "environment"}),
              ElementsAre(warns("NCCL_TOPO_FILE", Remedy::fix_config,
                                {std::string("/tmp/x.xml"), std::string("/opt/topo.xml")})));
}

TEST(EnvNcclTest, NamesSettingsThatHurt) {
  EXPECT_THAT(judged_with({"NCCL_IB_DISABLE", "1", "/etc/nccl.conf:3"}),
              ElementsAre(warns("NCCL_IB_DISABLE", Remedy::fix_config,
                                {std::string("1"), std::string("unset")})));
  EXPECT_EQ(judged_with({"NCCL_IB_DISABLE", "0", "/etc/nccl.conf:3"}).front().outcome,
            Outcome::pass);
}

TEST(EnvNcclTest, NamesContradictions) {
  auto settings = good();
  settings.push_back({"NCCL_DEBUG", "WARN", "/etc/nccl.conf:3"});
  settings.push_back({"NCCL_DEBUG", "INFO", "environment"});
  EXPECT_THAT(judged(node_with(settings)),
              ElementsAre(warns("NCCL_DEBUG", Remedy::fix_config,
                                {std::string("INFO"), std::string("WARN")})));
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

TEST(EnvNcclTest, SkipsIfNothingIsSetAndNothingExpected) {
  EXPECT_THAT(judged(node_with({}), Profile{}), ElementsAre(skips()));
}

TEST(EnvNcclTest, SettingsThatCannotBeReadAreUnknown) {
  Snapshot snapshot = node_with({});
  snapshot.environment.facts.nccl =
      Fact<std::vector<NcclSetting>>::unreadable("read /etc/nccl.conf: Is a directory");
  EXPECT_THAT(judged(snapshot), ElementsAre(unknown()));
}

}  // namespace env_nccl

namespace env_libraries {

Findings judged(Fact<std::vector<Library>> libraries, const EnvLibraryLimits& limits) {
  Snapshot snapshot;
  snapshot.environment = observed(Environment{.libraries = std::move(libraries)});
  Profile profile;
  profile.env->libraries = limits;
  return ask(checks::env_libraries::check, snapshot, profile);
}

std::vector<Library> libraries() {
  return {{.name = "libnccl.so.2", .opened = true, .version = "2.9.3"},
          {.name = "libmlx5.so.1",
           .opened = false,
           .error = "libmlx5.so.1: cannot open shared object file"}};
}

TEST(EnvLibrariesTest, JudgesEachCase) {
  expect_each({
      {"passes when the required ones open",
       judged(libraries(), {.required = {"libnccl.so.2"}, .nccl_min = "2.9"}),
       {passes()}},
      {"warns of a required one that does not open",
       judged(libraries(), {.required = {"libmlx5.so.1"}}),
       {warns("libmlx5.so.1", Remedy::fix_config, {false, true})}},
      {"compares nccls version by numbers",
       judged(libraries(), {.optional = {"libnccl.so.2"}, .nccl_min = "2.18.1"}),
       {warns("libnccl.so.2", Remedy::fix_config, {std::string("2.9.3"), std::string("2.18.1")})}},
  });
}

TEST(EnvLibrariesTest, AnNcclThatDoesNotOpenWarnsIfAVersionIsRequired) {
  auto without = libraries();
  without[0] = {.name = "libnccl.so.2", .opened = false, .error = "libnccl.so.2: cannot open"};
  without[1].opened = true;
  const auto missing = warns("libnccl.so.2", Remedy::fix_config, {false, true});
  EXPECT_THAT(judged(without, {.nccl_min = "2.18.1"}), ElementsAre(missing));
  EXPECT_THAT(judged(without, {.required = {"libnccl.so.2"}, .nccl_min = "2.18.1"}),
              ElementsAre(missing))
      << "once";
  EXPECT_EQ(judged(without, {.required = {"libmlx5.so.1"}}).front().outcome, Outcome::pass);
}

TEST(EnvLibrariesTest, WithoutNcclInTheSnapshotItsVersionIsUnknown) {
  EXPECT_THAT(judged({{{.name = "libmlx5.so.1", .opened = true}}},
                     {.required = {"libmlx5.so.1"}, .nccl_min = "2.18.1"}),
              ElementsAre(unknown("libnccl.so")));
}

TEST(EnvLibrariesTest, AMissingVersionIsUnknown) {
  EXPECT_EQ(
      judged({{{.name = "libnccl.so.2", .opened = true}}}, {.nccl_min = "2.18.1"}).front().outcome,
      Outcome::unknown);
}

TEST(EnvLibrariesTest, ALibraryMissingFromTheSnapshotIsUnknown) {
  EXPECT_EQ(judged(libraries(), {.required = {"libcuda.so.1"}}).front().outcome, Outcome::unknown);
}

TEST(EnvLibrariesTest, SkipsBelowAForeignRootAndIfNothingIsRequired) {
  EXPECT_THAT(
      judged(Fact<std::vector<Library>>::absent("libraries of a foreign root are not opened"),
             {.required = {"libcuda.so.1"}}),
      ElementsAre(skips()));
  EXPECT_EQ(judged(libraries(), {.optional = {"libnccl.so.2"}}).front().outcome, Outcome::skip);
}

}  // namespace env_libraries

}  // namespace
}  // namespace muster::environment_test
