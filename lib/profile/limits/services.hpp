// SPDX-License-Identifier: Apache-2.0
// Which units of systemd must be active, and which must not.
#pragma once

#include "lib/base/fields.hpp"
#include "lib/profile/limits/limit.hpp"

namespace muster {

struct ServiceLimits {
  MUSTER_DESCRIBED(ServiceLimits);
  MUSTER_FIELD(Words, active, "units that must be active");
  MUSTER_FIELD(Words, inactive, "units that must not be active");
};

}  // namespace muster
