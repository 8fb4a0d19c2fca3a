// SPDX-License-Identifier: Apache-2.0
// This program once more, as a process of its own beside a run.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lib/base/clock.hpp"
#include "lib/base/result.hpp"
#include "lib/report/report.hpp"

namespace muster::bench {

// `words` ask for a report as JSON. Of `variables`, what a launcher says of a job is left out. An
// error says how it ended, and with what words.
[[nodiscard]] Result<Report> run_own(const std::vector<std::string>& words,
                                     std::map<std::string, std::string> variables,
                                     Clock::time_point deadline);

}  // namespace muster::bench
