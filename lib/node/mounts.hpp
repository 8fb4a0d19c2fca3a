// SPDX-License-Identifier: Apache-2.0
// Facts about mounted file systems.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/fact.hpp"
#include "lib/base/fields.hpp"

namespace muster {

struct Space {
  std::uint64_t total_bytes = 0;
  std::uint64_t available_bytes = 0;  // for users without privilege
  std::uint64_t used_bytes = 0;
  std::uint64_t inodes_total = 0;  // 0 where the file system has no fixed number
  std::uint64_t inodes_free = 0;

  MUSTER_FIELDS(Space,
                MUSTER_FIELD(total_bytes, "size"),
                MUSTER_FIELD(available_bytes, "free for users"),
                MUSTER_FIELD(used_bytes, "in use"),
                MUSTER_FIELD(inodes_total, "0 where inodes are not counted"),
                MUSTER_FIELD(inodes_free, "inodes free"));
};

struct Mount {
  std::string point;
  std::string type;
  std::string source;
  bool read_only = false;
  Fact<std::vector<std::string>> options;
  bool hung = false;              // statfs did not answer within its own deadline
  Fact<std::string> user;         // who mounted it, by number or name; absent: not a user's
  Fact<std::string> users_write;  // a folder in it that every user may fill
  Fact<double> hung_for_s;        // an earlier child hangs in it; it was not asked again
  Fact<Space> space;

  MUSTER_FIELDS(Mount,
                MUSTER_FIELD(point, "mount point"),
                MUSTER_FIELD(type, "file system type"),
                MUSTER_FIELD(source, "device or server"),
                MUSTER_FIELD(read_only, "mounted read-only"),
                MUSTER_FIELD(options, "as proc/mounts lists them: rw, nodev, hard …"),
                MUSTER_FIELD(hung, "statfs did not answer in its own deadline"),
                MUSTER_FIELD(user, "user who mounted it, by number or name; absent for root"),
                MUSTER_FIELD(users_write, "a folder in it that every user may fill"),
                MUSTER_FIELD(hung_for_s,
                             "how long a child of an earlier run hangs in it; it was not asked "
                             "again"),
                MUSTER_FIELD(space, "what statfs says"));
};

// One that holds no data: proc, sysfs, cgroup, the automounter's …
struct KernelMount {
  std::string point;
  std::string type;
  std::string source;
  bool read_only = false;
  Fact<std::vector<std::string>> options;

  MUSTER_FIELDS(KernelMount,
                MUSTER_FIELD(point, "mount point"),
                MUSTER_FIELD(type, "file system type"),
                MUSTER_FIELD(source, "as proc/mounts names it"),
                MUSTER_FIELD(read_only, "mounted read-only"),
                MUSTER_FIELD(options, "as proc/mounts lists them"));
};

struct Mounts {
  std::vector<Mount> mounts;  // in the order of proc/mounts; the last of one point is on top
  std::vector<std::string> automounts;  // with nothing mounted on them
  Fact<std::vector<KernelMount>> kernel;

  MUSTER_FIELDS(
      Mounts,
      MUSTER_FIELD(mounts, "file systems that hold data; not proc, sysfs, cgroup …"),
      MUSTER_FIELD(
          automounts,
          "points at or below which the kernel mounts what is used (autofs), as nothing is yet"),
      MUSTER_FIELD(kernel, "the others, in the order of proc/mounts"));

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
