// SPDX-License-Identifier: Apache-2.0
// Which file systems must be mounted.
#pragma once

#include <string>
#include <vector>

#include "lib/base/fields.hpp"
#include "lib/base/quantity.hpp"

namespace muster {

struct RequiredMount {
  std::string point, type;
  bool writable = false;

  template <class Self = RequiredMount>
  static constexpr auto fields() {
    return std::tuple{MUSTER_FIELD(point, "mount point"),
                      MUSTER_FIELD(type, "file system type, a glob; empty for any"),
                      MUSTER_FIELD(writable, "must not be read-only")};
  }
};

struct MountLimits {
  std::vector<RequiredMount> required;
  Seconds answer_within{};

  template <class Self = MountLimits>
  static constexpr auto fields() {
    return std::tuple{MUSTER_FIELD(required, "mounts that must be there"),
                      MUSTER_FIELD(answer_within, "deadline of one statfs")};
  }
};

}  // namespace muster
