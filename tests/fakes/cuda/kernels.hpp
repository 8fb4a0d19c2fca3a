// SPDX-License-Identifier: Apache-2.0
// The kernels of bench/backends/nccl/kernels.cu, done by the host on what memory holds.
#pragma once

#include <optional>
#include <string_view>

#include "tests/fakes/cuda/state.hpp"

namespace muster::fakes::gpu {

struct KernelKind {
  bool verifies = false;
  unsigned width = 0;
};

// Nothing for any other name.
[[nodiscard]] std::optional<KernelKind> kernel_named(std::string_view name);

// With the arguments as cuLaunchKernel takes them; empty where they lie outside of the GPU's
// memory.
[[nodiscard]] Work kernel_work(const KernelKind& kind, void** arguments);

}  // namespace muster::fakes::gpu
