// SPDX-License-Identifier: Apache-2.0
// gpu.soak: products on all GPUs at once for minutes of their own clocks, each result compared; who
// slows down, when, and what NVML says of it.
#include <fmt/format.h>

#include <algorithm>

#include "bench/node/products.hpp"
#include "bench/node/tests.hpp"
#include "bench/results/statistics.hpp"
#include "lib/base/units.hpp"
#include "lib/probes/probes.hpp"

namespace muster::bench::node {
namespace {

constexpr double kLaunch = 0.25;   // seconds of a GPU
constexpr double kBeginning = 10;  // seconds that later ones are compared with
constexpr double kFallen = 0.93;   // of the beginning's rate: it is held back

struct Soaked {
  Products products;
  double seconds = 0;                            // at work so far
  std::vector<std::pair<double, double>> rates;  // when, in seconds, and TFLOPS
  std::uint64_t launches = 0;
  std::string nvml;  // what NVML said while it was slow
  bool over = false;
};

std::vector<double> rates_between(const Soaked& soaked, double from, double to) {
  std::vector<double> rates;
  for (const auto& [when, rate] : soaked.rates) {
    if (when >= from && when <= to) rates.push_back(rate);
  }
  return rates;
}

double rate_between(const Soaked& soaked, double from, double to) {
  auto rates = rates_between(soaked, from, to);
  return rates.empty() ? 0 : median_of(std::move(rates));
}

std::string held_back_by(std::uint64_t reasons) {
  constexpr std::array<std::pair<std::uint64_t, std::string_view>, 6> kReasons{
      {{0x40, "heat (hardware)"},
       {0x20, "heat (driver)"},
       {0x80, "the power brake"},
       {0x8, "a hardware slowdown"},
       {0x4, "the power limit"},
       {0x2, "clocks set for applications"}}};
  std::string text;
  for (const auto& [bit, word] : kReasons) {
    if ((reasons & bit) != 0) text += fmt::format("{}{}", text.empty() ? "" : " and ", word);
  }
  return text;
}

// "held back by heat (driver), 88 C, 1410 MHz, 699 W" of the GPU at this address.
std::string said_of(const Section<Nvml>& nvml, const std::string& address) {
  if (!nvml.ok()) return fmt::format("NVML: {}", nvml.reason);
  if (!nvml->trouble.empty()) return fmt::format("NVML: {}", nvml->trouble);
  const auto gpu = std::ranges::find(nvml->gpus, address, &muster::Gpu::address);
  if (gpu == nvml->gpus.end()) return "NVML does not list it";
  const auto reasons = gpu->clocks.reasons ? held_back_by(*gpu->clocks.reasons) : std::string();
  std::string text =
      reasons.empty() ? "NVML names no reason" : fmt::format("NVML: held back by {}", reasons);
  if (gpu->heat.gpu_c) text += fmt::format(", {} C", *gpu->heat.gpu_c);
  if (gpu->clocks.sm_mhz) text += fmt::format(", {} MHz", *gpu->clocks.sm_mhz);
  if (gpu->power.usage_mw) text += fmt::format(", {} W", *gpu->power.usage_mw / 1000);
  return text;
}

class Soak {
 public:
  Soak(const TestInput& input, TestResult& result) : input_(input), result_(result) {}

  void add(NodeGpu& gpu) {
    gpus_.push_back({.products = Products(gpu, answer_)});
    auto ready = gpus_.back().products.prepare();
    if (ready) ready = gpus_.back().products.take(kLaunch);
    if (ready) return;
    result_.findings.push_back(unjudged(gpu.name(), ready.error().message));
    gpus_.pop_back();
  }

  void run() {
    while (std::ranges::any_of(gpus_, [&](const Soaked& each) { return goes_on(each); })) round();
    judge();
  }

 private:
  [[nodiscard]] bool goes_on(const Soaked& soaked) const {
    return !soaked.over && soaked.seconds < input_.time.count();
  }

  // One launch on every GPU, all at once.
  void round() {
    for (auto& each : gpus_) {
      if (!goes_on(each)) continue;
      auto begun = each.products.gpu().begin_timed([&] { return each.products.start(); });
      if (!begun) give_up(each, begun.error());
    }
    const bool look = std::ranges::any_of(gpus_, slows_unexplained);
    const auto nvml = look ? probe_nvml(Root(), {.library = input_.nvml, .parts = {}},
                                        Clock::now() + std::chrono::seconds(5))
                           : Section<Nvml>{};
    for (auto& each : gpus_) {
      if (!goes_on(each)) continue;
      if (look && slows_unexplained(each)) {
        each.nvml = said_of(nvml, each.products.gpu().gpu().pci_address());
      }
      if (auto ended = end_launch(each); !ended) give_up(each, ended.error());
    }
  }

  Result<void> end_launch(Soaked& each) {
    TRY_ASSIGN(const auto seconds, each.products.gpu().end_timed());
    each.seconds += seconds;
    each.rates.emplace_back(each.seconds, each.products.operations() / seconds / kTera);
    ++each.launches;
    TRY_ASSIGN(const auto counts, each.products.compare());
    if (counts.wrong == 0) return {};
    result_.findings.push_back(wrong_product(each.products.gpu(), counts, each.launches));
    each.over = true;
    return {};
  }

  void give_up(Soaked& each, const Error& error) {
    result_.findings.push_back(unjudged(each.products.gpu().name(), error.message));
    each.over = true;
  }

  // It has fallen behind its own beginning, and nobody has asked NVML yet.
  [[nodiscard]] static bool slows_unexplained(const Soaked& each) {
    if (each.over || !each.nvml.empty() || each.seconds < kBeginning) return false;
    return each.rates.back().second < kFallen * rate_between(each, 0, kBeginning);
  }

  void judge() {
    Series series{.what = "products at the end",
                  .quantity = "soak_f32_own",
                  .unit = "TFLOPS",
                  .tolerance = 0.05};
    for (const auto& each : gpus_) {
      if (each.over || each.rates.empty()) continue;
      const double last = series
                              .add(each.products.gpu().name(),
                                   rates_between(each, 0.8 * each.seconds, each.rates.back().first))
                              .value;
      series.iterations = std::ssize(each.rates);
      const double first = rate_between(each, 0, std::min(kBeginning, each.seconds / 2));
      if (last < kFallen * first) result_.findings.push_back(fallen(each, first, last));
    }
    result_.add(std::move(series));
  }

  [[nodiscard]] static Finding fallen(const Soaked& each, double first, double last) {
    const auto when = std::ranges::find_if(
        each.rates, [&](const auto& rate) { return rate.second < kFallen * first; });
    return broken(each.products.gpu().name(),
                  fmt::format("fell from {:.3g} to {:.3g} TFLOPS after {:.0f} s of work; {}", first,
                              last, when == each.rates.end() ? each.seconds : when->first,
                              each.nvml.empty() ? "NVML was not asked" : each.nvml),
                  Remedy::report_to_provider);
  }

  const TestInput& input_;
  TestResult& result_;
  Answer answer_ = make_answer(4);
  std::vector<Soaked> gpus_;
};

}  // namespace

Result<TestResult> run_gpu_soak(const TestInput& input) {
  TRY_ASSIGN(auto all, open_gpus(input));
  TestResult result{.findings = std::move(all.refused)};
  Soak soak(input, result);
  for (auto& gpu : all.gpus) soak.add(*gpu);
  soak.run();
  return result;
}

}  // namespace muster::bench::node
