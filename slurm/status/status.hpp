// SPDX-License-Identifier: Apache-2.0
// The state of a cluster, from Slurm and this machine's history: the nodes that muster drained and
// what is missing until they return, refusals, stopped checks, nodes that do not answer.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "slurm/cluster/node_state.hpp"
#include "slurm/history/history.hpp"
#include "slurm/policy/limits.hpp"
#include "slurm/policy/node_memory.hpp"
#include "slurm/rules/rules.hpp"

namespace muster::slurm {

struct DrainedNode {
  NodeState node;
  NodeMemory drain;
  bool is_remembered = false;  // by the node's memory, which counts clean runs
  std::string until;           // what must happen before it returns; the end of a sentence
};

// A limit of a partition that leaves no room: sick nodes stay in service.
struct UsedUp {
  std::string partition;
  std::string limit;  // its key in muster.yaml
  std::size_t drained = 0, most = 0;
};

struct ClusterStatus {
  Time at{};
  int clean_runs = 0;  // that a node needs
  std::size_t nodes = 0, in_service = 0, drained_by_others = 0, down = 0, unavailable = 0;
  std::size_t asleep = 0;  // of those in service: powered down until a job needs them
  std::size_t hidden = 0;  // powered down, and Slurm does not show more; not among `nodes`
  std::vector<DrainedNode> drained;  // by a hook of muster; longest first
  std::vector<StoppedCheck> stopped;
  std::vector<UsedUp> used_up;
  std::vector<NodeState> kept_out;        // new ones, not accepted yet
  std::vector<NodeState> not_responding;  // their slurmd does not answer Slurm
  std::vector<Event> refused;             // that still last, from Slurm and from the history
  std::string history;                    // why the history was not read; empty if it was
};

// For `nodes` only, or for all if it is empty. Limits and checks are always the whole cluster's.
[[nodiscard]] ClusterStatus status_of(const std::vector<NodeState>& cluster,
                                      const std::vector<std::string>& nodes, const Rules& rules,
                                      Time now, const History* history);

// A table of at most 80 columns.
[[nodiscard]] std::string to_text(const ClusterStatus& status, const Rules& rules);
// One document of the schema muster.status/1, with a newline.
[[nodiscard]] std::string to_json(const ClusterStatus& status);

}  // namespace muster::slurm
