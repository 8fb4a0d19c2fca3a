// SPDX-License-Identifier: Apache-2.0
// One job of a sweep, as the history keeps it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "slurm/cluster/node_state.hpp"

namespace muster::slurm {

enum class SweepOutcome {
  open,  // queued or running
  healthy,
  unhealthy,
  undecided,  // cancelled, never started, without a result, or a verdict unknown: blames nobody
};

// Their words, in their order.
inline constexpr std::array<std::string_view, 4> kSweepOutcomes{"open", "healthy", "unhealthy",
                                                                "undecided"};

[[nodiscard]] constexpr std::string_view to_string(SweepOutcome outcome) {
  return kSweepOutcomes.at(static_cast<std::size_t>(outcome));
}

// `undecided` for any other word.
[[nodiscard]] constexpr SweepOutcome parse_sweep_outcome(std::string_view word) {
  for (const auto outcome : {SweepOutcome::open, SweepOutcome::healthy, SweepOutcome::unhealthy}) {
    if (word == to_string(outcome)) return outcome;
  }
  return SweepOutcome::undecided;
}

struct SweepRun {
  std::int64_t id = 0;    // given by the history
  std::string kind;       // "pair"
  std::string partition;  // nodes of different ones say nothing about each other
  std::vector<std::string> nodes;
  std::string token;  // names its result file, and the job in Slurm's queue
  std::string job;    // empty where Slurm did not answer when it was submitted
  Time submitted{};
  Time ended{};  // when its result was taken in; not of an open one
  SweepOutcome outcome = SweepOutcome::open;

  bool operator==(const SweepRun&) const = default;
};

}  // namespace muster::slurm
