// SPDX-License-Identifier: Apache-2.0
// Syslog: as muster, of the facility daemon.
#pragma once

#include <string>

#include "slurm/history/event.hpp"

namespace muster::app {

// Refusals, troubles and nodes that are confirmed to be bad are warnings, the others notices.
void log_event(const slurm::Event& event);
void log_warning(const std::string& line);

}  // namespace muster::app
