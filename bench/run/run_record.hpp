// SPDX-License-Identifier: Apache-2.0
// The record of a run on rank 0, and its report, however the run ended.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/command/bench_command.hpp"
#include "bench/group/trouble.hpp"
#include "bench/results/bandwidth.hpp"
#include "bench/results/outcomes.hpp"
#include "bench/results/row.hpp"
#include "bench/results/split_results.hpp"
#include "lib/base/clock.hpp"
#include "lib/choice/choice.hpp"
#include "lib/report/report.hpp"

namespace muster::bench {

struct RunRecord {
  Choice choice;  // the profile of rank 0's node, and why
  std::string started;
  Clock::time_point begin;
  std::vector<std::string> hosts;  // in the order of their first ranks
  std::vector<Member> members;     // of all ranks, in order
  RunFacts facts;                  // except those that follow from the other members
  std::vector<Row> rows;           // of the current collective
  Report before;                   // findings and measurements of the collectives before it
  std::vector<PartResult> parts;   // with --split, in place of `rows`
  TransportFacts transport;
  std::vector<std::string> ways;                      // transports, with their pairs of ranks
  std::vector<std::string> warnings;                  // of NCCL
  std::optional<std::vector<std::string>> diagnosis;  // NCCL's test of its paths, if requested
};

[[nodiscard]] RunFacts facts_of(const RunRecord& record);
// Returns the rows of the type and reduction that are judged.
[[nodiscard]] std::vector<Row> judged_rows(const RunRecord& record, const BenchCommand& command);
[[nodiscard]] OwnLimit own_limit_of(const BenchCommand& command);

// Returns the exit status of every rank after this trouble.
[[nodiscard]] int exit_status_of(const Trouble& trouble);

// Judges the current collective, and makes room for the next one.
void end_collective(RunRecord& record, const BenchCommand& command);

// Fills in the profile, the version, and the time since `begin`.
void sign(Report& report, const Choice& choice, Clock::time_point begin);
// Returns a report of who and when, without findings.
[[nodiscard]] Report begin_report(const RunRecord& record);
// Returns the report of a completed run.
[[nodiscard]] Report report_of(const RunRecord& record, const BenchCommand& command);
// Returns the report of a run that ended early.
[[nodiscard]] Report report_of(const RunRecord& record, const Trouble& trouble);

}  // namespace muster::bench
