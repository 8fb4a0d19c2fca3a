// SPDX-License-Identifier: Apache-2.0
// How many nodes of a partition: a share, a number, or the smaller or larger of several.
#pragma once

#include <cstddef>
#include <string_view>

#include "lib/base/result.hpp"

namespace muster::slurm {

// How many nodes `share` is of `size`: "10%", rounded down; "20 nodes"; "min(10%, 20 nodes)" and
// "max(…)" of any of these. An error is the end of a sentence that begins with the key.
[[nodiscard]] Result<std::size_t> count_nodes(std::string_view share, std::size_t size);

}  // namespace muster::slurm
