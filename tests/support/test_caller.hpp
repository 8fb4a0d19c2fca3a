// SPDX-License-Identifier: Apache-2.0
// The caller of a command in tests: a console that keeps what the command prints.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "lib/command/output.hpp"

namespace muster::app {

class TestCaller {
 public:
  [[nodiscard]] Caller caller() {
    return {.console = {.out = [this](std::string_view text) -> Result<void> {
                          if (broken_) return make_error(*broken_);
                          out_ += text;
                          return {};
                        },
                        .note = [this](std::string_view line) { notes_ += line, notes_ += '\n'; }},
            .variables = {},
            .started = Clock::now()};
  }

  [[nodiscard]] const std::string& out() const { return out_; }

  [[nodiscard]] const std::string& notes() const { return notes_; }

  // From now on standard output cannot be written, for this reason.
  void break_output(std::string reason) { broken_ = std::move(reason); }

 private:
  std::string out_, notes_;
  std::optional<std::string> broken_;
};

}  // namespace muster::app
