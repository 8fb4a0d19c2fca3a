// SPDX-License-Identifier: Apache-2.0
// Which file systems must be mounted.
#pragma once

#include <string>
#include <vector>

#include "lib/base/fields.hpp"
#include "lib/base/quantity.hpp"
#include "lib/profile/limits/limit.hpp"

namespace muster {

struct RequiredMount {
  std::string point, type;
  bool writable = false;

  MUSTER_FIELDS(RequiredMount,
                MUSTER_FIELD(point, "mount point"),
                MUSTER_FIELD(type, "file system type, a glob; empty for any"),
                MUSTER_FIELD(writable, "must not be read-only"));
};

struct MountLimits {
  std::vector<RequiredMount> required;
  Seconds answer_within{};

  MUSTER_FIELDS(MountLimits,
                MUSTER_FIELD(required, "mounts that must be there"),
                MUSTER_FIELD(answer_within, "deadline of one statfs"));
};

}  // namespace muster
