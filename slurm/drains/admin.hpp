// SPDX-License-Identifier: Apache-2.0
// Carries out `muster drain` and `muster resume`, node by node, and never undoes what others
// decided.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "slurm/cluster/controller.hpp"
#include "slurm/history/history.hpp"
#include "slurm/policy/node_memory.hpp"

namespace muster::slurm {

struct AdminRequest {
  std::vector<std::string> nodes;
  std::string user;  // the admin
  std::string text;  // why; of a drain
  Time now{};
  Rules rules = {};
  bool dry_run = false;
  std::function<void(const Event&)> tell = {};  // for syslog; not called in a dry run
};

struct AdminAnswer {
  std::string node;
  bool done = false;
  std::string what;  // "drained", "left alone: it is drained by root: \"disk swap\""

  bool operator==(const AdminAnswer&) const = default;
};

// Each function returns one answer per node, however often it is named, and adds an event for each
// to the history, if there is one. An error means that Slurm does not answer and nothing was done.

// Drains each node that is in service or was drained by muster. The reason becomes the admin's, and
// muster no longer resumes the node on its own.
[[nodiscard]] Result<std::vector<AdminAnswer>> drain_nodes(const AdminRequest& request,
                                                           Controller& controller,
                                                           History* history);

// Puts each node back into service that a hook or `muster drain` drained.
[[nodiscard]] Result<std::vector<AdminAnswer>> resume_nodes(const AdminRequest& request,
                                                            Controller& controller,
                                                            History* history);

// Marks the drains for `check` as accepted, of the nodes in the request or of all if it names none:
// they no longer count for the breaker, and stay drained.
[[nodiscard]] Result<std::vector<AdminAnswer>> accept_drains(const AdminRequest& request,
                                                             std::string_view check,
                                                             Controller& controller,
                                                             History* history);

}  // namespace muster::slurm
