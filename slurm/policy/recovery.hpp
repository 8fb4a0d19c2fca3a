// SPDX-License-Identifier: Apache-2.0
// A node that muster drained and that is not sick any more: whether it is resumed, or why it stays
// drained.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "slurm/policy/decide.hpp"

namespace muster::slurm {

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

// The report by which a drain is kept or ended.
[[nodiscard]] const Report& report_of_drain(const Situation& situation);

// How much a remedy asks for: another part most of all, then a reboot, the reset of a GPU, a
// restart, a change of the configuration.
[[nodiscard]] int gravity(Remedy remedy);

// Whether the check is about what an ended job left on a GPU, the one fault that users can cause.
// Such a drain ends as soon as the leftover is gone: without several clean runs, a reset or a
// reboot, and however often it happened.
[[nodiscard]] bool is_left_by_a_job(std::string_view check);

// "drain 3 within 24 h" if that many of `drains` need an admin; else empty.
[[nodiscard]] std::string flapping(const std::vector<Time>& drains, const Rules& rules, Time now);

// Keep or resume a node with this drain; the report does not call for it any more.
[[nodiscard]] Decision decide_recovery(const Situation& situation, const NodeMemory& drain);

}  // namespace muster::slurm
