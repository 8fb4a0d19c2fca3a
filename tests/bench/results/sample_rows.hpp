// SPDX-License-Identifier: Apache-2.0
// Rows with a given bus bandwidth.
#pragma once

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "bench/results/row.hpp"

namespace muster::bench {

inline constexpr std::uint64_t kGibibyte = std::uint64_t{1} << 30U;

inline Operation all_reduce_of(std::uint64_t bytes) { return {.bytes = bytes}; }

// The seconds for this bus bandwidth.
inline double seconds_for(const Operation& operation, int ranks, double bus_gbps) {
  return static_cast<double>(shape_of(operation, 0, ranks).bytes) *
         bus_factor(operation.collective, ranks) / (bus_gbps * 1e9);
}

inline Timing timing_at(const Operation& operation, int ranks,
                        const std::vector<double>& bus_gbps) {
  std::vector<double> seconds;
  for (const double each : bus_gbps) seconds.push_back(seconds_for(operation, ranks, each));
  Batch batch;
  for (int rank = 0; rank < ranks; ++rank)
    batch.samples.push_back({.rank = rank, .seconds = seconds});
  auto timing = timing_of(operation, ranks, batch);
  EXPECT_TRUE(timing.has_value());
  return *std::move(timing);
}

// Twenty equal iterations in both placements.
inline Row row_at(const Operation& operation, int ranks, double bus_gbps) {
  auto row = row_of(operation, ranks);
  row.out_of_place = timing_at(operation, ranks, std::vector<double>(20, bus_gbps));
  row.in_place = row.out_of_place;
  return row;
}

}  // namespace muster::bench
