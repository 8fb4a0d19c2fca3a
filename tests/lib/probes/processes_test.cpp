// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/probes/probes.hpp"
#include "tests/lib/probes/host_tree.hpp"

namespace muster {
namespace {

using ::testing::IsEmpty;

class ProcessesProbeTest : public ::testing::Test {
 protected:
  ProcessesProbeTest() { write_processes(tree_); }

  [[nodiscard]] Section<Processes> probe() const { return probe_processes(root_of(tree_)); }

  TempDir tree_;
};

TEST_F(ProcessesProbeTest, ReadsTheLoadAndNamesStuckTasks) {
  tree_.write("proc/7/stat", stat_line(7, "sh", 'Z', 70));
  EXPECT_EQ(probe(),
            observed(Processes{.load1 = 0.20,
                               .load5 = 0.18,
                               .load15 = 0.12,
                               .running = 1U,
                               .total = 80U,
                               .uninterruptible = std::vector<Task>{{.pid = 42,
                                                                     .name = "nvidia-smi",
                                                                     .start_ticks = 4200,
                                                                     .parent = 1,
                                                                     .switches = 157U}},
                               .zombies = std::vector<Task>{
                                   {.pid = 7, .name = "sh", .start_ticks = 70, .parent = 1}}}));
}

TEST_F(ProcessesProbeTest, PassesOverAProcessThatEndedMeanwhile) {
  tree_.remove("proc/42/stat");
  const auto section = probe();
  ASSERT_TRUE(section->uninterruptible);
  EXPECT_THAT(*section->uninterruptible, IsEmpty());
}

TEST_F(ProcessesProbeTest, SaysWhyItDoesNotKnowWhetherAStuckTaskRan) {
  tree_.write("proc/42/status", "Name:\tnvidia-smi\n");
  EXPECT_EQ(probe()->uninterruptible->at(0).switches,
            Fact<std::uint64_t>::unreadable("read /proc/42/status: no count of context switches"));
}

TEST_F(ProcessesProbeTest, SortsTasksByPid) {
  tree_.write("proc/100/stat", stat_line(100, "a", 'D', 1));
  tree_.write("proc/9/stat", stat_line(9, "b", 'D', 1));
  std::vector<std::uint64_t> pids;
  const auto section = probe();
  for (const auto& task : *section->uninterruptible) pids.push_back(task.pid);
  EXPECT_THAT(pids, ::testing::ElementsAre(9U, 42U, 100U));
}

TEST_F(ProcessesProbeTest, CannotTellStuckTasksWhenOneCannotBeUnderstood) {
  tree_.write("proc/43/stat", "43 (half");
  EXPECT_EQ(probe()->uninterruptible,
            Fact<std::vector<Task>>::unreadable("read /proc/43/stat: not a process: \"43 (half\""));
}

TEST_F(ProcessesProbeTest, LacksTasksByNatureInARecordedNodeWithoutProcesses) {
  tree_.remove("proc/1");
  tree_.remove("proc/42");
  const auto section = probe();
  EXPECT_EQ(section->zombies, Fact<std::vector<Task>>::absent("/proc lists no processes"));
  EXPECT_TRUE(section->load1.known());
}

TEST_F(ProcessesProbeTest, MakesTheNamesOfTasksPrintable) {
  tree_.write("proc/42/stat", stat_line(42, "a) D\n(b", 'D', 1));
  EXPECT_EQ(probe()->uninterruptible->at(0).name, "a) D\\x0a(b");
}

TEST_F(ProcessesProbeTest, ReadsThousandsOfProcesses) {
  for (unsigned pid = 1000; pid < 2000; ++pid) {
    tree_.write(fmt::format("proc/{}/stat", pid), stat_line(pid, "worker", 'Z', pid));
  }
  EXPECT_EQ(probe()->zombies->size(), 1000U);
}

TEST(EmptyRootTest, IsAnErrorForTheProcessesProbe) {
  const TempDir empty;
  EXPECT_EQ(probe_processes(root_of(empty)),
            (Section<Processes>{.status = Status::error,
                                .reason = "open /proc/loadavg: No such file or directory"}));
}

}  // namespace
}  // namespace muster
