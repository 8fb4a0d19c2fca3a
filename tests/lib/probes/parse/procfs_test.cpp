// SPDX-License-Identifier: Apache-2.0
#include "lib/probes/parse/procfs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/lib/probes/host_tree.hpp"

namespace muster {
namespace {

TEST(ProcessStatTest, ReadsTheFields) {
  const auto line = stat_line(42, "cat", 'D', 4200);
  const auto stat = parse_process_stat(line);
  ASSERT_TRUE(stat) << stat.error().message;
  EXPECT_EQ(*stat, (ProcessStat{
                       .pid = 42, .name = "cat", .state = 'D', .parent = 1, .start_ticks = 4200}));
}

TEST(ProcessStatTest, EndsTheNameAtTheLastParenthesis) {
  const auto line = stat_line(42, "a) R 5 (b", 'Z', 9);
  const auto stat = parse_process_stat(line);
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->name, "a) R 5 (b");
  EXPECT_EQ(stat->state, 'Z');
}

TEST(ProcessStatTest, AcceptsAnEmptyName) {
  EXPECT_EQ(parse_process_stat(stat_line(42, "", 'S', 9))->name, "");
}

TEST(ProcessStatTest, RefusesEveryTruncatedLineUpToTheStartTime) {
  const auto line = stat_line(42, "cat", 'D', 4200);
  for (std::size_t length = 0; length < line.find(" 4200"); ++length) {
    EXPECT_FALSE(parse_process_stat(line.substr(0, length))) << length;
  }
}

TEST(ContextSwitchesTest, AddsBothKinds) {
  EXPECT_EQ(parse_context_switches("Name:\tvoluntary_ctxt_switches: 9\n"
                                   "voluntary_ctxt_switches:\t150\n"
                                   "nonvoluntary_ctxt_switches:\t7\n"),
            157U);
}

TEST(ContextSwitchesTest, RequiresBothNumbers) {
  for (const auto* status : {"", "voluntary_ctxt_switches:\t150\n",
                             "voluntary_ctxt_switches:\t150\nnonvoluntary_ctxt_switches:\n",
                             "voluntary_ctxt_switches:\t-1\nnonvoluntary_ctxt_switches:\t1\n",
                             "voluntary_ctxt_switches\nnonvoluntary_ctxt_switches:\t1\n"}) {
    EXPECT_FALSE(parse_context_switches(status)) << status;
  }
}

TEST(UserTest, IsTheRealOne) {
  EXPECT_EQ(parse_user("Name:\tUid: 9\nUid:\t1000\t0\t0\t0\nGid:\t7\t7\t7\t7\n"), 1000U);
}

TEST(UserTest, RequiresANumber) {
  for (const auto* status : {"", "Name:\tUid: 9\n", "Uid:\n", "Uid:\t-1\t0\t0\t0\n"}) {
    EXPECT_FALSE(parse_user(status)) << status;
  }
}

TEST(BeingKilledTest, DetectsAPendingSigkill) {
  EXPECT_TRUE(is_being_killed("SigPnd:\t0000000000000100\nShdPnd:\t0000000000000000\n"));
  EXPECT_TRUE(is_being_killed("SigPnd:\t0000000000000000\nShdPnd:\t0000000000004100\n"));
}

TEST(BeingKilledTest, IgnoresOtherSignals) {
  for (const auto* status : {"", "SigPnd:\t0000000000000200\nShdPnd:\t0000000000004000\n",
                             "SigBlk:\t0000000000000100\n", "SigPnd:\tx\n"}) {
    EXPECT_FALSE(is_being_killed(status)) << status;
  }
}

TEST(LoadAverageTest, ReadsLoadsAndTasks) {
  const auto load = parse_load_average("0.20 1.18 22.12 3/80 11206");
  ASSERT_TRUE(load);
  EXPECT_EQ(*load, (LoadAverage{
                       .load1 = 0.20, .load5 = 1.18, .load15 = 22.12, .running = 3, .total = 80}));
}

TEST(LoadAverageTest, RefusesInvalidLoadAverages) {
  for (const auto* line : {"", "0.1 0.1 0.1", "a 0.1 0.1 1/2 3", "-1 0.1 0.1 1/2 3",
                           "0.1 0.1 0.1 12 3", "0.1 0.1 0.1 1/ 3", "nan 0.1 0.1 1/2 3"}) {
    EXPECT_FALSE(parse_load_average(line)) << line;
  }
}

TEST(MeminfoParseTest, ReadsTheLinesOfANumaNode) {
  EXPECT_EQ(parse_meminfo("Node 0 MemTotal:  3 kB\n", "MemTotal"), Result<std::uint64_t>(3072U));
}

TEST(MeminfoParseTest, ComparesWholeNames) {
  EXPECT_TRUE(parse_meminfo("XMemTotal: 3 kB\nMemTotalX: 3 kB\n", "MemTotal").error().missing);
}

TEST(MeminfoParseTest, RefusesInvalidNumbers) {
  for (const auto* line : {"MemTotal: kB", "MemTotal: 3", "MemTotal: 3 MB", "MemTotal: -3 kB",
                           "MemTotal: 3x kB", "MemTotal: 18014398509481984 kB", "MemTotal:"}) {
    const auto value = parse_meminfo(line, "MemTotal");
    ASSERT_FALSE(value) << line;
    EXPECT_FALSE(value.error().missing) << line;
  }
}

}  // namespace
}  // namespace muster
