// SPDX-License-Identifier: Apache-2.0
// `muster-bench`: times collectives over the ranks of a job and judges their bandwidth. Its
// subcommands test a node, search for slow nodes, and time training steps.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>
#include <span>
#include <string_view>

#include "bench/locate/locate_command.hpp"
#include "bench/node/node_command.hpp"
#include "bench/run/bench_run.hpp"
#include "bench/train/training_step.hpp"
#include "lib/command/output.hpp"
#include "lib/process/startup.hpp"
#include "lib/report/report.hpp"

namespace {

namespace bench = muster::bench;

// A first word other than a collective. It gets the words after its own.
struct Subcommand {
  std::string_view name;
  int (*run)(std::span<const char* const> arguments, const bench::RunInput& input);
};

constexpr std::array kSubcommands{Subcommand{"node", bench::node::run},
                                  Subcommand{"locate", bench::locate::run},
                                  Subcommand{"train_step", bench::train::run}};

static_assert(std::ranges::equal(kSubcommands, bench::kSubcommands, {}, &Subcommand::name));

int run(std::span<const char* const> arguments) {
  bench::RunInput input{.console = muster::make_console(),
                        .variables = muster::environment(),
                        .command_line = bench::common_words(arguments)};
  muster::follow_launcher(input.console, input.variables);
  const std::string_view first = arguments.empty() ? "" : arguments.front();
  const auto* const named = std::ranges::find(kSubcommands, first, &Subcommand::name);
  if (named != kSubcommands.end()) return named->run(arguments.subspan(1), input);
  return bench::run_parsed(
      bench::parse(arguments), input,
      [&input](const bench::BenchCommand& command) { return bench::run(command, input); });
}

}  // namespace

int main(int count, char** words) {
  muster::prepare_process();
  try {
    const std::span<const char* const> all(words, static_cast<std::size_t>(count));
    return run(bench::with_collective_of_name(all));
  } catch (const std::exception& error) {
    fmt::print(stderr, "muster-bench: internal error: {}\n", error.what());
  }
  return muster::kExitUndecided;
}
