// SPDX-License-Identifier: Apache-2.0
// What slurm.conf must say for muster's hooks to be started, and to be let act; and the lines of
// `muster hook --check-setup`, one for each thing that it looked at.
#pragma once

#include <fmt/format.h>
#include <sys/types.h>

#include <string>
#include <string_view>

#include "lib/report/report.hpp"
#include "slurm/cluster/config.hpp"
#include "slurm/rules/rules.hpp"

namespace muster::app {

// `text` is what is so, and what to do about it.
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

  // One of the two.
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

// `user` is who asks, and is to be who slurmd runs hooks as.
void check_slurm_conf(const slurm::Config& config,
                      const slurm::Rules& rules,
                      ::uid_t user,
                      SetupLines& lines);

}  // namespace muster::app
