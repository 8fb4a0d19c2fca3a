// SPDX-License-Identifier: Apache-2.0
// `muster`: inspects this node and reports whether it is fit for work.
#include <fmt/format.h>

#include <exception>
#include <span>

#include "checks/app/commands.hpp"
#include "lib/probes/host.hpp"
#include "lib/process/startup.hpp"
#include "lib/report/report.hpp"

namespace {

int run(std::span<const char* const> arguments) {
  const muster::Caller caller{.console = muster::make_console(),
                              .variables = muster::environment(),
                              .started = muster::Clock::now()};
  const auto returned = muster::return_to_container(arguments);
  if (!returned) return muster::fail(caller, muster::undecided(returned.error()).value());
  const auto invocation = muster::app::parse(arguments);
  if (!invocation) {
    return muster::fail(caller,
                        {.status = muster::kExitUsage, .message = invocation.error().message});
  }
  if (!*returned && muster::app::wants_host(*invocation)) {
    const auto refused = muster::restart_with_libraries_of_host(arguments, caller.variables);
    if (!refused) return muster::app::refuse(*invocation, caller, refused.error());
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
