// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "slurm/commands/slurm_commands.hpp"
#include "tests/slurm/commands/fake_slurm.hpp"

namespace muster::app {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr std::string_view kTwoHosts = "n7|gpu-7.example.org\ngpu-7|gpu-8.example.org\n";

class SlurmNamesTest : public SlurmTest {
 protected:
  // A sick node.
  void SetUp() override {
    ::setenv("MUSTER_HOSTNAME", "gpu-7.example.org", 1);
    slurm_.site("  nhc_conf: /etc/nhc/nhc.conf\n");
    dir_.write("root/sys/class/net/eth0/operstate", "up\n");
    dir_.write("root/etc/nhc/nhc.conf", "* || check_hw_eth eth9\n");
    slurm_.names(kTwoHosts);
  }

  void TearDown() override { ::unsetenv("MUSTER_HOSTNAME"); }

  // sinfo does not list the hosts of nodes.
  void hide_hosts() {
    slurm_.program("sinfo",
                   "case \"$*\" in *'%N|%n'*) exit 1 ;; *) fake_sinfo \"$@\" <\"$D/node\" ;; esac");
  }

  int hook() {
    auto caller = this->caller();
    caller.variables.erase("SLURMD_NODENAME");
    Deadline deadline(Clock::now() + std::chrono::seconds(30));
    return run_hook(
        {.context = "boot", .profile = "generic", .root = path("root"), .state = path("state")},
        caller, deadline, check_node);
  }

  int hostfile() {
    return run_hostfile({.partition = "main", .root = path("root"), .slots = 8}, caller());
  }
};

TEST_F(SlurmNamesTest, AHookThatSlurmdDidNotStartFindsItsNodeByTheHost) {
  EXPECT_EQ(hook(), 0);
  EXPECT_THAT(slurm_.node(), StartsWith("n7|main|drained|root|"));
  EXPECT_THAT(caller_.out(), HasSubstr("muster: drained n7: "));
}

TEST_F(SlurmNamesTest, ANodeOfThisHostsNameOnAnotherHostIsNotTouched) {
  slurm_.nodes("gpu-7|main|idle|Unknown|Unknown|none\n");
  slurm_.names("gpu-7|gpu-8\n");
  EXPECT_EQ(hook(), 0);
  EXPECT_THAT(slurm_.node(), StartsWith("gpu-7|main|idle|"));
  EXPECT_THAT(
      caller_.out(),
      HasSubstr(
          "muster: refused gpu-7: nhc.check_hw_eth eth9: cannot reach Slurm: no Slurm partition "
          "has a node on the host gpu-7.example.org"));
}

TEST_F(SlurmNamesTest, NoNodeIsTouchedIfSlurmDoesNotNameIt) {
  slurm_.nodes("gpu-7|main|idle|Unknown|Unknown|none\n");
  hide_hosts();
  EXPECT_EQ(hook(), 0);
  EXPECT_THAT(slurm_.node(), StartsWith("gpu-7|main|idle|"));
  EXPECT_THAT(caller_.out(), HasSubstr("sinfo ended with status 1"));
}

TEST_F(SlurmNamesTest, AHostfileNamesHosts) {
  slurm_.nodes(
      "n7|main|idle|Unknown|Unknown|none\n"
      "gpu-7|main|mixed|Unknown|Unknown|none\n"
      "n9|main|drained|root|1795326230|cable\n");
  EXPECT_EQ(hostfile(), 0);
  EXPECT_EQ(caller_.out(), "gpu-7.example.org slots=8\ngpu-8.example.org slots=8\n");
}

TEST_F(SlurmNamesTest, NoHostfileIsWrittenIfHostsAreUnknown) {
  hide_hosts();
  EXPECT_EQ(hostfile(), kExitUndecided);
  EXPECT_EQ(caller_.out(), "");
}

class StatusCommandTest : public SlurmTest {
 protected:
  StatusCommandTest() { slurm_.site(""); }

  int status(StatusCommand command = {}) {
    command.root = path("root");
    return run_status(command, caller());
  }
};

// A wrong limit: the breaker let ten of its drains through.
TEST_F(StatusCommandTest, NamesTheStoppedCheckOfAThousandNodes) {
  std::string lines;
  for (int i = 1; i <= 1000; ++i) {
    const auto* const rest =
        i <= 10 ? "drained|root|1800000000|muster: host.limits: low; fix the configuration"
                : "idle|Unknown|Unknown|none";
    for (const auto* const partition : {"gpu", "all"}) {
      lines += fmt::format("n{:04}|{}|{}\n", i, partition, rest);
    }
  }
  slurm_.nodes(lines);
  EXPECT_EQ(status({.form = EventForm::json}), 0);
  const auto json = nlohmann::json::parse(caller_.out());
  EXPECT_EQ(json["schema"], "muster.status/1");
  EXPECT_EQ(json["nodes"], 1000);
  EXPECT_EQ(json["drained_by_muster"], 10);
  ASSERT_EQ(json["stopped"].size(), 2U);
  EXPECT_EQ(json["stopped"][1]["check"], "host.limits");
  EXPECT_EQ(json["stopped"][1]["partition"], "gpu");
  EXPECT_NE(json["refused_unknown"], "");
}

TEST_F(StatusCommandTest, AsksSlurmOnce) {
  slurm_.program("sinfo", "echo asked >>\"$D/asked\"; fake_sinfo \"$@\" <\"$D/node\"");
  EXPECT_EQ(status(), 0);
  EXPECT_THAT(caller_.out(), HasSubstr("1 node: 1 in service"));
  EXPECT_EQ(content("asked"), "asked\n");
}

// Such as one that is in no partition.
TEST_F(StatusCommandTest, NamesANodeThatSlurmDoesNotList) {
  EXPECT_EQ(status({.nodes = {"n7", "n24"}}), 0);
  EXPECT_EQ(caller_.notes(), "muster: no Slurm partition has a node n24\n");
}

TEST_F(StatusCommandTest, IsUndecidedIfSlurmDoesNotAnswer) {
  slurm_.program("sinfo", "echo 'Unable to contact slurm controller' >&2; exit 1");
  EXPECT_EQ(status(), kExitUndecided);
  EXPECT_EQ(caller_.out(), "");
  EXPECT_THAT(caller_.notes(), HasSubstr("Unable to contact slurm controller"));
}

TEST_F(StatusCommandTest, BadRulesAreBadConfiguration) {
  slurm_.site("  most_drained: 20\n");
  EXPECT_EQ(status(), kExitConfiguration);
  EXPECT_THAT(caller_.notes(), HasSubstr("muster.yaml:4: 'slurm.most_drained' is \"20\"; write"));
}

}  // namespace
}  // namespace muster::app
