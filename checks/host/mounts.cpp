// SPDX-License-Identifier: Apache-2.0
// host.mounts: required file systems are mounted, of the right type and writable, and every mount
// answers.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "checks/catalogue.hpp"
#include "checks/shared/starved.hpp"
#include "checks/shared/support.hpp"
#include "lib/base/text.hpp"
#include "lib/profile/limits/host.hpp"

namespace muster::checks::host_mounts {
namespace {

std::string name_of(const Mount& mount) {
  return fmt::format("{} ({} from {})", printable(mount.point), printable(mount.type),
                     printable(mount.source));
}

Finding wrong(const Mount& mount, std::string message, Remedy remedy, Values values = {}) {
  return failed(printable(mount.point), std::move(message), remedy, std::move(values));
}

// What a user has mounted is his, and says nothing of the node.
Finding of_user(std::string_view device, const Mount& mount, std::string_view message) {
  return warned(device, fmt::format("{}; user {} mounted it", message, printable(*mount.user)),
                Remedy::watch);
}

std::string how_it_hangs(const Mount& mount, Seconds deadline) {
  if (mount.hung_for_s) {
    return fmt::format("{} has not answered an earlier muster for {}, and is not asked again",
                       name_of(mount), in_time(*mount.hung_for_s));
  }
  return fmt::format(
      "{} did not answer {}", name_of(mount),
      deadline.value > 0 ? fmt::format("within {:g} s", deadline.value) : std::string("in time"));
}

Finding hung(const Snapshot& snapshot, const Mount& mount, Seconds deadline) {
  Finding finding = mount.user
                        ? of_user(printable(mount.point), mount, how_it_hangs(mount, deadline))
                        : wrong(mount, how_it_hangs(mount, deadline), Remedy::restart_service);
  finding.limit = deadline.value;
  finding.unit = "s";
  if (finding.outcome == Outcome::fail && !mount.hung_for_s) leave_undecided(snapshot, finding);
  return finding;
}

using ByPoint = std::map<std::string_view, const Mount*>;

// A user's mount on the point or on a folder above it, which hides what the node has mounted there.
const Mount* hidden_by(const ByPoint& mounts, std::string_view point) {
  for (; !point.empty(); point = point.substr(0, point.rfind('/'))) {
    const auto found = mounts.find(point);
    if (found != mounts.end() && found->second->user) return found->second;
  }
  return nullptr;
}

std::optional<Finding> judge_state(const Mount& mount, const RequiredMount& required) {
  if (mount.hung) return std::nullopt;  // Said for every mount, required or not.
  if (!required.type.empty() && !matches_glob(required.type, mount.type)) {
    return wrong(mount,
                 fmt::format("{} is of type {}, expected {}", name_of(mount), printable(mount.type),
                             required.type),
                 Remedy::fix_config, {mount.type, required.type});
  }
  if (mount.space.is_unreadable()) {
    return wrong(
        mount,
        fmt::format("{} answers with an error: {}", name_of(mount), printable(mount.space.why())),
        Remedy::restart_service);
  }
  if (!required.writable || !mount.read_only) return std::nullopt;
  return wrong(mount, fmt::format("{} is mounted read-only, expected writable", name_of(mount)),
               Remedy::fix_config, {"read-only", "writable"});
}

std::optional<Finding> judge_required(const Mounts& mounts, const ByPoint& points,
                                      const RequiredMount& required) {
  if (const Mount* above = hidden_by(points, required.point)) {
    return of_user(required.point, *above,
                   fmt::format("{} hides {}", name_of(*above), required.point));
  }
  const auto found = points.find(required.point);
  if (found != points.end()) return judge_state(*found->second, required);
  if (mounts.automount_of(required.point) != nullptr) {
    return unknown(
        required.point,
        fmt::format("{} is mounted when it is used, and nobody has used it", required.point));
  }
  return failed(required.point, fmt::format("{} is not mounted", required.point),
                Remedy::fix_config, {false, true});
}

bool is_required(const MountLimits& limits, std::string_view point) {
  return std::ranges::any_of(
      limits.required, [&](const RequiredMount& required) { return required.point == point; });
}

// A mount that nobody requires: only that it answers at all.
std::optional<Finding> judge_other(const Mount& mount) {
  // A FUSE mount of another user refuses everybody else, root too, by design.
  if (!mount.space.is_unreadable() || mount.user || mount.type.starts_with("fuse"))
    return std::nullopt;
  return not_known(printable(mount.point), fmt::format("whether {} works", name_of(mount)),
                   mount.space);
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  const MountLimits& limits = profile.host->mounts;
  const Mounts& mounts = *snapshot.mounts;
  Findings findings;
  const ByPoint points = mounts.on_top();
  for (const auto& required : limits.required)
    append(findings, judge_required(mounts, points, required));
  for (const auto& mount : mounts.mounts) {
    if (points.at(mount.point) != &mount) continue;  // covered by another mount
    if (mount.hung) {
      findings.push_back(hung(snapshot, mount, limits.answer_within));
    } else if (!is_required(limits, mount.point)) {
      append(findings, judge_other(mount));
    }
  }
  if (mounts.mounts.empty() && findings.empty()) {
    return {not_known(kNode, "what is mounted", Fact<int>::unreadable("no file system is listed"))};
  }
  return or_pass(std::move(findings),
                 fmt::format("{} in order, {} required", counted(mounts.mounts.size(), "mount"),
                             limits.required.size()));
}

}  // namespace

constinit const Check check{
    .id = "host.mounts",
    .title = "Required file systems are mounted and writable, and every mount answers",
    .why =
        "Looks for the mounts that the profile requires, with their type and whether they can be "
        "written, and asks every mounted file system for its size. A file server that does not "
        "answer blocks every process that touches it, and a root file system that turned read-only "
        "breaks every job; both look fine in the list of mounts. A mount that a user made (FUSE "
        "names him) only warns, whatever it does or hides. One in which a child of an earlier run "
        "still hangs is not asked again.",
    .fix =
        "Not mounted: mount -a, and look at /etc/fstab or the automounter. No answer: bring the "
        "file server or the network back; umount -l lets new processes go on. Read-only: the "
        "kernel log says why (host.kernel_log); repair with fsck, replace the disk, or remount.",
    .needs = Probe::mounts,
    .looks_at = kTellsStarvation,
    .judge = judge,
};

}  // namespace muster::checks::host_mounts
