// SPDX-License-Identifier: Apache-2.0
// Mounts and their free space judged on literal nodes.

#include "tests/checks/ask.hpp"

namespace muster::host_mounts_test {
namespace {

namespace host_mounts {

const Mount kRoot{
    .point = "/", .type = "ext4", .source = "/dev/sda1", .space = Space{.total_bytes = 1}};
const Mount kHome{
    .point = "/home", .type = "nfs4", .source = "filer:/home", .space = Space{.total_bytes = 1}};

Findings judge(std::vector<Mount> mounts, std::vector<RequiredMount> required = {}) {
  return ask(checks::host_mounts::check, {.mounts = observed(Mounts{.mounts = std::move(mounts)})},
             {.host = HostLimits{
                  .mounts = {.required = std::move(required), .answer_within = Seconds{2}}}});
}

const RequiredMount kHomeRequired{.point = "/home", .type = "nfs*", .writable = true};

TEST(HostMountsTest, PassesWithEveryRequiredMount) {
  EXPECT_THAT(judge({kRoot, kHome}, {kHomeRequired}), ElementsAre(passes()));
}

TEST(HostMountsTest, AnUnusedAutomountIsUnknown) {
  const auto findings = ask(
      checks::host_mounts::check,
      {.mounts = observed(Mounts{.mounts = {kRoot}, .automounts = {"/home"}})},
      {.host = HostLimits{.mounts = {.required = {kHomeRequired}, .answer_within = Seconds{2}}}});
  EXPECT_THAT(findings, ElementsAre(unknown("/home")));
}

TEST(HostMountsTest, FailsAReadOnlyMountThatMustBeWritable) {
  Mount root = kRoot;
  root.read_only = true;
  EXPECT_THAT(judge({root}, {{.point = "/", .writable = true}}),
              ElementsAre(fails("/", Remedy::fix_config, {"read-only", "writable"})));
  EXPECT_THAT(judge({root}, {{.point = "/"}}), ElementsAre(passes()));
}

TEST(HostMountsTest, FailsAHungMountOnceWhetherRequiredOrNot) {
  Mount home = kHome;
  home.hung = true;
  home.space = make_error("no answer within 2 s");
  const Expected expected = fails("/home", Remedy::restart_service, {{}, 2.0, "s"});
  EXPECT_THAT(judge({kRoot, home}, {kHomeRequired}), ElementsAre(expected));
  EXPECT_THAT(judge({kRoot, home}), ElementsAre(expected));
}

TEST(HostMountsTest, FailsARequiredMountThatReturnsAnErrorAndNoOther) {
  Mount home = kHome;
  home.space = make_error("statfs /home: Stale file handle");
  EXPECT_THAT(judge({home}, {kHomeRequired}), ElementsAre(fails("/home", Remedy::restart_service)));
  EXPECT_THAT(judge({kRoot, home}), ElementsAre(unknown("/home")));
}

TEST(HostMountsTest, ARequiredMountThatCouldNotBeAskedIsUnknown) {
  Mount home = kHome;
  home.unasked = true;
  home.space = make_error("statfs /home: Cannot allocate memory");
  EXPECT_THAT(judge({home}, {kHomeRequired}), ElementsAre(unknown("/home")));
  home.read_only = true;
  EXPECT_THAT(judge({home}, {kHomeRequired}),
              ElementsAre(fails("/home", Remedy::fix_config, {"read-only", "writable"})));
}

TEST(HostMountsTest, LetsFuseMountsRefuseOthers) {
  const Mount fuse{.point = "/run/user/1/doc",
                   .type = "fuse.portal",
                   .source = "portal",
                   .space = make_error("statfs: Permission denied")};
  EXPECT_THAT(judge({kRoot, fuse}), ElementsAre(passes()));
}

TEST(HostMountsTest, JudgesTheMountThatLiesOnTop) {
  Mount below = kHome;
  below.hung = true;
  EXPECT_THAT(judge({below, kHome}, {kHomeRequired}), ElementsAre(passes()));
}

TEST(HostMountsTest, ShowsMountPointsAsPrintableText) {
  const Mount odd{.point = "/mnt/a\nb", .type = "nfs4", .source = "filer:/a", .hung = true};
  EXPECT_THAT(judge({odd}),
              ElementsAre(fails(R"(/mnt/a\x0ab)", Remedy::restart_service, {{}, 2.0, "s"})));
}

TEST(HostMountsTest, IsUnknownIfNothingIsMounted) {
  EXPECT_THAT(judge({}), ElementsAre(unknown()));
}

}  // namespace host_mounts

namespace host_disk {

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

TEST(HostDiskTest, JudgesInodesIfTheyAreCounted) {
  Mount mount = disk(10);
  mount.space->inodes_free = 1;
  EXPECT_THAT(judge({mount}), ElementsAre(fails("/", Remedy::fix_config, {99.9, 98.0, "%"})));
  mount.space->inodes_total = mount.space->inodes_free = 0;
  EXPECT_THAT(judge({mount}), ElementsAre(passes()));
}

TEST(HostDiskTest, IgnoresReadOnlyAndExcludedMounts) {
  Mount image = disk(100, "/mnt/image", "/dev/loop0");
  image.type = "squashfs";
  Mount read_only = disk(100, "/mnt/cd", "/dev/sr0");
  read_only.read_only = true;
  EXPECT_THAT(judge({disk(10), image, read_only, disk(100, "/snap/core", "/dev/loop1")}),
              ElementsAre(passes()));
}

TEST(HostDiskTest, JudgesEachCase) {
  expect_each({
      {"passes at the limit", judge({disk(90)}), {passes()}},
      {"warns above the lower limit counting as df does",
       judge({disk(91)}),
       {warns("/", Remedy::fix_config, {91.0, 90.0, "%"})}},
      {"fails above the upper limit",
       judge({disk(100)}),
       {fails("/", Remedy::fix_config, {100.0, 98.0, "%"})}},
      {"judges a file system mounted twice once",
       judge({disk(91), disk(91, "/var/lib/bind")}),
       {warns("/", Remedy::fix_config, {91.0, 90.0, "%"})}},
      {"judges every tmpfs",
       judge({disk(10, "/tmp", "tmpfs"), disk(10, "/dev/shm", "tmpfs")}),
       {passes()}},
  });
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
  silent.space = make_error("statfs: Stale file handle");
  EXPECT_THAT(judge({disk(10), hung, silent}), ElementsAre(passes()));
}

TEST(HostDiskTest, IsUnknownWithoutAJudgedFileSystem) {
  Mount hung = disk(100);
  hung.hung = true;
  EXPECT_THAT(judge({hung}), ElementsAre(unknown()));
  EXPECT_THAT(judge({}), ElementsAre(unknown()));
}

}  // namespace host_disk

}  // namespace
}  // namespace muster::host_mounts_test
