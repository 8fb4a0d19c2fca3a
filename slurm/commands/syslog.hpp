// SPDX-License-Identifier: Apache-2.0
// Lines to syslog, from muster and of the facility daemon. A syslog that does not read loses the
// line and costs no time; syslog(3) would wait for it.
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
