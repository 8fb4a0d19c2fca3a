// SPDX-License-Identifier: Apache-2.0
// gpu.gemm: the speed of matrix products on each GPU, in each number type that it supports.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/node/gemm/gemm.hpp"
#include "bench/node/products.hpp"
#include "bench/node/test.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/text.hpp"
#include "lib/base/units.hpp"

namespace muster::bench::node {
namespace {

using Span = std::chrono::duration<double>;
using Rates = Result<std::vector<double>>;

constexpr double kLaunchSeconds = 0.02;  // that are timed at once

// TFLOPS, if `work` does `operations` arithmetic operations.
Rates rates_of(NodeGpu& gpu, double operations, Span time,
               const std::function<Result<void>()>& work) {
  constexpr std::size_t kMin = 5;
  constexpr std::size_t kMax = 500;
  std::vector<double> rates;
  const auto end = Clock::now() + time;
  while (rates.size() < kMin || (rates.size() < kMax && Clock::now() < end)) {
    TRY_ASSIGN(const auto seconds, gpu.timed(work));
    rates.push_back(operations / seconds / kTera);
  }
  return rates;
}

Rates rates_of(NodeGpu& gpu, Gemm& gemm, Span time) {
  constexpr double kMax = 1000;
  TRY_ASSIGN(const auto one, gpu.timed([&] { return gemm.start(); }));
  const auto count = static_cast<int>(std::clamp(std::ceil(kLaunchSeconds / one), 1.0, kMax));
  return rates_of(gpu, count * gemm.operations(), time, [&]() -> Result<void> {
    for (int i = 0; i < count; ++i) TRY(gemm.start());
    return {};
  });
}

class GemmTest {
 public:
  GemmTest(const TestInput& input, NodeGpus& all, TestResult& result)
      : input_(input),
        all_(all),
        result_(result),
        share_(input.time / std::max(1.0, static_cast<double>(all.gpus.size()))) {}

  void run() {
    if (all_.gpus.empty()) return;
    const auto library = cublas::open_library(input_.cublas, all_.gpus.front()->library());
    if (!library) {
      result_.lines.push_back(fmt::format(
          "cuBLASLt is not available ({}): only muster's own kernel in fp32 is measured",
          printable(library.error().message)));
      return measure_own(share_);
    }
    // The type of the limit takes half of the time.
    const double parts = 2.0 * static_cast<double>(gemm_kinds().size());
    for (const auto& kind : gemm_kinds()) {
      measure(*library, kind, is_judged(kind) ? share_ / 2 : share_ / parts);
    }
    measure_own(share_ / parts);
  }

 private:
  [[nodiscard]] bool is_judged(const GemmKind& kind) const {
    return kind.name == input_.limit.type.value_or("bf16");
  }

  [[nodiscard]] static Series series_of(std::string what, std::string quantity) {
    return {.what = std::move(what),
            .quantity = std::move(quantity),
            .unit = "TFLOPS",
            .tolerance = 0.05};
  }

  void measure(const cublas::Library& library, const GemmKind& kind, Span time) {
    auto series = series_of(fmt::format("products in {} by cuBLASLt", kind.name),
                            fmt::format("gemm_{}", kind.name));
    series.limited = is_judged(kind);
    const auto n = matrix_size(kind, input_.bytes);
    series.size_bytes = static_cast<std::int64_t>(n * n * size_of(kind.in));
    for (auto& gpu : all_.gpus) {
      const auto done = measure_one(library, kind, n, time, *gpu, series);
      if (!done && !done.error().missing) give_up(*gpu, done.error());
      gpu->release_all();
    }
    result_.add(std::move(series));
  }

  Result<void> measure_one(const cublas::Library& library, const GemmKind& kind, std::uint64_t n,
                           Span time, NodeGpu& gpu, Series& series) {
    TRY_ASSIGN(auto gemm, Gemm::prepare(gpu, library, kind, {n, n, n}));
    TRY_ASSIGN(const auto rates, rates_of(gpu, *gemm, time));
    TRY_ASSIGN(const auto wrong, gemm->wrong());
    if (wrong) result_.findings.push_back(broken(gpu.name(), *wrong));
    series.add(gpu.name(), rates);
    return {};
  }

  void measure_own(Span time) {
    auto series = series_of("products in fp32 by muster's own kernel", "gemm_f32_own");
    const auto known = make_known_product(0);
    for (auto& gpu : all_.gpus) {
      if (auto done = measure_own(known, time, *gpu, series); !done) give_up(*gpu, done.error());
      gpu->release_all();
    }
    result_.add(std::move(series));
  }

  Result<void> measure_own(const KnownProduct& known, Span time, NodeGpu& gpu, Series& series) {
    ProductLoad load(gpu, known);
    TRY(load.prepare());
    TRY(load.adjust_to(kLaunchSeconds));
    TRY_ASSIGN(const auto rates,
               rates_of(gpu, load.operations(), time, [&] { return load.start(); }));
    TRY_ASSIGN(const auto counts, load.compare());
    if (counts.wrong != 0) {
      result_.findings.push_back(wrong_product(gpu, counts, rates.size()));
    }
    series.add(gpu.name(), rates);
    return {};
  }

  void give_up(const NodeGpu& gpu, const Error& error) {
    result_.findings.push_back(unjudged(gpu.name(), error.message));
  }

  const TestInput& input_;
  NodeGpus& all_;
  TestResult& result_;
  Span share_;  // of one GPU
};

}  // namespace

Result<TestResult> run_gpu_gemm(const TestInput& input) {
  TRY_ASSIGN(auto all, open_gpus(input));
  TestResult result{.findings = std::move(all.refused)};
  GemmTest(input, all, result).run();
  return result;
}

}  // namespace muster::bench::node
