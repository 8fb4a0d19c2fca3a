// SPDX-License-Identifier: Apache-2.0
// The lines that ask for a benchmark: the arguments of muster-bench for each, and the findings that
// its answer amounts to. Pure: the caller runs it.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "checks/nhc_conf/config.hpp"
#include "lib/base/result.hpp"
#include "lib/node/snapshot.hpp"
#include "lib/report/finding.hpp"

namespace muster::nhc {

struct Benchmark {
  std::vector<std::string> words;                  // the arguments of muster-bench
  std::map<std::string, std::string> environment;  // beside the caller's own
  std::string topology_file;                       // has to be there; empty for none
  int attempts = 1;                                // the first that does not fail decides
  // The checks of muster-bench that answer the line: each has to be judged by a limit.
  std::vector<std::string> checks = {"bench.min_busbw"};
  std::string code = {};     // Azure's, of a failure
  bool own_profile = false;  // the words name it: the caller's --profile and --set are left out

  bool operator==(const Benchmark&) const = default;
};

struct BenchmarkLine {
  int number = 0;
  Result<Benchmark> benchmark;  // or why there is nothing to run
};

[[nodiscard]] std::vector<BenchmarkLine> benchmarks_on(const Config& config,
                                                       const Snapshot& snapshot);

// How muster-bench ended. Its findings are one `unknown` where it printed no whole report, or one
// that contradicts the exit status or itself; and one for each check of `asked` that was not
// judged.
struct Answer {
  int status = 0;
  std::string out, err;
};

[[nodiscard]] std::vector<Finding> findings_of(const Answer& answer, const Benchmark& asked = {});

// The findings of the benchmarks that were run, by the number of the line.
using Measured = std::map<int, std::vector<Finding>>;

}  // namespace muster::nhc
