// SPDX-License-Identifier: Apache-2.0
// The order and how it is tested: the nodes, the lengths of the stages, the rules for retests.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/accept/attempt.hpp"
#include "lib/base/fields.hpp"
#include "lib/base/result.hpp"

namespace muster::accept {

inline constexpr std::size_t kMaxNodes = 65'536;

struct OrderedNode {
  MUSTER_DESCRIBED(OrderedNode);
  MUSTER_REQUIRED(std::string, name, "");
  MUSTER_UNLESS_EMPTY(std::string, host, "the physical host that was ordered");
  MUSTER_UNLESS_EMPTY(std::string, serial, "serial number of a part that the node must have");
  MUSTER_UNLESS_EMPTY(std::string, group, "nodes of one group are judged together");
};

// The contract of a delivery. Rates are failures per 1000 node-days under load.
struct Terms {
  MUSTER_DESCRIBED(Terms);
  MUSTER_FIELD(double, accepted_at_least, "share of the ordered nodes") = 1;
  MUSTER_FIELD(std::optional<std::int64_t>, failures_allowed,
               "in the soak; null: computed from the rates and the risk");
  MUSTER_FIELD(double, good_rate, "a delivery with this rate should be accepted") = 6.5;
  MUSTER_FIELD(double, bad_rate, "a delivery with this rate should be refused") = 32.5;
  MUSTER_FIELD(double, risk, "probability, for either party, of the wrong decision") = 0.1;
};

// Times are in seconds.
struct Plan {
  MUSTER_DESCRIBED(Plan);
  MUSTER_FIELD(std::string, name, "quick, standard, strict or the file's");
  MUSTER_FIELD(std::int64_t, soak_s, "load on each node") = 86'400;
  MUSTER_FIELD(std::int64_t, slice_s,
               "length of one attempt; an interruption costs at most one") = 600;
  MUSTER_FIELD(std::int64_t, round_s, "soak time between all-reduces of all nodes") = 3'600;
  MUSTER_FIELD(std::int64_t, wait_s,
               "how long a group stage waits for nodes that are not ready") = 7'200;
  MUSTER_FIELD(std::int64_t, return_s, "how long a lost node has to answer again") = 1'800;
  MUSTER_FIELD(std::int64_t, gap_s,
               "longest gap between slices; a longer one starts the soak again") = 3'600;
  MUSTER_FIELD(std::string, level, "level of muster-bench node") = "full";
  MUSTER_FIELD(std::int64_t, whole_runs, "all-reduces of all nodes; their median is judged") = 3;
  MUSTER_FIELD(std::int64_t, hard_reads, "equal readings of hard evidence that reject a node") = 2;
  MUSTER_FIELD(std::int64_t, slow_runs, "runs of a slow test; the majority decides") = 3;
  MUSTER_FIELD(std::int64_t, uncertain_reads,
               "undecided runs after which a node counts as not tested") = 2;
  MUSTER_FIELD(std::int64_t, soaks, "soaks with an event after which a node is rejected") = 2;
  MUSTER_FIELD(std::int64_t, losses, "losses after which a node is rejected") = 2;
  MUSTER_FIELD(std::int64_t, partners, "proven nodes that retest a suspect") = 3;
  MUSTER_FIELD(std::int64_t, breaker_nodes,
               "a stage stops if at least this many nodes fail one check") = 3;
  MUSTER_FIELD(double, breaker_share, "and at least this share of a group") = 0.2;
  MUSTER_FIELD(std::string, profile, "profile for muster and muster-bench; empty: the node's own");
  MUSTER_FIELD(std::vector<std::string>, settings, "KEY=VALUE, passed on to --set");
  MUSTER_FIELD(double, node_hour_price, "in any currency; 0 if unknown") = 0;
  MUSTER_UNLESS_EMPTY(std::optional<Terms>, terms, "without terms, every node must be accepted");
};

// quick, standard or strict.
[[nodiscard]] Result<Plan> shipped_plan(std::string_view name);

// An error names the key and what it must be.
[[nodiscard]] Result<void> check_plan(const Plan& plan);

// run.json: never changed after the first start.
struct Order {
  static constexpr std::string_view kSchema = "muster.acceptance/1";
  MUSTER_DESCRIBED(Order);
  MUSTER_REQUIRED(std::string, id, "UUIDv7");
  MUSTER_REQUIRED(std::string, muster, "version");
  MUSTER_REQUIRED(std::int64_t, created, "") = 0;
  MUSTER_REQUIRED(Plan, plan, "");
  MUSTER_REQUIRED(std::vector<OrderedNode>, nodes, "as ordered, without duplicates");
  MUSTER_UNLESS_EMPTY(std::string, by, "value of --by; empty: detected by each driver");
  MUSTER_UNLESS_EMPTY(std::string, sim, "value of --sim");
  MUSTER_UNLESS_EMPTY(std::string, program, "value of --muster");
};

inline constexpr std::string_view kSim = "sim";  // the value of --by for a simulated fleet

// The longest time that an attempt may take, not counting its soak.
[[nodiscard]] std::int64_t deadline_s(const Plan& plan, Stage stage);

}  // namespace muster::accept
