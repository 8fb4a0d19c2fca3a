// SPDX-License-Identifier: Apache-2.0
// One line of the table: an operation of one size, with its times over all ranks, its bandwidths,
// and its wrong elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/backends/backend.hpp"
#include "bench/collectives/operation.hpp"
#include "bench/collectives/pattern.hpp"
#include "lib/base/result.hpp"
#include "lib/report/report.hpp"
#include "lib/statistics/statistics.hpp"

namespace muster::bench {

// Bandwidths in bytes per second.
struct Bandwidth {
  double algorithm = 0;
  double bus = 0;
};

// One placement. The median over iterations of the slowest rank is judged. The table shows the mean
// as nccl-tests prints it: each rank's mean over iterations, then the mean over ranks.
struct Timing {
  std::vector<double> seconds;  // each iteration, maximum over ranks
  Statistics statistics;        // of those
  double mean_of_ranks = 0;     // seconds
  Bandwidth judged;             // of the median
  Bandwidth shown;              // of mean_of_ranks
  std::optional<double> cpu;  // a thread's CPU time in seconds, the mean over iterations and ranks
  std::vector<Wrong> wrong;   // each rank that received wrong elements
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

// `batch` must have the samples of every rank once, all with the same number of iterations.
// `shared`: see statistics_of.
[[nodiscard]] Result<Timing> timing_of(const Operation& operation, int ranks, const Batch& batch,
                                       std::size_t shared = 1);

[[nodiscard]] Row row_of(Operation operation, int ranks);
// Returns the field for the timing of this operation.
[[nodiscard]] std::optional<Timing>& placement_of(Row& row, const Operation& operation);

[[nodiscard]] std::uint64_t wrong_elements(const Timing& timing);

// The largest size of these rows; 0 without any.
[[nodiscard]] std::uint64_t largest_of(const std::vector<Row>& rows);

// The facts that all rows of a run share.
struct RunFacts {
  int nodes = 1;
  int ranks = 1;
  std::string node;       // the name of the only node; findings about several name the "job"
  std::string backend;    // nccl, mpi, tcp, sim
  std::string library;    // "NCCL 2.28.3"
  bool gpus = false;      // the data lie in GPU memory, or in a model of it
  std::string algorithm;  // as NCCL or a profile names it; empty if unknown
  bool algorithm_is_set = false;  // the environment chooses NCCL's algorithm
  std::string limited_by = {};    // "NCCL_P2P_DISABLE=1", which the job sets; may be empty
  bool bare = false;              // no node has a GPU or an HCA
  std::string over = {};          // the connection of the nodes: nvlink, infiniband; or unknown
  bool one_domain = false;        // the nodes are in one NVLink domain that NCCL may use
};

// Returns one for each placement that was run. `part`: of --split; else empty.
[[nodiscard]] std::vector<Measurement> measurements_of(const Row& row, const RunFacts& run,
                                                       const std::string& part = {});

struct TableHead {
  Collective collective = Collective::all_reduce;
  std::string library;  // "NCCL 2.28.3"
  std::uint64_t min_bytes = 0;
  std::uint64_t max_bytes = 0;
  std::uint64_t factor = 0;  // between sizes; 0 for a list of sizes
  std::uint64_t step = 0;    // bytes between sizes, instead of the factor; 0 for none
  Pace pace;
  std::vector<Member> members;  // of all ranks, in order
};

// The sums that the footer shows.
struct TableTotals {
  std::uint64_t timings = 0;        // sizes times placements
  std::uint64_t out_of_bounds = 0;  // ranks with wrong data, over sizes and placements
  double bus = 0;                   // the sum, in bytes per second

  void add(const Row& row);
};

[[nodiscard]] std::string table_header(const TableHead& head);
// 13 fields. A placement that was not run has N/A in its four fields. With `cpu_time` the time is
// the CPU's, as nccl-tests' -C 1 prints it.
[[nodiscard]] std::string table_row(const Row& row, bool cpu_time = false);
[[nodiscard]] std::string table_footer(const TableTotals& totals);

// Formats with at most two decimals, fewer if the number would be wider than `width`, and no
// exponent, which many scripts cannot read.
[[nodiscard]] std::string table_number(double value, std::size_t width);

}  // namespace muster::bench
