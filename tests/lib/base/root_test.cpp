// SPDX-License-Identifier: Apache-2.0
#include "lib/base/root.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>

#include "tests/support/temp_dir.hpp"

namespace muster {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(RootTest, ReadsFiles) {
  const TempDir dir;
  dir.write("proc/uptime", "12.5 3\n");
  const auto root = Root::below(dir.path());
  ASSERT_TRUE(root);
  EXPECT_TRUE(root->foreign());
  EXPECT_EQ(*root->read("/proc/uptime"), "12.5 3\n");
  EXPECT_EQ(*root->read_line("proc/uptime"), "12.5 3");
}

TEST(RootTest, KeepsAbsoluteAndRelativeLinksInside) {
  const TempDir dir;
  dir.write("etc/hostname", "inside\n");
  dir.link("a", "/etc/hostname");
  dir.link("b", "../../../../etc/hostname");
  const auto root = Root::below(dir.path());
  ASSERT_TRUE(root);
  EXPECT_EQ(*root->read_line("a"), "inside");
  EXPECT_EQ(*root->read_line("b"), "inside");
}

// Any rename on the machine makes the kernel fail once while it resolves "..".
TEST(RootTest, ReadsThroughRelativeLinksDuringRenames) {
  const TempDir dir;
  dir.write("devices/a/value", "1\n");
  dir.link("class/a", "../devices/a");
  dir.write("other/0", "");
  const auto root = Root::below(dir.path());
  ASSERT_TRUE(root);

  std::atomic<bool> done = false;
  std::thread renames([&] {
    const auto other = dir.path() / "other";
    for (int i = 0; !done; ++i) {
      std::filesystem::rename(other / std::to_string(i), other / std::to_string(i + 1));
    }
  });
  int read = 0;
  constexpr int kReads = 3000;
  for (int i = 0; i < kReads; ++i) read += root->read_line("/class/a/value") ? 1 : 0;
  done = true;
  renames.join();
  EXPECT_EQ(read, kReads);
}

TEST(RootTest, ResolvesToAPathInsideTheRoot) {
  const TempDir dir;
  dir.write("sys/devices/pci0000:00/0000:00:01.0/vendor", "0x10de\n");
  dir.link("sys/bus/pci/devices/0000:00:01.0", "../../../devices/pci0000:00/0000:00:01.0");
  const auto root = Root::below(dir.path());
  ASSERT_TRUE(root);
  EXPECT_EQ(*root->resolve("sys/bus/pci/devices/0000:00:01.0"),
            "/sys/devices/pci0000:00/0000:00:01.0");
  EXPECT_EQ(*root->read_link("sys/bus/pci/devices/0000:00:01.0"),
            "../../../devices/pci0000:00/0000:00:01.0");
}

TEST(RootTest, DistinguishesMissingFromUnreadable) {
  const TempDir dir;
  dir.write("directory/file", "");
  const auto root = Root::below(dir.path());
  ASSERT_TRUE(root);
  const auto missing = root->read("nothing/here");
  EXPECT_TRUE(missing.error().missing);
  EXPECT_EQ(missing.error().message, "open nothing/here: No such file or directory");
  const auto directory = root->read("directory");
  EXPECT_FALSE(directory.error().missing);
  EXPECT_THAT(directory.error().message, HasSubstr("Is a directory"));
}

TEST(RootTest, RefusesAFifoWithoutWaiting) {
  const TempDir dir;
  ASSERT_EQ(::mkfifo((dir.path() / "fifo").c_str(), 0600), 0);
  const auto root = Root::below(dir.path());
  ASSERT_TRUE(root);
  EXPECT_EQ(root->read("fifo").error().message, "read fifo: not a regular file");
  EXPECT_FALSE(root->read("fifo").error().missing);
}

TEST(RootTest, RefusesADevice) {
  EXPECT_EQ(Root().read("/dev/zero").error().message, "read /dev/zero: not a regular file");
}

TEST(RootTest, RefusesAFileAboveTheLimit) {
  const TempDir dir;
  dir.write("huge", std::string(10'000, 'x'));
  const auto root = Root::below(dir.path());
  ASSERT_TRUE(root);
  EXPECT_EQ(root->read("huge", 9'999).error().message, "read huge: larger than 9999 bytes");
  EXPECT_EQ(root->read("huge", 10'000)->size(), 10'000U);
}

TEST(RootTest, RefusesAnEmptyFirstLine) {
  const TempDir dir;
  dir.write("empty", "\n");
  const auto root = Root::below(dir.path());
  ASSERT_TRUE(root);
  EXPECT_EQ(root->read_line("empty").error().message, "read empty: empty");
}

TEST(RootTest, ListsSortedNames) {
  const TempDir dir;
  dir.write("d/b", "");
  dir.write("d/a", "");
  const auto root = Root::below(dir.path());
  ASSERT_TRUE(root);
  EXPECT_THAT(*root->list("d"), ElementsAre("a", "b"));
  EXPECT_FALSE(root->list("d/a"));
}

TEST(RootTest, ReportsAPathThatIsNotADirectory) {
  EXPECT_THAT(Root::below("/nonexistent").error().message, HasSubstr("/nonexistent"));
}

TEST(RootTest, HasOwnAndForeignRoots) {
  const Root host;
  EXPECT_FALSE(host.foreign());
  EXPECT_TRUE(host.read_line("/proc/sys/kernel/hostname"));
  EXPECT_FALSE(Root::below("/")->foreign());
}

}  // namespace
}  // namespace muster
