// SPDX-License-Identifier: Apache-2.0
// How a cluster stands, as Slurm and this machine's history tell: who is drained by muster and what
// is missing until it returns, who was refused, which checks are stopped, who does not answer.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "slurm/cluster/node_state.hpp"
#include "slurm/history/history.hpp"
#include "slurm/policy/breaker.hpp"
#include "slurm/rules/rules.hpp"

namespace muster::slurm {

struct DrainedNode {
  NodeState node;
  std::string check, device, remedy;  // a device or a remedy that is not known is empty
  std::optional<int> clean_runs;      // in a row; nothing where neither Slurm nor the history tells
  std::string until;                  // what is missing until it returns; the rest of a sentence
  bool accepted = false;              // an admin said that it counts for no breaker
};

// A limit of a partition that leaves no room: sick nodes there stay in service.
struct UsedUp {
  std::string partition;
  std::string limit;  // its key in muster.yaml
  std::size_t drained = 0, most = 0;
};

struct ClusterStatus {
  Time at{};
  int clean_runs = 0;  // that a node needs
  std::size_t nodes = 0, in_service = 0, drained_by_others = 0, down = 0, away = 0;
  std::vector<DrainedNode> drained;  // by a hook of muster; longest first
  std::vector<StoppedCheck> stopped;
  std::vector<UsedUp> used_up;
  std::vector<NodeState> kept_out;        // new ones, not accepted yet
  std::vector<NodeState> not_responding;  // Slurm has no answer from their slurmd
  std::vector<Event> refused;  // that still stand: noted with nodes in Slurm, or in the history
  std::string history;         // why the history tells nothing; empty where it was read
};

// `nodes` are wanted; none: all. The limits and the checks are always those of the whole cluster.
[[nodiscard]] ClusterStatus status_of(const std::vector<NodeState>& cluster,
                                      const std::vector<std::string>& nodes, const Rules& rules,
                                      Time now, const History* history);

// A table of at most 80 columns.
[[nodiscard]] std::string to_text(const ClusterStatus& status, const Rules& rules);
// One document of the schema muster.status/1, with a newline.
[[nodiscard]] std::string to_json(const ClusterStatus& status);

}  // namespace muster::slurm
