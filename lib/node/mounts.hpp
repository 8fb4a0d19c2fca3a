// SPDX-License-Identifier: Apache-2.0
// Facts about mounted file systems.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/fact.hpp"
#include "lib/base/fields.hpp"

namespace muster {

struct Space {
  MUSTER_DESCRIBED(Space);
  MUSTER_FIELD(std::uint64_t, total_bytes, "size") = 0;
  MUSTER_FIELD(std::uint64_t, available_bytes, "free for users") = 0;
  MUSTER_FIELD(std::uint64_t, used_bytes, "in use") = 0;
  MUSTER_FIELD(std::uint64_t, inodes_total, "0 where inodes are not counted") = 0;
  MUSTER_FIELD(std::uint64_t, inodes_free, "inodes free") = 0;
};

struct Mount {
  MUSTER_DESCRIBED(Mount);
  MUSTER_FIELD(std::string, point, "mount point");
  MUSTER_FIELD(std::string, type, "file system type");
  MUSTER_FIELD(std::string, source, "device or server");
  MUSTER_FIELD(bool, read_only, "mounted read-only") = false;
  MUSTER_FIELD(Fact<std::vector<std::string>>, options,
               "as proc/mounts lists them: rw, nodev, hard …");
  MUSTER_FIELD(bool, hung, "statfs did not answer in its own deadline") = false;
  MUSTER_FIELD(Fact<std::string>, user, "user who mounted it, by number or name; absent for root");
  MUSTER_FIELD(Fact<std::string>, users_write, "a folder in it that every user may fill");
  MUSTER_FIELD(Fact<double>, hung_for_s,
               "how long a child of an earlier run hangs in it; it was not asked "
               "again");
  MUSTER_FIELD(Fact<Space>, space, "what statfs says");
};

// One that holds no data: proc, sysfs, cgroup, the automounter's …
struct KernelMount {
  MUSTER_DESCRIBED(KernelMount);
  MUSTER_FIELD(std::string, point, "mount point");
  MUSTER_FIELD(std::string, type, "file system type");
  MUSTER_FIELD(std::string, source, "as proc/mounts names it");
  MUSTER_FIELD(bool, read_only, "mounted read-only") = false;
  MUSTER_FIELD(Fact<std::vector<std::string>>, options, "as proc/mounts lists them");
};

struct Mounts {
  MUSTER_DESCRIBED(Mounts);
  // In the order of proc/mounts; the last of one point is on top.
  MUSTER_FIELD(std::vector<Mount>, mounts,
               "file systems that hold data; not proc, sysfs, cgroup …");
  MUSTER_FIELD(
      std::vector<std::string>, automounts,
      "points at or below which the kernel mounts what is used (autofs), as nothing is yet");
  MUSTER_FIELD(Fact<std::vector<KernelMount>>, kernel, "the others, in the order of proc/mounts");

  // The mounts by mount point: the last mount of one lies on top of the others.
  [[nodiscard]] std::map<std::string_view, const Mount*> on_top() const {
    std::map<std::string_view, const Mount*> uppermost;
    for (const auto& each : mounts) uppermost[each.point] = &each;
    return uppermost;
  }

  // The automount that would mount something at `point` once it is used; null for none.
  [[nodiscard]] const std::string* automount_of(std::string_view point) const {
    for (const auto& each : automounts) {
      const auto rest = point.substr(std::min(each.size(), point.size()));
      if (point.starts_with(each) && (rest.empty() || rest.front() == '/')) return &each;
    }
    return nullptr;
  }
};

}  // namespace muster
