// SPDX-License-Identifier: Apache-2.0
// The kinds of sweep: what each one starts, and on how many nodes.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace muster::slurm {

struct SweepKind {
  std::string_view name;        // in muster.yaml, in events and in the name of its jobs
  std::size_t nodes;            // of one job
  std::string_view collective;  // that muster-bench runs
  bool by_default;              // whether a site that names no kinds is swept by it
};

// Everything there is to say about a kind: another kind is another row.
inline constexpr std::array kSweepKinds{
    SweepKind{.name = "pair", .nodes = 2, .collective = "all_reduce", .by_default = true},
    SweepKind{.name = "single", .nodes = 1, .collective = "all_reduce", .by_default = true},
};

[[nodiscard]] inline std::vector<std::string> default_sweep_kinds() {
  std::vector<std::string> names;
  for (const auto& kind : kSweepKinds) {
    if (kind.by_default) names.emplace_back(kind.name);
  }
  return names;
}

// Null for none.
[[nodiscard]] constexpr const SweepKind* find_sweep_kind(std::string_view name) {
  const auto* const found = std::ranges::find(kSweepKinds, name, &SweepKind::name);
  return found == kSweepKinds.end() ? nullptr : found;
}

}  // namespace muster::slurm
