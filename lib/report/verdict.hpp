// SPDX-License-Identifier: Apache-2.0
// The verdict on the findings of a run, for `muster check`, --nhc-conf and muster-bench.
#pragma once

#include <string>
#include <vector>

#include "lib/report/report.hpp"

namespace muster {

// Sorts the findings, worst first, and fills in the outcomes of the checks, their coverage and the
// verdict. `checks` are the ids of those that ran, in order; a check without findings is a skip.
// `count_unknown` are globs of checks whose `unknown` counts.
//
// Any fail makes the node unhealthy. It is healthy if at least one check passed or warned, no
// unknown counts, and no required facts are missing in `report.coverage.not_observed`, which the
// caller fills in.
void conclude(Report& report, const std::vector<std::string>& checks,
              const std::vector<std::string>& count_unknown = {"*"});

}  // namespace muster
