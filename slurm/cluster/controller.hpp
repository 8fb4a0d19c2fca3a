// SPDX-License-Identifier: Apache-2.0
// slurmctld, through Slurm's own programs: executed directly, each with a deadline.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.hpp"
#include "slurm/cluster/node_state.hpp"
#include "slurm/cluster/programs.hpp"

namespace muster::slurm {

// How long a request may still take effect: a slurmctld that hung applies it when it wakes up.
inline constexpr std::chrono::seconds kMayStillCome{600};

class Controller {
 public:
  Controller() = default;
  Controller(const Controller&) = delete;
  Controller& operator=(const Controller&) = delete;
  virtual ~Controller() = default;

  // Returns all nodes of the partitions of `node`, or of the whole cluster if it is empty.
  [[nodiscard]] virtual Result<std::vector<NodeState>> nodes(std::string_view node) = 0;
  // Returns one node; the error is `missing` if no partition has a node with this name.
  [[nodiscard]] virtual Result<NodeState> node(std::string_view name);
  // All nodes with their hosts.
  [[nodiscard]] virtual Result<std::vector<NodeName>> names() = 0;
  // The names of all nodes of the partitions: Slurm before 23.02 lists a node of the cloud that is
  // powered down only if asked about that node alone, or with PrivateData=cloud.
  [[nodiscard]] virtual Result<std::vector<std::string>> members() {
    return std::vector<std::string>();
  }
  // Whether Slurm takes the node from a cloud (State=CLOUD), so that it powers it down and up.
  [[nodiscard]] virtual bool is_cloud_node(std::string_view /*node*/) { return false; }
  // An error has scontrol's message, or that it did not answer in time: then the request may still
  // take effect. `memory` is written into the node's field in the same request; without one the
  // field stays as it is.
  [[nodiscard]] virtual Result<void> drain(std::string_view node, std::string_view reason,
                                           std::optional<std::string> memory) = 0;
  [[nodiscard]] virtual Result<void> resume(std::string_view node,
                                            std::optional<std::string> memory) = 0;
  // Only writes the memory.
  [[nodiscard]] virtual Result<void> remember(std::string_view node, std::string_view memory) = 0;
};

struct AllNodes {
  std::vector<NodeState> nodes;
  std::vector<std::string> hidden;  // powered down, and Slurm does not show more of them
};

// Returns all nodes, also those that Slurm shows only one by one, unless there are too many.
[[nodiscard]] Result<AllNodes> all_nodes(Controller& controller);

[[nodiscard]] std::unique_ptr<Controller> make_controller(Installation installation,
                                                          const CallLimits& limits);

}  // namespace muster::slurm
