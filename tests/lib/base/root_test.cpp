// SPDX-License-Identifier: Apache-2.0
#include "lib/base/root.hpp"

#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>

#include "tests/support/matchers.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster {
namespace {

class RootTest : public ::testing::Test {
 protected:
  TempDir dir_;
  Root root_ = *Root::below(dir_.path());
};

TEST_F(RootTest, ReadsFiles) {
  dir_.write("proc/uptime", "12.5 3\n");
  EXPECT_TRUE(root_.foreign());
  EXPECT_EQ(*root_.read("/proc/uptime"), "12.5 3\n");
  EXPECT_EQ(*root_.read_line("proc/uptime"), "12.5 3");
}

TEST_F(RootTest, KeepsAbsoluteAndRelativeLinksInside) {
  dir_.write("etc/hostname", "inside\n");
  dir_.link("a", "/etc/hostname");
  dir_.link("b", "../../../../etc/hostname");
  EXPECT_EQ(*root_.read_line("a"), "inside");
  EXPECT_EQ(*root_.read_line("b"), "inside");
}

// Any rename on the machine makes the kernel fail once while it resolves "..".
TEST_F(RootTest, ReadsThroughRelativeLinksDuringRenames) {
  dir_.write("devices/a/value", "1\n");
  dir_.link("class/a", "../devices/a");
  dir_.write("other/0", "");
  std::atomic<bool> done = false;
  std::thread renames([&] {
    const auto other = dir_.path() / "other";
    for (int i = 0; !done; ++i) {
      std::filesystem::rename(other / std::to_string(i), other / std::to_string(i + 1));
    }
  });
  int read = 0;
  constexpr int kReads = 3000;
  for (int i = 0; i < kReads; ++i) read += root_.read_line("/class/a/value") ? 1 : 0;
  done = true;
  renames.join();
  EXPECT_EQ(read, kReads);
}

TEST_F(RootTest, ResolvesToAPathInsideTheRoot) {
  dir_.write("sys/devices/pci0000:00/0000:00:01.0/vendor", "0x10de\n");
  dir_.link("sys/bus/pci/devices/0000:00:01.0", "../../../devices/pci0000:00/0000:00:01.0");
  EXPECT_EQ(*root_.resolve("sys/bus/pci/devices/0000:00:01.0"),
            "/sys/devices/pci0000:00/0000:00:01.0");
  EXPECT_EQ(*root_.read_link("sys/bus/pci/devices/0000:00:01.0"),
            "../../../devices/pci0000:00/0000:00:01.0");
}

TEST_F(RootTest, DistinguishesMissingFromUnreadable) {
  dir_.write("directory/file", "");
  const auto missing = root_.read("nothing/here");
  EXPECT_TRUE(missing.error().missing);
  EXPECT_EQ(missing.error().message, "open nothing/here: No such file or directory");
  const auto directory = root_.read("directory");
  EXPECT_FALSE(directory.error().missing);
  EXPECT_THAT(directory.error().message, HasSubstr("Is a directory"));
}

TEST_F(RootTest, RefusesAFifoWithoutWaiting) {
  ASSERT_EQ(::mkfifo((dir_.path() / "fifo").c_str(), 0600), 0);
  EXPECT_EQ(root_.read("fifo").error().message, "read fifo: not a regular file");
  EXPECT_FALSE(root_.read("fifo").error().missing);
}

TEST_F(RootTest, RefusesADevice) {
  EXPECT_EQ(Root().read("/dev/zero").error().message, "read /dev/zero: not a regular file");
}

TEST_F(RootTest, RefusesAFileAboveTheLimit) {
  dir_.write("huge", std::string(10'000, 'x'));
  EXPECT_EQ(root_.read("huge", 9'999).error().message, "read huge: larger than 9999 bytes");
  EXPECT_EQ(root_.read("huge", 10'000)->size(), 10'000U);
}

TEST_F(RootTest, RefusesAnEmptyFirstLine) {
  dir_.write("empty", "\n");
  EXPECT_EQ(root_.read_line("empty").error().message, "read empty: empty");
}

TEST_F(RootTest, ListsSortedNames) {
  dir_.write("d/b", "");
  dir_.write("d/a", "");
  EXPECT_THAT(*root_.list("d"), ElementsAre("a", "b"));
  EXPECT_FALSE(root_.list("d/a"));
}

TEST_F(RootTest, ReportsAPathThatIsNotADirectory) {
  EXPECT_THAT(Root::below("/nonexistent").error().message, HasSubstr("/nonexistent"));
}

TEST_F(RootTest, HasOwnAndForeignRoots) {
  const Root host;
  EXPECT_FALSE(host.foreign());
  EXPECT_TRUE(host.read_line("/proc/sys/kernel/hostname"));
  EXPECT_FALSE(Root::below("/")->foreign());
}

}  // namespace
}  // namespace muster
