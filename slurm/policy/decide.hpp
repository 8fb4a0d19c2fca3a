// SPDX-License-Identifier: Apache-2.0
// The only place that decides whether a node is drained, kept, resumed or left alone. A pure
// function: what Slurm says, what the report says, what this node's history says, and the site's
// rules, to one decision with its reason.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/report/report.hpp"
#include "slurm/cluster/node_state.hpp"
#include "slurm/rules/rules.hpp"

namespace muster::slurm {

enum class Action {
  drain,    // take it out of service, with `reason`
  keep,     // it is drained by muster and stays so
  resume,   // put it back into service
  nothing,  // not ours to touch, or nothing to do
};

// A drain by muster on this node, from its history.
struct OwnDrain {
  std::string reason;  // word for word
  Time at{};
  bool confirmed = false;  // seen in Slurm; a drain that was only sent may still come
  std::string boot_id;
  std::string identity;  // of the hardware: see Situation
  std::string check;
  Remedy remedy = Remedy::none;
  int clean_runs = 0;                    // in a row since, this run not counted
  std::vector<std::string> boots_since;  // boot ids seen after it, oldest first
  bool resuming = false;                 // Slurm was told to resume it, and may do so late

  bool operator==(const OwnDrain&) const = default;
};

struct Situation {
  const Report* report = nullptr;
  // The report to judge by where the node is drained with the reason of `drain`; null: `report`. No
  // node in service is drained by it: somebody may work there.
  const Report* of_drained = nullptr;
  Rules rules;
  Time now{};
  std::string boot_id;   // of this boot; empty where unknown
  std::string identity;  // GPU UUIDs and HCA GUIDs with blanks between; empty where none is known
  // This node as Slurm sees it, and all nodes of its partitions (this one among them).
  std::optional<NodeState> node;  // nothing: Slurm did not say
  std::string trouble;            // why
  std::vector<NodeState> cluster;
  std::optional<OwnDrain> drain;  // the last one that has not ended
  std::vector<Time> drains;       // since an admin last resumed this node, this one among them
};

struct Decision {
  Action action = Action::nothing;
  std::string why;     // a sentence, for the history and for people
  std::string reason;  // for Slurm, of a drain
  std::string check;   // that it is about; empty for none
  std::string device;
  Remedy remedy = Remedy::none;
  bool loud = false;   // a refusal that somebody must see: the site's share is used up
  bool sick = false;   // the report calls for a drain, whatever comes of it
  bool clean = false;  // this run counts among the clean ones

  bool operator==(const Decision&) const = default;
};

[[nodiscard]] Decision decide(const Situation& situation);

// The gravest finding for which the report calls for a drain; null where it calls for none.
[[nodiscard]] const Finding* drain_finding(const Report& report, const Rules& rules);

// How many more failures the report has beside a finding that failed.
[[nodiscard]] std::size_t count_others(const Report& report, const Finding& finding);

// Whether the node has the reason of `drain`, word for word.
[[nodiscard]] bool is_own(const Situation& situation);

// What the history holds of this node.
struct HistoryFacts {
  bool drained_by_us = false;
  bool boot = true;  // Slurm was asked in this boot
};

// Whether Slurm has to be asked: not for a healthy node without a drain of ours. Once in each boot
// Slurm is asked all the same: a history that was lost holds no drain.
[[nodiscard]] bool needs_slurm(const Report& report, const Rules& rules, const HistoryFacts& known);

}  // namespace muster::slurm
