// SPDX-License-Identifier: Apache-2.0
// The lines that ask for a benchmark: the arguments of muster-bench for each, and the findings that
// its answer amounts to. Pure: the caller runs it.
#pragma once

#include <map>
#include <string>
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

  bool operator==(const Benchmark&) const = default;
};

// `gpus`: one rank is run on each. Of the variables of a line only those that are needed have to be
// known.
[[nodiscard]] Result<Benchmark> all_reduce_benchmark(const CheckLine& line, std::size_t gpus);
// The same with NCCL's paths within the node switched off, so that all data pass the adapters.
[[nodiscard]] Result<Benchmark> loopback_benchmark(const CheckLine& line, std::size_t gpus);

struct BenchmarkLine {
  int number = 0;
  Result<Benchmark> benchmark;  // or why there is nothing to run
};

[[nodiscard]] std::vector<BenchmarkLine> benchmarks_on(const Config& config,
                                                       const Snapshot& snapshot);

// How muster-bench ended. Its findings are one `unknown` where it printed no whole report, or one
// that contradicts the exit status or itself.
struct Answer {
  int status = 0;
  std::string out, err;
};

[[nodiscard]] std::vector<Finding> findings_of(const Answer& answer);

// The findings of the benchmarks that were run, by the number of the line.
using Measured = std::map<int, std::vector<Finding>>;

}  // namespace muster::nhc
