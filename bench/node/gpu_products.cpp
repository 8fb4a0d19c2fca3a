// SPDX-License-Identifier: Apache-2.0
// gpu.gemm and gpu.truth: how fast each GPU computes products, and whether they are right every
// time.
#include <fmt/format.h>

#include <algorithm>

#include "bench/node/products.hpp"
#include "bench/node/tests.hpp"

namespace muster::bench::node {
namespace {

using SteadyClock = std::chrono::steady_clock;

Result<std::vector<double>> rates_of(Products& products, std::chrono::duration<double> time) {
  constexpr double kLaunch = 0.02;
  constexpr std::size_t kLeast = 5;
  constexpr std::size_t kMost = 500;
  if (auto timed = products.take(kLaunch); !timed) return tl::unexpected(timed.error());
  std::vector<double> rates;
  const auto end = SteadyClock::now() + time;
  while (rates.size() < kLeast || (rates.size() < kMost && SteadyClock::now() < end)) {
    const auto seconds = products.gpu().timed([&] { return products.start(); });
    if (!seconds) return tl::unexpected(seconds.error());
    rates.push_back(products.operations() / *seconds / 1e12);
  }
  return rates;
}

// The launches of one GPU with one answer; the first that is wrong is told.
Result<std::optional<Finding>> look_for_wrong(NodeGpu& gpu,
                                              const Answer& answer,
                                              std::chrono::duration<double> time,
                                              std::uint64_t& launches) {
  constexpr int kLeast = 3;
  Products products(gpu, answer);
  auto ready = products.prepare();
  if (!ready) return tl::unexpected(ready.error());
  const auto end = SteadyClock::now() + time;
  for (int i = 0; i < kLeast || SteadyClock::now() < end; ++i) {
    if (auto started = products.start(); !started) return tl::unexpected(started.error());
    const auto counts = products.compare();
    if (!counts) return tl::unexpected(counts.error());
    ++launches;
    if (counts->wrong != 0) {
      return std::optional(wrong_product("bench.gpu_truth", gpu, *counts, launches));
    }
  }
  gpu.release_all();
  return std::optional<Finding>();
}

}  // namespace

Result<TestResult> run_gpu_gemm(const TestInput& input) {
  constexpr std::string_view kCheck = "bench.gemm";
  auto all = open_gpus(input, kCheck);
  if (!all) return tl::unexpected(all.error());
  TestResult result{.findings = std::move(all->refused)};
  Series series{.check = std::string(kCheck),
                .what = "products in fp32 by muster's own kernel",
                .quantity = "gemm_f32_own",
                .unit = "TFLOPS",
                .limited = false,  // a profile's limit is for the tensor cores and cuBLAS
                .tolerance = 0.05};
  const auto answer = make_answer(0);
  const auto share = input.time / std::max(1.0, static_cast<double>(all->gpus.size()));
  for (auto& gpu : all->gpus) {
    Products products(*gpu, answer);
    const auto ready = products.prepare();
    const auto rates = ready ? rates_of(products, share)
                             : Result<std::vector<double>>(tl::unexpected(ready.error()));
    const auto counts = rates ? products.compare() : Result<Counts>(tl::unexpected(rates.error()));
    if (!counts) {
      result.findings.push_back(gave_up(kCheck, *gpu, counts.error()));
      continue;
    }
    if (counts->wrong != 0) {
      result.findings.push_back(wrong_product(kCheck, *gpu, *counts, rates->size()));
    }
    series.iterations = std::ssize(*rates);
    series.values.push_back(value_of(gpu->name(), *rates));
    gpu->release_all();
  }
  if (!series.values.empty()) result.series.push_back(std::move(series));
  return result;
}

Result<TestResult> run_gpu_truth(const TestInput& input) {
  constexpr std::string_view kCheck = "bench.gpu_truth";
  constexpr std::uint64_t kAnswers = 3;
  auto all = open_gpus(input, kCheck);
  if (!all) return tl::unexpected(all.error());
  TestResult result{.findings = std::move(all->refused)};
  const auto share = input.time / (static_cast<double>(kAnswers) *
                                   std::max(1.0, static_cast<double>(all->gpus.size())));
  std::vector<std::uint64_t> launches(all->gpus.size());
  std::vector<bool> over(all->gpus.size());
  for (std::uint64_t seed = 1; seed <= kAnswers; ++seed) {
    const auto answer = make_answer(seed);
    for (std::size_t i = 0; i < all->gpus.size(); ++i) {
      if (over[i]) continue;
      auto wrong = look_for_wrong(*all->gpus[i], answer, share, launches[i]);
      over[i] = !wrong || wrong->has_value();
      if (!wrong) {
        result.findings.push_back(gave_up(kCheck, *all->gpus[i], wrong.error()));
      } else if (*wrong) {
        result.findings.push_back(**std::move(wrong));
      }
    }
  }
  for (std::size_t i = 0; i < all->gpus.size(); ++i) {
    if (over[i]) continue;
    result.findings.push_back(
        {.check = std::string(kCheck),
         .device = all->gpus[i]->name(),
         .outcome = Outcome::pass,
         .message = fmt::format(
             "{} products of {} answers were right to the last bit", launches[i], kAnswers)});
  }
  return result;
}

}  // namespace muster::bench::node
