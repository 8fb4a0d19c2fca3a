// SPDX-License-Identifier: Apache-2.0
// The standing of each node after the past sweeps, and the jobs that the next pass submits: a pure
// function of the nodes as Slurm reports them, the past verdicts and the site's rules.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/fields.hpp"
#include "slurm/rules/rules.hpp"
#include "slurm/sweeps/sweep_job.hpp"

namespace muster::slurm {

enum class Trust {
  good,       // the last verdict is healthy
  untested,   // there is no verdict
  suspect,    // the last verdict is unhealthy
  confirmed,  // the last two are, and another node has passed in between
};

MUSTER_WORDS(Trust, "good", "untested", "suspect", "confirmed");

struct SweepSituation {
  std::vector<NodeState> nodes;
  SweepLog log;
  SweepRules rules;
  Time now{};
};

// One node in one kind of sweep.
struct SweepStanding {
  std::string node;
  std::string kind;
  std::string partition;
  Trust trust = Trust::untested;
  std::optional<Time> tried;           // the last verdict
  std::optional<Time> swept;           // the last that was not undecided
  bool overdue = false;                // not swept within `every`
  int undecided = 0;                   // verdicts in a row
  std::string last;                    // the text of the last verdict
  std::vector<SweepVerdict> failures;  // since it passed
};

// Each node of a swept partition, in each kind.
[[nodiscard]] std::vector<SweepStanding> sweep_standings(const SweepSituation& situation);

// The partitions that are swept: the site's, or the only one there is. An error names those that
// Slurm does not have, or from which the site must choose.
[[nodiscard]] Result<std::vector<std::string>> swept_partitions(const std::vector<NodeState>& nodes,
                                                                const SweepRules& rules);

// Why a node is confirmed: "it failed 2 times in a row while others passed: bench.locate ...".
[[nodiscard]] std::string evidence(const SweepStanding& standing);

// "gpu-0007 locate: suspect, swept at ...", with a newline.
[[nodiscard]] std::string to_line(const SweepStanding& standing);

// One line of JSON, schema muster.sweep/1, with a newline.
[[nodiscard]] std::string to_json_line(const SweepStanding& standing);

// A node is left alone for this long after an undecided job, and for twice as long after each
// further one in a row, up to half of `every`.
inline constexpr std::chrono::seconds kSweepPause{3600};

[[nodiscard]] std::vector<SweepJob> plan_sweep(const SweepSituation& situation);

}  // namespace muster::slurm
