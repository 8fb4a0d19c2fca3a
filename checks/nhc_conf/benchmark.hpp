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

// `gpus`: one rank is run on each. Of the variables of a line only those that are needed have to be
// known.
[[nodiscard]] Result<Benchmark> all_reduce_benchmark(const CheckLine& line, std::size_t gpus);
// The same with NCCL's paths within the node switched off, so that all data pass the adapters.
[[nodiscard]] Result<Benchmark> loopback_benchmark(const CheckLine& line, std::size_t gpus);

// Those of `muster-bench node`, judged by the limit of the line alone: the copies of GPUs, STREAM,
// and the HCAs from memory of the host and of GPUs.
[[nodiscard]] Result<Benchmark> gpu_copy_benchmark(const CheckLine& line, std::size_t gpus);
[[nodiscard]] Result<Benchmark> stream_benchmark(const CheckLine& line, std::size_t gpus);
[[nodiscard]] Result<Benchmark> hca_benchmark(const CheckLine& line, std::size_t gpus);
[[nodiscard]] Result<Benchmark> gpu_hca_benchmark(const CheckLine& line, std::size_t gpus);

// A number above zero; `unit` is for the message.
[[nodiscard]] Result<double> bandwidth_in(std::string_view text, std::string_view unit);

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
