// SPDX-License-Identifier: Apache-2.0
// What ranks tell each other through their group, as values. Every rank calls the same in the same
// order.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/backends/backend.hpp"
#include "bench/group/group.hpp"
#include "lib/base/result.hpp"

namespace muster::bench {

// Those of all back ends to rank 0, nothing to the others.
[[nodiscard]] Result<std::vector<Member>> gather_members(Group& group, const Backend& backend);

// Rank 0's to all.
[[nodiscard]] Result<int> broadcast_number(Group& group, int number);
[[nodiscard]] Result<std::vector<std::uint64_t>> broadcast_sizes(
    Group& group, const std::vector<std::uint64_t>& sizes);

}  // namespace muster::bench
