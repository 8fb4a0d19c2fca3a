// SPDX-License-Identifier: Apache-2.0
// One of Slurm's programs, executed directly with a deadline: its output, or what it complained of.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/clock.hpp"
#include "lib/base/result.hpp"

namespace muster::slurm {

// One call ends within `deadline`, and all calls together by `end`.
struct CallLimits {
  Clock::duration deadline;
  Clock::time_point end;
};

// `environment` is all that the program gets.
[[nodiscard]] Result<std::string> call(const std::filesystem::path& program,
                                       std::vector<std::string> arguments,
                                       const std::map<std::string, std::string>& environment,
                                       const CallLimits& limits);

// A comma, a bracket or the word ALL would make Slurm do to several nodes what was meant for one.
[[nodiscard]] Result<void> check_node_name(std::string_view node);

}  // namespace muster::slurm
