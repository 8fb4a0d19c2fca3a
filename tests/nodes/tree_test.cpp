// SPDX-License-Identifier: Apache-2.0
#include "tests/nodes/tree.hpp"

#include "tests/support/files.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::nodes {
namespace {

namespace fs = std::filesystem;

TEST(TreeTest, LinksAreRelativeAndLeadToTheirTarget) {
  Tree tree;
  tree.file("sys/devices/pci0001:00/x/vendor", "0x10de\n");
  tree.link("sys/bus/pci/devices/x", "sys/devices/pci0001:00/x");
  EXPECT_EQ(tree.content("sys/bus/pci/devices/x"), "../../../devices/pci0001:00/x");

  const TempDir dir;
  ASSERT_TRUE(write_tree(tree, dir.path() / "node"));
  EXPECT_EQ(content_of(dir.path() / "node/sys/bus/pci/devices/x/vendor"), "0x10de\n");
}

TEST(TreeTest, RemovesWhatLiesBelowAndNothingThatOnlyBeginsAlike) {
  Tree tree;
  tree.file("proc/1/stat", "1");
  tree.file("proc/1/comm", "init");
  tree.file("proc/12/stat", "12");
  tree.remove("proc/1");
  EXPECT_THAT(tree.files(), ElementsAre("proc/12/stat"));
}

TEST(TreeTest, ChangesADirectoryFromOneTreeToAnother) {
  Tree before;
  before.file("etc/nccl.conf", "A=1\n");
  before.file("proc/1/stat", "1");
  before.directory("etc/empty");
  Tree after = before;
  after.remove("proc/1");
  after.file("etc/nccl.conf", "A=2\n");
  after.program("usr/bin/enroot");

  const TempDir dir;
  ASSERT_TRUE(write_tree(before, dir.path()));
  ASSERT_TRUE(change_tree(before, after, dir.path()));
  EXPECT_EQ(content_of(dir.path() / "etc/nccl.conf"), "A=2\n");
  EXPECT_FALSE(fs::exists(dir.path() / "proc"));
  EXPECT_TRUE(fs::is_directory(dir.path() / "etc/empty"));
  EXPECT_NE(fs::status(dir.path() / "usr/bin/enroot").permissions() & fs::perms::owner_exec,
            fs::perms::none);

  // NOLINTNEXTLINE(readability-suspicious-call-argument): back again
  ASSERT_TRUE(change_tree(after, before, dir.path()));
  EXPECT_EQ(content_of(dir.path() / "proc/1/stat"), "1");
  EXPECT_FALSE(fs::exists(dir.path() / "usr"));
}

TEST(TreeTest, APipeIsAPipe) {
  Tree tree;
  tree.fifo("dev/kmsg");
  const TempDir dir;
  ASSERT_TRUE(write_tree(tree, dir.path()));
  EXPECT_TRUE(fs::is_fifo(dir.path() / "dev/kmsg"));
}

}  // namespace
}  // namespace muster::nodes
