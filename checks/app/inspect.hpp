// SPDX-License-Identifier: Apache-2.0
// This node observed and judged: what `muster check` prints and what hooks act upon.
#pragma once

#include "checks/app/command.hpp"
#include "checks/app/examine.hpp"
#include "lib/report/report.hpp"

namespace muster::app {

struct Inspected {
  Report report;
  Examined examined;
};

[[nodiscard]] Attempt<Inspected> inspect(const CheckCommand& command,
                                         const World& world,
                                         Deadline& deadline);

// Writes the state file, in its own time.
void remember(const Examined& examined, const World& world, Deadline& deadline);

}  // namespace muster::app
