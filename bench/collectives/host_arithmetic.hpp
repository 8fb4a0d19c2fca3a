// SPDX-License-Identifier: Apache-2.0
// Reductions of vectors in host memory, for back ends whose library has none for a type.
#pragma once

#include <cstdint>

#include "bench/collectives/operation.hpp"

namespace muster::bench {

// Element by element, both = both (+) one. Averages are sums here, to be divided at the end.
using Combine = void (*)(const void* one, void* both, std::uint64_t count);

[[nodiscard]] Combine combine_of(Type type, Reduction reduction);

// Makes averages of sums; of integers, rounded towards zero.
void divide(Type type, void* sums, std::uint64_t count, int ranks);

}  // namespace muster::bench
