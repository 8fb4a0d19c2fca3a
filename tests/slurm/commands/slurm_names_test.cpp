// SPDX-License-Identifier: Apache-2.0
// Where Slurm's names of nodes are not those of their hosts.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "checks/app/hook_check.hpp"
#include "slurm/commands/hook.hpp"
#include "tests/checks/app/test_caller.hpp"
#include "tests/slurm/commands/fake_slurm.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::app {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::string_view kTwoHosts = "n7|gpu-7.example.org\ngpu-7|gpu-8.example.org\n";

class SlurmNamesTest : public ::testing::Test {
 protected:
  // A sick node.
  SlurmNamesTest() {
    ::setenv("MUSTER_HOSTNAME", "gpu-7.example.org", 1);
    dir_.write("root/proc/sys/kernel/hostname", "gpu-7\n");
    dir_.write("root/proc/uptime", "1000.00 2000.00\n");
    slurm_.site("  nhc_conf: /etc/nhc/nhc.conf\n");
    dir_.write("root/sys/class/net/eth0/operstate", "up\n");
    dir_.write("root/etc/nhc/nhc.conf", "* || check_hw_eth eth9\n");
    slurm_.names(kTwoHosts);
  }

  ~SlurmNamesTest() override { ::unsetenv("MUSTER_HOSTNAME"); }

  SlurmNamesTest(const SlurmNamesTest&) = delete;
  SlurmNamesTest(SlurmNamesTest&&) = delete;
  SlurmNamesTest& operator=(const SlurmNamesTest&) = delete;
  SlurmNamesTest& operator=(SlurmNamesTest&&) = delete;

  [[nodiscard]] std::string path(std::string_view name) const {
    return (dir_.path() / name).string();
  }

  int hook() {
    auto caller = caller_.caller();
    caller.variables["SLURM_CONF"] = path("slurm.conf");
    Deadline deadline(Clock::now() + std::chrono::seconds(30));
    return run_hook(
        {.context = "boot", .profile = "generic", .root = path("root"), .state = path("state")},
        caller, deadline, check_node);
  }

  int hostfile() {
    auto caller = caller_.caller();
    caller.variables["SLURM_CONF"] = path("slurm.conf");
    return run_hostfile({.partition = "main", .root = path("root"), .slots = 8}, caller);
  }

  TempDir dir_;
  FakeSlurm slurm_{dir_};
  TestCaller caller_;
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
  EXPECT_THAT(caller_.out(),
              HasSubstr("muster: refused gpu-7: nhc.check_hw_eth eth9: Slurm could not be "
                        "asked: Slurm has no node on "
                        "the host gpu-7.example.org"));
}

TEST_F(SlurmNamesTest, NoNodeIsTouchedWhereSlurmDoesNotSayWhichItIs) {
  slurm_.nodes("gpu-7|main|idle|Unknown|Unknown|none\n");
  slurm_.program("sinfo",
                 "case \"$*\" in *'%N|%n'*) exit 1 ;; *) fake_sinfo \"$@\" <\"$D/node\" ;; esac");
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

TEST_F(SlurmNamesTest, AHostfileIsNotWrittenWithNamesThatAreNoHosts) {
  slurm_.program("sinfo",
                 "case \"$*\" in *'%N|%n'*) exit 1 ;; *) fake_sinfo \"$@\" <\"$D/node\" ;; esac");
  EXPECT_EQ(hostfile(), kExitUndecided);
  EXPECT_EQ(caller_.out(), "");
}

}  // namespace
}  // namespace muster::app
