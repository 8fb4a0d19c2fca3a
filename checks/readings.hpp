// SPDX-License-Identifier: Apache-2.0
// The samples for metrics that the findings of a node do not have: distances from limits, error
// rates, XIDs, and the identity of devices.
#pragma once

#include <vector>

#include "lib/node/snapshot.hpp"
#include "lib/profile/profile.hpp"
#include "lib/report/report.hpp"

namespace muster {

// Returns no sample for a fact that was not observed, and none of checks that judged nothing.
[[nodiscard]] std::vector<Reading> readings_of(const Snapshot& snapshot, const Profile& profile,
                                               const Report& report);

}  // namespace muster
