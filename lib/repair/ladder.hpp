// SPDX-License-Identifier: Apache-2.0
// The only place that decides what is done to a sick node, and in which order: restart a service,
// reset a GPU, reboot, file a claim. A pure function of the node's drain, the journal, the cluster,
// the site's rules and the time.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/outcome.hpp"
#include "lib/repair/record.hpp"
#include "lib/repair/repair_rules.hpp"

namespace muster::repair {

using Time = std::chrono::sys_seconds;

// A drain by muster that is in force.
struct RepairDrain {
  std::string node, check, device;  // an empty device means the whole node
  Time at{};
};

struct RepairCase {
  RepairDrain drain;  // the check is empty if muster has not drained the node
  Remedy remedy = Remedy::none;
  std::string message;     // the finding's message, or the reason in Slurm
  std::string drain_boot;  // the id of the boot in which the fault was found; empty if unknown
  std::string owner;       // why muster must not repair the node, such as an admin's drain
  // The state of the node now; empty if the node or Slurm did not answer.
  std::string boot_id;
  std::optional<bool> passes;            // whether the check that failed passes
  std::optional<std::size_t> jobs;       // number of Slurm jobs
  std::optional<std::size_t> processes;  // number of processes on all GPUs
  std::vector<std::string> serials;      // serial numbers of the parts that failed
  bool evidence_failed = false;          // no evidence could be collected for this step
  std::vector<RepairRecord> operations;  // the latest record of each operation on any node
  std::size_t nodes = 1;                 // number of nodes in the cluster
  std::vector<RepairDrain> drains;       // of all nodes of the cluster
  bool automatic = false;                // asked by a hook, not by an admin who named the node
  RepairRules rules;
  Time now{};
};

enum class Advice { nothing, wait, stop, act };

struct RepairStep {
  Advice what = Advice::nothing;
  Rung rung = Rung::claim;  // only for `act`
  std::string why;          // a sentence
  std::string unit = {};    // the unit to restart
  bool breaker = false;     // stops all repairs, which must be recorded
};

[[nodiscard]] RepairStep next_step(const RepairCase& repair);

// "gpu.xid gpu5 2026-11-28T05:10:00Z".
[[nodiscard]] std::string incident_of(const RepairDrain& drain);

// Returns the outcome of a reboot of this node that is under way. No process on the node survives a
// reboot, so a later run records it. Returns nothing if there is none, or if it is not known yet.
[[nodiscard]] std::optional<RepairRecord> ended_reboot(const RepairCase& repair);

// Whether an action must not be repeated automatically, because it is ambiguous, or was reserved
// and has no outcome.
[[nodiscard]] bool needs_person(const RepairRecord& operation);

}  // namespace muster::repair
