// SPDX-License-Identifier: Apache-2.0
// The environment that a command runs in, and how it answers.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "lib/base/clock.hpp"
#include "lib/command/output.hpp"
#include "lib/report/failure.hpp"

namespace muster {

struct Caller {
  Console console;
  std::map<std::string, std::string> variables;  // the environment
  Clock::time_point started;
  std::filesystem::path bench = {};  // muster-bench; empty: the one next to this program
};

// Prints the message, if there is one, to standard error. Returns the exit status.
[[nodiscard]] int fail(const Caller& caller, const Failure& failure);

// Writes the answer to standard output or to `file`. Returns `status`, or that of the failure to
// write.
[[nodiscard]] int deliver(const Caller& caller, const std::string& file, std::string_view text,
                          int status, unsigned mode = kReportMode);

}  // namespace muster
