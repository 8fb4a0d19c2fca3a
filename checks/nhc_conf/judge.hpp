// SPDX-License-Identifier: Apache-2.0
// Judges a node by the lines of a configuration of NHC, and plans the benchmarks that lines ask
// for: the arguments of muster-bench, and the findings for its report. Pure: the caller runs it.
#pragma once

#include "checks/check.hpp"
#include "checks/nhc_conf/config.hpp"
#include "lib/report/report.hpp"

namespace muster::nhc {

struct Benchmark {
  std::vector<std::string> words;                  // the arguments of muster-bench
  std::map<std::string, std::string> environment;  // in addition to the caller's
  std::string topology_file;                       // must exist; empty for none
  int attempts = 1;                                // the first that does not fail decides
  // The checks of muster-bench that decide; each must be judged by a limit.
  std::vector<std::string> checks = {"bench.min_busbw"};
  std::string code = {};  // Azure's, for a failure
  // The words name a profile: do not add the caller's --profile and --set.
  bool own_profile = false;

  bool operator==(const Benchmark&) const = default;
};

// The benchmarks by line number, or why one cannot run.
[[nodiscard]] std::map<int, Result<Benchmark>> benchmarks_on(const Config& config,
                                                             const Snapshot& snapshot);

struct BenchmarkOutput {
  int status = 0;
  std::string out, err;
};

// Returns the report that muster-bench printed. An error if there is none, or if it contradicts the
// exit status.
[[nodiscard]] Result<Report> parse_output(const BenchmarkOutput& output);

// Returns the findings of the report that muster-bench printed, or one `unknown` if the report
// is incomplete or contradicts itself or the exit status; and an `unknown` for each check of
// `benchmark` that was not judged.
[[nodiscard]] std::vector<Finding> findings_of(const BenchmarkOutput& output,
                                               const Benchmark& benchmark = {});

// The findings of the benchmarks that ran, by line number.
using Measured = std::map<int, std::vector<Finding>>;

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
