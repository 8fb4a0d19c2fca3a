// SPDX-License-Identifier: Apache-2.0
// The gate for new nodes: if a site wants it, a node is in service only once it was accepted.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "lib/report/report.hpp"
#include "slurm/cluster/controller.hpp"
#include "slurm/drains/last_look.hpp"
#include "slurm/history/history.hpp"

namespace muster::app {

struct NewNode {
  std::string name;  // in Slurm
  std::string boot_id;
  const Report* report = nullptr;
  bool accepts = false;      // a healthy report of this context accepts the node
  bool needs_sweep = false;  // before it is accepted
  bool dry_run = false;
  bool remembers = true;  // in the node's memory, which outlives a reason that Slurm drops
};

struct GateServices {
  slurm::Controller* controller = nullptr;
  slurm::History* history = nullptr;  // none: a first dry run
  const slurm::LastLook* last_look = nullptr;
  std::function<void(slurm::Event)> add_event;
  // Makes the controller to ask after a sweep, which uses up the time of `controller`.
  std::function<Result<std::unique_ptr<slurm::Controller>>()> reach;
  std::function<Result<Report>()> sweep = {};  // of this node; none: not in this hook
};

enum class Gate {
  // The node is in service, accepted or not; or muster drained it for a fault, as another host or
  // with another disk. The hook goes on as on any node.
  open,
  closed,  // it is drained as a new node
  others,  // drained by others, or not available
};

// Drains a node that is new to muster. Resumes it after a clean report, and a clean sweep if one is
// needed, which it runs. A node that others drained is left alone, and one that an admin put
// into service is accepted.
[[nodiscard]] Gate keep_gate(const NewNode& node, const GateServices& services);

}  // namespace muster::app
