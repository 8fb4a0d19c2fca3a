// SPDX-License-Identifier: Apache-2.0
// How nodes stand in sweeps, and how that is written.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "slurm/sweeps/sweep_plan.hpp"

namespace muster::slurm {

// How one node stands in one kind of sweep.
struct SweepStanding {
  std::string node;
  std::string kind;
  std::string partition;
  Trust trust = Trust::untested;
  std::optional<Time> swept;
  bool overdue = false;                // not swept within `every`
  std::vector<SweepFailure> failures;  // since it passed
};

// Each node that Slurm has in a swept partition, in each kind.
[[nodiscard]] std::vector<SweepStanding> sweep_standings(const SweepSituation& situation);

// Why a node is confirmed: "it failed with n3, n5, n8, and others pass without it".
[[nodiscard]] std::string evidence(const std::vector<SweepFailure>& failures);

// "gpu-0007 pair: suspect, swept at …; failed with …", with a newline.
[[nodiscard]] std::string to_line(const SweepStanding& standing);

// One line of JSON, schema muster.sweep/1, with a newline.
[[nodiscard]] std::string to_json_line(const SweepStanding& standing);

}  // namespace muster::slurm
