// SPDX-License-Identifier: Apache-2.0
// Mounted file systems and their free space.
#include <map>
#include <set>
#include <tuple>

#include "checks/catalogue.hpp"
#include "checks/shared/support.hpp"

namespace muster::checks {
namespace {

// host.mounts: required file systems are mounted, of the right type and writable, and every mount
// responds.

std::string name_of(const Mount& mount) {
  return fmt::format("{} ({} from {})", printable(mount.point), printable(mount.type),
                     printable(mount.source));
}

// A mount made by a user is not a fault of the node.
Finding user_mount(std::string_view device, const Mount& mount, std::string_view message) {
  return warned(device, fmt::format("{}; user {} mounted it", message, printable(*mount.user)),
                Remedy::watch);
}

Finding hung(const Snapshot& snapshot, const Mount& mount, Seconds deadline) {
  const auto point = printable(mount.point);
  const auto text =
      mount.hung_for_s
          ? fmt::format("{} has not responded to an earlier run of muster for {}; not tried again",
                        name_of(mount), in_time(*mount.hung_for_s))
      : deadline.value > 0
          ? fmt::format("{} did not respond within {:g} s", name_of(mount), deadline.value)
          : fmt::format("{} did not respond in time", name_of(mount));
  Finding finding =
      mount.user ? user_mount(point, mount, text) : failed(point, text, Remedy::restart_service);
  finding.limit = deadline.value;
  finding.unit = "s";
  if (finding.outcome == Outcome::fail && !mount.hung_for_s) leave_undecided(snapshot, finding);
  return finding;
}

using ByPoint = std::map<std::string_view, const Mount*>;

// Returns a user's mount here or on a folder above, which hides the node's mount.
const Mount* hidden_by(const ByPoint& mounts, std::string_view point) {
  for (; !point.empty(); point = point.substr(0, point.rfind('/'))) {
    const auto found = mounts.find(point);
    if (found != mounts.end() && found->second->user) return found->second;
  }
  return nullptr;
}

Finding undecided(const Mount& mount) {
  return not_known(printable(mount.point), fmt::format("whether {} works", name_of(mount)),
                   mount.space);
}

// judge() reports hung mounts, required or not.
std::optional<Finding> judge_state(const Mount& mount, const RequiredMount& required) {
  if (mount.hung) return std::nullopt;
  const auto wrong = [&](std::string message, Remedy remedy, Values values = {}) {
    return failed(printable(mount.point), fmt::format("{} {}", name_of(mount), message), remedy,
                  std::move(values));
  };
  if (!required.type.empty() && !matches_glob(required.type, mount.type)) {
    return wrong(fmt::format("is of type {}, expected {}", printable(mount.type), required.type),
                 Remedy::fix_config, {mount.type, required.type});
  }
  if (mount.space.is_unreadable() && !mount.unasked) {
    return wrong(fmt::format("returns an error: {}", printable(mount.space.why())),
                 Remedy::restart_service);
  }
  if (required.writable && mount.read_only) {
    return wrong("is mounted read-only, expected writable", Remedy::fix_config,
                 {"read-only", "writable"});
  }
  return mount.unasked ? std::optional(undecided(mount)) : std::nullopt;
}

std::optional<Finding> judge_required_mount(const Mounts& mounts, const ByPoint& points,
                                            const RequiredMount& required) {
  if (const Mount* above = hidden_by(points, required.point)) {
    return user_mount(required.point, *above,
                      fmt::format("{} hides {}", name_of(*above), required.point));
  }
  const auto found = points.find(required.point);
  if (found != points.end()) return judge_state(*found->second, required);
  if (mounts.automount_of(required.point) != nullptr) {
    return unknown(required.point, fmt::format("{} is mounted on demand and has not been used yet",
                                               required.point));
  }
  return failed(required.point, fmt::format("{} is not mounted", required.point),
                Remedy::fix_config, {false, true});
}

// A mount that is not required must only respond. By design, a FUSE mount of a user refuses all
// others, including root.
bool is_trouble(const Mount& mount) {
  return mount.space.is_unreadable() && !mount.user && !mount.type.starts_with("fuse");
}

Findings judge_mounts(const Snapshot& snapshot, const Profile& profile) {
  const MountLimits& limits = profile.host->mounts;
  const Mounts& mounts = *snapshot.mounts;
  Findings findings;
  const ByPoint points = mounts.on_top();
  for (const auto& required : limits.required)
    append(findings, judge_required_mount(mounts, points, required));
  for (const auto& mount : mounts.mounts) {
    if (points.at(mount.point) != &mount) continue;  // covered by another mount
    if (mount.hung) {
      findings.push_back(hung(snapshot, mount, limits.answer_within));
    } else if (std::ranges::count(limits.required, mount.point, &RequiredMount::point) == 0 &&
               is_trouble(mount)) {
      findings.push_back(undecided(mount));
    }
  }
  if (mounts.mounts.empty() && findings.empty()) {
    return {unknown(kNode, "the list of mounts is unknown: it is empty")};
  }
  return or_pass(std::move(findings),
                 fmt::format("{} in order, {} required", counted(mounts.mounts.size(), "mount"),
                             limits.required.size()));
}

// host.disk: file systems have space and inodes left.

// Counts like df: without the blocks reserved for root, so 100% is full for users.
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

struct MountUse {
  const Mount& mount;
  std::string_view what;  // "space"
  double percent = 0;
  std::string left;  // "1.2 GiB"
};

// Returns why users may have filled the mount, which is not the node's fault; empty if they cannot.
std::string user_fault(const Mount& mount) {
  if (mount.type == "tmpfs") return "; it is a tmpfs, which jobs may fill";
  if (mount.user) return fmt::format("; user {} mounted it", printable(*mount.user));
  if (mount.users_write) {
    return fmt::format("; any user may fill {}, which is on it", printable(*mount.users_write));
  }
  return {};
}

std::optional<Finding> judge_use(const MountUse& use, const Limit<Percent>& warn,
                                 const Limit<Percent>& fail) {
  const bool too_full = fail && use.percent > fail->value;
  if (!too_full && (!warn || use.percent <= warn->value)) return std::nullopt;
  const std::string point = printable(use.mount.point);
  const std::string whose = user_fault(use.mount);
  const double limit = too_full ? fail->value : warn->value;
  return about(point, too_full && whose.empty() ? Outcome::fail : Outcome::warn,
               fmt::format("{:.1f}% of the {} on {} in use, {} left; expected at most {:g}%{}",
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

// host.mounts reports mounts that hang or whose size is unknown. Read-only images are always full.
bool is_judged(const Mount& mount, const DiskLimits& limits) {
  return !mount.hung && !mount.read_only && mount.space && mount.space->total_bytes > 0 &&
         !matches_any(limits.ignore, mount.point) && !matches_any(limits.ignore, mount.type);
}

// One file system mounted in several places is judged once, under its first name.
std::vector<const Mount*> judged_mounts(const Snapshot& snapshot, const DiskLimits& limits) {
  std::vector<const Mount*> judged;
  std::set<std::tuple<std::string, std::string, std::uint64_t>> seen;
  const auto on_top = snapshot.mounts->on_top();
  for (const auto& mount : snapshot.mounts->mounts) {
    if (on_top.at(mount.point) != &mount || !is_judged(mount, limits)) continue;
    const bool names_device = mount.source.find('/') != std::string::npos;
    if (names_device && !seen.emplace(mount.source, mount.type, mount.space->total_bytes).second)
      continue;
    judged.push_back(&mount);
  }
  return judged;
}

Findings judge_disks(const Snapshot& snapshot, const Profile& profile) {
  const DiskLimits& limits = profile.host->disk;
  Findings findings;
  const auto judged = judged_mounts(snapshot, limits);
  for (const Mount* mount : judged) append(findings, judge_mount(*mount, limits));
  if (judged.empty()) {
    return {unknown(kNode, "disk use is unknown: no writable file system reports its size")};
  }
  return or_pass(std::move(findings),
                 fmt::format("{} with space left", counted(judged.size(), "file system")));
}

void margins_of_disks(const Snapshot& snapshot, const Profile& profile, Margins& margins) {
  const DiskLimits& limits = profile.host->disk;
  for (const Mount* mount : judged_mounts(snapshot, limits)) {
    const auto point = printable(mount->point);
    for (const auto& limit : {limits.warn_above, limits.fail_above}) {
      margins.at_most(point, "space", space_percent(*mount->space), limit);
    }
    if (mount->space->inodes_total == 0) continue;
    for (const auto& limit : {limits.inodes_warn_above, limits.inodes_fail_above}) {
      margins.at_most(point, "inodes", inode_percent(*mount->space), limit);
    }
  }
}

}  // namespace

constinit const Check host_mounts::check{
    .id = "host.mounts",
    .title = "Required file systems are mounted and writable, and every mount responds",
    .why =
        "Looks for the mounts that the profile requires, with their type and whether they are "
        "writable, and queries the size of every mounted file system. A file server that does not "
        "respond blocks every process that uses it, and a root file system that became read-only "
        "breaks every job; both look normal in the list of mounts. Mounts of users (FUSE) only "
        "warn. A mount on which a child of an earlier run still hangs is not tried again.",
    .fix =
        "Not mounted: mount -a, and look at /etc/fstab or the automounter. No response: restore "
        "the file server or the network; umount -l lets new processes continue. Read-only: look "
        "for the reason in the kernel log (host.kernel_log); repair with fsck, replace the disk, "
        "or remount.",
    .needs = Probe::mounts,
    .looks_at = kShowsOverload,
    .judge = judge_mounts,
};

constinit const Check host_disk::check{
    .id = "host.disk",
    .title = "File systems have space and inodes left",
    .why =
        "Compares the used share of space and inodes of every writable file system with limits, "
        "counted like df. A full /tmp, /var or scratch disk breaks running jobs, and a full "
        "/var/spool/slurmd prevents new ones. File systems that users can fill only warn: a tmpfs "
        "such as /dev/shm, and one with /home or a folder open to all, such as /tmp.",
    .fix =
        "Find out what fills it: du -xh --max-depth=2 MOUNT | sort -h, df -i for inodes; lsof +L1 "
        "for files that are deleted but still open. Remove files that jobs left behind; look at "
        "log rotation, container images and core dumps.",
    .needs = Probe::mounts,
    .is_limited =
        [](const Profile& profile) {
          const DiskLimits& limits = profile.host->disk;
          return limits.warn_above || limits.fail_above || limits.inodes_warn_above ||
                 limits.inodes_fail_above;
        },
    .unlimited = "this profile sets no limit for disk use",
    .judge = judge_disks,
    .margins = margins_of_disks,
};

}  // namespace muster::checks
