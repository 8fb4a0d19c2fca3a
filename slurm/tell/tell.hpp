// SPDX-License-Identifier: Apache-2.0
// The site's own program is told what muster did: a mail, a web hook, a ticket.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "lib/base/clock.hpp"
#include "lib/base/result.hpp"
#include "slurm/history/event.hpp"
#include "slurm/rules/tell_rules.hpp"

namespace muster::slurm {

// An error says what is wrong with it: it must be a file that its owner, root or the user that
// muster runs as, alone can write, in folders of which the same holds.
[[nodiscard]] Result<void> check_program(const std::filesystem::path& program);

// Checks `rules.program` in the same way, and that `rules.user` is known here. Ends by `end`.
[[nodiscard]] Result<void> check_tell_program(const TellRules& rules, Clock::time_point end);

// Runs `program arguments... KIND NODE`, with the event (schema muster.event/1) on its standard
// input, in the folder /, with hardly any environment, as `rules.user` where this process is root.
// Ends within `rules.deadline` and by `end`. An error says what the program's fault was.
[[nodiscard]] Result<void> tell_site(const TellRules& rules, const Event& event,
                                     Clock::time_point end);

// Runs the program for each of `events` whose kind the site wants. After one failure, whose cause
// is returned, it is not tried again: what failed would fail in the same way, and take its time.
[[nodiscard]] Result<void> tell_site(const TellRules& rules, const std::vector<Event>& events,
                                     Clock::time_point end);

}  // namespace muster::slurm
