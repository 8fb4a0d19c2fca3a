// SPDX-License-Identifier: Apache-2.0
// Reads the intervals in the store: the seats of parts, the hours for which nodes were observed
// (the denominator of rates), and the changes on each node.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "fleet/readings.hpp"
#include "fleet/sqlite.hpp"
#include "lib/base/fields.hpp"
#include "lib/base/result.hpp"

namespace muster::fleet {

struct Seat {
  std::int64_t part = 0, node = 0;
  std::string slot, device, kind, model, serial;
  std::int64_t started = 0, last = 0;
};

// Returns all seats of the nodes, sorted by node.
[[nodiscard]] Result<std::vector<Seat>> read_seats(Database& database, const Nodes& nodes);

class Uptimes {
 public:
  // Reads the uptimes between `from` and `until`.
  [[nodiscard]] static Result<Uptimes> read(Database& database, const Nodes& nodes,
                                            std::int64_t from, std::int64_t until);

  // Returns the hours that the node was up in this period, which is clipped to the one read.
  [[nodiscard]] double hours(std::int64_t node, std::int64_t from, std::int64_t until) const;
  [[nodiscard]] double hours(std::int64_t node) const { return hours(node, from_, until_); }

 private:
  struct Interval {
    std::int64_t started = 0, ended = 0;
    std::int64_t before_s = 0;  // the sum of the intervals before it
  };

  std::int64_t from_ = 0, until_ = 0;
  std::unordered_map<std::int64_t, std::vector<Interval>> by_node_;
};

struct NodeChange {
  std::int64_t at = 0;
  std::string device;       // the device of a replaced part; empty for software
  std::uint32_t stack = 0;  // the new stack, an index in NodeChanges::stacks
  std::string text;         // "driver 570.86 became 580.105", "gpu3 replaced"
};

struct NodeChanges {
  std::vector<std::string> stacks;  // JSON; the first one is unknown
  std::unordered_map<std::int64_t, std::vector<NodeChange>> by_node;  // in order of time
  std::unordered_map<std::int64_t, std::uint32_t> first_stack;        // by node

  // Returns the texts of a node's changes within a day of `at`.
  [[nodiscard]] std::vector<std::string> near(std::int64_t node, std::int64_t at) const;
};

[[nodiscard]] Result<NodeChanges> read_changes(Database& database);

// Returns "driver 570.86 became 580.105, kernel 6.8 became 6.11", from the JSON of two stacks.
[[nodiscard]] std::string stack_difference(const std::string& before, const std::string& after);

}  // namespace muster::fleet
