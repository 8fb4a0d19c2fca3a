// SPDX-License-Identifier: Apache-2.0
// A node judged by the lines of NHC's configuration that are for it.
#pragma once

#include <string>
#include <vector>

#include "checks/check.hpp"
#include "checks/nhc_conf/benchmark.hpp"
#include "checks/nhc_conf/config.hpp"
#include "lib/report/report.hpp"

namespace muster::nhc {

// What has to be observed to judge all lines, whichever node they are for.
struct Needs {
  ProbeSet probes;
  NvmlParts parts;
  std::vector<std::string> files;     // that check_file_test, _stat and _contents name
  std::vector<std::string> contents;  // those of them whose text is compared
  bool processes = false;             // all of them
  bool sockets = false;
};

// `active`: benchmarks will be run.
[[nodiscard]] Needs needs_of(const Config& config, bool active = false);

// Pure, as muster::judge. The lines decide which checks run, even those that the profile disabled;
// limits that no line sets are the profile's. A line that nobody can judge leaves the node
// undecided. `measured`: what came of the benchmarks that were run.
[[nodiscard]] Report judge(const Snapshot& snapshot, Profile profile, const Config& config,
                           const std::string& context, const Measured& measured = {});

}  // namespace muster::nhc
