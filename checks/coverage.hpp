// SPDX-License-Identifier: Apache-2.0
// What a run needed to see and could not: the part of a verdict that no finding says.
#pragma once

#include <vector>

#include "checks/check.hpp"
#include "lib/report/report.hpp"

namespace muster {

// The sections that the selected checks need and that were not observed, in the order of the
// probes. A section is required where the profile's `must_observe` names its group, or where the
// PCI bus has such hardware, and a check that needs it counts in the context (`count_unknown`).
// What is merely absent, and neither required nor on the bus, is left out: nothing was there to
// see.
[[nodiscard]] std::vector<NotObserved> not_observed(const Snapshot& snapshot,
                                                    const Profile& profile,
                                                    const Context& context,
                                                    const std::vector<const Check*>& selected);

}  // namespace muster
