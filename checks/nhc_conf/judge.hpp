// SPDX-License-Identifier: Apache-2.0
// Judges a node by the lines of a configuration of NHC.
#pragma once

#include <string>

#include "checks/check.hpp"
#include "checks/nhc_conf/benchmark.hpp"
#include "checks/nhc_conf/config.hpp"
#include "lib/report/report.hpp"

namespace muster::nhc {

struct Needs {
  ProbeSet probes;
  NvmlParts parts;
};

// Returns what must be observed to judge all lines, for any node. `active`: benchmarks will run.
[[nodiscard]] Needs needs_of(const Config& config, bool active = false);

// Pure, as muster::judge. The lines decide which checks run, even if the profile disables them;
// limits that no line sets are the profile's. A line that is not translated makes the node unknown.
// `measured`: the findings of the benchmarks that ran.
[[nodiscard]] Report judge(const Snapshot& snapshot, Profile profile, const Config& config,
                           const std::string& context, const Measured& measured = {});

}  // namespace muster::nhc
