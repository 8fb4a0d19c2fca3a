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
  MUSTER_FIELD(std::uint64_t, inodes_total, "0 if inodes are not counted") = 0;
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
  MUSTER_FIELD(bool, hung, "statfs did not return in time") = false;
  MUSTER_FIELD(Fact<std::string>, user, "user who mounted it, number or name; absent for root");
  MUSTER_FIELD(Fact<std::string>, users_write, "a folder in it that all users can write to");
  MUSTER_FIELD(Fact<double>, hung_for_s,
               "how long a child of an earlier run has hung in it; then it is not tried again");
  MUSTER_FIELD(Fact<Space>, space, "from statfs");
};

// A mount without data: proc, sysfs, cgroup, the automounter's …
struct KernelMount {
  MUSTER_DESCRIBED(KernelMount);
  MUSTER_FIELD(std::string, point, "mount point");
  MUSTER_FIELD(std::string, type, "file system type");
  MUSTER_FIELD(std::string, source, "as in proc/mounts");
  MUSTER_FIELD(bool, read_only, "mounted read-only") = false;
  MUSTER_FIELD(Fact<std::vector<std::string>>, options, "as in proc/mounts");
};

struct Mounts {
  MUSTER_DESCRIBED(Mounts);
  MUSTER_FIELD(std::vector<Mount>, mounts, "file systems with data, in the order of proc/mounts");
  MUSTER_FIELD(std::vector<std::string>, automounts,
               "points at or below which autofs mounts file systems when they are used");
  MUSTER_FIELD(Fact<std::vector<KernelMount>>, kernel, "all others");

  // The mounts by mount point; the last mount hides earlier ones at the same point.
  [[nodiscard]] std::map<std::string_view, const Mount*> on_top() const {
    std::map<std::string_view, const Mount*> uppermost;
    for (const auto& each : mounts) uppermost[each.point] = &each;
    return uppermost;
  }

  // The automount that is in charge of `point`; null for none.
  [[nodiscard]] const std::string* automount_of(std::string_view point) const {
    for (const auto& each : automounts) {
      const auto rest = point.substr(std::min(each.size(), point.size()));
      if (point.starts_with(each) && (rest.empty() || rest.front() == '/')) return &each;
    }
    return nullptr;
  }
};

}  // namespace muster
