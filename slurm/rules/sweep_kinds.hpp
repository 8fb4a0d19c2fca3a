// SPDX-License-Identifier: Apache-2.0
// The kinds of sweep: each one is a command of muster-bench.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace muster::slurm {

struct SweepKind {
  std::string_view name;  // of the command, in muster.yaml, in events and in the name of its jobs
  std::size_t fewest_nodes = 1;  // of one job
  // Takes as many nodes as are idle, up to the site's `most_nodes`, with a rank on each GPU; else
  // one process tests one node.
  bool takes_idle_nodes = false;
};

inline constexpr std::array kSweepKinds{
    SweepKind{.name = "locate", .fewest_nodes = 4, .takes_idle_nodes = true},
    SweepKind{.name = "node"},
};

[[nodiscard]] inline std::vector<std::string> default_sweep_kinds() {
  std::vector<std::string> names;
  for (const auto& kind : kSweepKinds) names.emplace_back(kind.name);
  return names;
}

// Null for an unknown name.
[[nodiscard]] constexpr const SweepKind* find_sweep_kind(std::string_view name) {
  const auto* const found = std::ranges::find(kSweepKinds, name, &SweepKind::name);
  return found == kSweepKinds.end() ? nullptr : found;
}

}  // namespace muster::slurm
