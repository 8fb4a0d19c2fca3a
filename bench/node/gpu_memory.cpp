// SPDX-License-Identifier: Apache-2.0
// gpu.memory: the bandwidth of each GPU's memory, and whether all of it holds what is written.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "bench/node/gpus.hpp"
#include "bench/node/tests.hpp"
#include "lib/base/units.hpp"

namespace muster::bench::node {
namespace {

constexpr std::uint64_t kPeriod = 1021;
constexpr int kRepeats = 10;
constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15U;

// Each word's own number in all bits; stripes; noughts and ones by their inverses.
constexpr std::array kPatterns{MemoryPattern{0x5bd1e995deadbeefU, kOdd},
                               MemoryPattern{0x5555555555555555U, 0},
                               MemoryPattern{0x00000000ffffffffU, 1}};

float element(std::uint64_t i, std::uint64_t seed) {
  const auto bits = static_cast<std::uint32_t>(((i + seed) * kOdd) >> 41U);  // 23 of a mantissa
  return std::bit_cast<float>(0x3f800000U | bits);                           // from 1 up to 2
}

// Three arrays of floats with c = a + 3b, and what that is.
class Triad {
 public:
  Triad(NodeGpu& gpu, std::uint64_t count) : gpu_(gpu), count_(count) {}

  Result<void> prepare() {
    Fill a;
    Fill b;
    for (std::uint64_t i = 0; i < kPeriod; ++i) {
      const float x = element(i, 1);
      const float y = element(i, 2);
      a.bits.push_back(std::bit_cast<std::uint32_t>(x));
      b.bits.push_back(std::bit_cast<std::uint32_t>(y));
      answer_.push_back(std::bit_cast<std::uint32_t>(std::fma(3.0F, y, x)));
    }
    auto done = gpu_.allocate({&a_, &b_, &c_}, count_ * sizeof(float));
    if (done) done = gpu_.gpu().fill(a_, count_, sizeof(float), a);
    if (done) done = gpu_.wait();
    if (done) done = gpu_.gpu().fill(b_, count_, sizeof(float), b);
    if (done) done = gpu_.gpu().poison(c_, count_ * sizeof(float));
    if (done) done = gpu_.wait();
    return done;
  }

  // GB/s, once.
  Result<double> once() {
    const auto seconds = gpu_.timed([this] { return gpu_.triad(c_, a_, b_, count_); });
    if (!seconds) return seconds;
    return 3 * sizeof(float) * static_cast<double>(count_) / *seconds / kGiga;
  }

  Result<Wrong> verify() {
    const Segment segment{.first = 0, .count = count_, .shift = 0, .low = answer_, .high = answer_};
    Wrong wrong;
    auto done =
        gpu_.gpu().verify(c_, sizeof(float), segment, wrong, []() -> Result<void> { return {}; });
    if (!done) return tl::unexpected(done.error());
    return wrong;
  }

