// SPDX-License-Identifier: Apache-2.0
// The record of a run on rank 0 and its output: the table line by line and the report at the end,
// or only the report if another program reads it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/command/bench_command.hpp"
#include "bench/group/trouble.hpp"
#include "bench/results/bandwidth.hpp"
#include "bench/results/outcomes.hpp"
#include "bench/results/row.hpp"
#include "bench/run/node_settings.hpp"
#include "bench/run/transport_report.hpp"
#include "bench/run/watching.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/result.hpp"
#include "lib/command/output.hpp"
#include "lib/profile/choice.hpp"
#include "lib/report/format.hpp"
#include "lib/report/report.hpp"

namespace muster::bench {

struct RunRecord {
  std::string benchmark;  // the collective, "all" for several, or another command
  Choice choice;          // the profile of rank 0's node, and why
  std::string started;
  Clock::time_point begin;
  std::vector<std::string> hosts;  // in the order of their first ranks
  std::vector<Member> members;     // of all ranks, in order
  RunFacts facts;                  // except those that follow from the other members
  std::vector<Row> rows;           // of the current collective
  bool limited = false;            // a collective that has ended had a limit
  Report before;                   // findings and measurements of the collectives that have ended
  std::vector<PartResult> parts;   // with --split, instead of `rows`
  TransportReport transport;
  std::optional<std::vector<std::string>> diagnosis;  // NCCL's test of its paths, if requested
};

[[nodiscard]] RunFacts facts_of(const RunRecord& record);
// Returns the exit status of every rank after this trouble.
[[nodiscard]] int exit_status_of(const Trouble& trouble);

// Returns the head of the table for these sizes.
[[nodiscard]] TableHead table_head(const RunRecord& record, const BenchCommand& command,
                                   const std::vector<std::uint64_t>& sizes);

// Judges the current collective or its parts, and makes room for the next one.
void end_collective(RunRecord& record, const BenchCommand& command);

// Opens and writes a file that an option names. An error begins with the option; it is empty if the
// reader of a pipe is gone.
[[nodiscard]] Result<void> can_write(const Console& console, std::string_view option,
                                     const std::string& file);
[[nodiscard]] Result<void> write_for(const Console& console, std::string_view option,
                                     const std::string& file, std::string_view text);
// Writes a report to the file of --output. If that fails, prints it: measurements must not be lost.
[[nodiscard]] Result<void> write_report(const Console& console, const std::string& file,
                                        std::string_view text);

// Fills in the command, the profile, the version, and the time since `begin`.
void sign(Report& report, std::string benchmark, const Choice& choice, Clock::time_point begin);
// Returns a report of who and when, without findings.
[[nodiscard]] Report begin_report(const RunRecord& record);
// Returns the report of a completed run, whose collectives have ended.
[[nodiscard]] Report report_of(const RunRecord& record, const BenchCommand& command);
// Returns the report of a run that ended early.
[[nodiscard]] Report report_of(const RunRecord& record, const Trouble& trouble);

// Renders the report in the command's format. `always`: the checks that are shown whatever their
// outcome.
template <class Command>
[[nodiscard]] std::string report_text(const Report& report, const Command& command,
                                      const Console& console,
                                      std::span<const std::string_view> always = {}) {
  const bool shown = command.output.empty();
  return row_of(command.format)
      .render(report, {.verbose = command.verbose,
                       .quiet = command.quiet,
                       .colour = shown && console.colour,
                       .width = shown ? console.width : 0,
                       .always = always});
}

class Printer {
 public:
  // Both must outlive this object.
  Printer(const BenchCommand& command, const Console& console)
      : command_(command), console_(console) {}

  // Checks that the report can be written, without changing anything.
  [[nodiscard]] Result<void> can_finish() const;

  // Prints lines of the table; kept until the end if the output is a file.
  void print(std::string_view lines);
  // Prints a comment of the table.
  void remark(std::string_view line);
  // Shows the current work on the last line of a terminal, until something is printed.
  void progress(std::string_view what);
  [[nodiscard]] bool shows_progress() const;
  // Writes the report. If the output file cannot be written, everything goes to standard output,
  // and an error is returned.
  [[nodiscard]] Result<void> finish(const Report& report);

 private:
  void clear_progress();
  [[nodiscard]] bool to_file() const { return !command_.output.empty(); }

  const BenchCommand& command_;
  const Console& console_;
  std::string kept_;
  bool has_progress_ = false;  // on the last line
  Result<void> printed_;
};

// Rank 0's record of the run, and its output. Each call that changes something holds the emergency,
// so that a thread that reports trouble never sees half a change.
class Reporter {
 public:
  // All three must outlive this object.
  Reporter(const BenchCommand& command, const Console& console, Emergency& emergency);

  [[nodiscard]] const RunRecord& record() const { return record_; }
  // Checks that the report can be written.
  [[nodiscard]] Result<void> can_conclude() const { return printer_.can_finish(); }
  // Called before the ranks meet. `variables` may name NCCL's algorithm.
  void begin(Choice choice, std::string_view backend, std::string host, const Variables& variables);
  // `bare`: no node has a GPU or an HCA. `one_domain`: all are in one NVLink domain.
  void set_hosts(std::vector<std::string> hosts, bool bare, bool one_domain,
                 const std::vector<std::string>& remarks);
  void set_backend(const Backend& backend, std::vector<Member> members, bool gpus);
  void add(TransportReport transport);

  // `command` is for one collective.
  void begin_table(const BenchCommand& command, const std::vector<std::uint64_t>& sizes,
                   const std::vector<std::string>& evidence, const Settings& settings);
  void add(Row row);
  // With --split: the parts, before their rows; and a row of each part, in their order.
  void begin_parts(const std::vector<RankPart>& parts);
  void add_parts(std::vector<Row> rows);
  void remark(std::string_view line);

  [[nodiscard]] bool shows_progress() const { return printer_.shows_progress(); }
  void progress(std::string_view what);

  [[nodiscard]] std::optional<Operation> to_repeat(const BenchCommand& command) const;
  // Ends the table of a collective, and judges it.
  void end_collective(const BenchCommand& command);
  // Writes the report, and returns its exit status.
  [[nodiscard]] int conclude();
  // Writes the report of a run that cannot continue. The caller holds the emergency. `warnings`: of
  // this rank's NCCL.
  void report(const Trouble& trouble, std::vector<std::string> warnings);

  // The report's verdict in one line; empty before it is written.
  [[nodiscard]] const std::string& verdict_line() const { return verdict_line_; }
  // For a report that another object prints.
  void note_verdict(const Report& report);

 private:
  void print_warnings();
  void print_parts();
  [[nodiscard]] bool finish(const Report& report);

  const BenchCommand& command_;
  const Console& console_;
  Emergency& emergency_;
  Printer printer_;
  RunRecord record_;
  TableTotals totals_;
  std::string verdict_line_;
};

}  // namespace muster::bench
