// SPDX-License-Identifier: Apache-2.0
#include "lib/command/process.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <string_view>

namespace muster {

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

void keep_standard_streams() {
  // Writing to what was closed stays the error that it is.
  for (int number = STDIN_FILENO; number <= STDERR_FILENO; ++number) {
    if (::fcntl(number, F_GETFD) == -1) (void)::open("/dev/null", O_RDONLY);
  }
  static_cast<void>(::signal(SIGPIPE, SIG_IGN));
}

}  // namespace muster
