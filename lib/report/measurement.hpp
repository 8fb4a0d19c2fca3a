// SPDX-License-Identifier: Apache-2.0
// A number that a benchmark measured, with its unit and conditions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/fields.hpp"

namespace muster {

inline constexpr std::string_view kMeasurementSchema = "muster.measurement/1";

// Two numbers taken under different conditions cannot be compared.
struct MeasurementConditions {
  MUSTER_DESCRIBED(MeasurementConditions);
  MUSTER_REQUIRED(std::string, collective, "all_reduce");
  MUSTER_REQUIRED(std::string, type, "f32");
  MUSTER_REQUIRED(std::string, reduction, "sum; empty if nothing is reduced");
  MUSTER_REQUIRED(std::string, placement, "in_place or out_of_place");
  MUSTER_REQUIRED(std::int64_t, size_bytes, "") = 0;
  MUSTER_REQUIRED(std::int64_t, ranks, "") = 0;
  MUSTER_REQUIRED(std::int64_t, nodes, "") = 0;
  MUSTER_REQUIRED(std::string, backend, "nccl");
  MUSTER_REQUIRED(std::string, library, "NCCL 2.28.3");
  MUSTER_REQUIRED(std::string, algorithm, "ring; empty if unknown");
  MUSTER_REQUIRED(std::int64_t, iterations, "") = 0;
  MUSTER_UNLESS_EMPTY(std::string, test, "of a node: host.stream; empty for ranks of a job") = {};
  MUSTER_UNLESS_EMPTY(std::string, device, "gpu3, numa1, gpu0-gpu5") = {};
};

// Statistics of the time of one operation, which is the maximum over ranks, in microseconds.
struct MeasurementStatistics {
  MUSTER_DESCRIBED(MeasurementStatistics);
  MUSTER_REQUIRED(double, median_us, "") = 0;
  MUSTER_FIELD(std::optional<double>, median_low_us, "lower bound of 95% confidence");
  MUSTER_FIELD(std::optional<double>, median_high_us, "upper bound");
  MUSTER_REQUIRED(double, p5_us, "") = 0;
  MUSTER_REQUIRED(double, p95_us, "") = 0;
  MUSTER_REQUIRED(double, min_us, "") = 0;
  MUSTER_REQUIRED(double, mean_us, "") = 0;
};

// Statistics of a number that was measured several times in one run, in its own unit.
struct MeasurementRepeats {
  MUSTER_DESCRIBED(MeasurementRepeats);
  MUSTER_REQUIRED(std::int64_t, count, "") = 0;
  MUSTER_REQUIRED(double, min, "") = 0;
  MUSTER_REQUIRED(double, median, "") = 0;
  MUSTER_REQUIRED(double, max, "") = 0;
  MUSTER_REQUIRED(double, deviation, "1.4826 times the median absolute deviation") = 0;
  MUSTER_FIELD(std::optional<double>, median_low, "of 95% confidence; null for too few repeats");
  MUSTER_FIELD(std::optional<double>, median_high, "likewise");
};

struct Measurement {
  static constexpr std::string_view kSchema = kMeasurementSchema;
  MUSTER_DESCRIBED(Measurement);
  MUSTER_REQUIRED(std::string, quantity, "busbw");
  MUSTER_REQUIRED(double, value, "of the median") = 0;
  MUSTER_REQUIRED(std::string, unit, "GB/s");
  MUSTER_REQUIRED(MeasurementConditions, conditions, "");
  MUSTER_UNLESS_EMPTY(std::optional<MeasurementStatistics>, statistics,
                      "of the times of operations, if it has any") = {};
  MUSTER_UNLESS_EMPTY(std::optional<MeasurementRepeats>, repeats,
                      "if it was measured several times") = {};
  MUSTER_FIELD(std::optional<std::int64_t>, wrong_elements, "null if they were not checked");
  MUSTER_FIELD(std::vector<double>, iterations_us, "each; written only on request");
};

}  // namespace muster
