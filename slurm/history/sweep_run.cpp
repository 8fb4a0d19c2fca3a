// SPDX-License-Identifier: Apache-2.0
#include "slurm/history/sweep_run.hpp"

namespace muster::slurm {

std::string_view to_string(SweepOutcome outcome) {
  switch (outcome) {
    case SweepOutcome::open:
      return "open";
    case SweepOutcome::healthy:
      return "healthy";
    case SweepOutcome::unhealthy:
      return "unhealthy";
    case SweepOutcome::undecided:
      break;
  }
  return "undecided";
}

SweepOutcome parse_sweep_outcome(std::string_view word) {
  for (const auto outcome : {SweepOutcome::open, SweepOutcome::healthy, SweepOutcome::unhealthy}) {
    if (word == to_string(outcome)) return outcome;
  }
  return SweepOutcome::undecided;
}

}  // namespace muster::slurm
