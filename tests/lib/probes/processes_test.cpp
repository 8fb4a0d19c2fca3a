// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "lib/probes/probes.hpp"
#include "tests/lib/probes/host_tree.hpp"
#include "tests/support/matchers.hpp"

namespace muster {
namespace {

using ProcessesProbeTest = ProbeTest<probe_processes, write_processes>;

TEST_F(ProcessesProbeTest, ReadsTheLoadAndNamesStuckTasks) {
  tree_.write("proc/7/stat", stat_line(7, "sh", 'Z', 70));
  tree_.write("proc/42/status",
              "Uid:\t1001\t0\t0\t0\nvoluntary_ctxt_switches:\t150\n"
              "nonvoluntary_ctxt_switches:\t7\n");
  tree_.write("proc/42/wchan", "request_wait_answer");
  tree_.write("sys/fs/fuse/connections/51/waiting", "0\n");
  EXPECT_EQ(
      probe(),
      observed(Processes{
          .load1 = 0.20,
          .load5 = 0.18,
          .load15 = 0.12,
          .running = 1U,
          .total = 80U,
          .uninterruptible = std::vector<Task>{{.pid = 42,
                                                .name = "nvidia-smi",
                                                .start_ticks = 4200,
                                                .parent = 1,
                                                .switches = 157U,
                                                .user = 1001U,
                                                .waits_in = std::string("request_wait_answer")}},
          .zombies = std::vector<Task>{{.pid = 7, .name = "sh", .start_ticks = 70, .parent = 1}},
          .fuse = std::vector<FuseUser>()}));
}

TEST_F(ProcessesProbeTest, RecognisesChildrenOfMusterByUserAndProgram) {
  const auto of_muster = [&](std::string_view user, std::string_view program) {
    tree_.write("proc/42/stat", stat_line(42, "muster:all", 'D', 1));
    tree_.write("proc/42/status", fmt::format("Uid:\t{}\t0\t0\t0\nvoluntary_ctxt_switches:\t1\n"
                                              "nonvoluntary_ctxt_switches:\t7\n",
                                              user));
    tree_.link("proc/42/exe", program);
    return probe()->uninterruptible->at(0).of_muster;
  };
  EXPECT_TRUE(of_muster("0", "/usr/bin/muster"));
  EXPECT_TRUE(of_muster("0", "/usr/bin/muster (deleted)"));
  EXPECT_FALSE(of_muster("1001", "/usr/bin/muster"));
  EXPECT_FALSE(of_muster("0", "/usr/bin/df"));
}

TEST_F(ProcessesProbeTest, OmitsZombiesThatMusterIsAboutToCollect) {
  tree_.write("proc/7/stat", stat_line(7, "muster:ib", 'Z', 70));
  EXPECT_THAT(*probe()->zombies, ::testing::SizeIs(1));
  tree_.link("proc/1/exe", "/usr/bin/muster");
  EXPECT_THAT(*probe()->zombies, IsEmpty());
}

// The kernel allows four million processes.
TEST_F(ProcessesProbeTest, ListsVeryManyProcesses) {
  constexpr int kMany = 66000;
  for (int pid = 1000; pid < 1000 + kMany; ++pid) {
    std::filesystem::create_directory(tree_.path() / "proc" / fmt::format("{}", pid));
  }
  EXPECT_TRUE(probe()->uninterruptible.known()) << probe()->uninterruptible.why();
}

TEST_F(ProcessesProbeTest, SkipsAProcessThatEnded) {
  tree_.remove("proc/42/stat");
  const auto section = probe();
  ASSERT_TRUE(section->uninterruptible);
  EXPECT_THAT(*section->uninterruptible, IsEmpty());
}

TEST_F(ProcessesProbeTest, ExplainsUnknownContextSwitches) {
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

TEST_F(ProcessesProbeTest, StuckTasksAreUnreadableIfOneIsGarbled) {
  tree_.write("proc/43/stat", "43 (half");
  EXPECT_EQ(probe()->uninterruptible,
            Fact<std::vector<Task>>::unreadable("read /proc/43/stat: not a process: \"43 (half\""));
}

TEST_F(ProcessesProbeTest, TasksAreAbsentInARecordedNodeWithoutProcesses) {
  tree_.remove("proc/1");
  tree_.remove("proc/42");
  const auto section = probe();
  EXPECT_EQ(section->zombies, Fact<std::vector<Task>>::absent("/proc lists no processes"));
  EXPECT_TRUE(section->load1.known());
}

TEST_F(ProcessesProbeTest, EscapesTheNamesOfTasks) {
  tree_.write("proc/42/stat", stat_line(42, "a) D\n(b", 'D', 1));
  EXPECT_EQ(probe()->uninterruptible->at(0).name, "a) D\\x0a(b");
}

}  // namespace
}  // namespace muster
