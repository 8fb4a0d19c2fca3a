// SPDX-License-Identifier: Apache-2.0
// How the nodes of an acceptance are reached: the interface of Slurm's steps, of ssh, of a site's
// program, and of the simulated fleet.
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
  std::optional<StepAnswer> answer;  // of the node, or of the one that led the group
  std::string why{};                 // no answer: a sentence
  // Without an answer: the node itself stopped answering; else the step was interrupted.
  bool lost = false;
  std::vector<std::size_t> lost_nodes{};  // of a group
};

class Fleet {
 public:
  Fleet() = default;
  Fleet(const Fleet&) = delete;
  Fleet& operator=(const Fleet&) = delete;
  virtual ~Fleet() = default;

  // Unix time. A simulated fleet has a clock of its own.
  [[nodiscard]] virtual std::int64_t now() = 0;
  // By index of the order.
  [[nodiscard]] virtual std::vector<bool> reachable() = 0;
  virtual void start(const NodeStart& step) = 0;
  virtual void start(const GroupStart& step) = 0;
  // Waits until steps end, until `until`, or until the run is asked to stop.
  [[nodiscard]] virtual std::vector<EndedStep> wait(std::int64_t until) = 0;
  // Asks the running steps to end; those that do not within 30 s are killed.
  virtual void stop() = 0;
};

}  // namespace muster::accept
