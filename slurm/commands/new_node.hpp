// SPDX-License-Identifier: Apache-2.0
// The gate for new nodes: where a site wants it, a node is in service only once it was accepted.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "lib/report/report.hpp"
#include "slurm/cluster/controller.hpp"
#include "slurm/history/history.hpp"

namespace muster::app {

struct NewNode {
  std::string name;  // as Slurm calls it
  std::string boot_id;
  const Report* report = nullptr;
  bool accepts = false;      // the report is such as a node is accepted by
  bool needs_sweep = false;  // before it is accepted
  bool dry_run = false;
};

struct GateServices {
  slurm::Controller* controller = nullptr;
  slurm::History* history = nullptr;
  std::function<void(slurm::Event)> note;  // says what was done, or would be
  // Makes the controller to ask after a sweep, which takes the time that `controller` has.
  std::function<Result<std::unique_ptr<slurm::Controller>>()> reach;
  std::function<Result<Report>()> sweep = {};  // of this node; none: not here and now
};

enum class Gate {
  open,    // the node is in service, or was accepted just now
  closed,  // it is drained as a new node
  others,  // somebody else drained it, or it is away
};

// A node is new while nobody has asked Slurm about it from here: its history says so.
[[nodiscard]] bool is_new(const slurm::History& history, std::string_view node);

// Drains a new node, resumes it once a clean report is there, and where it is wanted a clean sweep,
// which it runs, and leaves alone one that somebody else drained. One that somebody put back into
// service counts as accepted.
[[nodiscard]] Gate keep_gate(const NewNode& node, const GateServices& services);

}  // namespace muster::app
