// SPDX-License-Identifier: Apache-2.0
// What a run prints: the table line by line and the report at the end, or the report alone, where
// another program reads it.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "bench/command/bench_command.hpp"
#include "lib/base/result.hpp"
#include "lib/command/output.hpp"
#include "lib/report/format.hpp"
#include "lib/report/report.hpp"

namespace muster::bench {

// The report in the form that a command asks for. `always`: the checks that are shown whatever came
// of them.
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
  // Both live longer.
  Printer(const BenchCommand& command, const Console& console)
      : command_(command), console_(console) {}

  // Whether there can be a report in the end, asked before anything is measured. Nothing is
  // changed.
  [[nodiscard]] Result<void> can_finish() const;

  // Lines of the table and remarks before it; shown at once on standard output, and kept for a
  // file.
  void say(std::string_view lines);
  // One remark, as a comment of the table.
  void remark(std::string_view line);
  // What is being done, on the last line of a terminal until something else is said; elsewhere
  // nothing.
  void progress(std::string_view what);
  [[nodiscard]] bool shows_progress() const;
  // The report, and with it everything that was said goes to its file. What cannot be written there
  // goes to standard output, and is an error all the same.
  [[nodiscard]] Result<void> finish(const Report& report);

 private:
  void clear_progress();

  [[nodiscard]] bool to_file() const { return !command_.output.empty(); }

  const BenchCommand& command_;
  const Console& console_;
  std::string kept_;
  bool has_progress_ = false;  // on the last line
  Result<void> said_;
};

}  // namespace muster::bench
