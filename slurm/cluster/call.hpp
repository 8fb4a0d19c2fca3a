// SPDX-License-Identifier: Apache-2.0
// Runs one of Slurm's programs directly, with a deadline.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/clock.hpp"
#include "lib/base/result.hpp"

namespace muster::slurm {

// Each call ends within `deadline`, and all calls by `end`.
struct CallLimits {
  Clock::duration deadline;
  Clock::time_point end;
};

// Returns its output, or an error with what it complained of. `environment` is all that it gets.
[[nodiscard]] Result<std::string> call(const std::filesystem::path& program,
                                       std::vector<std::string> arguments,
                                       const std::map<std::string, std::string>& environment,
                                       const CallLimits& limits);

// With a comma, a bracket or the word ALL in the name, Slurm would act on several nodes.
[[nodiscard]] Result<void> check_node_name(std::string_view node);

}  // namespace muster::slurm
