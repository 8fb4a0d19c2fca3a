// SPDX-License-Identifier: Apache-2.0
// The limits of the checks muster.*: the probes that must answer.
#pragma once

#include "lib/base/fields.hpp"
#include "lib/profile/limits/limit.hpp"

namespace muster {

struct MusterProbeLimits {
  MUSTER_DESCRIBED(MusterProbeLimits);
  MUSTER_FIELD(Words, fatal, "probes whose time-out fails the node");
};

struct MusterLimits {
  MUSTER_DESCRIBED(MusterLimits);
  MUSTER_FIELD(MusterProbeLimits, probes, "");
};

}  // namespace muster
