// SPDX-License-Identifier: Apache-2.0
// Whose the processes are.
#pragma once

#include <string>

#include "checks/nhc_conf/judging.hpp"

namespace muster::nhc {

// `owner`: a number, a match string for the name that the user has in etc/passwd, or empty for
// anybody. An error names what is not known: the user of the process, or the name of that user.
[[nodiscard]] Result<bool> is_owned_by(const Processes& processes, const RunningProcess& process,
                                       const std::string& owner);

}  // namespace muster::nhc
