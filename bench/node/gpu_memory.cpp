// SPDX-License-Identifier: Apache-2.0
// gpu.memory: the bandwidth of each GPU's memory, and whether all of it holds its data.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "bench/node/gpus.hpp"
#include "lib/base/units.hpp"

namespace muster::bench::node {
namespace {

constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15U;

// Each word's own index in all bits; stripes; zeros and ones, by their inverses.
constexpr std::array kPatterns{MemoryPattern{0x5bd1e995deadbeefU, kOdd},
                               MemoryPattern{0x5555555555555555U, 0},
                               MemoryPattern{0x00000000ffffffffU, 1}};

float triad_element(std::uint64_t i, std::uint64_t seed) {
  const auto bits = static_cast<std::uint32_t>(((i + seed) * kOdd) >> 41U);  // 23 of a mantissa
  return std::bit_cast<float>(0x3f800000U | bits);                           // from 1 to 2
}

// Three arrays of floats with c = a + 3b, and the expected result.
Result<void> measure_triad(NodeGpu& gpu, std::uint64_t bytes, Series& series, TestResult& result) {
  constexpr int kRepeats = 10;
  constexpr std::uint64_t kPeriod = 1021;
  const auto count = bytes / sizeof(float) / 4 * 4;
  std::vector<std::uint64_t> first;
  std::vector<std::uint64_t> second;
  std::vector<std::uint64_t> expected;
  for (std::uint64_t i = 0; i < kPeriod; ++i) {
    const float x = triad_element(i, 1);
    const float y = triad_element(i, 2);
    first.push_back(std::bit_cast<std::uint32_t>(x));
    second.push_back(std::bit_cast<std::uint32_t>(y));
    expected.push_back(std::bit_cast<std::uint32_t>(std::fma(3.0F, y, x)));
  }
  cuda::Pointer a = 0;
  cuda::Pointer b = 0;
  cuda::Pointer c = 0;
  TRY(gpu.allocate({&a, &b, &c}, count * sizeof(float)));
  TRY(gpu.fill(a, count, sizeof(float), first));
  TRY(gpu.fill(b, count, sizeof(float), second));
  std::vector<double> rates;
  Wrong wrong;
  for (int i = 0; i <= kRepeats; ++i) {
    TRY(gpu.poison(c, count * sizeof(float)));
    TRY_ASSIGN(const auto seconds, gpu.timed([&] { return gpu.triad(c, a, b, count); }));
    const auto moved = 3 * sizeof(float) * static_cast<double>(count);
    if (i > 0) rates.push_back(moved / seconds / kGiga);  // the first one warms up
    if (wrong.elements != 0) continue;
    TRY_ASSIGN(wrong, gpu.verify(c, count, sizeof(float), expected));
  }
  if (wrong.elements != 0) {
    result.findings.push_back(broken(
        gpu.name(),
        fmt::format("{} elements of a triad are wrong; element {} is the first, with bits {:08x}",
                    wrong.elements, wrong.first, wrong.observed),
        Remedy::reset_gpu));
  }
  series.size_bytes = static_cast<std::int64_t>(bytes);
  series.add(gpu.name(), rates);
  gpu.release_all();
  return {};
}

struct MemoryChunk {
  cuda::Pointer memory = 0;
  std::uint64_t words = 0;
};

// Allocates nine tenths of the free memory, in pieces, since one of that size may not fit.
Result<std::vector<MemoryChunk>> allocate_most(NodeGpu& gpu, std::uint64_t most) {
  constexpr std::uint64_t kPiece = 1UL << 30U;
  const auto free = gpu.gpu().memory_free();
  if (!free) return make_error("the driver does not report the free memory");
  std::vector<MemoryChunk> chunks;
  for (auto left = std::min(*free / 10 * 9, most); left > 0;) {
    const auto bytes = std::min(left, kPiece);
    const auto memory = gpu.allocate(bytes);
    if (!memory && chunks.empty()) return tl::unexpected(memory.error());
    if (!memory) break;
    chunks.push_back({.memory = *memory, .words = bytes / sizeof(std::uint64_t)});
    left -= bytes;
  }
  return chunks;
}

// Moving inversions: compares and inverts each word, twice.
Result<Counts> run_pattern(NodeGpu& gpu, const MemoryChunk& chunk, const MemoryPattern& pattern) {
  TRY(gpu.clear_counts());
  TRY(gpu.write_pattern(chunk.memory, chunk.words, pattern));
  TRY(gpu.check_pattern(chunk.memory, chunk.words, pattern));
  TRY(gpu.check_pattern(chunk.memory, chunk.words,
                        {.seed = ~pattern.seed, .spread = pattern.spread}));
  return gpu.counts();
}

Result<void> test_patterns(NodeGpu& gpu, std::uint64_t most, TestResult& result) {
  TRY_ASSIGN(const auto chunks, allocate_most(gpu, most));
  Counts all;
  std::uint64_t tested = 0;  // bytes
  for (const auto& chunk : chunks) {
    for (const auto& pattern : kPatterns) {
      TRY_ASSIGN(const auto counts, run_pattern(gpu, chunk, pattern));
      if (all.wrong == 0) all.first = tested + counts.first * sizeof(std::uint64_t);
      all.wrong += counts.wrong;
      all.bits |= counts.bits;
    }
    tested += chunk.words * sizeof(std::uint64_t);
  }
  gpu.release_all();
  result.lines.push_back(fmt::format("{}: patterns in {:.1f} GiB, {} words wrong", gpu.name(),
                                     static_cast<double>(tested) / (1UL << 30U), all.wrong));
  if (all.wrong == 0) return {};
  result.findings.push_back(broken(
      gpu.name(),
      fmt::format("{} words did not hold their pattern, the first at byte {} of the tested memory; "
                  "bits {:016x} differ",
                  all.wrong, all.first, all.bits),
      Remedy::reset_gpu));
  return {};
}

}  // namespace

Result<TestResult> run_gpu_memory(const TestInput& input) {
  constexpr std::uint64_t kTriad = 1UL << 30U;
  const std::uint64_t bytes = input.bytes != 0 ? input.bytes : kTriad;
  // The quick level tests 4 GiB of each GPU.
  const std::uint64_t most = input.bytes != 0              ? input.bytes
                             : input.level == Level::quick ? 4UL << 30U
                                                           : ~std::uint64_t{0};
  TRY_ASSIGN(auto all, open_gpus(input));
  TestResult result{.findings = std::move(all.refused)};
  Series series{.what = "triad", .quantity = "gpu_triad", .unit = "GB/s", .limited = true};
  all.on_each(result, [&](NodeGpu& gpu) -> Result<void> {
    TRY(measure_triad(gpu, bytes, series, result));
    return test_patterns(gpu, most, result);
  });
  result.add(std::move(series));
  input.require_size_for(result, kTriad);
  return result;
}

}  // namespace muster::bench::node
