// SPDX-License-Identifier: Apache-2.0
// The breaker: a check that drains many nodes within a short time has a bad limit, more likely than
// all of them are bad. It drains no more until an admin says so. Computed from what Slurm says of
// the nodes, so that all nodes agree and nothing has to be kept.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "slurm/cluster/node_state.hpp"
#include "slurm/rules/rules.hpp"

namespace muster::slurm {

struct StoppedCheck {
  std::string check, partition;
  std::size_t drains = 0;  // that stand and began within the window of each other
  std::size_t most = 0;    // that the site allows

  bool operator==(const StoppedCheck&) const = default;
};

using NodeFilter = std::function<bool(const NodeState&)>;

// Whether as many nodes of `cluster` that `counts` as the site allows stand drained for `check` in
// `partition`, not accepted by an admin, and began within `rules.drain_window` of each other: the
// most in any such time. Nothing where they are fewer.
[[nodiscard]] std::optional<StoppedCheck> stopped_in(const std::string& partition,
                                                     const std::string& check,
                                                     const std::vector<NodeState>& cluster,
                                                     const Rules& rules, const NodeFilter& counts);

// All that drain nobody any more, by partition, then by check.
[[nodiscard]] std::vector<StoppedCheck> stopped_checks(const std::vector<NodeState>& cluster,
                                                       const Rules& rules);

// "host.limits has drained 5 nodes of partition gpu within 1 h and drains no more until …".
[[nodiscard]] std::string to_string(const StoppedCheck& stopped, const Rules& rules);

}  // namespace muster::slurm
