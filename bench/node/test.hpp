// SPDX-License-Identifier: Apache-2.0
// What an active test of a node is: it measures and verifies, and judges nothing. The table of them
// is tests.hpp.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/fields.hpp"
#include "lib/base/result.hpp"
#include "lib/profile/limits/bench.hpp"
#include "lib/report/figures.hpp"
#include "lib/report/finding.hpp"
#include "lib/report/measurement.hpp"

namespace muster::bench::node {

enum class Level { quick, full, soak };

struct DeviceValue {
  MUSTER_DESCRIBED(DeviceValue);
  MUSTER_FIELD(std::string, device, "gpu3, numa1, gpu1-gpu4, node");
  MUSTER_FIELD(double, value, "in the unit of its series") = 0;
  MUSTER_FIELD(double, noise, "how far its own repeats lie apart, as a share of the value") = 0;
  MUSTER_FIELD(std::string, group, "only devices of one group are compared") = {};
  MUSTER_FIELD(std::optional<MeasurementRepeats>, repeats, "if it was measured several times") = {};
};

// One number of each device, all taken under the same conditions.
struct Series {
  MUSTER_DESCRIBED(Series);
  MUSTER_FIELD(std::string, what, "\"host to device\", as messages begin");
  MUSTER_FIELD(std::string, quantity, "\"host_to_device\", as programs call it");
  MUSTER_FIELD(std::string, unit, "GB/s, Gb/s, TFLOPS, ns");
  MUSTER_FIELD(bool, less_is_better, "") = false;
  MUSTER_FIELD(bool, limited, "the profile's limit applies") = false;
  MUSTER_FIELD(double, tolerance, "healthy devices differ by this share") = 0.03;
  MUSTER_FIELD(std::int64_t, size_bytes, "") = 0;
  MUSTER_FIELD(std::int64_t, iterations, "") = 0;
  MUSTER_FIELD(std::vector<DeviceValue>, values, "");

  // Adds what a device's repeats come to: their median, and how far they lie apart.
  DeviceValue& add(std::string device, const std::vector<double>& repeats);
};

struct TestResult {
  MUSTER_DESCRIBED(TestResult);
  MUSTER_FIELD(std::vector<Series>, series, "");
  MUSTER_FIELD(std::vector<Finding>, findings,
               "that need no limit: wrong data, a silent device; without their check");
  MUSTER_FIELD(std::vector<std::string>, lines, "for people");
  MUSTER_FIELD(std::vector<Matrix>, matrices, "likewise");

  // One without any value is left out.
  void add(Series measured);
  // What is usual in it is the median of its numbers.
  void add(Matrix measured);
};

// A device that does not do what it must.
[[nodiscard]] Finding broken(std::string device, std::string message,
                             Remedy remedy = Remedy::reseat_or_replace);
// A device of which nobody can tell.
[[nodiscard]] Finding unjudged(std::string device, std::string message);

// A profile's limit, in the base unit of its kind.
struct Bounds {
  std::optional<double> expected, warn_below, fail_below;
  std::optional<double> size = {};         // of a message, in bytes, that it holds for
  std::optional<std::string> type = {};    // of numbers, likewise
  std::optional<BenchMemory> memory = {};  // likewise

  [[nodiscard]] bool judges() const { return warn_below || fail_below; }
};

struct TestInput {
  Level level = Level::quick;
  std::chrono::duration<double> time{1};         // how long it should measure, near enough
  std::string cuda, nvml, nccl, verbs, cublas;   // libraries in place of the system's
  std::map<std::string, std::string> variables;  // the environment
  std::string profile;                           // as the command line names it; may be empty
  std::vector<std::string> settings;
  Bounds limit;             // of the profile
  std::uint64_t bytes = 0;  // of a buffer; 0: as much as the test wants
};

template <auto kLimit>
[[nodiscard]] Bounds bounds_of(const BenchLimits& limits) {
  const auto value = [](const auto& limit) {
    return limit ? std::optional<double>(limit->value) : std::nullopt;
  };
  const auto& limit = limits.*kLimit;
  return {value(limit.expected),
          value(limit.warn_below),
          value(limit.fail_below),
          value(limit.size),
          limit.type ? std::optional<std::string>(*limit.type) : std::nullopt,
          limit.memory};
}

// A row of the table.
struct NodeTest {
  std::string_view name;   // host.stream
  std::string_view about;  // what it measures, on one line
  std::string_view check;  // bench.stream
  Level from = Level::quick;
  bool gpus = false;   // it works on the GPUs, which must be idle
  bool hcas = false;   // it works on the HCAs, while no job works on the GPUs
  int least_gpus = 1;  // a node with fewer has nothing of the kind
  double quick_s = 1;  // how long it measures
  double full_s = 10;  // the same at the levels full and soak
  Bounds (*bounds)(const BenchLimits&) = nullptr;  // null where a profile has no limit for it
  // An error whose `missing` is set: this node has nothing of the kind.
  Result<TestResult> (*run)(const TestInput&) = nullptr;

  // The profile's key, below `bench`; empty where there is none.
  [[nodiscard]] std::string_view limit() const {
    constexpr std::string_view kBench = "bench.";
    return bounds == nullptr ? std::string_view() : check.substr(kBench.size());
  }
};

// The result as text, for the pipe between the process that ran the test and the one that judges
// it.
[[nodiscard]] std::string to_json(const Result<TestResult>& result);
// The result, or the error of the test; also an error where the text is neither.
[[nodiscard]] Result<TestResult> parse_result(std::string_view text);

// A series' value from its repeats: the median, and how far they lie apart.
[[nodiscard]] DeviceValue value_of(std::string device, const std::vector<double>& repeats);
// The value of a device as the best of its repeats, as STREAM counts.
[[nodiscard]] DeviceValue best_of(std::string device, const std::vector<double>& repeats);

// A matrix with a row and a column for each name, and no number yet. The title says the unit.
[[nodiscard]] Matrix empty_matrix(std::string title, std::string unit,
                                  std::vector<std::string> names);

}  // namespace muster::bench::node
