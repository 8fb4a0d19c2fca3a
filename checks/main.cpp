// SPDX-License-Identifier: Apache-2.0
// `muster`: inspects this node and reports whether it is fit for work.
#include <fmt/format.h>

#include <exception>
#include <span>

#include "checks/app/commands.hpp"
#include "lib/process/startup.hpp"
#include "lib/report/report.hpp"

namespace {

int run(std::span<const char* const> arguments) {
  const muster::Caller caller{.console = muster::make_console(),
                              .variables = muster::environment(),
                              .started = muster::Clock::now()};
  const auto invocation = muster::app::parse(arguments);
  if (!invocation) {
    return muster::fail(caller,
                        {.status = muster::kExitUsage, .message = invocation.error().message});
  }
  return muster::app::run(*invocation, caller);
}

}  // namespace

int main(int count, char** words) {
  muster::prepare_process();
  try {
    const std::span<const char* const> all(words, static_cast<std::size_t>(count));
    return run(all.empty() ? all : all.subspan(1));
  } catch (const std::exception& error) {
    fmt::print(stderr, "muster: internal error: {}\n", error.what());
  }
  return muster::kExitUndecided;
}
