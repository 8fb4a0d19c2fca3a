// SPDX-License-Identifier: Apache-2.0
// What a prolog tells the user whose job came to a sick node.
#pragma once

#include <string>

#include "lib/base/clock.hpp"
#include "lib/base/result.hpp"
#include "lib/process/startup.hpp"
#include "slurm/rules/rules.hpp"

namespace muster::app {

struct HeldJob {
  std::string node;  // as Slurm calls it
  std::string what;  // what is wrong with it
  bool starts;       // the job starts all the same
};

// Says it, and what becomes of the job, which Slurm is asked about: to a batch job's output, or to
// the terminal of the srun or salloc that waits for it. All of it ends by `end`. An error says why
// the user was not told.
[[nodiscard]] Result<void> tell_user(const HeldJob& held, const slurm::Rules& rules,
                                     const Variables& variables, Clock::time_point end);

}  // namespace muster::app
