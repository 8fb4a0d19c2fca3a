// SPDX-License-Identifier: Apache-2.0
// The next actions of a run of `muster accept`, and the standing of each node: a pure function of
// the order, of all that is on record, of who can be reached, and of the time. Resuming a run is
// calling it.
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
  Stage stage = Stage::inventory;  // the one it is in, or ended in
  Charge charge = Charge::none;
  std::string why{};             // one sentence, if it is not accepted or pending
  std::vector<Cause> causes{};   // of a verdict other than accepted
  std::vector<Cause> remarks{};  // warnings, and failures that a retest did not confirm
  std::int64_t soaked_s = 0;     // since the soak last began
  std::int64_t loaded_s = 0;     // under load in all soaks
  std::int64_t soak_events = 0;  // that the provider is charged with
  std::int64_t next_number = 1;  // of its next attempt at `stage`
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

// A check that too many nodes fail to blame each of them.
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
  std::vector<GroupStart> groups;  // at most one that uses any node
  std::vector<Breaker> breakers;
  std::optional<std::int64_t> wake;     // call again then, if nothing has ended before
  std::vector<NodeStanding> standings;  // in the order of the nodes
  bool complete = false;                // no node is pending
};

// `reachable`: by index of the order; a node that is not reachable waits. `now`: Unix time.
[[nodiscard]] Actions next(const Order& order, const Results& results,
                           const std::vector<bool>& reachable, std::int64_t now);

}  // namespace muster::accept
