// SPDX-License-Identifier: Apache-2.0
// What a run prints: the table line by line and the report at the end; or the report alone, where
// another program reads it.
#pragma once

#include <string>
#include <string_view>

#include "bench/command/bench_command.hpp"
#include "lib/base/result.hpp"
#include "lib/command/output.hpp"
#include "lib/report/report.hpp"

namespace muster::bench {

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
  [[nodiscard]] Result<void> write(std::string_view text) const;

  void clear_progress();

  [[nodiscard]] bool to_file() const { return !command_.output.empty(); }

  const BenchCommand& command_;
  const Console& console_;
  std::string kept_;
  bool has_progress_ = false;  // on the last line
  Result<void> said_;
};

}  // namespace muster::bench
