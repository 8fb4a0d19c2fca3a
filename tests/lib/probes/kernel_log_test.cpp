// SPDX-License-Identifier: Apache-2.0
#include "lib/probes/kernel_log.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctime>
#include <string>
#include <vector>

#include "lib/probes/probes.hpp"
#include "tests/lib/probes/host_tree.hpp"
#include "tests/support/matchers.hpp"

namespace muster {
namespace {

using ::testing::Field;

KernelLog collect(const std::vector<std::string>& records) {
  KmsgCollector collector;
  for (const auto& record : records) collector.add(record);
  return collector.finish();
}

auto text_is(const std::string& text) { return Field("text", &KernelRecord::text, text); }

TEST(KmsgParseTest, ReadsPrioritySequenceTimeAndText) {
  const auto record = parse_kmsg("11,339,5140900,-,caller=T1;NVRM: loading\n SUBSYSTEM=pci\n");
  ASSERT_TRUE(record);
  EXPECT_EQ(record->level, 3U);
  EXPECT_EQ(record->facility, 1U);
  EXPECT_EQ(record->sequence, 339U);
  EXPECT_EQ(record->time_us, 5140900U);
  EXPECT_FALSE(record->fragment);
  EXPECT_EQ(record->text, "NVRM: loading");
}

TEST(KmsgParseTest, RefusesInvalidText) {
  for (const auto* const text :
       {"", "6", "6,1,2", "6,1,2,-", "6,1,2,;no flags", "6,1,2,?;unknown flag",
        "6,1,2,-x;rest of flags", "-6,1,2,-;negative", "2048,1,2,-;priority too large",
        "6,18446744073709551616,2,-;sequence too large", "[    0.000000] Linux version 6.1"}) {
    EXPECT_FALSE(parse_kmsg(text)) << text;
  }
}

TEST(KmsgParseTest, DecodesEscapes) {
  EXPECT_EQ(unescape_kmsg(R"(a\x5cb\x0ac\x4)"), "a\\b\nc\\x4");
  EXPECT_EQ(unescape_kmsg("\\xzz\\"), "\\xzz\\");
}

TEST(KmsgCollectorTest, KeepsWarningsAndHardwareAndCountsTheRest) {
  const auto log = collect({"6,8,70,-;usb 1-1: new device", "4,9,80,-;something odd", "garbage",
                            "6,10,90,-;mlx5_core 0101:00:00.0: Port module event"});
  EXPECT_EQ(log.seen, 4U);
  EXPECT_EQ(log.unparsable, 1U);
  EXPECT_EQ(log.first_sequence, 8U);  // even if it is not kept
  EXPECT_EQ(log.first_us, 70U);
  EXPECT_THAT(log.records, ElementsAre(text_is("something odd"),
                                       text_is("mlx5_core 0101:00:00.0: Port module event")));
}

TEST(KmsgCollectorTest, KeepsNoticesOfFaults) {
  for (const auto* const text :
       {"BERT: Error records from previous boot:", "BTRFS info (device sdb): forced readonly",
        "nfs: server 10.0.0.4 not responding, still trying",
        "{1}[Hardware Error]: event severity: corrected",
        "mlx5_core 0101:00:00.0 ib0: Link down"}) {
    EXPECT_THAT(collect({fmt::format("6,1,0,-;{}", text)}).records, ElementsAre(text_is(text)));
  }
}

TEST(KmsgCollectorTest, MergesIdenticalMessagesWithinFiveSeconds) {
  const auto log =
      collect({"3,1,0,-;EDAC error", "3,2,5000000,-;EDAC error", "3,3,10000001,-;EDAC error"});
  ASSERT_THAT(log.records, SizeIs(2));
  EXPECT_EQ(log.records[0].repeats, 2U);
  EXPECT_EQ(log.records[0].last_us, 5000000U);
  EXPECT_EQ(log.records[1].repeats, 1U);
}

TEST(KmsgCollectorTest, MergesInterleavedMessages) {
  const auto log = collect({"3,1,0,-;one", "3,2,1,-;two", "3,3,2,-;one", "3,4,3,-;two"});
  EXPECT_THAT(log.records, ElementsAre(text_is("one"), text_is("two")));
}

TEST(KmsgCollectorTest, DoesNotMergeUserSpaceWithTheKernel) {
  const auto log = collect({"3,1,0,-;NVRM: Xid", "11,2,1,-;NVRM: Xid"});
  ASSERT_THAT(log.records, SizeIs(2));
  EXPECT_EQ(log.records[0].repeats, 1U);
  EXPECT_EQ(log.records[1].facility, 1U);
}

TEST(KmsgCollectorTest, UserSpaceCannotDisplaceTheKernelsRecords) {
  KmsgCollector collector;
  collector.add("3,1,0,-;kernel error");
  for (int i = 0; i < 5000; ++i) collector.add(fmt::format("11,{},1,-;forged {}", i + 2, i));
  const auto log = collector.finish();
  EXPECT_THAT(log.records, SizeIs(1 + KmsgCollector::kMaxUserKept));
  EXPECT_EQ(log.records[0].text, "kernel error");
  EXPECT_FALSE(log.truncated);
}

TEST(KmsgCollectorTest, DropsUserSpaceBelowErrors) {
  EXPECT_THAT(collect({"12,1,0,-;nvidia says a user"}).records, IsEmpty());
}

TEST(KmsgCollectorTest, JoinsFragmentsToTheRecordBeforeThem) {
  const auto log = collect({"3,1,10,-;first", "4,2,11,c; second", "3,4,12,c;of another line"});
  EXPECT_THAT(log.records, ElementsAre(text_is("first second"), text_is("of another line")));
}

TEST(KmsgCollectorTest, KeepsControlCharactersEscaped) {
  const auto log = collect({R"(3,1,0,-;name\x0a\x1b[31m \xc3\xa9 \xff)"});
  EXPECT_THAT(log.records, ElementsAre(text_is("name\\x0a\\x1b[31m \xc3\xa9 \\xff")));
}

TEST(KmsgCollectorTest, TruncatesTextToTheKernelsLimit) {
  const auto log = collect({fmt::format("3,1,0,-;{}", std::string(100000, 'x'))});
  ASSERT_THAT(log.records, SizeIs(1));
  EXPECT_EQ(log.records[0].text.size(), KmsgCollector::kMaxText);
}

TEST(KmsgCollectorTest, CountsOverwrittenRecordsByTheirNumbers) {
  KmsgCollector collector;
  collector.add("3,10,0,-;before");
  collector.overwritten();
  collector.add("3,15,0,-;after");
  collector.overwritten();
  EXPECT_EQ(collector.finish().lost, 4U + 1U);
}

TEST(KmsgCollectorTest, DropsTheOldestAndReportsIt) {
  KmsgCollector collector;
  for (std::size_t i = 0; i <= KmsgCollector::kMaxKept; ++i) {
    collector.add(fmt::format("3,{},{},-;error {}", i, i, i));
  }
  const auto log = collector.finish();
  EXPECT_TRUE(log.truncated);
  EXPECT_THAT(log.records, SizeIs(KmsgCollector::kMaxKept / 2 + 1));
  EXPECT_EQ(log.records.back().text, fmt::format("error {}", KmsgCollector::kMaxKept));
}

// The processor's time for so many records of one message, in seconds.
double cost_of_storm(std::uint64_t storm) {
  KmsgCollector collector;
  const auto start = std::clock();
  for (std::uint64_t i = 0; i < storm; ++i) {
    collector.add(
        fmt::format("3,{},{},-;NVRM: Xid (PCI:0001:00:00): 95, Uncontained ECC error", i, i));
  }
  const auto log = collector.finish();
  EXPECT_THAT(log.records, SizeIs(1));
  EXPECT_EQ(log.records[0].repeats, storm);
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

TEST(KmsgCollectorTest, AStormOfOneMessageIsCheap) {
  // Comparing with every record kept would cost a hundred times as much for ten times as many.
  EXPECT_LT(cost_of_storm(100000), 40 * cost_of_storm(10000));
}

using KernelLogTest = ProbeTest<probe_kernel_log>;

TEST_F(KernelLogTest, ReadsARecordedFileByLine) {
  tree_.write(
      "dev/kmsg",
      "3,7,99,-;EDAC MC0: 1 CE\n SUBSYSTEM=mc\n DEVICE=+mc:mc0\n6,8,100,-;last line without end");
  EXPECT_EQ(
      probe(),
      observed(KernelLog{
          .records =
              {{.sequence = 7, .time_us = 99, .level = 3, .text = "EDAC MC0: 1 CE", .last_us = 99}},
          .seen = 2,
          .first_sequence = 7,
          .first_us = 99}));
}

TEST_F(KernelLogTest, DoesNotBlockOnAFifo) {
  tree_.write("dev/other", "");
  ASSERT_EQ(::mkfifo((tree_.path() / "dev/kmsg").c_str(), 0600), 0);
  EXPECT_EQ(probe(), (Section<KernelLog>{
                         .status = Status::error,
                         .reason = "read /dev/kmsg: neither the device nor a regular file"}));
}

TEST_F(KernelLogTest, TruncatesAnEndlessFile) {
  tree_.write("dev/kmsg", "3,1,5,-;the first\n");
  // A hole of 65 MiB: one line without end, that takes no space on the disk.
  ASSERT_EQ(::truncate((tree_.path() / "dev/kmsg").c_str(), 65L * 1024 * 1024), 0);
  const auto section = probe();
  ASSERT_TRUE(section.ok());
  EXPECT_TRUE(section->truncated);
  EXPECT_EQ(section->records.size(), 1U);
}

}  // namespace
}  // namespace muster
