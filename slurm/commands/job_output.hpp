// SPDX-License-Identifier: Apache-2.0
// A word to the user whose job a prolog holds back, on that job's own output.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "lib/base/clock.hpp"
#include "lib/base/result.hpp"

namespace muster::app {

// Appends `text` to the file that SLURM_JOB_STDOUT names (%j and %u are known in it), as the job's
// user and group: what that
// user may not write, or does not exist for others, is never touched on the user's behalf. A job
// without such a file, or one that is no regular file, is left alone.
[[nodiscard]] Result<void> tell_job(const std::map<std::string, std::string>& variables,
                                    std::string_view text,
                                    Clock::time_point deadline);

}  // namespace muster::app
