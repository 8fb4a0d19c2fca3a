// SPDX-License-Identifier: Apache-2.0
// The table of nccl-tests, line for line as its users' scripts expect. Each part ends with a
// newline and can be printed as soon as it is known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/backends/backend.hpp"
#include "bench/results/row.hpp"

namespace muster::bench {

struct TableHead {
  Collective collective = Collective::all_reduce;
  std::string library;  // "NCCL 2.28.3"
  std::uint64_t min_bytes = 0;
  std::uint64_t max_bytes = 0;
  std::uint64_t factor = 0;  // between sizes; 0 for a list of sizes
  Pace pace;
  bool check = true;
  std::vector<Member> members;  // of all ranks, in order
};

// The sums that the footer shows.
struct TableTotals {
  std::uint64_t timings = 0;  // sizes times placements
  std::uint64_t checked = 0;
  std::uint64_t out_of_bounds = 0;  // ranks with wrong data, over sizes and placements
  double bus = 0;                   // the sum, in bytes per second

  void add(const Row& row);
};

[[nodiscard]] std::string table_header(const TableHead& head);
// 13 fields. A placement that was not run has N/A in its four fields, one that was not checked in
// the last. With `cpu_time` the time is the CPU's, as nccl-tests' -C 1 prints it.
[[nodiscard]] std::string table_row(const Row& row, bool cpu_time = false);
[[nodiscard]] std::string table_footer(const TableTotals& totals);

// At most two decimals, fewer if the number would be wider than `width`, and no exponent, which
// many scripts cannot read.
[[nodiscard]] std::string table_number(double value, std::size_t width);

}  // namespace muster::bench
