// SPDX-License-Identifier: Apache-2.0
// What is done to a node, and what is refused, as people read it: in one line of syslog, of
// standard output and of slurmd's log.
#pragma once

#include <string>

#include "slurm/history/history.hpp"

namespace muster::app {

// "drained gpu-0007: …".
[[nodiscard]] std::string told(const slurm::Event& event);

// As muster, of the facility daemon; refusals, troubles and nodes that are confirmed to be bad are
// warnings.
void tell_syslog(const slurm::Event& event);
void warn_syslog(const std::string& line);

}  // namespace muster::app
