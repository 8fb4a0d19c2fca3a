// SPDX-License-Identifier: Apache-2.0
// The kernels of bench/node/kernels.cu, run by the host on the real part of the memory, with the
// times and faults of the scenario.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "tests/fakes/cuda/driver.hpp"
#include "tests/fakes/cuda/kernels.hpp"

namespace muster::fakes::gpu {
namespace {

using Word = std::uint64_t;

template <class Run>
Work taking(Run run) {
  return [run]() -> Step {
    return [run](Time& now) {
      now += run();
      return true;
    };
  };
}

Time memory_time(int gpu, std::uint64_t bytes) {
  const auto& hardware = scenario().node;
  const auto named = hardware.memory_of.find(gpu);
  const double gbs = named == hardware.memory_of.end() ? hardware.memory_gbs : named->second;
  return time_of(static_cast<double>(bytes) / (gbs * 1e9));
}

void count(Word* result, Word index, Word bits) {
  ++result[0];
  result[1] = std::min(result[1], index);
  result[2] |= bits;
}

Work triad(void** arguments) {
  auto* c = argument<float*>(arguments, 0);
  const auto* a = argument<const float*>(arguments, 1);
  const auto* b = argument<const float*>(arguments, 2);
  const auto count = 4 * argument<Word>(arguments, 3);
  const auto bytes = count * sizeof(float);
  if (reach(c) < bytes || reach(a) < bytes || reach(b) < bytes) return {};
  return taking([=, gpu = current_gpu()] {
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

Work write_pattern(void** arguments) {
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

Work check_pattern(void** arguments) {
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
  auto& busy = driver().devices[gpu].busy_seconds;
  const auto& throttle = hardware.throttle;
  const bool slow = throttle && throttle->gpu == gpu && busy >= throttle->after_s;
  const double seconds = operations / (hardware.tflops * 1e12 * (slow ? throttle->share : 1));
  busy += seconds;
  return seconds;
}

Work multiply(unsigned blocks, void** arguments) {
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
    const auto& rows = rows_of(product);
    std::memcpy(product.c, rows.data(), rows.size() * sizeof(float));
    const auto& flip = scenario().node.flip;
    const auto launch = ++driver().devices[gpu].products;
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

Work compare(void** arguments) {
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

std::optional<NodeKernel> node_kernel_named(std::string_view name) {
  if (name == "muster_triad") return NodeKernel::triad;
  if (name == "muster_pattern_write") return NodeKernel::pattern_write;
  if (name == "muster_pattern_check") return NodeKernel::pattern_check;
  if (name == "muster_product") return NodeKernel::product;
  if (name == "muster_compare") return NodeKernel::compare;
  return std::nullopt;
}

Work node_kernel_work(NodeKernel kernel, unsigned blocks, void** arguments) {
  switch (kernel) {
    case NodeKernel::triad:
      return triad(arguments);
    case NodeKernel::pattern_write:
      return write_pattern(arguments);
    case NodeKernel::pattern_check:
      return check_pattern(arguments);
    case NodeKernel::product:
      return multiply(blocks, arguments);
    case NodeKernel::compare:
      return compare(arguments);
    case NodeKernel::none:
      break;
  }
  return {};
}

}  // namespace muster::fakes::gpu
