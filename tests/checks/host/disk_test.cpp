// SPDX-License-Identifier: Apache-2.0
// host.disk judged on literal nodes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/catalogue.hpp"
#include "lib/profile/limits/host.hpp"
#include "tests/checks/ask.hpp"
#include "tests/support/printers.hpp"

namespace muster::host_disk_test {
namespace {

using ::testing::ElementsAre;

constexpr std::uint64_t kGib = 1024UL * 1024 * 1024;

const Profile kNinety{.host = HostLimits{.disk = {.warn_above = Percent{90},
                                                  .fail_above = Percent{98},
                                                  .inodes_warn_above = Percent{90},
                                                  .inodes_fail_above = Percent{98},
                                                  .ignore = {"squashfs", "/snap/*"}}}};

// 100 GiB that users may have, and 5 more that only root may.
Mount disk(std::uint64_t used_gib, std::string point = "/", std::string source = "/dev/sda1") {
  return {.point = std::move(point),
          .type = "ext4",
          .source = std::move(source),
          .space = Space{.total_bytes = 105 * kGib,
                         .available_bytes = (100 - used_gib) * kGib,
                         .used_bytes = used_gib * kGib,
                         .inodes_total = 1000,
                         .inodes_free = 500}};
}

Findings judge(std::vector<Mount> mounts, const Profile& profile = kNinety) {
  return ask(checks::host_disk::check, {.mounts = observed(Mounts{.mounts = std::move(mounts)})},
             profile);
}

const Finding kOneFine{
    .device = "node", .outcome = Outcome::pass, .message = "1 file system with space left"};
const Finding kNoneJudged{
    .device = "node",
    .outcome = Outcome::unknown,
    .message = "the use of disks is not known: no writable file system told its size"};

TEST(HostDiskTest, PassesAtTheLimit) { EXPECT_THAT(judge({disk(90)}), ElementsAre(kOneFine)); }

TEST(HostDiskTest, WarnsAboveTheLowerLimitCountingAsDfDoes) {
  EXPECT_THAT(
      judge({disk(91)}),
      ElementsAre(Finding{
          .device = "/",
          .outcome = Outcome::warn,
          .message = "91.0% of the space on / is in use, 9.0 GiB left; expected at most 90%",
          .observed = 91.0,
          .limit = 90.0,
          .unit = "%",
          .remedy = Remedy::fix_config}));
}

TEST(HostDiskTest, FailsAboveTheUpperLimit) {
  EXPECT_THAT(
      judge({disk(100)}),
      ElementsAre(Finding{
          .device = "/",
          .outcome = Outcome::fail,
          .message = "100.0% of the space on / is in use, 0.0 GiB left; expected at most 98%",
          .observed = 100.0,
          .limit = 98.0,
          .unit = "%",
          .remedy = Remedy::fix_config}));
}

TEST(HostDiskTest, FailsWithoutInodes) {
  Mount mount = disk(10);
  mount.space->inodes_free = 1;
  EXPECT_THAT(
      judge({mount}),
      ElementsAre(Finding{
          .device = "/",
          .outcome = Outcome::fail,
          .message = "99.9% of the inodes on / is in use, 1 inode left; expected at most 98%",
          .observed = 99.9,
          .limit = 98.0,
          .unit = "%",
          .remedy = Remedy::fix_config}));
}

TEST(HostDiskTest, JudgesNoInodesWhereTheyAreNotCounted) {
  Mount mount = disk(10);
  mount.space->inodes_total = 0;
  mount.space->inodes_free = 0;
  EXPECT_THAT(judge({mount}), ElementsAre(kOneFine));
}

TEST(HostDiskTest, LeavesOutIgnoredPointsAndTypesAndWhatIsReadOnly) {
  Mount image = disk(100, "/mnt/image", "/dev/loop0");
  image.type = "squashfs";
  Mount read_only = disk(100, "/mnt/cd", "/dev/sr0");
  read_only.read_only = true;
  EXPECT_THAT(judge({disk(10), image, read_only, disk(100, "/snap/core", "/dev/loop1")}),
              ElementsAre(kOneFine));
}

TEST(HostDiskTest, JudgesAFileSystemMountedTwiceOnce) {
  EXPECT_THAT(
      judge({disk(91), disk(91, "/var/lib/bind")}),
      ElementsAre(Finding{
          .device = "/",
          .outcome = Outcome::warn,
          .message = "91.0% of the space on / is in use, 9.0 GiB left; expected at most 90%",
          .observed = 91.0,
          .limit = 90.0,
          .unit = "%",
          .remedy = Remedy::fix_config}));
}

TEST(HostDiskTest, JudgesEveryTmpfs) {
  EXPECT_THAT(judge({disk(10, "/tmp", "tmpfs"), disk(10, "/dev/shm", "tmpfs")}),
              ElementsAre(Finding{.device = "node",
                                  .outcome = Outcome::pass,
                                  .message = "2 file systems with space left"}));
}

TEST(HostDiskTest, OnlyWarnsOfAFullTmpfsAndSaysWhatItIs) {
  Mount shm = disk(99, "/dev/shm", "tmpfs");
  shm.type = "tmpfs";
  EXPECT_THAT(
      judge({shm}),
      ElementsAre(Finding{
          .device = "/dev/shm",
          .outcome = Outcome::warn,
          .message =
              "99.0% of the space on /dev/shm is in use, 1.0 GiB left; expected at most 98%; "
              "it is a tmpfs: memory, which jobs fill, too",
          .observed = 99.0,
          .limit = 98.0,
          .unit = "%",
          .remedy = Remedy::fix_config}));
}

TEST(HostDiskTest, LeavesHungAndSilentMountsToHostMounts) {
  Mount hung = disk(100, "/home", "filer:/home");
  hung.hung = true;
  Mount silent = disk(100, "/data", "filer:/data");
  silent.space = Fact<Space>::unreadable("statfs: Stale file handle");
  EXPECT_THAT(judge({disk(10), hung, silent}), ElementsAre(kOneFine));
}

TEST(HostDiskTest, IsNoPassWhereNoFileSystemCouldBeJudged) {
  Mount hung = disk(100);
  hung.hung = true;
  EXPECT_THAT(judge({hung}), ElementsAre(kNoneJudged));
  EXPECT_THAT(judge({}), ElementsAre(kNoneJudged));
}

TEST(HostDiskTest, IsSkippedWithoutLimits) {
  EXPECT_THAT(judge({disk(100)}, {}),
              ElementsAre(Finding{.device = "node",
                                  .outcome = Outcome::skip,
                                  .message = "this profile sets no limit for the use of disks"}));
}

}  // namespace
}  // namespace muster::host_disk_test
