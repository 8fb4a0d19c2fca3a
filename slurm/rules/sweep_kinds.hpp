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
  std::string_view name;     // in muster.yaml, in events and in the name of its jobs
  std::size_t nodes;         // of one job; the fewest where `several`
  std::string_view command;  // of muster-bench: a collective, or "node"
  bool by_default;           // whether a site that names no kinds is swept by it
  // One process does all, by the limits of the profile: the site's options for collectives are not
  // for it.
  bool one_process = false;
  // Takes as many nodes as are idle, up to `most_nodes` of the site; its report says which of them
  // are bad.
  bool several = false;
};

// Everything there is to say about a kind: another kind is another row.
inline constexpr std::array kSweepKinds{
    SweepKind{.name = "pair", .nodes = 2, .command = "all_reduce", .by_default = true},
    SweepKind{.name = "single", .nodes = 1, .command = "all_reduce", .by_default = true},
    SweepKind{
        .name = "node", .nodes = 1, .command = "node", .by_default = false, .one_process = true},
    SweepKind{
        .name = "locate", .nodes = 4, .command = "locate", .by_default = false, .several = true},
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
