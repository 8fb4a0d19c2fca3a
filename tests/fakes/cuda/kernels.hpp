// SPDX-License-Identifier: Apache-2.0
// The kernels of bench/backends/nccl/kernels.cu and bench/node/kernels.cu, run by the host.
#pragma once

#include <cstddef>
#include <cstring>
#include <optional>
#include <string_view>

#include "tests/fakes/cuda/state.hpp"

namespace muster::fakes::gpu {

// For the node tests.
enum class NodeKernel { none, triad, pattern_write, pattern_check, product, compare };

struct KernelKind {
  bool verifies = false;
  unsigned width = 0;
  NodeKernel node = NodeKernel::none;
};

// Empty for another name.
[[nodiscard]] std::optional<KernelKind> kernel_named(std::string_view name);

// Runs it with these arguments; empty if they are outside the GPU's memory.
[[nodiscard]] Work kernel_work(const KernelKind& kind, unsigned blocks, void** arguments);

// An argument as cuLaunchKernel takes it.
template <class T>
T argument(void** arguments, std::size_t index) {
  T value{};
  std::memcpy(&value, arguments[index], sizeof value);
  return value;
}

[[nodiscard]] std::optional<NodeKernel> node_kernel_named(std::string_view name);
[[nodiscard]] Work node_kernel_work(NodeKernel kernel, unsigned blocks, void** arguments);

}  // namespace muster::fakes::gpu
