// SPDX-License-Identifier: Apache-2.0
#include "slurm/history/sweep_run.hpp"

#include <array>
#include <cstddef>

namespace muster::slurm {

std::string_view to_string(SweepOutcome outcome) {
  constexpr std::array<std::string_view, 4> kWords{"open", "healthy", "unhealthy", "undecided"};
  return kWords.at(static_cast<std::size_t>(outcome));
}

SweepOutcome parse_sweep_outcome(std::string_view word) {
  for (const auto outcome : {SweepOutcome::open, SweepOutcome::healthy, SweepOutcome::unhealthy}) {
    if (word == to_string(outcome)) return outcome;
  }
  return SweepOutcome::undecided;
}

}  // namespace muster::slurm
