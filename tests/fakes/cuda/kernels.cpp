// SPDX-License-Identifier: Apache-2.0
// The kernels of bench/backends/nccl/kernels.cu and bench/node/kernels.cu, run by the host on the
// real part of the memory. Those of the node tests take the times of the scenario and have its
// faults.
#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/fakes/cuda/driver.hpp"

namespace muster::fakes::gpu {
namespace {

using Word = std::uint64_t;

// An argument as cuLaunchKernel takes it.
template <class T>
T argument(void** arguments, std::size_t index) {
  T value{};
  std::memcpy(&value, arguments[index], sizeof value);
  return value;
}

// `run` returns the time that it takes.
template <class Run>
Work taking(Run run) {
  return [run]() -> Step {
    return [run](Time& now) {
      now += run();
      return true;
    };
  };
}

Work fill(unsigned width, unsigned /*blocks*/, void** arguments) {
  auto* buffer = argument<char*>(arguments, 0);
  const auto count = argument<Word>(arguments, 1);
  const auto* bits = argument<const Word*>(arguments, 2);
  const auto period = argument<Word>(arguments, 3);
  const auto shift = argument<Word>(arguments, 4);
  const auto bytes = count * width;
  if (reach(buffer) < bytes || period == 0 || reach(bits) < period * sizeof(Word)) return {};
  return taking([=] {
    const auto real = std::min(bytes, kReal);
    for (Word i = 0; i * width < real; ++i) {
      std::memcpy(buffer + i * width, &bits[(i + shift) % period], width);
    }
    written(buffer, bytes, real);
    return Time{0};
  });
}

Work verify(unsigned width, unsigned /*blocks*/, void** arguments) {
  const auto* buffer = argument<const char*>(arguments, 0);
  const auto first = argument<Word>(arguments, 1);
  const auto count = argument<Word>(arguments, 2);
  const auto* low = argument<const Word*>(arguments, 3);
  const auto* high = argument<const Word*>(arguments, 4);
  const auto period = argument<Word>(arguments, 5);
  const auto shift = argument<Word>(arguments, 6);
  auto* result = argument<Word*>(arguments, 7);
  const auto table = period * sizeof(Word);
  if (reach(buffer) < count * width || period == 0 || reach(low) < table || reach(high) < table ||
      reach(result) < 2 * sizeof(Word)) {
    return {};
  }
  return taking([=] {
    for (const auto& range : real_ranges(buffer, count * width)) {
      for (auto i = (range.first + width - 1) / width; (i + 1) * width <= range.end; ++i) {
        Word seen = 0;
        std::memcpy(&seen, buffer + i * width, width);
        const auto entry = (i + shift) % period;
        if (seen >= low[entry] && seen <= high[entry]) continue;
        ++result[0];
        result[1] = std::min(result[1], first + i);
      }
    }
    return Time{0};
  });
}

Time memory_time(int gpu, std::uint64_t bytes) {
  const auto& node = scenario().node;
  const double gbs = number_for(node.memory, std::to_string(gpu), node.memory_gbs);
  return time_of(static_cast<double>(bytes) / (gbs * 1e9));
}

void count(Word* result, Word index, Word bits) {
  ++result[0];
  result[1] = std::min(result[1], index);
  result[2] |= bits;
}

Work triad(unsigned /*width*/, unsigned /*blocks*/, void** arguments) {
  auto* c = argument<float*>(arguments, 0);
  const auto* a = argument<const float*>(arguments, 1);
  const auto* b = argument<const float*>(arguments, 2);
  const auto count = 4 * argument<Word>(arguments, 3);
  const auto bytes = count * sizeof(float);
  if (reach(c) < bytes || reach(a) < bytes || reach(b) < bytes) return {};
  return taking([=, gpu = current_gpu()] {
    const auto& lost = scenario().node.lost_triad;
    const auto triads = ++driver().devices[gpu].triads;
    if (lost && lost->is(gpu, triads)) return memory_time(gpu, 3 * bytes);
    const auto real = std::min({real_bytes(a, bytes), real_bytes(b, bytes), kReal});
    for (Word i = 0; i < real / sizeof(float); ++i) c[i] = std::fma(3.0F, b[i], a[i]);
    written(c, bytes, real);
    return memory_time(gpu, 3 * bytes);
  });
}

Word pattern(Word i, Word seed, Word spread) { return seed ^ (i * spread); }

// A stuck bit.
void apply_stuck(int gpu, Word* words, Word real) {
  const auto& stuck = scenario().node.stuck;
  if (stuck && stuck->gpu == gpu && stuck->index < real) words[stuck->index] |= 1UL << stuck->bit;
}

Work write_pattern(unsigned /*width*/, unsigned /*blocks*/, void** arguments) {
  auto* words = argument<Word*>(arguments, 0);
  const auto count = argument<Word>(arguments, 1);
  const auto seed = argument<Word>(arguments, 2);
  const auto spread = argument<Word>(arguments, 3);
  if (reach(words) < count * sizeof(Word)) return {};
  return taking([=, gpu = current_gpu()] {
    const auto real = std::min(count, kReal / sizeof(Word));
    for (Word i = 0; i < real; ++i) words[i] = pattern(i, seed, spread);
    apply_stuck(gpu, words, real);
    written(words, count * sizeof(Word), real * sizeof(Word));
    return memory_time(gpu, count * sizeof(Word));
  });
}

Work check_pattern(unsigned /*width*/, unsigned /*blocks*/, void** arguments) {
  auto* words = argument<Word*>(arguments, 0);
  const auto all = argument<Word>(arguments, 1);
  const auto seed = argument<Word>(arguments, 2);
  const auto spread = argument<Word>(arguments, 3);
  auto* result = argument<Word*>(arguments, 4);
  if (reach(words) < all * sizeof(Word) || reach(result) < 3 * sizeof(Word)) return {};
  return taking([=, gpu = current_gpu()] {
    const auto real = real_bytes(words, all * sizeof(Word)) / sizeof(Word);
    for (Word i = 0; i < real; ++i) {
      const auto expected = pattern(i, seed, spread);
      if (words[i] != expected) count(result, i, words[i] ^ expected);
      words[i] = ~expected;
    }
    apply_stuck(gpu, words, real);
    return memory_time(gpu, 2 * all * sizeof(Word));
  });
}

struct Product {
  const float* a = nullptr;
  const float* b = nullptr;
  float* c = nullptr;
  Word n = 0;
  Word copies = 0;
  Word repeats = 0;
};

// The real rows of a product, computed once for each pair of matrices.
const std::vector<float>& rows_of(const Product& product) {
  static std::map<std::string, std::vector<float>> known;
  const auto bytes = product.n * product.n * sizeof(float);
  std::string key(reinterpret_cast<const char*>(product.a), bytes);
  key.append(reinterpret_cast<const char*>(product.b), bytes);
  auto& rows = known[std::move(key)];
  if (!rows.empty()) return rows;
  rows.resize(std::min(product.n * product.n, kReal / sizeof(float)));
  for (Word row = 0; row < rows.size() / product.n; ++row) {
    for (Word k = 0; k < product.n; ++k) {
      const float factor = product.a[row * product.n + k];
      for (Word i = 0; i < product.n; ++i) {
        auto& sum = rows[row * product.n + i];
        sum = std::fma(factor, product.b[k * product.n + i], sum);
      }
    }
  }
  return rows;
}

// Seconds at the GPU's current speed.
double seconds_of(int gpu, const Product& product) {
  const auto& hardware = scenario().node;
  const auto n = static_cast<double>(product.n);
  const double operations =
      2 * n * n * n * static_cast<double>(product.copies) * static_cast<double>(product.repeats);
  return work_for(gpu, operations / (hardware.tflops * 1e12));
}

Work multiply(unsigned /*width*/, unsigned blocks, void** arguments) {
  const auto n = argument<Word>(arguments, 3);
  if (n == 0 || n % 64 != 0) return {};
  const Product product{.a = argument<const float*>(arguments, 0),
                        .b = argument<const float*>(arguments, 1),
                        .c = argument<float*>(arguments, 2),
                        .n = n,
                        .copies = blocks / (n / 64 * (n / 64)),
                        .repeats = argument<Word>(arguments, 4)};
  const auto bytes = n * n * sizeof(float);
  if (reach(product.a) < bytes || reach(product.b) < bytes || product.copies == 0 ||
      reach(product.c) < product.copies * bytes) {
    return {};
  }
  return taking([=, gpu = current_gpu()] {
    const auto& lost = scenario().node.lost_product;
    const auto launch = ++driver().devices[gpu].products;
    if (lost && lost->is(gpu, launch)) return time_of(seconds_of(gpu, product));
    const auto& rows = rows_of(product);
    std::memcpy(product.c, rows.data(), rows.size() * sizeof(float));
    const auto& flip = scenario().node.flip;
    if (flip && flip->gpu == gpu && flip->product == launch && flip->index < rows.size()) {
      std::uint32_t bits = 0;
      std::memcpy(&bits, product.c + flip->index, sizeof bits);
      bits ^= 1U << flip->bit;
      std::memcpy(product.c + flip->index, &bits, sizeof bits);
    }
    written(product.c, product.copies * bytes, rows.size() * sizeof(float));
    return time_of(seconds_of(gpu, product));
  });
}

Work compare(unsigned /*width*/, unsigned /*blocks*/, void** arguments) {
  const auto* seen = argument<const std::uint32_t*>(arguments, 0);
  const auto* expected = argument<const std::uint32_t*>(arguments, 1);
  const auto all = argument<Word>(arguments, 2);
  const auto period = argument<Word>(arguments, 3);
  auto* result = argument<Word*>(arguments, 4);
  if (period == 0 || reach(seen) < all * 4 || reach(expected) < period * 4 ||
      reach(result) < 3 * sizeof(Word)) {
    return {};
  }
  return taking([=, gpu = current_gpu()] {
    const auto real = real_bytes(seen, all * 4) / 4;
    for (Word i = 0; i < real; ++i) {
      const auto differs = seen[i] ^ expected[i % period];
      if (differs != 0) count(result, i, differs);
    }
    return memory_time(gpu, all * 4);
  });
}

}  // namespace

double work_for(int gpu, double seconds) {
  auto& busy = driver().devices[gpu].busy_seconds;
  const auto& throttle = scenario().node.throttle;
  const bool slow = throttle && throttle->gpu == gpu && busy >= throttle->after_s;
  busy += slow ? seconds / throttle->share : seconds;
  return slow ? seconds / throttle->share : seconds;
}

std::optional<KernelCode> kernel_named(std::string_view name) {
  static const std::map<std::string, KernelCode, std::less<>> all{
      {"muster_fill_1", {fill, 1}},
      {"muster_fill_2", {fill, 2}},
      {"muster_fill_4", {fill, 4}},
      {"muster_fill_8", {fill, 8}},
      {"muster_verify_1", {verify, 1}},
      {"muster_verify_2", {verify, 2}},
      {"muster_verify_4", {verify, 4}},
      {"muster_verify_8", {verify, 8}},
      {"muster_triad", {triad}},
      {"muster_pattern_write", {write_pattern}},
      {"muster_pattern_check", {check_pattern}},
      {"muster_product", {multiply}},
      {"muster_compare", {compare}}};
  const auto found = all.find(name);
  return found == all.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace muster::fakes::gpu
