// SPDX-License-Identifier: Apache-2.0
// What `muster hook --check-setup` says, a line for each thing that it looked at.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

namespace muster::app {

enum class SetupMark { ok, warning, failure, unreachable };

struct SetupLine {
  SetupMark mark = SetupMark::ok;
  std::string subject;
  std::string text;  // what is so, and what to do about it
};

class SetupLines {
 public:
  void ok(std::string_view subject, std::string text) { add(SetupMark::ok, subject, text); }

  void warn(std::string_view subject, std::string text) { add(SetupMark::warning, subject, text); }

  void fail(std::string_view subject, std::string text) { add(SetupMark::failure, subject, text); }

  // Slurm does not answer, which may be over in a minute.
  void unreachable(std::string_view subject, std::string text) {
    add(SetupMark::unreachable, subject, text);
  }

  [[nodiscard]] const std::vector<SetupLine>& all() const { return lines_; }

 private:
  void add(SetupMark mark, std::string_view subject, std::string& text) {
    lines_.push_back({mark, std::string(subject), std::move(text)});
  }

  std::vector<SetupLine> lines_;
};

}  // namespace muster::app
