// SPDX-License-Identifier: Apache-2.0
// gpu.truth: whether each GPU's products are correct every time. gpu.soak: products on all GPUs at
// once for minutes, the last of each launch compared; finds GPUs that slow down, and asks NVML why.
#include "bench/node/products.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>

#include "bench/backends/nccl/library.hpp"
#include "bench/node/gemm/gemm.hpp"
#include "bench/node/test.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/text.hpp"
#include "lib/base/units.hpp"
#include "lib/probes/probes.hpp"
#include "lib/report/finding.hpp"
#include "lib/statistics/statistics.hpp"

namespace muster::bench::node {
namespace {

constexpr std::uint64_t kElements = kProductSize * kProductSize;

float product_element(std::uint64_t i) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(varied_number(Type::f32, i)));
}

// Returns a sentence about the first wrong launch, if any.
Result<std::optional<std::string>> find_wrong_product(NodeGpu& gpu, const KnownProduct& known,
                                                      std::chrono::duration<double> time,
                                                      std::uint64_t& launches) {
  constexpr int kFewest = 3;
  ProductLoad load(gpu, known, launches);
  TRY(load.prepare());
  const auto end = Clock::now() + time;
  for (int i = 0; i < kFewest || Clock::now() < end; ++i) {
    TRY(load.start());
    TRY_ASSIGN(auto wrong, load.wrong());
    if (wrong) return wrong;
  }
  launches = load.launches();
  gpu.release_all();
  return std::nullopt;
}

constexpr double kLaunchSeconds = 0.25;
constexpr double kBeginningSeconds = 10;  // later rates are compared with those of the beginning
constexpr double kHeldBack = 0.93;        // of the beginning's rate

// Products in bf16 by cuBLASLt, which heat a GPU most. Without the library, or for a chip without
// bf16, those of muster's own kernel.
Result<std::unique_ptr<GpuLoad>> make_soak_load(NodeGpu& gpu, const KnownProduct& known,
                                                const Result<cublas::Library>& library,
                                                std::uint64_t bytes) {
  const auto& kind = gemm_kinds().front();
  const auto n = matrix_size(kind, bytes);
  auto gemm = library ? Gemm::prepare(gpu, *library, kind, {n, n, n}) : make_missing("");
  if (!gemm && !gemm.error().missing) return tl::unexpected(std::move(gemm.error()));
  std::unique_ptr<GpuLoad> load;
  if (gemm) {
    load = *std::move(gemm);
  } else {
    auto own = std::make_unique<ProductLoad>(gpu, known);
    TRY(own->prepare());
    load = std::move(own);
  }
  TRY(load->adjust_to(kLaunchSeconds));
  return load;
}

struct SoakedGpu {
  std::unique_ptr<GpuLoad> load;
  double seconds = 0;                            // of work so far
  std::vector<std::pair<double, double>> rates;  // the time in seconds, and TFLOPS
  std::string nvml;                              // NVML's answer while the GPU was slow
  bool over = false;
};

std::vector<double> rates_between(const SoakedGpu& soaked, double from, double to) {
  std::vector<double> rates;
  for (const auto& [when, rate] : soaked.rates) {
    if (when >= from && when <= to) rates.push_back(rate);
  }
  return rates;
}

double rate_between(const SoakedGpu& soaked, double from, double to) {
  auto rates = rates_between(soaked, from, to);
  return rates.empty() ? 0 : median_of(std::move(rates));
}

std::string names_of_reasons(std::uint64_t reasons) {
  constexpr std::array<std::pair<std::uint64_t, std::string_view>, 6> kReasons{
      {{0x40, "heat (hardware)"},
       {0x20, "heat (driver)"},
       {0x80, "the power brake"},
       {0x8, "a hardware slowdown"},
       {0x4, "the power limit"},
       {0x2, "clocks set for applications"}}};
  std::vector<std::string_view> names;
  for (const auto& [bit, name] : kReasons) {
    if ((reasons & bit) != 0) names.push_back(name);
  }
  return fmt::format("{}", fmt::join(names, " and "));
}

// "NVML: held back by heat (driver), 88 C, 1410 MHz, 699 W" for the GPU at this address.
std::string explanation_of(const Section<Nvml>& nvml, const std::string& address) {
  if (!nvml.ok()) return fmt::format("NVML: {}", nvml.reason);
  if (!nvml->trouble.empty()) return fmt::format("NVML: {}", nvml->trouble);
  const auto gpu = std::ranges::find(nvml->gpus, address, &muster::Gpu::address);
  if (gpu == nvml->gpus.end()) return "NVML does not list it";
  const auto reasons = gpu->clocks.reasons ? names_of_reasons(*gpu->clocks.reasons) : std::string();
  std::string text =
      reasons.empty() ? "NVML reports no reason" : fmt::format("NVML: held back by {}", reasons);
  if (gpu->heat.gpu_c) text += fmt::format(", {} C", *gpu->heat.gpu_c);
  if (gpu->clocks.sm_mhz) text += fmt::format(", {} MHz", *gpu->clocks.sm_mhz);
  if (gpu->power.usage_mw) text += fmt::format(", {} W", *gpu->power.usage_mw / 1000);
  return text;
}

