// SPDX-License-Identifier: Apache-2.0
// The tests of the node that a hook runs.
#include "checks/app/hook_check.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/checks/app/test_caller.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::app {
namespace {

// A line that holds on every machine is all that is judged, and a script stands for muster-bench.
TEST(HookCheckTest, TheTestsOfTheSiteAreJudgedWithTheNode) {
  const TempDir dir;
  dir.write("nhc.conf", "* || check_hw_eth lo\n");
  dir.write("muster-bench", "#!/bin/sh\nexit 3\n");
  const auto program = dir.path() / "muster-bench";
  ::chmod(program.c_str(), 0755);
  TestCaller test;
  auto caller = test.caller();
  caller.bench = program;
  HookCommand command{.context = "epilog",
                      .profile = "generic",
                      .nhc_conf = (dir.path() / "nhc.conf").string(),
                      .nvml = "/nowhere",
                      .state = dir.path().string(),
                      .dry_run = true};
  const auto verdict_of = [&] {
    Deadline deadline(Clock::now() + std::chrono::seconds(30));
    const auto checked = check_node(command, "", caller, deadline);
    EXPECT_TRUE(checked);
    return checked ? checked->report.verdict : Verdict::unhealthy;
  };
  EXPECT_EQ(verdict_of(), Verdict::healthy);
  command.tests = "gpu.copy";
  command.tests_budget = Seconds{20};
  EXPECT_EQ(verdict_of(), Verdict::unknown) << "the script is not muster-bench";
  command.root = "/proc/self/root";
  EXPECT_EQ(verdict_of(), Verdict::healthy) << "another root's node cannot be tested";
}

}  // namespace
}  // namespace muster::app
