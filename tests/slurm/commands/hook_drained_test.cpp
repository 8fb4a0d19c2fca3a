// SPDX-License-Identifier: Apache-2.0
// Health checks of a node that muster drained. Slurm's programs are scripts here: sinfo shows what
// a file says, and scontrol resumes in it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "checks/app/hook_check.hpp"
#include "slurm/commands/hook.hpp"
#include "slurm/commands/slurm_site.hpp"
#include "tests/checks/app/test_caller.hpp"
#include "tests/support/fake_sinfo.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::app {
namespace {

using ::testing::ElementsAre;

constexpr std::string_view kReason = "muster: host.memory_available: 1 of 64 GiB; watch it";

class HookDrainedTest : public ::testing::Test {
 protected:
  HookDrainedTest() {
    dir_.write("root/proc/sys/kernel/hostname", "n7\n");
    dir_.write("root/proc/uptime", "1000.00 2000.00\n");
    set_available("32000000");
    dir_.write("root/etc/muster/muster.yaml",
               fmt::format("schema: muster.site/1\n"
                           "slurm: {{programs: {}, conf: {}, spread: 0 s, clean_runs: 2}}\n",
                           path(), (dir_.path() / "slurm.conf").string()));
    dir_.write("slurm.conf", "");
    dir_.write("nodes", fmt::format("n7|main|drained|root|1795326230|{}\n", kReason));
    script("sinfo", "fake_sinfo \"$@\" <\"$D/nodes\"");
    script("scontrol", R"(case $3 in Extra=*) exit 0 ;; esac  # the memory alone
echo "$1 $2 $3" >>"$D/calls"; echo "n7|main|idle|u|0|none" >"$D/nodes")");
    auto history = slurm::History::open(history_file(dir_.path() / "state"));
    EXPECT_TRUE(history);
    EXPECT_TRUE(history->begin_drain("n7", {.reason = std::string(kReason),
                                            .at = wall_time() - std::chrono::minutes(10),
                                            .check = "host.memory_available",
                                            .remedy = Remedy::watch}));
    EXPECT_TRUE(history->confirm_drain("n7", history->drain_of("n7").value().value()));
  }

  void script(std::string_view name, std::string_view body) const {
    dir_.write(name, fmt::format("#!/bin/sh\nD={}\n{}{}\n", path(), kFakeSinfo, body));
    std::filesystem::permissions(dir_.path() / name, std::filesystem::perms::owner_all);
  }

  void set_available(std::string_view kib) const {
    dir_.write("root/proc/meminfo",
               fmt::format("MemTotal: 64000000 kB\nMemAvailable: {} kB\nSwapTotal: 0 kB\n", kib));
  }

  // Of the two checks the context runs host.swap alone.
  void health_check(const std::vector<std::string>& more = {}) {
    HookCommand command{.context = "periodic",
                        .profile = "generic",
                        .settings = {"contexts.periodic.run=[host.swap]", "host.swap.total=0 B"},
                        .root = (dir_.path() / "root").string(),
                        .state = (dir_.path() / "state").string()};
    command.settings.insert(command.settings.end(), more.begin(), more.end());
    auto caller = caller_.caller();
    caller.variables["SLURMD_NODENAME"] = "n7";
    Deadline deadline(Clock::now() + std::chrono::seconds(30));
    EXPECT_EQ(run_hook(command, caller, deadline, check_node), 0);
  }

  [[nodiscard]] std::vector<std::string> events() const {
    const auto history = slurm::History::read(history_file(dir_.path() / "state"));
    const auto all = history->events({});
    std::vector<std::string> found;
    for (const auto& event : *all) {
      found.push_back(fmt::format("{}: {}", event.kind, event.message));
    }
    return found;
  }

  [[nodiscard]] std::string calls() const {
    std::ifstream file(dir_.path() / "calls");
    return {std::istreambuf_iterator<char>(file), {}};
  }

  [[nodiscard]] std::string path() const { return dir_.path().string(); }

  TempDir dir_;
  TestCaller caller_;
};

TEST_F(HookDrainedTest, ACheckThatTheContextLeavesOutEndsItsDrain) {
  health_check();
  EXPECT_EQ(calls(), "");
  health_check();
  EXPECT_EQ(calls(), "update nodename=n7 state=resume\n");
  EXPECT_THAT(events(),
              ElementsAre("kept: host.memory_available: clean run 1 of 2",
                          "resumed: clean run 2 of 2: host.memory_available is well again"));
}

TEST_F(HookDrainedTest, ACheckThatTheContextLeavesOutKeepsItsDrain) {
  set_available("640000");
  for (int i = 0; i < 3; ++i) health_check();
  EXPECT_THAT(events(), ElementsAre("kept: host.memory_available warns"));
  set_available("32000000");
  health_check();
  EXPECT_EQ(calls(), "");
}

TEST_F(HookDrainedTest, ACheckThatTheContextLeavesOutDrainsNoNodeInService) {
  set_available("640000");
  dir_.write("nodes", "n7|main|allocated|u|0|none\n");
  for (int i = 0; i < 3; ++i) health_check({"host.memory_available.warn_as=fail"});
  EXPECT_EQ(calls(), "");
  EXPECT_THAT(events(), ElementsAre("released: somebody else resumed the node"));
}

TEST_F(HookDrainedTest, ACheckThatIsSwitchedOffIsAnAdmins) {
  for (int i = 0; i < 3; ++i) health_check({"host.memory_available.enabled=false"});
  EXPECT_EQ(calls(), "");
  EXPECT_THAT(events(),
              ElementsAre("kept: context periodic did not run host.memory_available: drained "
                          "until an admin says muster resume n7"));
}

}  // namespace
}  // namespace muster::app
