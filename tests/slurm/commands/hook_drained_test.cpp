// SPDX-License-Identifier: Apache-2.0
// Health checks of a node that muster drained.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "checks/app/hook_check.hpp"
#include "slurm/commands/hook.hpp"
#include "slurm/commands/slurm_site.hpp"
#include "slurm/policy/node_memory.hpp"
#include "tests/checks/app/test_caller.hpp"
#include "tests/slurm/commands/fake_slurm.hpp"
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
    slurm_.site(fmt::format("  conf: {}\n  spread: 0 s\n  clean_runs: 2\n",
                            (dir_.path() / "slurm.conf").string()));
    slurm_.nodes(fmt::format("n7|main|drained|root|1795326230|{}\n", kReason));
    const slurm::NodeMemory memory{.check = "host.memory_available",
                                   .remedy = Remedy::watch,
                                   .at = wall_time() - std::chrono::minutes(10),
                                   .settled = true,
                                   .reason = slurm::short_hash(kReason)};
    slurm_.memory(to_text(memory));
  }

  void set_available(std::string_view kib) const {
    dir_.write("root/proc/meminfo",
               fmt::format("MemTotal: 64000000 kB\nMemAvailable: {} kB\nSwapTotal: 0 kB\n", kib));
  }

  // The context runs only host.swap of the two checks.
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

  [[nodiscard]] bool is_drained() const {
    return slurm_.node().find("|drained|") != std::string::npos;
  }

  TempDir dir_;
  FakeSlurm slurm_{dir_};
  TestCaller caller_;
};

TEST_F(HookDrainedTest, ACheckThatTheContextLeavesOutEndsItsDrain) {
  health_check();
  EXPECT_TRUE(is_drained());
  health_check();
  EXPECT_FALSE(is_drained());
  EXPECT_THAT(events(), ElementsAre("kept: host.memory_available: clean run 1 of 2",
                                    "resumed: clean run 2 of 2: host.memory_available passes"));
}

TEST_F(HookDrainedTest, ACheckThatTheContextLeavesOutKeepsItsDrain) {
  set_available("640000");
  for (int i = 0; i < 3; ++i) health_check();
  EXPECT_THAT(events(), ElementsAre("kept: host.memory_available warns"));
  set_available("32000000");
  health_check();
  EXPECT_TRUE(is_drained());
}

TEST_F(HookDrainedTest, ACheckThatTheContextLeavesOutDrainsNoNodeInService) {
  set_available("640000");
  slurm_.nodes("n7|main|allocated|Unknown|Unknown|none\n");
  for (int i = 0; i < 3; ++i) health_check({"host.memory_available.warn_as=fail"});
  EXPECT_FALSE(is_drained());
  EXPECT_THAT(events(), ElementsAre("released: somebody else resumed the node"));
}

TEST_F(HookDrainedTest, ACheckThatIsSwitchedOffIsAnAdmins) {
  for (int i = 0; i < 3; ++i) health_check({"host.memory_available.enabled=false"});
  EXPECT_TRUE(is_drained());
  EXPECT_THAT(events(),
              ElementsAre("kept: context periodic did not run host.memory_available: drained "
                          "until an admin runs muster resume n7"));
}

}  // namespace
}  // namespace muster::app
