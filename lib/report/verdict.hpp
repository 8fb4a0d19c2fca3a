// SPDX-License-Identifier: Apache-2.0
// What the findings of a run come to. `muster check`, --nhc-conf and muster-bench all conclude
// their reports here.
#pragma once

#include <string>
#include <vector>

#include "lib/report/report.hpp"

namespace muster {

// Orders the findings, worst first, and fills in the checks with the worst outcome of each, what is
// undecided, how many checks were judged, and the verdict. `checks`: the ids of those that ran, in
// the order of the report; one without a finding is a skip. `count_unknown`: globs for the checks
// whose `unknown` counts.
//
// Any fail makes the node unhealthy. It is healthy where at least one rule held, no unknown counts
// and nothing is missing that must have been observed (`report.coverage.not_observed`, which the
// caller has filled in); nothing judged is not healthy.
void conclude(Report& report, const std::vector<std::string>& checks,
              const std::vector<std::string>& count_unknown = {"*"});

}  // namespace muster
