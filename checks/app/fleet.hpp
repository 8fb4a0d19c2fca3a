// SPDX-License-Identifier: Apache-2.0
// Many recorded nodes on one screen: how many are well, what makes the others sick, and which
// differ from most of their kind.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lib/node/snapshot.hpp"
#include "lib/report/report.hpp"

namespace muster::app {

// What the table needs of one node, so that thousands of snapshots need not be kept.
struct FleetNode {
  struct Cause {
    Outcome outcome = Outcome::fail;
    std::string key;   // alike for the same trouble of any device
    std::string what;  // "ib.rate: 200 Gb/s, expected 400 Gb/s"

    bool operator==(const Cause&) const = default;
  };

  std::string name;
  std::string profile;
  Verdict verdict = Verdict::unknown;
  std::vector<Cause> causes;                 // each once; of a node that is not healthy
  std::map<std::string, std::string> facts;  // "driver" to "570.86.15": what nodes are compared by
};

[[nodiscard]] FleetNode fleet_node(const Snapshot& snapshot, const Report& report);

// A table of at most some forty lines, whatever the number of nodes. `unread`: how many snapshots
// could not be read or judged.
[[nodiscard]] std::string fleet_table(const std::vector<FleetNode>& nodes, std::size_t unread);

}  // namespace muster::app
