// SPDX-License-Identifier: Apache-2.0
// How the nodes of an acceptance are reached: the interface that Slurm steps, ssh, a site's program
// and the simulated fleet implement.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/accept/next.hpp"
#include "lib/accept/step.hpp"

namespace muster::accept {

// An attempt that has ended: exactly one of `node` and `group` is set.
struct EndedStep {
  std::optional<NodeStart> node;
  std::optional<GroupStart> group;
  std::optional<StepAnswer> answer;  // from the node, or the node that led the group
  std::string why{};                 // why the answer is missing, as a sentence
  // Whether the answer is missing because the node stopped answering; else the step was
  // interrupted.
  bool lost = false;
  std::vector<std::size_t> lost_nodes{};  // nodes of the group that stopped answering
};

class Fleet {
 public:
  Fleet() = default;
  Fleet(const Fleet&) = delete;
  Fleet& operator=(const Fleet&) = delete;
  virtual ~Fleet() = default;

  // Returns Unix time. A simulated fleet has its own clock.
  [[nodiscard]] virtual std::int64_t now() = 0;
  // Returns one entry per ordered node.
  [[nodiscard]] virtual std::vector<bool> reachable() = 0;
  virtual void start(const NodeStart& step) = 0;
  virtual void start(const GroupStart& step) = 0;
  // Waits until steps end, until `until`, or until the run is asked to stop.
  [[nodiscard]] virtual std::vector<EndedStep> wait(std::int64_t until) = 0;
  // Asks the running steps to end, and kills those that have not ended within 30 s.
  virtual void stop() = 0;
};

}  // namespace muster::accept
