// SPDX-License-Identifier: Apache-2.0
// Which units of systemd must be active, and which must not.
#pragma once

#include "lib/base/fields.hpp"
#include "lib/profile/limits/limit.hpp"

namespace muster {

struct ServiceLimits {
  Words active, inactive;

  MUSTER_FIELDS(ServiceLimits,
                MUSTER_FIELD(active, "units that must be active"),
                MUSTER_FIELD(inactive, "units that must not be active"));
};

}  // namespace muster