 private:
  NodeGpu& gpu_;
  std::uint64_t count_;
  cuda::Pointer a_ = 0, b_ = 0, c_ = 0;
  std::vector<std::uint64_t> answer_;
};

Result<void> measure(NodeGpu& gpu, std::uint64_t bytes, Series& series, TestResult& result) {
  Triad triad(gpu, bytes / sizeof(float) / 4 * 4);
  if (auto ready = triad.prepare(); !ready) return ready;
  std::vector<double> rates;
  for (int i = 0; i <= kRepeats; ++i) {
    TRY_ASSIGN(const auto rate, triad.once());
    if (i > 0) rates.push_back(rate);
  }
  TRY_ASSIGN(const auto wrong, triad.verify());
  if (wrong.elements != 0) {
    result.findings.push_back(broken(
        gpu.name(),
        fmt::format("{} elements of a triad are wrong, the first is number {} with bits {:08x}",
                    wrong.elements, wrong.first, wrong.observed),
        Remedy::reset_gpu));
  }
  series.size_bytes = static_cast<std::int64_t>(bytes);
  series.add(gpu.name(), rates);
  gpu.release_all();
  return {};
}

struct Chunk {
  cuda::Pointer memory = 0;
  std::uint64_t words = 0;
};

// Nine tenths of what is free, in pieces: one piece of that size may not be had.
Result<std::vector<Chunk>> take_memory(NodeGpu& gpu, std::uint64_t most) {
  constexpr std::uint64_t kPiece = 1UL << 30U;
  const auto free = gpu.gpu().memory_free();
  if (!free) return make_error("the driver does not say how much memory is free");
  auto left = std::min(*free / 10 * 9, most);
  std::vector<Chunk> chunks;
  while (left > 0) {
    const auto bytes = std::min(left, kPiece);
    const auto memory = gpu.allocate(bytes);
    if (!memory && chunks.empty()) return tl::unexpected(memory.error());
    if (!memory) break;
    chunks.push_back({.memory = *memory, .words = bytes / sizeof(std::uint64_t)});
    left -= bytes;
  }
  return chunks;
}

// Moving inversions: each word is compared and turned over, twice.
Result<Counts> run_pattern(NodeGpu& gpu, const Chunk& chunk, const MemoryPattern& pattern) {
  const MemoryPattern inverse{.seed = ~pattern.seed, .spread = pattern.spread};
  auto done = gpu.clear_counts();
  if (done) done = gpu.write_pattern(chunk.memory, chunk.words, pattern);
  if (done) done = gpu.check_pattern(chunk.memory, chunk.words, pattern);
  if (done) done = gpu.check_pattern(chunk.memory, chunk.words, inverse);
  if (!done) return tl::unexpected(done.error());
  return gpu.counts();
}

Result<void> try_patterns(NodeGpu& gpu, std::uint64_t most, TestResult& result) {
  TRY_ASSIGN(const auto chunks, take_memory(gpu, most));
  std::uint64_t wrong = 0;
  std::uint64_t bits = 0;
  std::uint64_t first = 0;
  std::uint64_t before = 0;
  for (const auto& chunk : chunks) {
    for (const auto& pattern : kPatterns) {
      TRY_ASSIGN(const auto counts, run_pattern(gpu, chunk, pattern));
      if (wrong == 0 && counts.wrong != 0) first = before + counts.first * sizeof(std::uint64_t);
      wrong += counts.wrong;
      bits |= counts.bits;
    }
    before += chunk.words * sizeof(std::uint64_t);
  }
  gpu.release_all();
  result.lines.push_back(fmt::format("{}: patterns in {:.1f} GiB, {} words wrong", gpu.name(),
                                     static_cast<double>(before) / (1UL << 30U), wrong));
  if (wrong == 0) return {};
  result.findings.push_back(broken(
      gpu.name(),
      fmt::format("{} words did not hold the pattern that was written, the first at byte {} of "
                  "what was tested; bits {:016x} differ",
                  wrong, first, bits),
      Remedy::reset_gpu));
  return {};
}

}  // namespace

Result<TestResult> run_gpu_memory(const TestInput& input) {
  const std::uint64_t bytes = input.bytes != 0 ? input.bytes : 1UL << 30U;
  // A moment's worth at the level quick: 4 GiB of each GPU.
  const std::uint64_t most = input.bytes != 0              ? input.bytes
                             : input.level == Level::quick ? 4UL << 30U
                                                           : ~std::uint64_t{0};
  TRY_ASSIGN(auto all, open_gpus(input));
  TestResult result{.findings = std::move(all.refused)};
  Series series{.what = "triad", .quantity = "gpu_triad", .unit = "GB/s", .limited = true};
  for (auto& gpu : all.gpus) {
    auto done = measure(*gpu, bytes, series, result);
    if (done) done = try_patterns(*gpu, most, result);
    if (!done) result.findings.push_back(unjudged(gpu->name(), done.error().message));
  }
  result.add(std::move(series));
  return result;
}

}  // namespace muster::bench::node
