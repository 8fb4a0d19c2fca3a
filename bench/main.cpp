// SPDX-License-Identifier: Apache-2.0
// `muster-bench`: times collectives over the ranks of a job and judges what they reach; its
// subcommands look at one node.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "bench/locate/locate_run.hpp"
#include "bench/node/node_run.hpp"
#include "bench/run/bench_run.hpp"
#include "bench/train/train_run.hpp"
#include "lib/command/output.hpp"
#include "lib/process/startup.hpp"
#include "lib/report/report.hpp"

namespace {

namespace bench = muster::bench;

// What the first word may be beside a collective. Each is given the words behind its own.
struct Subcommand {
  std::string_view name;
  int (*run)(std::span<const char* const> arguments, const bench::RunInput& input);
};

constexpr std::array kSubcommands{Subcommand{"node", bench::node::run},
                                  Subcommand{"locate", bench::locate::run},
                                  Subcommand{"train_step", bench::train::run}};

int run(std::span<const char* const> arguments) {
  const bench::RunInput input{.console = muster::make_console(),
                              .variables = muster::environment(),
                              .asked = bench::common_words(arguments)};
  const std::string_view first = arguments.empty() ? "" : arguments.front();
  const auto* const named = std::ranges::find(kSubcommands, first, &Subcommand::name);
  if (named != kSubcommands.end()) return named->run(arguments.subspan(1), input);
  const auto invocation = bench::parse(arguments);
  if (!invocation) {
    input.console.note(fmt::format("muster-bench: {}", invocation.error().message));
    return muster::kExitUsage;
  }
  if (const auto* say = std::get_if<bench::SayCommand>(&*invocation)) {
    return input.console.out(say->text) ? muster::kExitHealthy : muster::kExitUndecided;
  }
  return bench::run(std::get<bench::BenchCommand>(*invocation), input);
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
