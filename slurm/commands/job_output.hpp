// SPDX-License-Identifier: Apache-2.0
// A message to the user whose job a prolog holds back, in that job's own output.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "lib/base/clock.hpp"
#include "lib/base/result.hpp"

namespace muster::app {

// Appends `text` to the file that SLURM_JOB_STDOUT names (%j and %u are known in it), as the job's
// user and group, so that nothing is touched that the user may not write. Does nothing where the
// job has no such file or it is not a regular one. An error says what could not be done.
[[nodiscard]] Result<void> append_to_job_output(const std::map<std::string, std::string>& variables,
                                                std::string_view text,
                                                Clock::time_point deadline);

}  // namespace muster::app
