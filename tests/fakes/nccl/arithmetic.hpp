// SPDX-License-Identifier: Apache-2.0
// Reductions over elements of NCCL's types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace muster::fakes::gpu {

// In bytes; 0 for a number that is no type, or none that the fake knows.
[[nodiscard]] std::size_t width_of(int type);

// Element by element over all inputs, each of `count` elements.
void reduce(int type, int reduction, std::uint64_t count,
            const std::vector<const std::byte*>& inputs, std::byte* output);

}  // namespace muster::fakes::gpu
