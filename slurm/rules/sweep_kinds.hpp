// SPDX-License-Identifier: Apache-2.0
// The kinds of sweep: what each one starts, and on how many nodes.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace muster::slurm {

struct SweepKind {
  std::string_view name;
  std::size_t nodes;            // of one job
  std::string_view collective;  // of muster-bench
};

// Another kind is another row.
inline constexpr std::array kSweepKinds{
    SweepKind{.name = "pair", .nodes = 2, .collective = "all_reduce"},
    SweepKind{.name = "single", .nodes = 1, .collective = "all_reduce"},
};

// Null for none.
[[nodiscard]] constexpr const SweepKind* find_sweep_kind(std::string_view name) {
  const auto* const found = std::ranges::find(kSweepKinds, name, &SweepKind::name);
  return found == kSweepKinds.end() ? nullptr : found;
}

}  // namespace muster::slurm
