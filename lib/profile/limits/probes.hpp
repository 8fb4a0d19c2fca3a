// SPDX-License-Identifier: Apache-2.0
// The limits of the checks muster.*: which probes must answer.
#pragma once

#include "lib/base/fields.hpp"
#include "lib/profile/limits/limit.hpp"

namespace muster {

struct MusterProbeLimits {
  Words fatal;

  MUSTER_FIELDS(MusterProbeLimits, MUSTER_FIELD(fatal, "probes whose time-out fails the node"));
};

struct MusterLimits {
  MusterProbeLimits probes;

  MUSTER_FIELDS(MusterLimits, MUSTER_FIELD(probes, ""));
};

}  // namespace muster
