// SPDX-License-Identifier: Apache-2.0
// The message of a prolog to the user whose job was sent to a sick node.
#pragma once

#include <string>

#include "lib/base/clock.hpp"
#include "lib/base/result.hpp"
#include "lib/process/startup.hpp"
#include "slurm/rules/rules.hpp"

namespace muster::app {

struct HeldJob {
  std::string node;  // its name in Slurm
  std::string what;  // what is wrong with it
  bool starts;       // the job starts in spite of it
};

// Tells the user, and what becomes of the job: on the terminal of the srun or salloc that waits for
// it, or in the AdminComment of a batch job. All of it ends by `end`.
[[nodiscard]] Result<void> tell_user(const HeldJob& held, const slurm::Rules& rules,
                                     const Variables& variables, Clock::time_point end);

}  // namespace muster::app
