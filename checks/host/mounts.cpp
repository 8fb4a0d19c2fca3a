// SPDX-License-Identifier: Apache-2.0
// host.mounts: required file systems are mounted, of the right type and writable, and every mount
// answers.

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "checks/catalogue.hpp"
#include "checks/shared/support.hpp"
#include "lib/base/text.hpp"
#include "lib/profile/limits/host.hpp"

namespace muster::checks {
namespace {

std::string name_of(const Mount& mount) {
  return fmt::format(
      "{} ({} from {})", printable(mount.point), printable(mount.type), printable(mount.source));
}

Finding failed(const Mount& mount, std::string message, Remedy remedy) {
  return {.device = printable(mount.point),
          .outcome = Outcome::fail,
          .message = std::move(message),
          .remedy = remedy};
}

Finding hung(const Mount& mount, Seconds deadline) {
  const std::string within =
      deadline.value > 0 ? fmt::format("within {:g} s", deadline.value) : std::string("in time");
  Finding finding = failed(
      mount, fmt::format("{} did not answer {}", name_of(mount), within), Remedy::restart_service);
  finding.limit = deadline.value;
  finding.unit = "s";
  return finding;
}

// The last mount of a point lies on top of the others.
const Mount* find_mount(const Mounts& mounts, std::string_view point) {
  const Mount* found = nullptr;
  for (const auto& mount : mounts.mounts) {
    if (mount.point == point) found = &mount;
  }
  return found;
}

void judge_required(const Mounts& mounts, const RequiredMount& required, Findings& findings) {
  const Mount* mount = find_mount(mounts, required.point);
  if (mount == nullptr && mounts.automount_of(required.point) != nullptr) {
    findings.push_back(
        {.device = required.point,
         .outcome = Outcome::unknown,
         .message =
             fmt::format("{} is mounted when it is used, and nobody has used it", required.point)});
    return;
  }
  if (mount == nullptr) {
    findings.push_back({.device = required.point,
                        .outcome = Outcome::fail,
                        .message = fmt::format("{} is not mounted", required.point),
                        .observed = false,
                        .limit = true,
                        .remedy = Remedy::fix_config});
    return;
  }
  if (mount->hung) return;  // Said for every mount, required or not.
  if (!required.type.empty() && !matches_glob(required.type, mount->type)) {
    Finding finding = failed(*mount,
                             fmt::format("{} is of type {}, expected {}",
                                         name_of(*mount),
                                         printable(mount->type),
                                         required.type),
                             Remedy::fix_config);
    finding.observed = mount->type;
    finding.limit = required.type;
    findings.push_back(std::move(finding));
  } else if (mount->space.is_unreadable()) {
    findings.push_back(failed(
        *mount,
        fmt::format("{} answers with an error: {}", name_of(*mount), printable(mount->space.why())),
        Remedy::restart_service));
  } else if (required.writable && mount->read_only) {
    Finding finding =
        failed(*mount,
               fmt::format("{} is mounted read-only, expected writable", name_of(*mount)),
               Remedy::fix_config);
    finding.observed = "read-only";
    finding.limit = "writable";
    findings.push_back(std::move(finding));
  }
}

bool is_required(const MountLimits& limits, std::string_view point) {
  return std::ranges::any_of(
      limits.required, [&](const RequiredMount& required) { return required.point == point; });
}

// A mount that nobody requires: only that it answers at all.
void judge_other(const Mount& mount, Findings& findings) {
  // A FUSE mount of another user refuses everybody else, root too, by design.
  if (!mount.space.is_unreadable() || mount.type.starts_with("fuse")) return;
  findings.push_back(not_known(
      printable(mount.point), fmt::format("whether {} works", name_of(mount)), mount.space));
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  const MountLimits& limits = profile.host->mounts;
  const Mounts& mounts = *snapshot.mounts;
  Findings findings;
  for (const auto& required : limits.required) judge_required(mounts, required, findings);
  for (const auto& mount : mounts.mounts) {
    if (find_mount(mounts, mount.point) != &mount) continue;  // covered by another mount
    if (mount.hung) {
      findings.push_back(hung(mount, limits.answer_within));
    } else if (!is_required(limits, mount.point)) {
      judge_other(mount, findings);
    }
  }
  if (mounts.mounts.empty() && findings.empty()) {
    return {not_known(kNode, "what is mounted", Fact<int>::unreadable("no file system is listed"))};
  }
  return or_pass(std::move(findings),
                 fmt::format("{} in order, {} required",
                             counted(mounts.mounts.size(), "mount"),
                             limits.required.size()));
}

}  // namespace

constinit const Check host_mounts{
    .id = "host.mounts",
    .title = "Required file systems are mounted and writable, and every mount answers",
    .why =
        "Looks for the mounts that the profile requires, with their type and whether they can be "
        "written, and asks every mounted file system for its size. A file server that does not "
        "answer blocks every process that touches it, and a root file system that turned "
        "read-only breaks every job; both look fine in the list of mounts.",
    .fix =
        "Not mounted: mount -a, and look at /etc/fstab or the automounter. No answer: bring the "
        "file server or the network back; umount -l lets new processes go on. Read-only: the "
        "kernel log says why (host.kernel_log); repair with fsck, replace the disk, or remount.",
    .needs = Probe::mounts,
    .judge = judge,
};

}  // namespace muster::checks
