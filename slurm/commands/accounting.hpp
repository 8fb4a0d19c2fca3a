// SPDX-License-Identifier: Apache-2.0
// Slurm's accounting programs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.hpp"
#include "lib/process/startup.hpp"

namespace muster::app {

// Runs sacct or sacctmgr, which are next to scontrol, and returns the output. It prints times as
// Unix times.
[[nodiscard]] Result<std::string> call_accounting(const Variables& variables,
                                                  std::string_view program,
                                                  std::vector<std::string> words);

}  // namespace muster::app
