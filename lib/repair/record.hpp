// SPDX-License-Identifier: Apache-2.0
// One line of the repair journal. An operation has several lines: it is reserved before anything is
// done, and ends with one outcome. The last line with an id is the state of that operation.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/base/fields.hpp"

namespace muster::repair {

// The steps of the ladder, in order.
enum class Rung { restart_service, reset_gpu, reboot, claim };

MUSTER_WORDS(Rung, "restart_service", "reset_gpu", "reboot", "claim");

enum class State {
  // States of an action.
  shadow,      // only recorded: what muster would have done
  reserved,    // about to be done, or being done
  succeeded,   // done, and the check that failed now passes
  failed,      // done or refused, but the fault is still there
  ambiguous,   // unknown whether it was done: a person must resolve it
  superseded,  // in the meantime, others repaired the node or took it over
  cancelled,   // nothing was done
  // States of a claim.
  prepared,      // printed
  sent,          // to the provider
  acknowledged,  // by the provider
  out,           // the provider took the node
  returned,      // the provider gave it back
  verified,      // it passes again
  reopened,      // it came back with the same fault
};

MUSTER_WORDS(State, "shadow", "reserved", "succeeded", "failed", "ambiguous", "superseded",
             "cancelled", "prepared", "sent", "acknowledged", "out", "returned", "verified",
             "reopened");

struct RepairRecord {
  static constexpr std::string_view kSchema = "muster.repair/1";
  MUSTER_DESCRIBED(RepairRecord);
  MUSTER_REQUIRED(std::string, id, "UUID of the operation");
  MUSTER_REQUIRED(std::string, at, "RFC 3339, UTC");
  MUSTER_REQUIRED(std::string, node, "its name in Slurm");
  MUSTER_REQUIRED(Rung, rung, "") = Rung::claim;
  MUSTER_REQUIRED(State, state, "") = State::cancelled;
  MUSTER_REQUIRED(std::string, incident, "the drain it is about: CHECK DEVICE TIME");
  MUSTER_FIELD(std::string, check, "the check that failed");
  MUSTER_FIELD(std::string, device, "");
  MUSTER_FIELD(std::vector<std::string>, serials, "serial numbers of the parts that failed");
  MUSTER_FIELD(std::string, who, "the user, or \"hook\"");
  MUSTER_FIELD(std::string, why, "one sentence");
  MUSTER_FIELD(std::string, boot_id, "the node's boot id before the action");
  MUSTER_FIELD(std::string, physical_host, "empty if the provider does not report it");
  MUSTER_UNLESS_EMPTY(std::string, unit, "the service that was restarted") = {};
  MUSTER_UNLESS_EMPTY(std::string, evidence, "file name of the bundle") = {};
  MUSTER_UNLESS_EMPTY(std::string, evidence_sha256, "") = {};
  MUSTER_UNLESS_EMPTY(std::string, provider, "only for a claim") = {};
  MUSTER_UNLESS_EMPTY(std::string, category, "only for a claim, in the provider's words") = {};
  MUSTER_UNLESS_EMPTY(std::string, reference, "the provider's reference for the claim") = {};
};

// Whether an operation in this state may still change the node.
[[nodiscard]] constexpr bool is_open(State state) {
  return state == State::reserved || state == State::ambiguous || state == State::prepared ||
         state == State::sent || state == State::acknowledged || state == State::out ||
         state == State::returned || state == State::reopened;
}

// Returns the last record of each operation, in the order of their first records.
[[nodiscard]] std::vector<RepairRecord> latest(const std::vector<RepairRecord>& records);

}  // namespace muster::repair
