// SPDX-License-Identifier: Apache-2.0
// A run of `muster-bench`, from the environment to the exit status. This process is one of its
// ranks, or starts the ranks of this node.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "bench/command/bench_command.hpp"
#include "bench/launch/place.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/result.hpp"
#include "lib/command/output.hpp"
#include "lib/report/report.hpp"

namespace muster::bench {

// The process's input to a run.
struct RunInput {
  Console console;
  Variables variables;       // the environment
  std::string command_line;  // the command line without the options that differ between processes

  // Prints a non-empty line to standard error, with the program's name.
  void say(std::string_view line) const;
  // Prints why the run cannot start or continue, and returns its exit status.
  [[nodiscard]] int refuse(int status, std::string_view why) const;
};

// Prints a usage error or the requested text, or runs the command. Returns the exit status.
template <class Command, class RunCommand>
[[nodiscard]] int run_parsed(const Parsed<Command>& parsed, const RunInput& input,
                             const RunCommand& run_command) {
  if (!parsed) return input.refuse(kExitUsage, parsed.error().message);
  if (const auto* text = std::get_if<std::string>(&*parsed)) {
    return input.console.out(*text) ? kExitHealthy : kExitUndecided;
  }
  return run_command(std::get<Command>(*parsed));
}

struct RankContext;

// The work of the ranks once they have met. Returns the exit status of all ranks, or why this rank
// cannot continue.
using Work = std::function<Result<int>(RankContext& self)>;

// Without `work`, measures and judges the collective that the command names.
[[nodiscard]] int run(const BenchCommand& command, const RunInput& input, const Work& work = {});

// Appends the profile, its settings and the libraries of this run to the words of another run.
template <class Given>
void hand_on(const Given& given, std::vector<std::string>& words) {
  const auto append = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) words.push_back(fmt::format("{}={}", name, value));
  };
  append("--profile", given.profile);
  append("--cuda", given.cuda);
  append("--nccl", given.nccl);
  for (const auto& setting : given.settings) append("--set", setting);
}

// Runs muster-bench as a separate process, with options for a JSON report. Drops the launcher's
// variables. An error names the exit status and the last line of standard error.
[[nodiscard]] Result<Report> run_own(const std::vector<std::string>& words, Variables variables,
                                     Clock::time_point deadline);

}  // namespace muster::bench
