// SPDX-License-Identifier: Apache-2.0
// `muster repair`: takes the next step of the repair ladder for each node.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/command/output.hpp"

namespace muster::app {

struct RepairCommand {
  static constexpr std::string_view kName = "repair";

  std::vector<std::string> nodes;  // expanded; empty: all that muster drained
  bool go = false;
  bool shadow = false;
  bool automatic = false;  // called by a hook: takes only the rungs that the site lists
  std::string resolve;     // ID=OUTCOME
  std::string root = "/";
  std::string state;
};

// Returns 1 if a step failed or its outcome is unknown.
[[nodiscard]] int run_repair(const RepairCommand& command, const Caller& caller);

}  // namespace muster::app
