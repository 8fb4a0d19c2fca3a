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
  MUSTER_DESCRIBED(RequiredMount);
  MUSTER_FIELD(std::string, point, "mount point");
  MUSTER_FIELD(std::string, type, "file system type, a glob; empty for any");
  MUSTER_FIELD(bool, writable, "must not be read-only") = false;
};

struct MountLimits {
  MUSTER_DESCRIBED(MountLimits);
  MUSTER_FIELD(std::vector<RequiredMount>, required, "mounts that must be there");
  MUSTER_FIELD(Seconds, answer_within, "deadline of one statfs") = {};
};

}  // namespace muster
