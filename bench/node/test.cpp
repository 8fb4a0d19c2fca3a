// SPDX-License-Identifier: Apache-2.0
#include "bench/node/test.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "lib/base/json_read.hpp"
#include "lib/base/json_write.hpp"
#include "lib/base/text.hpp"
#include "lib/command/options.hpp"
#include "lib/report/finding.hpp"
#include "lib/report/node_tests.hpp"
#include "lib/statistics/statistics.hpp"

namespace muster::bench::node {
namespace {

constexpr TestTimes quick(double quick_s, double full_s) { return {Level::quick, quick_s, full_s}; }
constexpr TestTimes full(double quick_s, double full_s) { return {Level::full, quick_s, full_s}; }
constexpr TestTimes soak(double least_s) { return {.from = Level::soak, .quick_s = least_s}; }

constexpr TestDevices kGpus{.gpus = 1};
constexpr TestDevices kSeveralGpus{.gpus = 2};
constexpr TestDevices kHcas{.hcas = true};

constexpr std::array kTests{
    NodeTest{"host.stream", "copy, scale, add, triad on all CPUs; per NUMA node and in total",
             "bench.stream", run_host_stream, bounds_of<&BenchLimits::stream>, quick(4, 15)},
    NodeTest{"host.latency", "memory latency from each NUMA node to each; between CPUs",
             "bench.memory_latency", run_host_latency, nullptr, quick(2, 15)},
    NodeTest{"host.disk", "sequential and random reads of local NVMe disks, not cached",
             "bench.disk_read", run_host_disk, nullptr, quick(4, 15)},
    NodeTest{"gpu.copy", "copies between each GPU and host memory: each way, both, all GPUs",
             "bench.host_copy", run_gpu_copy, bounds_of<&BenchLimits::host_copy>, quick(6, 30),
             kGpus},
    NodeTest{"gpu.p2p", "copies between every ordered pair of GPUs, one way and both ways",
             "bench.peer_copy", run_gpu_p2p, bounds_of<&BenchLimits::peer_copy>, quick(4, 20),
             kSeveralGpus},
    NodeTest{"gpu.memory", "bandwidth of each GPU's memory, and patterns moved through it",
             "bench.gpu_memory", run_gpu_memory, bounds_of<&BenchLimits::gpu_memory>, quick(4, 50),
             kGpus},
    NodeTest{"gpu.gemm", "speed of matrix products on each GPU", "bench.gemm", run_gpu_gemm,
             bounds_of<&BenchLimits::gemm>, quick(4, 30), kGpus},
    NodeTest{"gpu.truth", "many products whose result is known to the last bit", "bench.gpu_truth",
             run_gpu_truth, nullptr, quick(4, 30), kGpus},
    NodeTest{"ib.loopback", "RDMA of each HCA to itself and to the others, alone and at once",
             "bench.hca_write", run_ib_loopback, bounds_of<&BenchLimits::hca_write>, quick(4, 20),
             kHcas},
    NodeTest{"nccl.intra", "all-reduce over this node's GPUs by NCCL", "bench.node_all_reduce",
             run_nccl_intra, bounds_of<&BenchLimits::node_all_reduce>, full(15, 30), kSeveralGpus},
    NodeTest{"nccl.nic", "the same through the HCAs, without NVLink and shared memory",
             "bench.loopback_all_reduce", run_nccl_nic,
             bounds_of<&BenchLimits::loopback_all_reduce>, full(15, 30), kGpus},
    NodeTest{"train.step", "a training step's products with the all-reduce of gradients",
             "bench.train_step", run_train_step, nullptr, full(15, 15), kSeveralGpus},
    NodeTest{"gpu.soak", "products on all GPUs for minutes: heat, power, wrong bits",
             "bench.gpu_soak", run_gpu_soak, nullptr, soak(20), kGpus},
};

static_assert(std::ranges::equal(kTests, kNodeTestNames, {}, &NodeTest::name));

std::optional<MeasurementRepeats> repeats_of(const std::vector<double>& values) {
  if (values.size() < 2) return std::nullopt;
  const auto statistics = statistics_of(values);
  MeasurementRepeats repeats{.count = std::ssize(values),
                             .min = statistics.min,
                             .median = statistics.median,
                             .max = std::ranges::max(values),
                             .deviation = deviation_of(values, statistics.median)};
  if (statistics.confidence) {
    repeats.median_low = statistics.confidence->low;
    repeats.median_high = statistics.confidence->high;
  }
  return repeats;
}

struct TestAnswer {
  MUSTER_DESCRIBED(TestAnswer);
  MUSTER_UNLESS_EMPTY(std::string, error, "why there is no result");
  MUSTER_FIELD(bool, missing, "the node has nothing of the kind") = false;
  MUSTER_FIELD(TestResult, result, "");
};

}  // namespace

std::span<const NodeTest> node_tests() { return kTests; }

Result<std::vector<std::string>> tests_called(std::string_view globs) {
  std::vector<std::string> found;
  for (const auto word : split(globs, ',')) {
    const auto glob = trim(word);
    const bool known = std::ranges::any_of(
        kTests, [&](const NodeTest& test) { return matches_glob(glob, test.name); });
    if (!known) {
      std::vector<std::string> names;
      for (const auto& test : kTests) names.emplace_back(test.name);
      return make_error("unknown test \"{}\"{}; there are {}", printable(glob, 80),
                        suggestion(glob, names), fmt::join(names, ", "));
    }
    found.emplace_back(glob);
  }
  return found;
}

DeviceValue& Series::add(std::string device, const std::vector<double>& repeats) {
  iterations = std::ssize(repeats);
  return values.emplace_back(value_of(std::move(device), repeats));
}

void TestResult::add(Series measured) {
  if (!measured.values.empty()) series.push_back(std::move(measured));
}

void TestResult::add(Matrix measured) {
  std::vector<double> values;
  for (const auto& row : measured.cells) {
    for (const auto& value : row) {
      if (value) values.push_back(*value);
    }
  }
  measured.usual = values.empty() ? 0 : median_of(std::move(values));
  matrices.push_back(std::move(measured));
}

void TestResult::leave_unjudged(std::string why) {
  unlike = std::move(why);
  for (auto& each : series) each.limited = false;
}

void TestResult::require_size(std::string_view what, double used, double least) {
  if (used >= least) return;
  leave_unjudged(fmt::format("used {} of {}, and the limit is for {}", what, to_string(Bytes{used}),
                             to_string(Bytes{least})));
}

void TestInput::require_size_for(TestResult& result, std::uint64_t usual,
                                 std::string_view what) const {
  if (bytes == 0) return;
  result.require_size(what, static_cast<double>(bytes),
                      limit.size.value_or(static_cast<double>(usual)));
}

Finding broken(std::string device, std::string message, Remedy remedy) {
  return make_finding("", std::move(device), Outcome::fail, std::move(message), remedy);
}

Finding unjudged(std::string device, std::string message) {
  return make_finding("", std::move(device), Outcome::unknown, std::move(message));
}

DeviceValue value_of(std::string device, const std::vector<double>& repeats) {
  const double middle = median_of(repeats);
  return {.device = std::move(device),
          .value = middle,
          .noise = middle > 0 ? deviation_of(repeats, middle) / middle : 0,
          .repeats = repeats_of(repeats)};
}

DeviceValue best_of(std::string device, const std::vector<double>& repeats) {
  auto value = value_of(std::move(device), repeats);
  value.value = std::ranges::max(repeats);
  return value;
}

Matrix empty_matrix(std::string title, std::string unit, std::vector<std::string> names) {
  const std::vector<std::optional<double>> row(names.size());
  std::vector cells(names.size(), row);
  return {.title = std::move(title),
          .unit = std::move(unit),
          .names = std::move(names),
          .cells = std::move(cells)};
}

std::string to_json(const Result<TestResult>& result) {
  if (result) return to_json_line(TestAnswer{.result = *result});
  return to_json_line(
      TestAnswer{.error = result.error().message, .missing = result.error().missing});
}

Result<TestResult> parse_result(std::string_view text) {
  auto answer = from_json<TestAnswer>(text);
  if (!answer) return make_error("the result of a test: {}", answer.error().message);
  if (answer->error.empty()) return std::move(answer->result);
  return tl::unexpected(Error{.message = answer->error, .missing = answer->missing});
}

}  // namespace muster::bench::node
