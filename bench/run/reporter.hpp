// SPDX-License-Identifier: Apache-2.0
// What rank 0 knows about a run, and what it writes: the table line by line, and the report,
// however the run ends.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/command/bench_command.hpp"
#include "bench/results/table.hpp"
#include "bench/run/emergency.hpp"
#include "bench/run/node_settings.hpp"
#include "bench/run/printer.hpp"
#include "bench/run/run_record.hpp"
#include "bench/run/split.hpp"
#include "bench/run/transport_report.hpp"
#include "lib/command/output.hpp"

namespace muster::bench {

// Each call that changes something holds the emergency, so that a thread that reports a trouble
// never sees half a change.
class Reporter {
 public:
  // All three must live longer.
  Reporter(const BenchCommand& command, const Console& console, Emergency& emergency);

  [[nodiscard]] const RunRecord& record() const { return record_; }

  // Whether the report can be written in the end.
  [[nodiscard]] Result<void> can_conclude() const { return printer_.can_finish(); }

  // To be called before the ranks meet. `variables` may tell NCCL which algorithm it is to use.
  void begin(Choice choice, std::string_view backend, std::string host, const Variables& variables);
  void set_hosts(std::vector<std::string> hosts, const std::vector<std::string>& remarks);
  void set_members(std::vector<Member> members, std::string library, bool gpus);
  void set_diagnosis(std::optional<std::vector<std::string>> diagnosis);
  void add(TransportReport transport);

  // `command` is of one collective.
  void begin_table(const BenchCommand& command, const std::vector<std::uint64_t>& sizes,
                   const std::vector<std::string>& evidence, const Settings& settings);
  void add(Row row);
  // With --split: the parts, before their rows; and a row of each part, in their order.
  void begin_parts(const std::vector<RankPart>& parts);
  void add_parts(std::vector<Row> rows);
  void remark(std::string_view line);

  // What is being done, for somebody at a terminal, and whether there is one.
  [[nodiscard]] bool shows_progress() const { return printer_.shows_progress(); }

  void progress(std::string_view what);

  [[nodiscard]] std::optional<Operation> to_repeat(const BenchCommand& command) const;
  // Where several are run: the end of this one's table, and what it came to.
  void end_collective(const BenchCommand& command);
  // Writes the report, and returns its exit status.
  [[nodiscard]] int conclude();
  // Writes the report of a run that cannot go on. The emergency is held already. `warnings` are
  // those of this rank's NCCL.
  void report(const Trouble& trouble, std::vector<std::string> warnings);

 private:
  void print_warnings();
  void print_parts();
  [[nodiscard]] bool print(const Report& report);

  const BenchCommand& command_;
  const Console& console_;
  Emergency& emergency_;
  Printer printer_;
  RunRecord record_;
  TableTotals totals_;
};

}  // namespace muster::bench
