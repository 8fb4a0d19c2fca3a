// SPDX-License-Identifier: Apache-2.0
// The record of a run of `muster accept`: the attempts of nodes and groups in each stage, and
// the decisions of the admin. Times are Unix times in seconds, UTC.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/fields.hpp"
#include "lib/base/outcome.hpp"
#include "lib/report/finding.hpp"

namespace muster::accept {

enum class Stage { inventory, check, node, fabric, whole, soak, after };
MUSTER_WORDS(Stage, "inventory", "check", "node", "fabric", "whole", "soak", "after");

// Whether several nodes run the stage together.
[[nodiscard]] constexpr bool is_group_stage(Stage stage) {
  return stage == Stage::fabric || stage == Stage::whole;
}

// How an attempt ended. `running` has no result file yet.
enum class AttemptEnd { running, pass, warn, fail, lost, interrupted, refused };
MUSTER_WORDS(AttemptEnd, "running", "pass", "warn", "fail", "lost", "interrupted", "refused");

// Who has to act on a failure.
enum class Charge { none, provider, ours, open };
MUSTER_WORDS(Charge, "none", "provider", "ours", "open");

// The kind of evidence, which decides how a failure is retested.
enum class Evidence {
  hard,       // observed, not measured: a missing GPU, a failed row remap, wrong data
  slow,       // below a limit
  event,      // happened under load: an XID, a link flap
  pair,       // one of two nodes is at fault
  uncertain,  // a check could not judge
  refused,    // other work on the GPUs, no permission, no library
};
MUSTER_WORDS(Evidence, "hard", "slow", "event", "pair", "uncertain", "refused");

// A reason why an attempt did not pass.
struct Cause {
  MUSTER_DESCRIBED(Cause);
  MUSTER_FIELD(std::string, node, "");
  MUSTER_FIELD(std::string, check, "");
  MUSTER_FIELD(std::string, device, "");
  MUSTER_FIELD(std::string, message, "");
  MUSTER_FIELD(Value, observed, "in `unit`"){};
  MUSTER_FIELD(Value, limit, "in `unit`"){};
  MUSTER_FIELD(std::string, unit, "");
  MUSTER_FIELD(Remedy, remedy, "") = Remedy::none;
  MUSTER_FIELD(Charge, charge, "") = Charge::open;
  MUSTER_FIELD(Evidence, evidence, "") = Evidence::hard;
  MUSTER_UNLESS_EMPTY(std::string, other, "the other node of a pair");
};

// "bench.gemm gpu3: ...".
[[nodiscard]] std::string to_line(const Cause& cause);

// One attempt by one node at one stage; in the soak, one slice. Stored with its reports in
// nodes/NODE/STAGE.NUMBER.json.
struct Attempt {
  static constexpr std::string_view kSchema = "muster.attempt/1";
  MUSTER_DESCRIBED(Attempt);
  MUSTER_REQUIRED(std::string, node, "as ordered");
  MUSTER_REQUIRED(Stage, stage, "") = Stage::inventory;
  MUSTER_REQUIRED(std::int64_t, number, "counts from 1 in each stage of the node") = 0;
  MUSTER_REQUIRED(AttemptEnd, end, "") = AttemptEnd::running;
  MUSTER_FIELD(std::int64_t, started, "") = 0;
  MUSTER_FIELD(std::int64_t, ended, "") = 0;
  MUSTER_FIELD(double, seconds, "by the node's steady clock") = 0;
  MUSTER_FIELD(std::string, boot_id, "");
  MUSTER_FIELD(std::string, why, "a sentence, if it neither passed nor failed");
  MUSTER_FIELD(std::vector<Cause>, causes, "why it failed or was refused");
  MUSTER_FIELD(std::vector<Cause>, remarks, "warnings");
  MUSTER_UNLESS_EMPTY(std::string, physical_host, "only in the stages inventory and after");
  MUSTER_UNLESS_EMPTY(std::string, profile, "only in the stages inventory and after");
  MUSTER_UNLESS_EMPTY(std::vector<std::string>, serials,
                      "of all parts; only in the stages inventory and after");
};

// One attempt by several nodes together: fabric, whole, or a round of the soak. Stored with its
// report in group/STAGE.NUMBER.json.
struct GroupAttempt {
  static constexpr std::string_view kSchema = "muster.group_attempt/1";
  MUSTER_DESCRIBED(GroupAttempt);
  MUSTER_REQUIRED(Stage, stage, "") = Stage::fabric;
  MUSTER_REQUIRED(std::int64_t, number, "") = 0;
  MUSTER_REQUIRED(std::vector<std::string>, nodes, "the nodes that took part");
  MUSTER_REQUIRED(AttemptEnd, end, "") = AttemptEnd::running;
  MUSTER_FIELD(std::int64_t, started, "") = 0;
  MUSTER_FIELD(std::int64_t, ended, "") = 0;
  MUSTER_FIELD(double, seconds, "") = 0;
  MUSTER_FIELD(std::string, why, "");
  MUSTER_FIELD(std::vector<Cause>, causes, "a cause without a node is about the whole group");
  MUSTER_FIELD(std::vector<Cause>, remarks, "");
  MUSTER_FIELD(std::vector<std::string>, lost, "nodes that stopped answering");
  MUSTER_FIELD(double, busbw_gbps, "bus bandwidth of the largest all-reduce; 0 if none") = 0;
};

enum class DecisionKind { retest, go_on, withdraw };
MUSTER_WORDS(DecisionKind, "retest", "go_on", "withdraw");

// A request by the admin after the run began. Stored in decisions/NUMBER.json.
struct Decision {
  static constexpr std::string_view kSchema = "muster.decision/1";
  MUSTER_DESCRIBED(Decision);
  MUSTER_REQUIRED(DecisionKind, kind, "") = DecisionKind::retest;
  MUSTER_FIELD(std::vector<std::string>, nodes, "for retest and withdraw");
  MUSTER_FIELD(std::string, check, "for go_on");
  MUSTER_FIELD(std::string, why, "");
  MUSTER_FIELD(std::string, who, "");
  MUSTER_REQUIRED(std::int64_t, at, "") = 0;
};

// Everything on record. Attempts may be in any order.
struct Results {
  std::vector<Attempt> attempts;
  std::vector<GroupAttempt> groups;
  std::vector<Decision> decisions;
};

}  // namespace muster::accept
