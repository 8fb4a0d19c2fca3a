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

const Expected kOneFine{.device = "node", .outcome = Outcome::pass};
const Expected kNoneJudged{.device = "node", .outcome = Outcome::unknown};

TEST(HostDiskTest, PassesAtTheLimit) { EXPECT_THAT(judge({disk(90)}), ElementsAre(kOneFine)); }

TEST(HostDiskTest, WarnsAboveTheLowerLimitCountingAsDfDoes) {
  EXPECT_THAT(judge({disk(91)}), ElementsAre(warns("/", Remedy::fix_config, {91.0, 90.0, "%"})));
}

TEST(HostDiskTest, FailsAboveTheUpperLimit) {
  EXPECT_THAT(judge({disk(100)}), ElementsAre(fails("/", Remedy::fix_config, {100.0, 98.0, "%"})));
}

TEST(HostDiskTest, FailsWithoutInodes) {
  Mount mount = disk(10);
  mount.space->inodes_free = 1;
  EXPECT_THAT(judge({mount}), ElementsAre(fails("/", Remedy::fix_config, {99.9, 98.0, "%"})));
}

TEST(HostDiskTest, JudgesNoInodesWhereTheyAreNotCounted) {
  Mount mount = disk(10);
  mount.space->inodes_total = 0;
  mount.space->inodes_free = 0;
  EXPECT_THAT(judge({mount}), ElementsAre(kOneFine));
}

TEST(HostDiskTest, IgnoresReadOnlyAndExcludedMounts) {
  Mount image = disk(100, "/mnt/image", "/dev/loop0");
  image.type = "squashfs";
  Mount read_only = disk(100, "/mnt/cd", "/dev/sr0");
  read_only.read_only = true;
  EXPECT_THAT(judge({disk(10), image, read_only, disk(100, "/snap/core", "/dev/loop1")}),
              ElementsAre(kOneFine));
}

TEST(HostDiskTest, JudgesAFileSystemMountedTwiceOnce) {
  EXPECT_THAT(judge({disk(91), disk(91, "/var/lib/bind")}),
              ElementsAre(warns("/", Remedy::fix_config, {91.0, 90.0, "%"})));
}

TEST(HostDiskTest, JudgesEveryTmpfs) {
  EXPECT_THAT(judge({disk(10, "/tmp", "tmpfs"), disk(10, "/dev/shm", "tmpfs")}),
              ElementsAre(passes()));
}

TEST(HostDiskTest, WarnsAboutAFullTmpfs) {
  Mount shm = disk(99, "/dev/shm", "tmpfs");
  shm.type = "tmpfs";
  EXPECT_THAT(judge({shm}), ElementsAre(warns("/dev/shm", Remedy::fix_config, {99.0, 98.0, "%"})));
}

TEST(HostDiskTest, LeavesHungAndSilentMountsToHostMounts) {
  Mount hung = disk(100, "/home", "filer:/home");
  hung.hung = true;
  Mount silent = disk(100, "/data", "filer:/data");
  silent.space = Fact<Space>::unreadable("statfs: Stale file handle");
  EXPECT_THAT(judge({disk(10), hung, silent}), ElementsAre(kOneFine));
}

TEST(HostDiskTest, IsUnknownWithoutAJudgedFileSystem) {
  Mount hung = disk(100);
  hung.hung = true;
  EXPECT_THAT(judge({hung}), ElementsAre(kNoneJudged));
  EXPECT_THAT(judge({}), ElementsAre(kNoneJudged));
}

TEST(HostDiskTest, IsSkippedWithoutLimits) {
  EXPECT_THAT(judge({disk(100)}, {}), ElementsAre(skips()));
}

}  // namespace
}  // namespace muster::host_disk_test
