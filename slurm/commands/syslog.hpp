// SPDX-License-Identifier: Apache-2.0
// Lines to syslog, as muster, facility daemon. If syslog does not read, the line is lost at once;
// syslog(3) would wait.
#pragma once

#include <string>
#include <string_view>

#include "slurm/history/event.hpp"

namespace muster::app {

// Refusals, trouble and confirmed nodes are warnings, the others notices.
void log_event(const slurm::Event& event);
void log_warning(const std::string& line);

// Sends one line to the syslog that listens at `socket`. Returns whether it was accepted.
bool write_syslog(const std::string& socket, int priority, std::string_view line);

}  // namespace muster::app
