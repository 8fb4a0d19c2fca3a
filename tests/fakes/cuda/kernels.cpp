// SPDX-License-Identifier: Apache-2.0
#include "tests/fakes/cuda/kernels.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

namespace muster::fakes::gpu {
namespace {

using Words = const std::uint64_t*;

struct FillCall {
  char* buffer = nullptr;
  std::uint64_t count = 0;
  Words bits = nullptr;
  std::uint64_t period = 0;
  std::uint64_t shift = 0;
};

struct VerifyCall {
  const char* buffer = nullptr;
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  Words low = nullptr;
  Words high = nullptr;
  std::uint64_t period = 0;
  std::uint64_t shift = 0;
  std::uint64_t* result = nullptr;
};

void fill(const FillCall& call, unsigned width) {
  const auto bytes = call.count * width;
  const auto real = std::min(bytes, kReal);
  for (std::uint64_t i = 0; i * width < real; ++i) {
    const auto word = call.bits[(i + call.shift) % call.period];
    std::memcpy(call.buffer + i * width, &word, width);
  }
  written(call.buffer, bytes, real);
}

void verify(const VerifyCall& call, unsigned width) {
  for (const auto& range : real_ranges(call.buffer, call.count * width)) {
    for (auto i = (range.first + width - 1) / width; (i + 1) * width <= range.end; ++i) {
      std::uint64_t seen = 0;
      std::memcpy(&seen, call.buffer + i * width, width);
      const auto entry = (i + call.shift) % call.period;
      if (seen >= call.low[entry] && seen <= call.high[entry]) continue;
      ++call.result[0];
      call.result[1] = std::min(call.result[1], call.first + i);
    }
  }
}

template <class Call>
Work work_of(const Call& call, unsigned width, void (*run)(const Call&, unsigned)) {
  return [=]() -> Step {
    return [=](Time& /*now*/) {
      run(call, width);
      return true;
    };
  };
}

}  // namespace

std::optional<KernelKind> kernel_named(std::string_view name) {
  for (const unsigned width : {1U, 2U, 4U, 8U}) {
    if (name == "muster_fill_" + std::to_string(width)) return KernelKind{false, width};
    if (name == "muster_verify_" + std::to_string(width)) return KernelKind{true, width};
  }
  const auto node = node_kernel_named(name);
  if (node) return KernelKind{.node = *node};
  return std::nullopt;
}

Work kernel_work(const KernelKind& kind, unsigned blocks, void** arguments) {
  if (kind.node != NodeKernel::none) return node_kernel_work(kind.node, blocks, arguments);
  if (!kind.verifies) {
    const FillCall call{.buffer = argument<char*>(arguments, 0),
                        .count = argument<std::uint64_t>(arguments, 1),
                        .bits = argument<Words>(arguments, 2),
                        .period = argument<std::uint64_t>(arguments, 3),
                        .shift = argument<std::uint64_t>(arguments, 4)};
    const bool inside = reach(call.buffer) >= call.count * kind.width && call.period > 0 &&
                        reach(call.bits) >= call.period * sizeof(std::uint64_t);
    return inside ? work_of(call, kind.width, fill) : Work{};
  }
  const VerifyCall call{.buffer = argument<const char*>(arguments, 0),
                        .first = argument<std::uint64_t>(arguments, 1),
                        .count = argument<std::uint64_t>(arguments, 2),
                        .low = argument<Words>(arguments, 3),
                        .high = argument<Words>(arguments, 4),
                        .period = argument<std::uint64_t>(arguments, 5),
                        .shift = argument<std::uint64_t>(arguments, 6),
                        .result = argument<std::uint64_t*>(arguments, 7)};
  const auto table = call.period * sizeof(std::uint64_t);
  const bool inside = reach(call.buffer) >= call.count * kind.width && call.period > 0 &&
                      reach(call.low) >= table && reach(call.high) >= table &&
                      reach(call.result) >= 2 * sizeof(std::uint64_t);
  return inside ? work_of(call, kind.width, verify) : Work{};
}

}  // namespace muster::fakes::gpu
