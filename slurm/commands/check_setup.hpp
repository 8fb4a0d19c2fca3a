// SPDX-License-Identifier: Apache-2.0
// `muster hook --check-setup` checks that everything a hook needs is there.
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "lib/report/report.hpp"
#include "slurm/cluster/controller.hpp"
#include "slurm/cluster/programs.hpp"
#include "slurm/commands/hook.hpp"
#include "slurm/rules/rules.hpp"

namespace muster::app {

inline constexpr std::chrono::seconds kCheckSetupBudget{60};

// The lines that it prints, one per subject: the state, and what to do about it.
class SetupLines {
 public:
  void ok(std::string_view subject, std::string_view text) { add("ok", subject, text); }

  void warn(std::string_view subject, std::string_view text) { add("warning", subject, text); }

  void fail(std::string_view subject, std::string_view text) {
    add("failure", subject, text);
    status_ = kExitConfiguration;
  }

  // Slurm does not answer; this may pass.
  void unreachable(std::string_view subject, std::string_view text) {
    add("no answer", subject, text);
    if (status_ == kExitHealthy) status_ = kExitUndecided;
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

// Checks that slurm.conf lets muster's hooks run and act. Call this as the user that slurmd runs
// hooks as.
void check_slurm_conf(const slurm::Config& config, const slurm::Rules& rules, SetupLines& lines);

// Checks what Slurm's power saving does to a node that muster drained. `node` is this node.
void check_power_saving(const slurm::Config& config, const std::vector<slurm::Config>& partitions,
                        const slurm::NodeState& node, SetupLines& lines);

// Checks everything in the environment that slurmd gives a hook, and prints a line for each item.
// Changes nothing. Returns 0, 2 if Slurm cannot be reached, or 78 if something must be fixed.
[[nodiscard]] int run_check_setup(const HookCommand& command, const Caller& caller,
                                  Deadline& deadline, const CheckNode& check_node);

}  // namespace muster::app
