// SPDX-License-Identifier: Apache-2.0
// `muster hook --check-setup`: whether all that a hook will need is there.
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <string>
#include <string_view>

#include "lib/report/report.hpp"
#include "slurm/commands/hook.hpp"

namespace muster::app {

inline constexpr std::chrono::seconds kCheckSetupBudget{60};

// The lines that it prints, one for each thing that it looked at. `text` is what is so, and what to
// do about it.
class SetupLines {
 public:
  void ok(std::string_view subject, std::string_view text) { add("ok", subject, text); }

  void warn(std::string_view subject, std::string_view text) { add("warning", subject, text); }

  void fail(std::string_view subject, std::string_view text) {
    add("failure", subject, text);
    status_ = kExitConfiguration;
  }

  // Slurm does not answer, which may be over in a minute.
  void unreachable(std::string_view subject, std::string_view text) {
    add("no answer", subject, text);
    if (status_ == kExitHealthy) status_ = kExitUndecided;
  }

  // `right` as an ok where it is fine, else `wrong` as a failure.
  void expect(bool fine, std::string_view subject, std::string_view right, std::string_view wrong) {
    return fine ? ok(subject, right) : fail(subject, wrong);
  }

  [[nodiscard]] const std::string& text() const { return text_; }

  [[nodiscard]] int status() const { return status_; }

 private:
  void add(std::string_view mark, std::string_view subject, std::string_view text) {
    text_ += fmt::format("{:<9} {}: {}\n", mark, subject, text);
  }

  std::string text_;
  int status_ = kExitHealthy;
};

// Asks everything with the environment that slurmd gives a hook, changes nothing, and prints a line
// for each. Returns 0; 2 where Slurm could not be asked; 78 where something must be mended.
[[nodiscard]] int run_check_setup(const HookCommand& command, const Caller& caller,
                                  Deadline& deadline, const CheckNode& check_node);

}  // namespace muster::app
