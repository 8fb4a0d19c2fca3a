// SPDX-License-Identifier: Apache-2.0
// This node observed and judged: what `muster check` prints and what hooks act upon.
#pragma once

#include <optional>
#include <string>

#include "checks/app/commands.hpp"
#include "checks/app/examine.hpp"
#include "checks/nhc_conf/config.hpp"
#include "lib/report/report.hpp"

namespace muster::app {

struct Inspected {
  Report report;
  Examined examined;
  std::optional<nhc::Config> lines;  // in place of the context's checks
};

[[nodiscard]] Attempt<Inspected> inspect(const CheckCommand& command,
                                         const Caller& caller,
                                         Deadline& deadline);

// The same node judged as one that was drained for `check`: that check runs whatever the context
// leaves out, and since nobody works on the node, it is judged as strictly as after a job.
[[nodiscard]] Report judge_drained(const Inspected& inspected,
                                   const std::string& context,
                                   const std::string& check);

// Writes the state file, in its own time.
void remember(const Examined& examined, const Caller& caller, Deadline& deadline);

}  // namespace muster::app
