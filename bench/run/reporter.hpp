// SPDX-License-Identifier: Apache-2.0
// What rank 0 knows of a run and tells of it: the table while it grows, and the report, however the
// run ends.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/command/bench_command.hpp"
#include "bench/results/table.hpp"
#include "bench/run/conclusion.hpp"
#include "bench/run/emergency.hpp"
#include "bench/run/node_settings.hpp"
#include "bench/run/printer.hpp"
#include "bench/run/transport_report.hpp"
#include "lib/command/output.hpp"

namespace muster::bench {

// Each call that changes something holds the emergency: the thread that reports a trouble sees
// either what was known before it, or all that is known after.
class Account {
 public:
  // All three live longer.
  Account(const BenchCommand& command, const Console& console, Emergency& emergency);

  [[nodiscard]] const Known& known() const { return known_; }

  // Whether the report can be written in the end.
  [[nodiscard]] Result<void> can_conclude() const { return printer_.can_finish(); }

  // Before there is anybody else. `variables` may tell NCCL which algorithm it is to use.
  void begin(Choice choice, std::string_view backend, std::string host, const Variables& variables);
  void line_up(std::vector<std::string> hosts, const std::vector<std::string>& remarks);
  void enrol(std::vector<Member> members, std::string library, bool gpus);
  void add(TransportAccount transport);

  void begin_table(const std::vector<std::uint64_t>& sizes,
                   const std::vector<std::string>& evidence,
                   const Settings& settings);
  void add(Row row);
  void remark(std::string_view line);

  [[nodiscard]] std::optional<Operation> to_repeat() const;
  // The report; its exit status.
  [[nodiscard]] int conclude();
  // The report of a run that cannot go on, with the emergency held already. `warnings`: of this
  // rank's NCCL.
  void tell(const Trouble& trouble, std::vector<std::string> warnings);

 private:
  void tell_warnings();
  [[nodiscard]] bool print(const Report& report);

  const BenchCommand& command_;
  const Console& console_;
  Emergency& emergency_;
  Printer printer_;
  Known known_;
  TableTotals totals_;
};

}  // namespace muster::bench
