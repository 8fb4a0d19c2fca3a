// SPDX-License-Identifier: Apache-2.0
// One run of `muster-bench`, from the environment to the exit status: this process is one of its
// ranks, or starts those of this node.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <variant>

#include "bench/command/bench_command.hpp"
#include "bench/launch/place.hpp"
#include "lib/base/result.hpp"
#include "lib/command/output.hpp"
#include "lib/report/report.hpp"

namespace muster::bench {

// What a run gets from its process.
struct RunInput {
  Console console;
  Variables variables;  // the environment
  std::string asked;    // the command line, less what each process has of its own

  // Writes a line to standard error, with the program's name, unless there is nothing to say.
  void say(std::string_view line) const;
  // Says why a run cannot be, or cannot go on. Returns its exit status.
  [[nodiscard]] int refuse(int status, std::string_view why) const;
};

// Says what is wrong with a command line, writes the text that it asks for, or goes on with the
// command. Returns the exit status.
template <class Command, class GoOn>
[[nodiscard]] int run_parsed(const Parsed<Command>& parsed, const RunInput& input,
                             const GoOn& go_on) {
  if (!parsed) return input.refuse(kExitUsage, parsed.error().message);
  if (const auto* text = std::get_if<std::string>(&*parsed)) {
    return input.console.out(*text) ? kExitHealthy : kExitUndecided;
  }
  return go_on(std::get<Command>(*parsed));
}

struct RankContext;
struct Parts;

// What the ranks do once they have met: the exit status of all of them, or what kept this one from
// going on.
using Work = std::function<Result<int>(RankContext& self, Parts& parts)>;

// Without `work`, the collective that the command names is measured and judged.
[[nodiscard]] int run(const BenchCommand& command, const RunInput& input, const Work& work = {});

}  // namespace muster::bench
