// SPDX-License-Identifier: Apache-2.0
// host.disk: file systems have space and inodes left.

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "checks/catalogue.hpp"
#include "checks/shared/support.hpp"
#include "lib/base/text.hpp"
#include "lib/profile/limits/host.hpp"

namespace muster::checks::host_disk {
namespace {

// As df says it: of what users may have, so that 100% is what a user meets as full.
double space_percent(const Space& space) {
  const auto used = static_cast<double>(space.used_bytes);
  const double all = used + static_cast<double>(space.available_bytes);
  return all > 0 ? 100.0 * used / all : 100.0;
}

double inode_percent(const Space& space) {
  const auto total = static_cast<double>(space.inodes_total);
  return 100.0 * (total - static_cast<double>(std::min(space.inodes_free, space.inodes_total))) /
         total;
}

struct Use {
  const Mount& mount;
  std::string_view what;  // "space"
  double percent = 0;
  std::string left;  // "1.2 GiB"
};

// What may be full by a user's doing, and is then no fault of the node: why, in words; else empty.
std::string whose_use(const Mount& mount) {
  if (mount.type == "tmpfs") return "; it is a tmpfs: memory, which jobs fill, too";
  if (mount.user) return fmt::format("; user {} mounted it", printable(*mount.user));
  if (mount.users_write) {
    return fmt::format("; every user may fill {}, which lies on it", printable(*mount.users_write));
  }
  return {};
}

std::optional<Finding> judge_use(const Use& use, const Limit<Percent>& warn,
                                 const Limit<Percent>& fail) {
  const bool too_full = fail && use.percent > fail->value;
  if (!too_full && (!warn || use.percent <= warn->value)) return std::nullopt;
  const std::string point = printable(use.mount.point);
  const std::string whose = whose_use(use.mount);
  const double limit = too_full ? fail->value : warn->value;
  return about(point, too_full && whose.empty() ? Outcome::fail : Outcome::warn,
               fmt::format("{:.1f}% of the {} on {} is in use, {} left; expected at most {:g}%{}",
                           use.percent, use.what, point, use.left, limit, whose),
               Remedy::fix_config, {use.percent, limit, "%"});
}

std::optional<Finding> judge_mount(const Mount& mount, const DiskLimits& limits) {
  const Space& space = *mount.space;
  auto finding = judge_use(
      {mount, "space", space_percent(space), in_gib(static_cast<double>(space.available_bytes))},
      limits.warn_above, limits.fail_above);
  if (finding || space.inodes_total == 0) return finding;
  return judge_use({mount, "inodes", inode_percent(space), counted(space.inodes_free, "inode")},
                   limits.inodes_warn_above, limits.inodes_fail_above);
}

// What is hung or does not tell its size is host.mounts' to report, and images that are read-only
// by nature are always full.
bool judgeable(const Mount& mount, const DiskLimits& limits) {
  return !mount.hung && !mount.read_only && mount.space && mount.space->total_bytes > 0 &&
         !matches_any(limits.ignore, mount.point) && !matches_any(limits.ignore, mount.type);
}

std::optional<Finding> not_here(const Snapshot& /*snapshot*/, const Profile& profile) {
  const DiskLimits& limits = profile.host->disk;
  if (!limits.warn_above && !limits.fail_above && !limits.inodes_warn_above &&
      !limits.inodes_fail_above)
    return not_limited("the use of disks");
  return std::nullopt;
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  const DiskLimits& limits = profile.host->disk;
  Findings findings;
  std::size_t judged = 0;
  // One file system mounted in several places is judged once, under its first name.
  std::set<std::tuple<std::string, std::string, std::uint64_t>> seen;
  const auto on_top = snapshot.mounts->on_top();
  for (const auto& mount : snapshot.mounts->mounts) {
    if (on_top.at(mount.point) != &mount || !judgeable(mount, limits)) continue;
    const bool names_device = mount.source.find('/') != std::string::npos;
    if (names_device && !seen.emplace(mount.source, mount.type, mount.space->total_bytes).second)
      continue;
    ++judged;
    append(findings, judge_mount(mount, limits));
  }
  if (judged == 0) {
    return {not_known(kNode, "the use of disks",
                      Fact<int>::unreadable("no writable file system told its size"))};
  }
  return or_pass(std::move(findings),
                 fmt::format("{} with space left", counted(judged, "file system")));
}

}  // namespace

constinit const Check check{
    .id = "host.disk",
    .title = "File systems have space and inodes left",
    .why =
        "Compares the used share of space and inodes of every writable file system with limits, "
        "counted as df counts. A full /tmp, /var or scratch disk ends jobs in the middle, and a "
        "full /var/spool/slurmd keeps them from starting. What users can fill only warns: a tmpfs, "
        "as /dev/shm, and a file system with a folder that is open to all, as /tmp, or with /home.",
    .fix =
        "Find what fills it: du -xh --max-depth=2 MOUNT | sort -h, df -i for inodes; files deleted "
        "and still open: lsof +L1. Remove what jobs left behind; look at log rotation, container "
        "images and core dumps.",
    .needs = Probe::mounts,
    .not_here = not_here,
    .judge = judge,
};

}  // namespace muster::checks::host_disk
