// SPDX-License-Identifier: Apache-2.0
// Memory of the fake GPUs.
#pragma once

#include <cstdint>

namespace muster::fakes::gpu {

[[nodiscard]] std::uint64_t used_memory(int gpu);
// An address, or 0.
[[nodiscard]] std::uint64_t reserve(int gpu, std::uint64_t size);

// Bytes from there to the end of the allocation; 0 if it is not memory of that GPU.
[[nodiscard]] std::uint64_t reach_on(int gpu, const void* memory);

// CUDA's addresses are numbers.
[[nodiscard]] inline void* pointer_to(std::uint64_t address) {
  return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr): that is the point
}

// Returns false if it was not the address of an allocation.
[[nodiscard]] bool give_back(std::uint64_t address);

}  // namespace muster::fakes::gpu
