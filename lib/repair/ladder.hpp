// SPDX-License-Identifier: Apache-2.0
// The only place that decides what is done to a sick node, and in which order: restart a service,
// reset a GPU, reboot, claim. A pure function of the node's drain, the journal, the cluster, the
// site's rules and the time.
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
  std::string node, check, device;  // an empty device is the whole node
  Time at{};

  bool operator==(const RepairDrain&) const = default;
};

struct RepairCase {
  RepairDrain drain;  // of the node; no check: muster has not drained it
  Remedy remedy = Remedy::none;
  std::string message;     // of the finding, or the reason in Slurm
  std::string drain_boot;  // the boot id in which the fault was found; empty if unknown
  std::string owner;       // why the node is another's to repair: an admin drained it; empty: ours
  // The node now. Nothing: it could not be asked.
  std::string boot_id;
  std::optional<bool> passes;            // the check that failed
  std::optional<std::size_t> jobs;       // in Slurm
  std::optional<std::size_t> processes;  // on all GPUs
  std::vector<std::string> serials;      // of the parts that failed
  bool evidence_failed = false;          // it was collected for this step, without result
  std::vector<RepairRecord> operations;  // the latest record of each one, of all nodes
  std::size_t nodes = 1;                 // of the cluster
  std::vector<RepairDrain> drains;       // of all its nodes
  bool automatic = false;                // a hook asks, and not an admin who named the node
  RepairRules rules;
  Time now{};
};

enum class Advice { nothing, wait, stop, act };

struct RepairStep {
  Advice what = Advice::nothing;
  Rung rung = Rung::claim;  // of `act`
  std::string why;          // a sentence
  std::string unit = {};    // that is restarted
  bool breaker = false;     // a stop of all repairs, which must be recorded

  bool operator==(const RepairStep&) const = default;
};

[[nodiscard]] RepairStep next_step(const RepairCase& repair);

// "gpu.xid gpu5 2026-11-28T05:10:00Z".
[[nodiscard]] std::string incident_of(const RepairDrain& drain);

// The outcome of this node's reboot that is under way, which survives no process on the node.
// Nothing: there is none, or it is not known yet.
[[nodiscard]] std::optional<RepairRecord> ended_reboot(const RepairCase& repair);

// Whether an action must not be repeated by itself: reserved, and then nothing, or ambiguous.
[[nodiscard]] bool needs_person(const RepairRecord& operation);

}  // namespace muster::repair
