// SPDX-License-Identifier: Apache-2.0
// Summarizes many snapshots on one screen: how many nodes are healthy, why the others are not, and
// which differ from most nodes of their profile.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lib/node/snapshot.hpp"
#include "lib/report/report.hpp"

namespace muster::app {

// The values that the table needs of one node; snapshots are too large to keep thousands of them.
struct FleetNode {
  struct Cause {
    Outcome outcome = Outcome::fail;
    std::string key;                        // the same for the same problem of any device
    std::string what;                       // "ib.rate: 200 Gb/s, expected 400 Gb/s"
    std::vector<std::string> devices = {};  // unique; empty for the node itself
    bool varies = false;                    // the text of other devices has other numbers

    bool operator==(const Cause&) const = default;
  };

  std::string name;
  std::string profile;
  Verdict verdict = Verdict::unknown;
  bool from_report = true;                   // else from a snapshot
  std::vector<Cause> causes;                 // unique; empty for a healthy node
  std::map<std::string, std::string> facts;  // "driver" to "570.86.15"; compared across nodes
};

[[nodiscard]] FleetNode fleet_node(const Report& report);
// Like the function above, and adds the facts of the node.
[[nodiscard]] FleetNode fleet_node(const Snapshot& snapshot, const Report& report);

// Merges reports with the snapshot of their node, or with each other: the worst verdict and all
// causes. Two snapshots are two nodes, even with the same name.
[[nodiscard]] std::vector<FleetNode> merge_nodes(const std::vector<FleetNode>& nodes);

// Returns a table of at most about forty lines, wrapped at `width`; complete for 0, which is not a
// terminal. `unread`: the number of files that could not be read or judged.
[[nodiscard]] std::string fleet_table(const std::vector<FleetNode>& nodes, std::size_t unread,
                                      std::size_t width);

}  // namespace muster::app
