// SPDX-License-Identifier: Apache-2.0
// What an admin says by `muster drain` and `muster resume`: node by node, never over what somebody
// else decided.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "slurm/cluster/controller.hpp"
#include "slurm/history/history.hpp"

namespace muster::slurm {

struct AdminRequest {
  std::vector<std::string> nodes;
  std::string user;  // who says it
  std::string text;  // why; of a drain
  Time now{};
  bool dry_run = false;
  std::function<void(const Event&)> tell = {};  // syslog; nobody in a dry run
};

struct AdminAnswer {
  std::string node;
  bool done = false;
  std::string what;  // "drained", "in service", "left alone: drained by root: \"disk swap\""

  bool operator==(const AdminAnswer&) const = default;
};

// Drains each node that is in service, or that muster drained: then the reason becomes the admin's,
// and muster does not resume the node by itself any more. One answer per node. An error: Slurm does
// not answer, and nothing was done. What is done and what is left alone is an event. Without a
// history it is done all the same, and each answer says so.
[[nodiscard]] Result<std::vector<AdminAnswer>> drain_nodes(const AdminRequest& request,
                                                           Controller& controller,
                                                           History* history);

// Puts each node back into service that muster or `muster drain` took out of it.
[[nodiscard]] Result<std::vector<AdminAnswer>> resume_nodes(const AdminRequest& request,
                                                            Controller& controller,
                                                            History* history);

}  // namespace muster::slurm
