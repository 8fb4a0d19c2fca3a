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

  template <class Self = Space>
  static constexpr auto fields() {
    return std::tuple{field("total_bytes", &Self::total_bytes, "size"),
                      field("available_bytes", &Self::available_bytes, "free for users"),
                      field("used_bytes", &Self::used_bytes, "in use"),
                      field("inodes_total", &Self::inodes_total, "0 where inodes are not counted"),
                      field("inodes_free", &Self::inodes_free, "inodes free")};
  }

  bool operator==(const Space&) const = default;
};

struct Mount {
  std::string point;
  std::string type;
  std::string source;
  bool read_only = false;
  bool hung = false;  // statfs did not answer within its own deadline
  Fact<Space> space;

  template <class Self = Mount>
  static constexpr auto fields() {
    return std::tuple{field("point", &Self::point, "mount point"),
                      field("type", &Self::type, "file system type"),
                      field("source", &Self::source, "device or server"),
                      field("read_only", &Self::read_only, "mounted read-only"),
                      field("hung", &Self::hung, "statfs did not answer in its own deadline"),
                      field("space", &Self::space, "what statfs says")};
  }

  bool operator==(const Mount&) const = default;
};

// One that holds no data: proc, sysfs, cgroup, the automounter's …
struct KernelMount {
  std::string point;
  std::string type;
  std::string source;
  bool read_only = false;

  template <class Self = KernelMount>
  static constexpr auto fields() {
    return std::tuple{field("point", &Self::point, "mount point"),
                      field("type", &Self::type, "file system type"),
                      field("source", &Self::source, "as proc/mounts names it"),
                      field("read_only", &Self::read_only, "mounted read-only")};
  }

  bool operator==(const KernelMount&) const = default;
};

struct Mounts {
  std::vector<Mount> mounts;  // in the order of proc/mounts; the last of one point is on top
  std::vector<std::string> automounts;  // with nothing mounted on them
  Fact<std::vector<KernelMount>> kernel;

  template <class Self = Mounts>
  static constexpr auto fields() {
    return std::tuple{
        field("mounts", &Self::mounts, "file systems that hold data; not proc, sysfs, cgroup …"),
        field(
            "automounts",
            &Self::automounts,
            "points at or below which the kernel mounts what is used (autofs), as nothing is yet"),
        field("kernel", &Self::kernel, "the others, in the order of proc/mounts")};
  }

  // The automount that would mount something at `point` once it is used; null for none.
  [[nodiscard]] const std::string* automount_of(std::string_view point) const {
    for (const auto& each : automounts) {
      const auto rest = point.substr(std::min(each.size(), point.size()));
      if (point.starts_with(each) && (rest.empty() || rest.front() == '/')) return &each;
    }
    return nullptr;
  }

  bool operator==(const Mounts&) const = default;
};

}  // namespace muster
