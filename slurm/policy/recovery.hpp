// SPDX-License-Identifier: Apache-2.0
// A node that muster drained and that is not sick any more: whether it stays drained, and why, or
// is resumed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "slurm/policy/decide.hpp"

namespace muster::slurm {

// What one run says about the drain that is open.
enum class Cleanness {
  clean,    // what was wrong is well: one more in a row
  neither,  // a healthy node before or after a job: only health checks count
  unclean,  // sick or undecided: the count begins again
};

[[nodiscard]] Cleanness cleanness_of(const Report& report, const Rules& rules,
                                     const OwnDrain& drain);

// Only these count the clean runs of a node.
[[nodiscard]] bool is_health_check(const Report& report);

// What tells whether the drain that is open may end.
[[nodiscard]] const Report& report_of_drain(const Situation& situation);

// How much a remedy asks for before a node may be resumed: another part most of all, then a reboot,
// the reset of a GPU, a restart, a change of the configuration.
[[nodiscard]] int gravity(Remedy remedy);

// Whether a node is drained for what an ended job left on a GPU, the one fault that a user can
// make. Such a drain ends as soon as it is gone: without clean runs in a row, a reset or a reboot,
// and however often it happened.
[[nodiscard]] bool is_left_by_a_job(std::string_view check);

// "drain 3 within 24 h", where so many of `drains` need an admin; else empty.
[[nodiscard]] std::string flapping(const std::vector<Time>& drains, const Rules& rules, Time now);

// Keep or resume: the node is drained with the reason of `situation.drain`, and the report does not
// call for it any more.
[[nodiscard]] Decision decide_recovery(const Situation& situation);

}  // namespace muster::slurm
