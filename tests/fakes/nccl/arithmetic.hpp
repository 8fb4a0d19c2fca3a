// SPDX-License-Identifier: Apache-2.0
// Reductions over elements of NCCL's types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace muster::fakes::gpu {

// In bytes; 0 for an unknown type.
[[nodiscard]] std::size_t width_of(int type);

// Reduces all inputs, each of `count` elements.
void reduce(int type, int reduction, std::uint64_t count,
            const std::vector<const std::byte*>& inputs, std::byte* output);

}  // namespace muster::fakes::gpu
