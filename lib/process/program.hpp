// SPDX-License-Identifier: Apache-2.0
// Runs another program with a deadline, without a shell, PATH or an inherited environment.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.hpp"
#include "lib/process/child.hpp"

namespace muster {

struct Execution {
  std::filesystem::path program;  // absolute
  std::vector<std::string> arguments;
  std::map<std::string, std::string> environment;  // complete
  TimeLimit limit;
  std::size_t most_output = 16UL * 1024 * 1024;  // of each stream; more is an error
  std::string input = {};                        // its standard input; empty: /dev/null
};

struct Ended {
  int status = 0;  // as shells count: 128 + N for a signal
  std::string out, err;
};

// Kills the process group at the deadline and returns an error such as "sinfo did not answer within
// 8 s"; does not wait for processes that cannot be killed. The program dies with this process.
[[nodiscard]] Result<Ended> run_program(const Execution& execution);

// Returns the last line that is not blank, usually the error of a failed program, made printable
// and cut to a bounded length. Empty if there is none.
[[nodiscard]] std::string last_line(std::string_view output);

}  // namespace muster
