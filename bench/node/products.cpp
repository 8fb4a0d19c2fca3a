// SPDX-License-Identifier: Apache-2.0
// gpu.truth: whether each GPU's products are correct every time.
#include "bench/node/products.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "bench/node/gemm/gemm.hpp"
#include "bench/node/test.hpp"
#include "lib/base/clock.hpp"

namespace muster::bench::node {
namespace {

constexpr std::uint64_t kElements = kProductSize * kProductSize;

float product_element(std::uint64_t i) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(varied_number(Type::f32, i)));
}

// Returns the first wrong launch, if any.
Result<std::optional<Finding>> find_wrong_product(NodeGpu& gpu, const KnownProduct& known,
                                                  std::chrono::duration<double> time,
                                                  std::uint64_t& launches) {
  constexpr int kFewest = 3;
  ProductLoad load(gpu, known);
  TRY(load.prepare());
  const auto end = Clock::now() + time;
  for (int i = 0; i < kFewest || Clock::now() < end; ++i) {
    TRY(load.start());
    TRY_ASSIGN(const auto counts, load.compare());
    ++launches;
    if (counts.wrong != 0) return wrong_product(gpu, counts, launches);
  }
  gpu.release_all();
  return std::nullopt;
}

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
  TRY_ASSIGN(const auto memory, gpu_.allocate(bytes));
  TRY(gpu_.copy_to_gpu(memory, matrix.data(), bytes));
  return memory;
}

Result<void> ProductLoad::prepare() {
  constexpr std::uint64_t kTiles = (kProductSize / 64) * (kProductSize / 64);
  TRY_ASSIGN(a_, upload(known_.a));
  TRY_ASSIGN(b_, upload(known_.b));
  TRY_ASSIGN(expected_, upload(known_.c));
  copies_ = std::max<std::uint64_t>(1, gpu_.blocks() / kTiles);
  const auto bytes = copies_ * kElements * sizeof(float);
  TRY_ASSIGN(c_, gpu_.allocate(bytes));
  TRY(gpu_.gpu().poison(c_, bytes));
  return gpu_.wait();
}

Result<void> ProductLoad::start() {
  return gpu_.product(a_, b_, c_, kProductSize, copies_, repeats_);
}

Result<Counts> ProductLoad::compare() {
  TRY(gpu_.clear_counts());
  TRY(gpu_.compare(c_, expected_, copies_ * kElements, kElements));
  return gpu_.counts();
}

Result<void> ProductLoad::adjust_to(double seconds) {
  constexpr double kMostRepeats = 1e6;
  repeats_ = 1;
  TRY(gpu_.timed([this] { return start(); }));  // warms up
  TRY_ASSIGN(const auto one, gpu_.timed([this] { return start(); }));
  repeats_ = static_cast<std::uint64_t>(std::clamp(seconds / one, 1.0, kMostRepeats));
  return {};
}

double ProductLoad::operations() const {
  return 2.0 * static_cast<double>(kElements * kProductSize * copies_ * repeats_);
}

Finding wrong_product(const NodeGpu& gpu, const Counts& counts, std::uint64_t launch) {
  const auto place = counts.first % kElements;
  return broken(
      gpu.name(),
      fmt::format("{} numbers of product {} are wrong, the first in row {}, column {}; "
                  "bits {:08x} differ",
                  counts.wrong, launch, place / kProductSize, place % kProductSize, counts.bits));
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
      TRY_ASSIGN(auto wrong, find_wrong_product(gpu, product, share, launches));
      if (!wrong) continue;
      result.findings.push_back(*std::move(wrong));
      return {};
    }
    result.findings.push_back({.device = gpu.name(),
                               .outcome = Outcome::pass,
                               .message = fmt::format("{} products of {} kinds were correct to the "
                                                      "last bit",
                                                      launches, kProducts)});
    return {};
  });
  return result;
}

}  // namespace muster::bench::node
