// SPDX-License-Identifier: Apache-2.0
// `muster`: inspects this node and says whether it is fit for work.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <exception>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "checks/app/command.hpp"
#include "checks/app/parse.hpp"
#include "lib/report/report.hpp"

namespace {

std::map<std::string, std::string> environment() {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view line = *entry;
    const auto equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    variables.emplace(line.substr(0, equals), line.substr(equals + 1));
  }
  return variables;
}

// A file that is opened later must not become standard output by taking its number. Writing to what
// was closed stays the error that it is.
void keep_standard_numbers() {
  for (int number = STDIN_FILENO; number <= STDERR_FILENO; ++number) {
    if (::fcntl(number, F_GETFD) == -1) (void)::open("/dev/null", O_RDONLY);
  }
}

int run(std::span<const char* const> arguments) {
  const muster::app::World world{.console = muster::make_console(),
                                 .variables = environment(),
                                 .started = muster::Clock::now()};
  const auto invocation = muster::app::parse(arguments);
  if (!invocation) {
    return muster::app::fail(world,
                             {.status = muster::kExitUsage, .message = invocation.error().message});
  }
  return muster::app::run(*invocation, world);
}

}  // namespace

int main(int count, char** words) {
  keep_standard_numbers();
  // A reader that went away is a failed write, and a child's end is ours to wait for.
  static_cast<void>(::signal(SIGPIPE, SIG_IGN));
  static_cast<void>(::signal(SIGCHLD, SIG_DFL));
  try {
    const std::span<const char* const> all(words, static_cast<std::size_t>(count));
    return run(all.empty() ? all : all.subspan(1));
  } catch (const std::exception& error) {
    fmt::print(stderr, "muster: internal error: {}\n", error.what());
  }
  return muster::kExitUndecided;
}
