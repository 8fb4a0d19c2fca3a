// SPDX-License-Identifier: Apache-2.0
// nccl.intra and nccl.nic: an all-reduce by NCCL over this node's GPUs, over NVLink, and with
// NVLink and shared memory off so that the HCAs carry it. train.step: training steps on the same
// GPUs. Each runs muster-bench in a separate process.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "bench/backends/nccl/binding.hpp"
#include "bench/backends/nccl/library.hpp"
#include "bench/backends/nccl/nccl.hpp"
#include "bench/node/test.hpp"
#include "bench/run/bench_run.hpp"
#include "bench/run/node_settings.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/root.hpp"
#include "lib/report/report.hpp"

namespace muster::bench::node {
namespace {

using Words = std::vector<std::string>;
using Variables = std::map<std::string, std::string>;

// The error is `missing` if this node cannot run NCCL over several GPUs.
Result<int> gpus_for_nccl(const TestInput& input) {
  TRY_ASSIGN(const auto gpus, usable_gpus(input.cuda));
  if (gpus < 2) return make_missing("the node has only one GPU");
  const auto library = nccl::open_library(input.nccl);
  if (!library && library.error().missing) {
    return make_missing("no NCCL: {}", library.error().message);
  }
  TRY(library);
  return gpus;
}

Result<Report> run_program(const TestInput& input, int gpus, Words words, const Variables& more) {
  constexpr auto kStart = std::chrono::seconds(45);  // for the ranks to meet and NCCL to start
  const auto time = std::chrono::duration_cast<Clock::duration>(2 * input.time);
  auto variables = without_limiting_settings(input.variables);
  for (const auto& [name, value] : more) variables[name] = value;
  words.insert(words.end(), {"--backend=nccl", "--format=json", fmt::format("--local={}", gpus)});
  hand_on(input, words);
  return run_own(words, std::move(variables), Clock::now() + time + kStart);
}

// The failures about computed or received data.
std::vector<Finding> wrong_data(const Report& report, std::string_view check) {
  std::vector<Finding> findings;
  for (const auto& finding : report.findings) {
    const bool of_data = finding.check == "bench.data" || finding.check == check;
    if (of_data && finding.outcome == Outcome::fail) findings.push_back(finding);
  }
  return findings;
}

// One number of the node from a report: the first, which is out of place as nccl-tests' headline.
Result<Series> series_of(const Report& report, std::string_view what, std::string_view quantity) {
  const auto found = std::ranges::find(report.measurements, quantity, &Measurement::quantity);
  if (found == report.measurements.end()) {
    const auto why = std::ranges::find_if(report.findings, [](const Finding& each) {
      return each.outcome == Outcome::fail || each.outcome == Outcome::unknown;
    });
    return make_error(why == report.findings.end() ? "nothing was measured" : why->message);
  }
  return Series{.what = std::string(what),
                .quantity = std::string(quantity),
                .unit = "GB/s",
                .size_bytes = found->conditions.size_bytes,
                .iterations = found->conditions.iterations,
                .values = {{.device = "node", .value = found->value}}};
}

Result<TestResult> measure(const TestInput& input, std::string_view check, std::string_view what,
                           const Variables& more) {
  constexpr std::uint64_t kUsual = 1UL << 30U;
  TRY_ASSIGN(const auto gpus, gpus_for_nccl(input));
  const auto size = input.bytes != 0 ? static_cast<double>(input.bytes)
                                     : input.limit.size.value_or(double{kUsual});
  TRY_ASSIGN(const auto report,
             run_program(input, gpus, {"all_reduce", fmt::format("--sizes={:.0f}", size)}, more));
  TRY_ASSIGN(auto busbw, series_of(report, what, "busbw"));
  busbw.limited = true;
  TestResult result{.series = {std::move(busbw)}, .findings = wrong_data(report, check)};
  input.require_size_for(result, kUsual, "messages");
  return result;
}

}  // namespace

Result<TestResult> run_nccl_intra(const TestInput& input) {
  return measure(input, "bench.node_all_reduce", "all-reduce bus bandwidth", {});
}

Result<TestResult> run_nccl_nic(const TestInput& input) {
  const auto hcas = Root().list("/sys/class/infiniband");
  if (!hcas || hcas->empty()) return make_missing("this node has no HCA");
  return measure(input, "bench.loopback_all_reduce", "all-reduce bus bandwidth over the HCAs",
                 {{"NCCL_P2P_DISABLE", "1"},
                  {"NCCL_SHM_DISABLE", "1"},
                  {"NCCL_NVLS_ENABLE", "0"},
                  {"NCCL_NET", "IB"}});
}

Result<TestResult> run_train_step(const TestInput& input) {
  TRY_ASSIGN(const auto gpus, gpus_for_nccl(input));
  Words words{"train_step", "--steps=5"};
  if (!input.cublas.empty()) words.push_back(fmt::format("--cublas={}", input.cublas));
  if (input.bytes != 0) {
    // Matrices of about that size.
    constexpr std::uint64_t kMultiple = 64;
    const auto wide = static_cast<std::uint64_t>(std::sqrt(static_cast<double>(input.bytes) / 2)) /
                      kMultiple * kMultiple;
    const auto side = std::max(kMultiple, wide);
    words.push_back(fmt::format("--model=2x{}x{}", side, 2 * side));
    words.push_back(fmt::format("--tokens={}", side));
  }
  TRY_ASSIGN(const auto report, run_program(input, gpus, std::move(words), {}));
  TestResult result{.findings = wrong_data(report, "bench.train_step")};

  using Text = std::string_view;
  constexpr Text kLoss = "lost_by_each_other";
  for (const auto& [quantity, what, unit] :
       {std::tuple<Text, Text, Text>{"steps_per_second", "training steps", "1/s"},
        {"tokens_per_second", "tokens", "1/s"},
        {"step_tflops", "products on each GPU, with all-reduces", "TFLOPS"},
        {kLoss, "slowdown by overlap of products and all-reduces", "%"}}) {
    TRY_ASSIGN(auto series, series_of(report, what, quantity));
    series.unit = unit;
    series.less_is_better = quantity == kLoss;
    result.series.push_back(std::move(series));
  }
  return result;
}

}  // namespace muster::bench::node
