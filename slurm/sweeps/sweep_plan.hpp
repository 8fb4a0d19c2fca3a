// SPDX-License-Identifier: Apache-2.0
// Which nodes a pass of `muster sweep` takes, and with which partners. A pure function: from the
// nodes as Slurm sees them, the past runs and the site's rules to a list of jobs.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.hpp"
#include "slurm/cluster/node_state.hpp"
#include "slurm/rules/sweep_rules.hpp"
#include "slurm/sweeps/sweep_book.hpp"

namespace muster::slurm {

// After a run that came to nothing, its nodes are left alone for this long, and for twice the time
// after each further one in a row, up to half of `every`.
inline constexpr std::chrono::seconds kSweepPause{3600};

struct SweepSituation {
  std::vector<NodeState> nodes;
  std::vector<SweepRun> runs;  // as SweepBook wants them
  SweepRules rules;
  Time now{};
};

struct SweepJob {
  std::string kind;
  std::string partition;
  std::vector<std::string> nodes;

  bool operator==(const SweepJob&) const = default;
};

// Whether a run is of a kind that the site sweeps: a suspect of another would be one for ever.
[[nodiscard]] bool counts(const SweepRun& run, const SweepRules& rules);
[[nodiscard]] SweepBook book_of(const std::vector<SweepRun>& runs, const SweepRules& rules);

[[nodiscard]] std::vector<SweepJob> plan_sweep(const SweepSituation& situation);

// The partitions that are swept: the site's, or the only one there is. An error names those that
// Slurm does not have, or from which the site must choose.
[[nodiscard]] Result<std::vector<std::string>> swept_partitions(const std::vector<NodeState>& nodes,
                                                                const SweepRules& rules);

// The first of `partitions` that the node is in; empty for none.
[[nodiscard]] std::string swept_partition(const NodeState& node,
                                          const std::vector<std::string>& partitions);

}  // namespace muster::slurm
