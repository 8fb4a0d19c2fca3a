// SPDX-License-Identifier: Apache-2.0
// One number that a benchmark measured, with its unit and the conditions it was taken under.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

inline constexpr std::string_view kMeasurementSchema = "muster.measurement/1";

// Without these, two numbers cannot be compared.
struct MeasurementConditions {
  std::string collective;  // all_reduce
  std::string type;        // f32
  std::string reduction;   // sum; empty where nothing is reduced
  std::string placement;   // in_place, out_of_place
  std::int64_t size_bytes = 0;
  std::int64_t ranks = 0;
  std::int64_t nodes = 0;
  std::string backend;    // nccl
  std::string library;    // NCCL 2.28.3
  std::string algorithm;  // ring; empty where it is not known
  std::int64_t iterations = 0;
  std::string test = {};    // of a node: host.stream; empty where ranks of a job measured it
  std::string device = {};  // gpu3, numa1, gpu0-gpu5

  bool operator==(const MeasurementConditions&) const = default;
};

// Statistics of the time of one operation, which is the maximum over ranks, in microseconds.
struct MeasurementStatistics {
  double median_us = 0;
  std::optional<double> median_low_us, median_high_us;  // 95% confidence
  double p5_us = 0;
  double p95_us = 0;
  double min_us = 0;
  double mean_us = 0;

  bool operator==(const MeasurementStatistics&) const = default;
};

// Statistics of a number that was measured more than once in one run, in its own unit.
struct MeasurementRepeats {
  std::int64_t count = 0;
  double min = 0;
  double median = 0;
  double max = 0;
  double deviation = 0;  // 1.4826 times the median of how far they are from their median
  std::optional<double> median_low, median_high;  // 95% confidence; empty where they are too few

  bool operator==(const MeasurementRepeats&) const = default;
};

struct Measurement {
  std::string quantity;  // busbw
  double value = 0;      // of the median
  std::string unit;      // GB/s
  MeasurementConditions conditions;
  std::optional<MeasurementStatistics> statistics = {};  // empty: not of the times of operations
  std::optional<MeasurementRepeats> repeats = {};        // empty: measured once
  std::optional<std::int64_t> wrong_elements;            // empty: not checked
  std::vector<double> iterations_us;                     // each; rendered only when asked for

  bool operator==(const Measurement&) const = default;
};

}  // namespace muster
