// SPDX-License-Identifier: Apache-2.0
// An active test of a node, which measures and verifies but does not judge. test.cpp has the
// table.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/fields.hpp"
#include "lib/base/result.hpp"
#include "lib/profile/limits/bench.hpp"
#include "lib/report/finding.hpp"
#include "lib/report/report.hpp"

namespace muster::bench::node {

enum class Level { quick, full, soak };

struct DeviceValue {
  MUSTER_DESCRIBED(DeviceValue);
  MUSTER_FIELD(std::string, device, "gpu3, numa1, gpu1-gpu4, node");
  MUSTER_FIELD(double, value, "in the unit of its series") = 0;
  MUSTER_FIELD(double, noise, "the scatter of its own repeats, as a share of the value") = 0;
  MUSTER_FIELD(std::string, group, "only devices of one group are compared") = {};
  MUSTER_FIELD(std::optional<MeasurementRepeats>, repeats, "if it was measured several times") = {};
};

// One number for each device, all measured under the same conditions.
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

  // Adds the median and the scatter of a device's repeats.
  DeviceValue& add(std::string device, const std::vector<double>& repeats);
};

struct TestResult {
  MUSTER_DESCRIBED(TestResult);
  MUSTER_FIELD(std::vector<Series>, series, "");
  MUSTER_FIELD(std::vector<Finding>, findings,
               "that need no limit: wrong data, a silent device; without their check");
  MUSTER_FIELD(std::string, unlike,
               "the limit, if that is for something else: \"used 1 of 2 CPUs, and the limit is for "
               "all\"");
  MUSTER_FIELD(std::vector<std::string>, lines, "only printed");
  MUSTER_FIELD(std::vector<Matrix>, matrices, "only printed");

  // Ignores an empty series.
  void add(Series measured);
  // Sets the usual value to the median.
  void add(Matrix measured);
  // The limit is for something else.
  void leave_unjudged(std::string why);
  // Leaves sizes below `least` unjudged. `what`: "messages".
  void require_size(std::string_view what, double used, double least);
};

// A device fails.
[[nodiscard]] Finding broken(std::string device, std::string message,
                             Remedy remedy = Remedy::reseat_or_replace);
// A device could not be measured.
[[nodiscard]] Finding unjudged(std::string device, std::string message);

// A profile's limit, in the base unit of its kind.
struct Bounds {
  std::optional<double> expected, warn_below, fail_below;
  // The conditions of the limit.
  std::optional<double> size = {};       // of a message, in bytes
  std::optional<std::string> type = {};  // of numbers
  std::optional<BenchMemory> memory = {};

  [[nodiscard]] bool judges() const { return warn_below || fail_below; }
};

struct TestInput {
  Level level = Level::quick;
  std::chrono::duration<double> time{1};         // to measure, approximately
  std::string cuda, nvml, nccl, verbs, cublas;   // libraries that replace the system's
  std::map<std::string, std::string> variables;  // the environment
  std::string profile;                           // of the command line; may be empty
  std::vector<std::string> settings;
  Bounds limit;             // of the profile
  std::uint64_t bytes = 0;  // of a buffer; 0: the test's default

  // Leaves a result unjudged if --size is below the limit's size, or below the usual one if the
  // limit names none.
  void require_size_for(TestResult& result, std::uint64_t usual,
                        std::string_view what = "buffers") const;
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

// When a test runs, and how long it measures at the level quick and above. A soak lasts as long as
// the budget, and at least the shorter time.
struct TestTimes {
  Level from = Level::quick;
  double quick_s = 1;
  double full_s = 10;
};

struct TestDevices {
  int gpus = 0;       // the fewest; they must be idle
  bool hcas = false;  // the GPUs must be idle as well
};

// A row of the table.
struct NodeTest {
  std::string_view name;   // host.stream
  std::string_view about;  // one line
  std::string_view check;  // bench.stream
  // The error is `missing` if this node lacks the devices.
  Result<TestResult> (*run)(const TestInput&) = nullptr;
  Bounds (*bounds)(const BenchLimits&) = nullptr;  // null if profiles have no limit for it
  TestTimes times = {};
  TestDevices devices = {};

  [[nodiscard]] bool needs_idle_gpus() const { return devices.gpus > 0 || devices.hcas; }
  // The profile's key below `bench`, or an empty text.
  [[nodiscard]] std::string_view limit() const {
    constexpr std::string_view kBench = "bench.";
    return bounds == nullptr ? std::string_view() : check.substr(kBench.size());
  }
};

// Convert a result to text and back, for the pipe between the test's process and its parent.
[[nodiscard]] std::string to_json(const Result<TestResult>& result);
// Returns the result, or the test's error; also an error if the text is invalid.
[[nodiscard]] Result<TestResult> parse_result(std::string_view text);

// A device's value from its repeats: the median.
[[nodiscard]] DeviceValue value_of(std::string device, const std::vector<double>& repeats);
// A device's value from its repeats: the best, as in STREAM.
[[nodiscard]] DeviceValue best_of(std::string device, const std::vector<double>& repeats);

// A matrix without numbers, with a row and a column for each name. The title includes the unit.
[[nodiscard]] Matrix empty_matrix(std::string title, std::string unit,
                                  std::vector<std::string> names);

[[nodiscard]] Result<TestResult> run_host_stream(const TestInput& input);
[[nodiscard]] Result<TestResult> run_host_latency(const TestInput& input);
[[nodiscard]] Result<TestResult> run_host_disk(const TestInput& input);
[[nodiscard]] Result<TestResult> run_gpu_copy(const TestInput& input);
[[nodiscard]] Result<TestResult> run_gpu_p2p(const TestInput& input);
[[nodiscard]] Result<TestResult> run_gpu_memory(const TestInput& input);
[[nodiscard]] Result<TestResult> run_gpu_gemm(const TestInput& input);
[[nodiscard]] Result<TestResult> run_gpu_truth(const TestInput& input);
[[nodiscard]] Result<TestResult> run_gpu_soak(const TestInput& input);
[[nodiscard]] Result<TestResult> run_ib_loopback(const TestInput& input);
[[nodiscard]] Result<TestResult> run_nccl_intra(const TestInput& input);
[[nodiscard]] Result<TestResult> run_nccl_nic(const TestInput& input);
[[nodiscard]] Result<TestResult> run_train_step(const TestInput& input);

// The tests in the order in which they run.
[[nodiscard]] std::span<const NodeTest> node_tests();

// Splits "gpu.*,ib.loopback"; an error if a glob matches no test.
[[nodiscard]] Result<std::vector<std::string>> tests_called(std::string_view globs);

}  // namespace muster::bench::node
