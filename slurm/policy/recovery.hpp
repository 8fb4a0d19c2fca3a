// SPDX-License-Identifier: Apache-2.0
// A node that muster drained and that is not sick any more: whether it stays drained, and why, or
// is resumed.
#pragma once

#include "slurm/policy/decide.hpp"

namespace muster::slurm {

// What one run says about the drain that is open.
enum class Cleanness {
  clean,    // what was wrong is well: one more in a row
  neither,  // a healthy node before or after a job: only health checks count
  unclean,  // sick or undecided: the count begins again
};

[[nodiscard]] Cleanness cleanness_of(const Report& report,
                                     const Rules& rules,
                                     const OwnDrain& drain);

// What tells whether the drain that is open may end.
[[nodiscard]] const Report& report_of_drain(const Situation& situation);

// Whether `remedy` asks for more than `other` before a node may be resumed.
[[nodiscard]] bool is_graver(Remedy remedy, Remedy other);

// Keep or resume: the node is drained with the reason of `situation.drain`, and the report does not
// call for it any more.
[[nodiscard]] Decision decide_recovery(const Situation& situation);

}  // namespace muster::slurm
