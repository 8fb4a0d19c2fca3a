// SPDX-License-Identifier: Apache-2.0
// The commands: one function and one file each. Each returns an exit status and keeps nothing.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <string>

#include "checks/app/choice.hpp"
#include "checks/app/commands.hpp"
#include "checks/app/supervise.hpp"
#include "lib/command/output.hpp"

namespace muster::app {

// What a command gets from the outside.
struct World {
  Console console;
  std::map<std::string, std::string> variables;  // the environment
  Clock::time_point started;
  std::filesystem::path bench = {};  // muster-bench
};

[[nodiscard]] int run_check(const CheckCommand& command, const World& world, Deadline& deadline);
// `muster check --snapshot`: recorded nodes in place of this one.
[[nodiscard]] int run_replay(const CheckCommand& command, const World& world);
[[nodiscard]] int run_snapshot(const SnapshotCommand& command,
                               const World& world,
                               Deadline& deadline);
[[nodiscard]] int run_list(const ListCommand& command, const World& world);
[[nodiscard]] int run_explain(const ExplainCommand& command,
                              const World& world,
                              Deadline& deadline);
[[nodiscard]] int run_profiles(const ProfilesCommand& command, const World& world);
[[nodiscard]] int run_drain(const DrainCommand& command, const World& world);
[[nodiscard]] int run_resume(const ResumeCommand& command, const World& world);
[[nodiscard]] int run_history(const HistoryCommand& command, const World& world);
[[nodiscard]] int run_events(const EventsCommand& command, const World& world);
[[nodiscard]] int run_hostfile(const HostfileCommand& command, const World& world);
// The whole of a pass ends within this, however many calls Slurm leaves without an answer.
inline constexpr std::chrono::seconds kSweepBudget{300};
[[nodiscard]] int run_sweep(const SweepCommand& command, const World& world, Deadline& deadline);

// Says on standard error why a command failed, unless there is nothing to say, and with which
// status it ends.
[[nodiscard]] int fail(const World& world, const Failure& failure);

// The answer to standard output or to `file`; what cannot be written is an error.
[[nodiscard]] int deliver(const World& world,
                          const std::string& file,
                          std::string_view text,
                          int status,
                          unsigned mode = kReportMode);

// Runs what the command line asked for, and gives up on it at its deadline.
[[nodiscard]] int run(const Invocation& invocation, const World& world);

}  // namespace muster::app
