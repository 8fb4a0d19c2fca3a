// SPDX-License-Identifier: Apache-2.0
// `muster-bench`: times collectives over the ranks of a job and judges what they reach.
#include <fmt/format.h>

#include <csignal>
#include <exception>
#include <span>
#include <string>
#include <variant>

#include "bench/run/bench_run.hpp"
#include "lib/command/output.hpp"
#include "lib/process/startup.hpp"
#include "lib/report/report.hpp"

namespace {

namespace bench = muster::bench;

int run(std::span<const char* const> arguments) {
  const bench::RunInput input{.console = muster::make_console(),
                              .variables = muster::environment(),
                              .asked = bench::common_words(arguments)};
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
    return run(all.empty() ? all : all.subspan(1));
  } catch (const std::exception& error) {
    fmt::print(stderr, "muster-bench: internal error: {}\n", error.what());
  }
  return muster::kExitUndecided;
}
