// SPDX-License-Identifier: Apache-2.0
#include "lib/process/startup.hpp"

#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include <csignal>
#include <system_error>

#include "lib/base/text.hpp"

namespace muster {

Variables environment() {
  Variables variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view line = *entry;
    const auto equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    variables.emplace(line.substr(0, equals), line.substr(equals + 1));
  }
  return variables;
}

std::string value_of(const Variables& variables, const std::string& name) {
  const auto found = variables.find(name);
  return found == variables.end() ? "" : found->second;
}

std::filesystem::path sibling_program(std::string_view name) {
  std::error_code failure;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", failure);
  auto next_to_it = self.parent_path() / name;
  if (!failure && ::access(next_to_it.c_str(), X_OK) == 0) return next_to_it;
  return std::filesystem::path("/usr/bin") / name;
}

Result<std::filesystem::path> find_program(const std::string& name, const Variables& variables) {
  if (name.find('/') != std::string::npos) {
    std::error_code failure;
    auto path = std::filesystem::absolute(name, failure);
    if (!failure && ::access(path.c_str(), X_OK) == 0) return path;
    return make_error("{} is not a program that can be run", printable(name));
  }
  const auto folders = value_of(variables, "PATH");
  for (const auto folder : split(folders, ':')) {
    if (folder.empty()) continue;
    auto path = std::filesystem::path(folder) / name;
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  return make_missing("{} is not in PATH", printable(name));
}

void prepare_process() {
  // Opens closed standard streams read-only, so that writing to one is still an error.
  for (int number = STDIN_FILENO; number <= STDERR_FILENO; ++number) {
    if (::fcntl(number, F_GETFD) == -1) (void)::open("/dev/null", O_RDONLY);
  }
  static_cast<void>(::signal(SIGPIPE, SIG_IGN));
  static_cast<void>(::signal(SIGCHLD, SIG_DFL));
  // Without glibc's bins for freed small blocks: merging them later would write to most pages of
  // the heap, in each of our many children, and a page that a child writes to is copied.
  static_cast<void>(::mallopt(M_MXFAST, 0));
}

}  // namespace muster
