// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "lib/probes/probes.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster {
namespace {

using ::testing::HasSubstr;

class KernelLogTest : public ::testing::Test {
 protected:
  [[nodiscard]] Section<KernelLog> probe() const {
    return probe_kernel_log(*Root::below(dir_.path()));
  }

  TempDir dir_;
};

TEST_F(KernelLogTest, ReadsARecordedFileByLine) {
  dir_.write(
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

TEST_F(KernelLogTest, IsAbsentWithoutTheDevice) {
  const auto section = probe();
  EXPECT_EQ(section.status, Status::absent);
  EXPECT_THAT(section.reason, HasSubstr("/dev/kmsg"));
}

TEST_F(KernelLogTest, AnEmptyOrGarbledLogIsAnError) {
  dir_.write("dev/kmsg", "");
  EXPECT_EQ(probe().status, Status::error);
  dir_.write("dev/kmsg", "no record\nno record either\n");
  EXPECT_EQ(probe().status, Status::error);
}

TEST_F(KernelLogTest, ADirectoryIsAnError) {
  dir_.write("dev/kmsg/file", "");
  const auto section = probe();
  EXPECT_EQ(section.status, Status::error);
  EXPECT_THAT(section.reason, HasSubstr("Is a directory"));
}

TEST_F(KernelLogTest, DoesNotBlockOnAFifo) {
  dir_.write("dev/other", "");
  ASSERT_EQ(::mkfifo((dir_.path() / "dev/kmsg").c_str(), 0600), 0);
  EXPECT_EQ(probe(), (Section<KernelLog>{
                         .status = Status::error,
                         .reason = "read /dev/kmsg: neither the device nor a regular file"}));
}

TEST_F(KernelLogTest, TruncatesAnEndlessFile) {
  dir_.write("dev/kmsg", "3,1,5,-;the first\n");
  // A hole of 65 MiB: one line without end, that takes no space on the disk.
  ASSERT_EQ(::truncate((dir_.path() / "dev/kmsg").c_str(), 65L * 1024 * 1024), 0);
  const auto section = probe();
  ASSERT_TRUE(section.ok());
  EXPECT_TRUE(section->truncated);
  EXPECT_EQ(section->records.size(), 1U);
}

}  // namespace
}  // namespace muster
