// SPDX-License-Identifier: Apache-2.0
// What is known about a run, and the report of it, however the run ended.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/command/bench_command.hpp"
#include "bench/group/group.hpp"
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
  std::string backend;             // nccl, mpi, tcp, sim
  std::string library;
  std::vector<Row> rows;          // of the collective that is under way
  Report before;                  // what was found and measured of those before it
  std::vector<PartResult> parts;  // of --split, in place of `rows`
  TransportFacts transport;
  std::vector<std::string> ways;      // that the data took, with their pairs of ranks
  std::vector<std::string> warnings;  // of NCCL itself
  std::optional<std::vector<std::string>> diagnosis;  // of NCCL's paths by itself, where asked for
  std::string algorithm;                              // as NCCL names it; empty if it is not known
  bool algorithm_asked = false;  // the environment says which one NCCL may take
  bool gpus = false;             // the data lie in GPU memory, or in a model of it
};

[[nodiscard]] RunFacts facts_of(const RunRecord& record);
// The rows of the type and the reduction that are judged.
[[nodiscard]] std::vector<Row> judged_rows(const RunRecord& record, const BenchCommand& command);
[[nodiscard]] OwnLimit own_limit_of(const BenchCommand& command);

// The exit status of every rank of a run that ends so.
[[nodiscard]] int exit_status_of(const Trouble& trouble);

// Judges what was measured of a collective, and goes on to the next one.
void end_collective(RunRecord& record, const BenchCommand& command);

// Says in a report by which profile it judges, and how long it took since `begin`.
void sign(Report& report, const Choice& choice, Clock::time_point begin);
// Who and when; nothing is judged yet.
[[nodiscard]] Report begin_report(const RunRecord& record);
// A run that came to its end.
[[nodiscard]] Report report_of(const RunRecord& record, const BenchCommand& command);
// A run that did not.
[[nodiscard]] Report report_of(const RunRecord& record, const Trouble& trouble);

}  // namespace muster::bench