class SoakTest {
 public:
  SoakTest(const TestInput& input, const cuda::Library& cuda, TestResult& result)
      : input_(input),
        end_(Clock::now() + std::chrono::duration_cast<Clock::duration>(input.time)),
        result_(result),
        library_(cublas::open_library(input.cublas, cuda)) {
    if (library_) return;
    result_.lines.push_back(
        fmt::format("cuBLASLt is not available ({}): muster's own kernel in fp32 heats less",
                    printable(library_.error().message)));
  }

  [[nodiscard]] Result<void> add(NodeGpu& gpu) {
    TRY_ASSIGN(auto load, make_soak_load(gpu, known_, library_, input_.bytes));
    gpus_.push_back({.load = std::move(load)});
    return {};
  }

  void run() {
    do {
      launch_all();
    } while (Clock::now() < end_ &&
             std::ranges::any_of(gpus_, [&](const auto& each) { return is_running(each); }));
    judge_all();
  }

 private:
  [[nodiscard]] bool is_running(const SoakedGpu& soaked) const {
    return !soaked.over && soaked.seconds < input_.time.count();
  }

  // One launch on every GPU, all at once.
  void launch_all() {
    for (auto& each : gpus_) {
      if (!is_running(each)) continue;
      auto begun = each.load->gpu().begin_timed([&] { return each.load->start(); });
      if (!begun) give_up(each, begun.error());
    }
    const bool ask = std::ranges::any_of(gpus_, needs_explanation);
    const auto nvml = ask ? probe_nvml(Root(), {.library = input_.nvml, .parts = {}},
                                       Clock::now() + std::chrono::seconds(5))
                          : Section<Nvml>{};
    for (auto& each : gpus_) {
      if (!is_running(each)) continue;
      if (ask && needs_explanation(each)) {
        each.nvml = explanation_of(nvml, each.load->gpu().gpu().pci_address());
      }
      if (auto ended = end_launch(each); !ended) give_up(each, ended.error());
    }
  }

  [[nodiscard]] Result<void> end_launch(SoakedGpu& each) {
    TRY_ASSIGN(const auto seconds, each.load->gpu().end_timed());
    each.seconds += seconds;
    each.rates.emplace_back(each.seconds, each.load->operations() / seconds / kTera);
    TRY_ASSIGN(const auto wrong, each.load->wrong());
    if (!wrong) return {};
    result_.findings.push_back(broken(each.load->gpu().name(), *wrong));
    each.over = true;
    return {};
  }

  void give_up(SoakedGpu& each, const Error& error) {
    result_.findings.push_back(unjudged(each.load->gpu().name(), error.message));
    each.over = true;
  }

  // Whether the GPU is slower than at its beginning, and NVML was not asked yet.
  [[nodiscard]] static bool needs_explanation(const SoakedGpu& each) {
    if (each.over || !each.nvml.empty() || each.seconds < kBeginningSeconds) return false;
    return each.rates.back().second < kHeldBack * rate_between(each, 0, kBeginningSeconds);
  }

  void judge_all() {
    Series series{
        .what = "products at the end",
        .quantity = gpus_.empty() ? "" : fmt::format("soak_{}", gpus_.front().load->name()),
        .unit = "TFLOPS",
        .tolerance = 0.05};
    for (const auto& each : gpus_) {
      if (each.over || each.rates.empty()) continue;
      const auto at_the_end = rates_between(each, 0.8 * each.seconds, each.rates.back().first);
      const double last = series.add(each.load->gpu().name(), at_the_end).value;
      series.iterations = std::ssize(each.rates);
      const double first = rate_between(each, 0, std::min(kBeginningSeconds, each.seconds / 2));
      result_.findings.push_back(last < kHeldBack * first ? slowed_down(each, first, last)
                                                          : kept_up(each, first, last));
    }
    result_.add(std::move(series));
  }

  [[nodiscard]] static Finding kept_up(const SoakedGpu& each, double first, double last) {
    return make_finding("", each.load->gpu().name(), Outcome::pass,
                        fmt::format("kept its speed for {:.0f} s of work: {:.3g} TFLOPS at the "
                                    "beginning, {:.3g} at the end",
                                    each.seconds, first, last));
  }

  [[nodiscard]] static Finding slowed_down(const SoakedGpu& each, double first, double last) {
    const auto when = std::ranges::find_if(
        each.rates, [&](const auto& rate) { return rate.second < kHeldBack * first; });
    return broken(each.load->gpu().name(),
                  fmt::format("fell from {:.3g} to {:.3g} TFLOPS after {:.0f} s of work; {}", first,
                              last, when == each.rates.end() ? each.seconds : when->first,
                              each.nvml.empty() ? "NVML was not asked" : each.nvml),
                  Remedy::report_to_provider);
  }

