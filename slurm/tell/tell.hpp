// SPDX-License-Identifier: Apache-2.0
// Runs the site's own program for events, such as a mail, a webhook or a ticket, and informs the
// user whose job was sent to a sick node.
#pragma once

#include <string>
#include <vector>

#include "lib/base/clock.hpp"
#include "lib/base/result.hpp"
#include "lib/process/startup.hpp"
#include "slurm/history/history.hpp"
#include "slurm/rules/rules.hpp"

namespace muster::slurm {

// An error unless `rules.program` is a file that belongs to root or to the user that muster runs
// as, only its owner can write to it and to the folders above it, and `rules.user` exists. Ends by
// `end`.
[[nodiscard]] Result<void> check_tell_program(const TellRules& rules, Clock::time_point end);

// Runs `program arguments... KIND NODE`, with the event (schema muster.event/1) on its standard
// input, in the folder /, with hardly any environment, as `rules.user` if this process is root.
// Ends within `rules.deadline` and by `end`. An error names the program's fault.
[[nodiscard]] Result<void> tell_site(const TellRules& rules, const Event& event,
                                     Clock::time_point end);

// Runs the program for each of `events` whose kind the site wants. Stops at the first failure and
// returns it: the others would fail in the same way, and cost time.
[[nodiscard]] Result<void> tell_site(const TellRules& rules, const std::vector<Event>& events,
                                     Clock::time_point end);

struct HeldJob {
  std::string node;  // its name in Slurm
  std::string what;  // what is wrong with it
  bool starts;       // the job starts in spite of it
};

// Tells the user, and what becomes of the job: on the terminal of the srun or salloc that waits for
// it, or in the AdminComment of a batch job. All of it ends by `end`.
[[nodiscard]] Result<void> tell_user(const HeldJob& held, const Rules& rules,
                                     const Variables& variables, Clock::time_point end);

}  // namespace muster::slurm
