// SPDX-License-Identifier: Apache-2.0
// The jobs of sweeps: how one is submitted, the report that it leaves, and both as events of the
// history.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.hpp"
#include "lib/report/report.hpp"
#include "slurm/cluster/node_state.hpp"
#include "slurm/history/history.hpp"
#include "slurm/rules/rules.hpp"

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

// "muster-sweep-locate".
[[nodiscard]] std::string sweep_job_name(std::string_view kind);

// The arguments of sbatch. An error names an invalid node name.
[[nodiscard]] Result<std::vector<std::string>> sbatch_arguments(const SweepJob& job,
                                                                const SweepRules& rules);

// A file of the job: "json" is its report, "out" its output.
[[nodiscard]] std::filesystem::path sweep_file(const SweepJob& job, const SweepRules& rules,
                                               std::string_view suffix);

// The error is `missing` as long as the job has not left one. The report is untrusted.
[[nodiscard]] Result<Report> read_sweep_result(const std::filesystem::path& file);

// Whether a check that judges nodes passed or warned. A healthy report without one says nothing
// about its nodes.
[[nodiscard]] bool judges_nodes(const Report& report);

// The verdict of `report` on each node of the job. `names` are the nodes of the cluster with their
// hosts, by which the report names them.
[[nodiscard]] std::vector<SweepVerdict> sweep_verdicts(const SweepJob& job, const Report& report,
                                                       const std::vector<NodeName>& names);
// Undecided on each node of the job.
[[nodiscard]] std::vector<SweepVerdict> undecided_verdicts(const SweepJob& job,
                                                           std::string_view why);

}  // namespace muster::slurm