  const TestInput& input_;
  Clock::time_point end_;  // of the soak by the host's clock, set-up included
  TestResult& result_;
  Result<cublas::Library> library_;
  KnownProduct known_ = make_known_product(4);
  std::vector<SoakedGpu> gpus_;
};

}  // namespace

KnownProduct make_known_product(std::uint64_t seed) {
  KnownProduct known{.a = std::vector<float>(kElements),
                     .b = std::vector<float>(kElements),
                     .c = std::vector<float>(kElements)};
  for (std::uint64_t i = 0; i < kElements; ++i) {
    known.a[i] = product_element(2 * (seed * kElements + i));
    known.b[i] = product_element(2 * (seed * kElements + i) + 1);
  }
  for (std::uint64_t row = 0; row < kProductSize; ++row) {
    auto* sums = known.c.data() + row * kProductSize;
    for (std::uint64_t k = 0; k < kProductSize; ++k) {
      const float factor = known.a[row * kProductSize + k];
      const auto* line = known.b.data() + k * kProductSize;
      for (std::uint64_t i = 0; i < kProductSize; ++i) {
        sums[i] = std::fma(factor, line[i], sums[i]);
      }
    }
  }
  return known;
}

Result<cuda::Pointer> ProductLoad::upload(const std::vector<float>& matrix) {
  const auto bytes = matrix.size() * sizeof(float);
  TRY_ASSIGN(const auto memory, gpu().allocate(bytes));
  TRY(gpu().copy_to_gpu(memory, matrix.data(), bytes));
  return memory;
}

Result<void> ProductLoad::prepare() {
  constexpr std::uint64_t kTiles = (kProductSize / 64) * (kProductSize / 64);
  TRY_ASSIGN(a_, upload(known_.a));
  TRY_ASSIGN(b_, upload(known_.b));
  TRY_ASSIGN(expected_, upload(known_.c));
  copies_ = std::max<std::uint64_t>(1, gpu().blocks() / kTiles);
  TRY_ASSIGN(c_, gpu().allocate(bytes()));
  return {};
}

std::uint64_t ProductLoad::bytes() const { return copies_ * kElements * sizeof(float); }

// Poisoning takes thousandths of the time of a product.
Result<void> ProductLoad::start() {
  TRY(gpu().gpu().use());
  TRY(gpu().gpu().poison(c_, bytes()));
  ++launches_;
  return gpu().product(a_, b_, c_, kProductSize, copies_, repeats_);
}

Result<std::optional<std::string>> ProductLoad::wrong() {
  TRY(gpu().clear_counts());
  TRY(gpu().compare(c_, expected_, copies_ * kElements, kElements));
  TRY_ASSIGN(const auto counts, gpu().counts());
  if (counts.wrong == 0) return std::nullopt;
  const auto place = counts.first % kElements;
  return fmt::format(
      "{} numbers of product {} are wrong, the first in row {}, column {}; bits {:08x} differ",
      counts.wrong, launches_, place / kProductSize, place % kProductSize, counts.bits);
}

Result<void> ProductLoad::adjust_to(double seconds) {
  constexpr double kMaxRepeats = 1e6;
  const auto before = launches_;
  repeats_ = 1;
  TRY(gpu().timed([this] { return start(); }));  // warms up
  TRY_ASSIGN(const auto one, gpu().timed([this] { return start(); }));
  repeats_ = static_cast<std::uint64_t>(std::clamp(seconds / one, 1.0, kMaxRepeats));
  launches_ = before;
  return {};
}

double ProductLoad::operations() const {
  return 2.0 * static_cast<double>(kElements * kProductSize * copies_ * repeats_);
}

Result<TestResult> run_gpu_truth(const TestInput& input) {
  constexpr std::uint64_t kProducts = 3;
  TRY_ASSIGN(auto all, open_gpus(input));
  TestResult result{.findings = std::move(all.refused)};
  const auto share = input.time / (static_cast<double>(kProducts) *
                                   std::max(1.0, static_cast<double>(all.gpus.size())));
  std::vector<KnownProduct> known;
  for (std::uint64_t seed = 1; seed <= kProducts; ++seed) known.push_back(make_known_product(seed));
  all.on_each(result, [&](NodeGpu& gpu) -> Result<void> {
    std::uint64_t launches = 0;
    for (const auto& product : known) {
      TRY_ASSIGN(const auto wrong, find_wrong_product(gpu, product, share, launches));
      if (!wrong) continue;
      result.findings.push_back(broken(gpu.name(), *wrong));
      return {};
    }
    result.findings.push_back(make_finding(
        "", gpu.name(), Outcome::pass,
        fmt::format("{} products of {} kinds were correct to the last bit", launches, kProducts)));
    return {};
  });
  return result;
}

Result<TestResult> run_gpu_soak(const TestInput& input) {
  TRY_ASSIGN(auto all, open_gpus(input));
  TestResult result{.findings = std::move(all.refused)};
  if (all.gpus.empty()) return result;
  SoakTest soak(input, all.gpus.front()->library(), result);
  all.on_each(result, [&](NodeGpu& gpu) { return soak.add(gpu); });
  soak.run();
  return result;
}

}  // namespace muster::bench::node
