// SPDX-License-Identifier: Apache-2.0
// The result of an acceptance as one document, accept.json: what was ordered, which nodes were
// accepted, why others were not, and the evidence. The page and the table are made from it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/accept/facts.hpp"
#include "lib/accept/next.hpp"
#include "lib/accept/plan.hpp"
#include "lib/accept/terms.hpp"
#include "lib/base/fields.hpp"
#include "lib/repair/claim.hpp"

namespace muster::accept {

enum class DeliveryState { draft, complete };
MUSTER_WORDS(DeliveryState, "draft", "complete");

enum class TermsVerdict { open, met, not_met };
MUSTER_WORDS(TermsVerdict, "open", "met", "not_met");

struct DeliveryCounts {
  MUSTER_DESCRIBED(DeliveryCounts);
  MUSTER_FIELD(std::int64_t, ordered, "nodes") = 0;
  MUSTER_FIELD(std::int64_t, accepted, "with and without remarks") = 0;
  MUSTER_FIELD(std::int64_t, with_remarks, "accepted with remarks") = 0;
  MUSTER_FIELD(std::int64_t, rejected, "charged to the provider") = 0;
  MUSTER_FIELD(std::int64_t, held, "charged to the admin, or to be decided") = 0;
  MUSTER_FIELD(std::int64_t, not_tested, "") = 0;
  MUSTER_FIELD(std::int64_t, withdrawn, "") = 0;
  MUSTER_FIELD(std::int64_t, pending, "no verdict yet") = 0;
};

// A term of the contract and what was reached.
struct TermResult {
  MUSTER_DESCRIBED(TermResult);
  MUSTER_FIELD(std::string, term, "");
  MUSTER_FIELD(std::string, reached, "");
  MUSTER_FIELD(bool, met, "") = false;
};

struct CardCause {
  MUSTER_DESCRIBED(CardCause);
  MUSTER_FIELD(std::string, check, "");
  MUSTER_FIELD(std::string, device, "");
  MUSTER_FIELD(std::string, message, "");
  MUSTER_FIELD(Value, observed, "in `unit`"){};
  MUSTER_FIELD(Value, limit, "in `unit`"){};
  MUSTER_FIELD(std::string, unit, "");
  MUSTER_FIELD(std::string, source, "where the limit comes from");
  MUSTER_FIELD(Remedy, remedy, "") = Remedy::none;
  MUSTER_FIELD(std::string, category, "the provider's category; empty if it has none");
  MUSTER_UNLESS_EMPTY(std::string, other, "the other node of a pair");
};

struct CardAttempt {
  MUSTER_DESCRIBED(CardAttempt);
  MUSTER_FIELD(Stage, stage, "") = Stage::inventory;
  MUSTER_FIELD(std::int64_t, number, "counts from 1 in its stage, for a group over all nodes") = 0;
  MUSTER_FIELD(AttemptEnd, end, "") = AttemptEnd::running;
  MUSTER_FIELD(std::string, started, "RFC 3339, UTC");
  MUSTER_FIELD(std::string, ended, "RFC 3339, UTC");
  MUSTER_FIELD(std::string, boot_id, "empty for a group");
  MUSTER_FIELD(std::string, result, "what it found");
  MUSTER_UNLESS_EMPTY(std::vector<std::string>, failed, "CHECK DEVICE of each cause") = {};
};

// A node in the group whose test named another node.
struct Partner {
  MUSTER_DESCRIBED(Partner);
  MUSTER_FIELD(std::string, node, "");
  MUSTER_FIELD(bool, proven, "no test ever named it") = false;
};

// A node that is not accepted.
struct NodeCard {
  MUSTER_DESCRIBED(NodeCard);
  MUSTER_REQUIRED(std::string, node, "");
  MUSTER_REQUIRED(NodeVerdict, verdict, "") = NodeVerdict::pending;
  MUSTER_FIELD(Charge, charge, "") = Charge::none;
  MUSTER_FIELD(Stage, stage, "the stage it ended in") = Stage::inventory;
  MUSTER_FIELD(std::string, why, "");
  MUSTER_FIELD(std::string, host, "the node's own host name");
  MUSTER_FIELD(std::string, physical_host, "");
  MUSTER_FIELD(std::string, ordered_host, "empty if none was ordered");
  MUSTER_FIELD(std::string, profile, "");
  MUSTER_FIELD(std::vector<Part>, parts,
               "the parts at fault; all parts of a rejected node if none is named");
  MUSTER_FIELD(std::vector<CardCause>, causes, "");
  MUSTER_FIELD(std::vector<CardAttempt>, attempts,
               "all except soak slices and all-reduces that passed");
  MUSTER_FIELD(std::int64_t, passed_slices, "slices of the soak that passed") = 0;
  MUSTER_FIELD(std::int64_t, passed_rounds, "all-reduces with other nodes that passed") = 0;
  MUSTER_FIELD(std::vector<Partner>, partners, "the nodes of the last group that named it");
  MUSTER_FIELD(std::vector<std::string>, kernel_lines, "");
  MUSTER_UNLESS_EMPTY(std::optional<repair::Claim>, claim, "only for a rejected node");
};

struct NodeRow {
  MUSTER_DESCRIBED(NodeRow);
  MUSTER_REQUIRED(std::string, node, "");
  MUSTER_REQUIRED(NodeVerdict, verdict, "") = NodeVerdict::pending;
  MUSTER_FIELD(Stage, stage, "the stage it is in, or ended in") = Stage::inventory;
  MUSTER_FIELD(std::string, why, "");
  MUSTER_FIELD(std::string, group, "");
  MUSTER_FIELD(std::string, physical_host, "");
  MUSTER_FIELD(std::string, serial, "serial number of the board");
  MUSTER_FIELD(double, soak_hours, "under load") = 0;
  MUSTER_FIELD(std::vector<std::optional<double>>, values,
               "values of its worst device, in the order of `quantities`");
  MUSTER_FIELD(std::vector<std::string>, remarks, "");
};

struct DeliveryQuantity {
  MUSTER_DESCRIBED(DeliveryQuantity);
  MUSTER_REQUIRED(std::string, name, "");
  MUSTER_FIELD(std::string, unit, "");
  MUSTER_FIELD(bool, more_is_better, "") = true;
  MUSTER_FIELD(std::optional<double>, limit, "null: measured but not judged");
  MUSTER_FIELD(std::optional<double>, fleet_limit,
               "derived from the node's peers; only causes a remark");
  MUSTER_FIELD(std::vector<std::string>, slow, "nodes beyond the limit of the fleet");
};

struct WholeRound {
  MUSTER_DESCRIBED(WholeRound);
  MUSTER_FIELD(std::int64_t, number, "counts from 1, in order of time") = 0;
  MUSTER_FIELD(Stage, stage, "whole or soak") = Stage::whole;
  MUSTER_FIELD(std::string, at, "RFC 3339, UTC");
  MUSTER_FIELD(std::int64_t, nodes, "number of nodes that took part") = 0;
  MUSTER_FIELD(AttemptEnd, end, "") = AttemptEnd::running;
  MUSTER_FIELD(double, busbw_gbps, "0 if it measured nothing") = 0;
};

// The versions that most nodes of a group have.
struct GroupStack {
  MUSTER_DESCRIBED(GroupStack);
  MUSTER_FIELD(std::string, group, "");
  MUSTER_FIELD(std::int64_t, nodes, "") = 0;
  MUSTER_FIELD(ByName<std::string>, versions, "");
};

struct StackDifference {
  MUSTER_DESCRIBED(StackDifference);
  MUSTER_FIELD(std::string, what, "");
  MUSTER_FIELD(std::string, version, "");
  MUSTER_FIELD(std::string, usual, "");
  MUSTER_FIELD(std::vector<std::string>, nodes, "");
};

struct DeliveryGap {
  MUSTER_DESCRIBED(DeliveryGap);
  MUSTER_FIELD(std::string, what, "");
  MUSTER_FIELD(std::string, reason, "");
  MUSTER_FIELD(bool, required, "a verdict needs it") = false;
  MUSTER_FIELD(std::vector<std::string>, nodes, "");
};

// Something that an admin set aside or changed.
struct Override {
  MUSTER_DESCRIBED(Override);
  MUSTER_FIELD(std::string, what, "");
  MUSTER_UNLESS_EMPTY(std::string, why, "");
  MUSTER_UNLESS_EMPTY(std::string, who, "");
  MUSTER_UNLESS_EMPTY(std::string, at, "RFC 3339, UTC");
};

struct Delivery {
  static constexpr std::string_view kSchema = "muster.accept/1";
  MUSTER_DESCRIBED(Delivery);
  MUSTER_REQUIRED(std::string, id, "id of the run");
  MUSTER_REQUIRED(DeliveryState, state,
                  "a draft until every node has a verdict") = DeliveryState::draft;
  MUSTER_REQUIRED(TermsVerdict, terms_verdict, "open in a draft") = TermsVerdict::open;
  MUSTER_FIELD(std::string, muster, "version");
  MUSTER_FIELD(std::string, created, "RFC 3339, UTC");
  MUSTER_FIELD(std::string, at, "when this document was written");
  MUSTER_UNLESS_EMPTY(std::string, who, "the user who ran it");
  MUSTER_FIELD(bool, simulated, "by --by sim: nothing was measured") = false;
  MUSTER_FIELD(Plan, plan, "");
  MUSTER_REQUIRED(DeliveryCounts, counts, "");
  MUSTER_FIELD(std::vector<TermResult>, terms, "");
  MUSTER_FIELD(std::vector<std::string>, stopped,
               "stages that stopped because many nodes may share one cause");
  MUSTER_FIELD(std::vector<NodeCard>, cards, "");
  MUSTER_FIELD(Confidence, confidence, "");
  MUSTER_FIELD(std::vector<std::int64_t>, faults_by_hour, "by hour of each node's soak");
  MUSTER_FIELD(std::vector<DeliveryQuantity>, quantities, "");
  MUSTER_FIELD(std::vector<NodeRow>, nodes, "as ordered");
  MUSTER_FIELD(std::vector<WholeRound>, whole, "all-reduces of all nodes");
  MUSTER_FIELD(std::optional<double>, whole_limit_gbps, "");
  MUSTER_FIELD(std::optional<Matrix>, pairs, "pairs measured by the search for slow nodes");
  MUSTER_FIELD(std::vector<GroupStack>, stacks, "");
  MUSTER_FIELD(std::vector<StackDifference>, differing, "");
  MUSTER_FIELD(std::vector<DeliveryGap>, not_observed, "");
  MUSTER_FIELD(std::vector<Override>, overridden, "");
  MUSTER_UNLESS_EMPTY(std::vector<std::string>, left_out,
                      "what the copy for the provider leaves out");
};

struct DeliveryContext {
  std::string who;  // runs it
  std::int64_t now = 0;
};

// `actions` is what next() returned for the same results; `facts` has one entry per ordered node.
[[nodiscard]] Delivery make_delivery(const Order& order, const Results& results,
                                     const Actions& actions, const std::vector<NodeFacts>& facts,
                                     const GroupFacts& group, const DeliveryContext& context);

// A copy without users, jobs, addresses and notes.
[[nodiscard]] Delivery for_provider(Delivery delivery);

// 0: all ordered nodes are accepted and the terms are met. 1: the run is complete, but a node is
// not accepted (withdrawn, for example) or the terms are not met. 2: the run is not complete.
[[nodiscard]] int exit_status(const Plan& plan, const Actions& actions);

}  // namespace muster::accept
