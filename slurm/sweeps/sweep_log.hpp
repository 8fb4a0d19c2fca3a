// SPDX-License-Identifier: Apache-2.0
// The jobs of sweeps and their verdicts on nodes, as events of the history.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/report/report.hpp"
#include "slurm/history/history.hpp"

namespace muster::slurm {

struct SweepJob {
  std::string kind;       // "locate"
  std::string partition;  // in which it is submitted
  std::vector<std::string> nodes;
  std::string token{};   // names its result file, and is its comment in Slurm's queue
  std::string number{};  // empty until sbatch has answered
  Time submitted{};

  bool operator==(const SweepJob&) const = default;
};

// The verdict of one job on one of its nodes; Verdict::unknown is "undecided".
struct SweepVerdict {
  Time at{};
  std::string kind, node;
  Verdict verdict = Verdict::unknown;
  std::string text;  // "unhealthy: bench.locate HCA 3: ..."
  std::string check{}, device{};

  bool operator==(const SweepVerdict&) const = default;
};

struct SweepLog {
  std::vector<SweepJob> open;          // jobs without a verdict, oldest first
  std::vector<SweepVerdict> verdicts;  // oldest first
};

// "healthy", "unhealthy" or "undecided".
[[nodiscard]] std::string_view sweep_word(Verdict verdict);

// `kind`: "planned" before sbatch is called, "submitted" once it has answered.
[[nodiscard]] Event event_of(const SweepJob& job, std::string kind);
[[nodiscard]] Event event_of(const SweepVerdict& verdict, const SweepJob& job);

// Events of other kinds are ignored. A time well after `now`, written while the clock was ahead,
// counts as long ago.
[[nodiscard]] SweepLog parse_sweep_log(const std::vector<Event>& events, Time now);
[[nodiscard]] Result<SweepLog> read_sweep_log(const History& history, Time since, Time now);

}  // namespace muster::slurm
