// SPDX-License-Identifier: Apache-2.0
// The next actions of a run of `muster accept`, and the current state of each node: a pure function
// of the order, the record, which nodes can be reached, and the time. To resume a run, call it
// again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/accept/attempt.hpp"
#include "lib/accept/plan.hpp"
#include "lib/base/fields.hpp"

namespace muster::accept {

enum class NodeVerdict { pending, accepted, remarks, rejected, held, not_tested, withdrawn };
MUSTER_WORDS(NodeVerdict, "pending", "accepted", "accepted_with_remarks", "rejected", "held",
             "not_tested", "withdrawn");

struct NodeStanding {
  NodeVerdict verdict = NodeVerdict::pending;
  Stage stage = Stage::inventory;  // the stage it is in, or ended in
  Charge charge = Charge::none;
  std::string why{};             // one sentence, if it is not accepted or pending
  std::vector<Cause> causes{};   // why it is not accepted
  std::vector<Cause> remarks{};  // warnings, and failures that a retest did not confirm
  std::int64_t soaked_s = 0;     // time under load since the soak last began
  std::int64_t loaded_s = 0;     // time under load in all soaks
  std::int64_t soak_events = 0;  // charged to the provider
  std::int64_t next_number = 1;  // the number of its next attempt at `stage`
  bool running = false;          // an attempt, alone or in a group, has no result
  bool ready = false;            // may start, alone or in a group
  std::int64_t since = 0;        // when it became ready or was lost; 0 if it never ran
  bool lost = false;             // and has not answered since

  bool operator==(const NodeStanding&) const = default;
};

// Whether the verdict is final, unless an admin decides otherwise.
[[nodiscard]] constexpr bool is_final(const NodeStanding& standing) {
  return standing.verdict != NodeVerdict::pending;
}

// A check that so many nodes fail that they are not blamed one by one.
struct Breaker {
  Stage stage = Stage::check;
  std::string check, group;
  std::vector<std::string> nodes;
  std::size_t of = 0;  // nodes of the group

  bool operator==(const Breaker&) const = default;
};

struct NodeStart {
  std::size_t node = 0;  // its index in the order
  Stage stage = Stage::inventory;
  std::int64_t number = 1;

  bool operator==(const NodeStart&) const = default;
};

struct GroupStart {
  Stage stage = Stage::fabric;
  std::int64_t number = 1;
  std::vector<std::size_t> nodes;

  bool operator==(const GroupStart&) const = default;
};

struct Actions {
  std::vector<NodeStart> nodes;
  std::vector<GroupStart> groups;  // a node is in at most one of them
  std::vector<Breaker> breakers;
  std::optional<std::int64_t> wake;     // when to call again if no attempt ends before
  std::vector<NodeStanding> standings;  // in the order of the nodes
  bool complete = false;                // no node is pending
};

// `reachable` has one entry per ordered node; an unreachable node waits. `now` is Unix time.
[[nodiscard]] Actions next(const Order& order, const Results& results,
                           const std::vector<bool>& reachable, std::int64_t now);

}  // namespace muster::accept
