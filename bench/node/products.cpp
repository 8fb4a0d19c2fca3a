// SPDX-License-Identifier: Apache-2.0
#include "bench/node/products.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "bench/backends/nccl/errors.hpp"
#include "bench/node/gemm/numbers.hpp"

namespace muster::bench::node {
namespace {

constexpr std::uint64_t kElements = kProductSize * kProductSize;

float element(std::uint64_t i) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(varied_number(kFp32, i)));
}

}  // namespace

Answer make_answer(std::uint64_t seed) {
  Answer answer{.a = std::vector<float>(kElements),
                .b = std::vector<float>(kElements),
                .c = std::vector<float>(kElements)};
  for (std::uint64_t i = 0; i < kElements; ++i) {
    answer.a[i] = element(2 * (seed * kElements + i));
    answer.b[i] = element(2 * (seed * kElements + i) + 1);
  }
  for (std::uint64_t row = 0; row < kProductSize; ++row) {
    auto* sums = answer.c.data() + row * kProductSize;
    for (std::uint64_t k = 0; k < kProductSize; ++k) {
      const float factor = answer.a[row * kProductSize + k];
      const auto* line = answer.b.data() + k * kProductSize;
      for (std::uint64_t i = 0; i < kProductSize; ++i) {
        sums[i] = std::fma(factor, line[i], sums[i]);
      }
    }
  }
  return answer;
}

Result<cuda::Pointer> Products::upload(const std::vector<float>& matrix) {
  const auto memory = gpu_.allocate(matrix.size() * sizeof(float));
  if (!memory) return memory;
  MUSTER_CUDA_TRY(gpu_.library(), copy_in, *memory, matrix.data(), matrix.size() * sizeof(float),
                  gpu_.gpu().stream());
  if (auto waited = gpu_.wait(); !waited) return tl::unexpected(waited.error());
  return memory;
}

Result<void> Products::prepare() {
  constexpr std::uint64_t kTiles = (kProductSize / 64) * (kProductSize / 64);
  for (const auto& [memory, matrix] : {std::pair(&a_, &answer_.a), std::pair(&b_, &answer_.b),
                                       std::pair(&expected_, &answer_.c)}) {
    if (auto made = put(*memory, upload(*matrix)); !made) return made;
  }
  copies_ = std::max<std::uint64_t>(1, gpu_.blocks() / kTiles);
  const auto bytes = copies_ * kElements * sizeof(float);
  auto done = gpu_.allocate({&c_}, bytes);
  if (done) done = gpu_.gpu().poison(c_, bytes);
  return done ? gpu_.wait() : done;
}

Result<void> Products::start() { return gpu_.product(a_, b_, c_, kProductSize, copies_, repeats_); }

Result<Counts> Products::compare() {
  auto done = gpu_.clear_counts();
  if (done) done = gpu_.compare(c_, expected_, copies_ * kElements, kElements);
  if (!done) return tl::unexpected(done.error());
  return gpu_.counts();
}

Result<void> Products::take(double seconds) {
  constexpr double kMostRepeats = 1e6;
  repeats_ = 1;
  if (auto warm = gpu_.timed([this] { return start(); }); !warm) {
    return tl::unexpected(warm.error());
  }
  TRY_ASSIGN(const auto one, gpu_.timed([this] { return start(); }));
  repeats_ = static_cast<std::uint64_t>(std::clamp(seconds / one, 1.0, kMostRepeats));
  return {};
}

double Products::operations() const {
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

}  // namespace muster::bench::node
