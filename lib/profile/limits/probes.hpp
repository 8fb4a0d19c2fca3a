// SPDX-License-Identifier: Apache-2.0
// The limits of the checks muster.*: which probes must answer.
#pragma once

#include "lib/base/fields.hpp"
#include "lib/profile/limits/limit.hpp"

namespace muster {

struct MusterProbeLimits {
  Words fatal;

  template <class Self = MusterProbeLimits>
  static constexpr auto fields() {
    return std::tuple{MUSTER_FIELD(fatal, "probes whose time-out fails the node")};
  }
};

struct MusterLimits {
  MusterProbeLimits probes;

  template <class Self = MusterLimits>
  static constexpr auto fields() {
    return std::tuple{MUSTER_FIELD(probes, "")};
  }
};

}  // namespace muster
