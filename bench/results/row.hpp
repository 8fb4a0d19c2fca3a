// SPDX-License-Identifier: Apache-2.0
// What one operation of one size came to: its times over all ranks, its bandwidths, and whether its
// data were right. One line of the table.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/backends/backend.hpp"
#include "bench/collectives/operation.hpp"
#include "bench/collectives/pattern.hpp"
#include "bench/results/statistics.hpp"
#include "lib/base/result.hpp"
#include "lib/report/measurement.hpp"

namespace muster::bench {

// Bandwidths in bytes per second.
struct Bandwidth {
  double algorithm = 0;
  double bus = 0;

  bool operator==(const Bandwidth&) const = default;
};

// One placement. Two times are kept: the median over iterations of the slowest rank, which is
// judged, and the mean as nccl-tests prints it (each rank's mean over iterations, then the mean
// over ranks), which the table shows, so that it can be compared with theirs.
struct Timing {
  std::vector<double> seconds;  // each iteration, maximum over ranks
  Statistics statistics;        // of those
  double mean_of_ranks = 0;     // seconds
  Bandwidth judged;             // of the median
  Bandwidth shown;              // of mean_of_ranks
  // The CPU time of a rank's thread: the mean over iterations and ranks, in seconds.
  std::optional<double> cpu;
  bool checked = false;
  std::vector<Wrong> wrong;  // each rank that received wrong elements
};

struct Row {
  Operation operation;  // without its placement
  Shape shape;          // of rank 0
  int ranks = 1;
  std::optional<Timing> out_of_place, in_place;
};

// Calls `use(timing, in_place)` for each placement that was run.
template <class Use>
void for_each_placement(const Row& row, Use use) {
  if (row.out_of_place) use(*row.out_of_place, false);
  if (row.in_place) use(*row.in_place, true);
}

// `samples` has those of every rank, once, and all with equally many iterations; anything else is
// an error. `shared` as for statistics_of.
[[nodiscard]] Result<Timing> timing_of(const Operation& operation, int ranks,
                                       const std::vector<Samples>& samples, std::size_t shared = 1);

[[nodiscard]] Row row_of(Operation operation, int ranks);
// The place for the timing of this operation.
[[nodiscard]] std::optional<Timing>& placement_of(Row& row, const Operation& operation);

[[nodiscard]] std::uint64_t wrong_elements(const Timing& timing);

// What is the same for all rows of a run.
struct RunFacts {
  int nodes = 1;
  int ranks = 1;
  std::string node;       // the name of the only node; findings about several are about the "job"
  std::string backend;    // nccl, mpi, tcp, sim
  std::string library;    // "NCCL 2.28.3"
  bool gpus = false;      // the data lie in GPU memory, or in a model of it
  std::string algorithm;  // as NCCL or a profile names it; empty where it is not known
  bool algorithm_asked = false;  // the environment says which one NCCL may take
  std::string over = {};  // what joins the nodes: nvlink, infiniband; empty where it is not known
};

// One for each placement that was run. `part`: of --split; empty where all ranks run together.
[[nodiscard]] std::vector<Measurement> measurements_of(const Row& row, const RunFacts& run,
                                                       const std::string& part = {});

}  // namespace muster::bench
