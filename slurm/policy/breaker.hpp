// SPDX-License-Identifier: Apache-2.0
// The breaker: if a check drains many nodes within a short time, it more likely has a bad limit
// than that all of them are bad. It drains no more until an admin accepts its drains. Computed from
// what Slurm shows, so that all nodes agree and nothing has to be stored.
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
  std::size_t drains = 0;  // in force, and begun within the window of each other
  std::size_t most = 0;    // the site's limit

  bool operator==(const StoppedCheck&) const = default;
};

using NodeFilter = std::function<bool(const NodeState&)>;

// Whether `check` has drained as many nodes of `partition` as the site allows, of those that
// `counts` selects: not accepted by an admin, and begun within `rules.drain_window` of each other.
// Nothing if they are fewer.
[[nodiscard]] std::optional<StoppedCheck> stopped_in(const std::string& partition,
                                                     const std::string& check,
                                                     const std::vector<NodeState>& cluster,
                                                     const Rules& rules, const NodeFilter& counts);

// All checks that are stopped, by partition, then by check.
[[nodiscard]] std::vector<StoppedCheck> stopped_checks(const std::vector<NodeState>& cluster,
                                                       const Rules& rules);

// "host.limits has drained 5 nodes of partition gpu within 1 h, …".
[[nodiscard]] std::string to_string(const StoppedCheck& stopped, const Rules& rules);

}  // namespace muster::slurm
