// SPDX-License-Identifier: Apache-2.0
// The only place that decides whether a node is drained, kept, resumed or left alone. A pure
// function of the report, the node as Slurm shows it with its memory, the site's rules and the
// time.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/report/report.hpp"
#include "slurm/cluster/node_state.hpp"
#include "slurm/policy/node_memory.hpp"
#include "slurm/rules/rules.hpp"

namespace muster::slurm {

enum class Action {
  drain,    // take it out of service, with `reason`
  keep,     // muster drained it, and it stays so
  resume,   // put it back into service
  nothing,  // not ours to touch, or nothing to do
};

struct Situation {
  const Report* report = nullptr;
  // The report for a node that is drained by muster; null: `report`. It never drains a node in
  // service, because jobs may be running there.
  const Report* of_drained = nullptr;
  Rules rules;
  Time now{};
  std::string boot_id;   // of this boot; empty if unknown
  std::string identity;  // GPU UUIDs and HCA GUIDs separated by blanks; empty if none is known
  std::string machine;   // see hash_machine; empty if unknown
  // Slurm powers the node down and up, so a boot since the drain does not count against it.
  bool is_power_saved = false;
  // This node as Slurm shows it, and all nodes of its partitions (this one included).
  std::optional<NodeState> node;  // nothing: Slurm did not say
  std::string trouble;            // why
  std::vector<NodeState> cluster;
};

struct Decision {
  Action action = Action::nothing;
  std::string why;     // a sentence, for the history and for people
  std::string reason;  // for Slurm, of a drain
  std::string check;   // that it is about; empty for none
  std::string device;
  Remedy remedy = Remedy::none;
  bool loud = false;   // a refusal that an admin must see: the site's share is used up
  bool sick = false;   // the report calls for a drain, even if there is none
  bool clean = false;  // this run counts among the clean ones
  std::string admin;   // why only an admin can resume the node; empty if clean runs can

  bool operator==(const Decision&) const = default;
};

[[nodiscard]] Decision decide(const Situation& situation);

// The most serious finding that calls for a drain; null if there is none.
[[nodiscard]] const Finding* drain_finding(const Report& report, const Rules& rules);

// How many more failures the report has besides a finding that failed.
[[nodiscard]] std::size_t count_others(const Report& report, const Finding& finding);

// muster's drain that is in force; nothing if the node is not drained, or others drained it.
[[nodiscard]] std::optional<NodeMemory> current_drain(const Situation& situation);

// How one run counts for the drain that is in force.
enum class Cleanness {
  clean,    // the fault is gone: one more clean run
  neither,  // a healthy node before or after a job: only health checks count
  unclean,  // sick or undecided: the count starts again
};

[[nodiscard]] Cleanness cleanness_of(const Report& report, const Rules& rules,
                                     const NodeMemory& drain);

// Only health checks count as clean runs.
[[nodiscard]] bool is_health_check(const Report& report);

// The report that decides whether a drain is kept or ended.
[[nodiscard]] const Report& report_of_drain(const Situation& situation);

// How serious a fault with this remedy is: a replacement most of all, then a reboot, the reset of a
// GPU, a restart, a change of the configuration.
[[nodiscard]] int seriousness(Remedy remedy);

// Whether the check looks for what a job left on a GPU, the one fault that users can cause. Such a
// drain ends as soon as the leftover is gone, without several clean runs, a reset or a reboot, and
// however often it happened.
[[nodiscard]] bool is_left_by_a_job(std::string_view check);

// "3 drains within 24 h" if that many of `drains` need an admin; else empty.
[[nodiscard]] std::string flapping(const std::vector<Time>& drains, const Rules& rules, Time now);

}  // namespace muster::slurm
