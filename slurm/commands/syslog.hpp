// SPDX-License-Identifier: Apache-2.0
// Syslog: as muster, of the facility daemon. A syslog that does not read costs its line and no
// time, other than by syslog(3), which waits for it.
#pragma once

#include <string>
#include <string_view>

#include "slurm/history/event.hpp"

namespace muster::app {

// Refusals, troubles and nodes that are confirmed to be bad are warnings, the others notices.
void log_event(const slurm::Event& event);
void log_warning(const std::string& line);

// One line to the syslog that listens at `socket`; whether it was taken.
bool write_syslog(const std::string& socket, int priority, std::string_view line);

}  // namespace muster::app
