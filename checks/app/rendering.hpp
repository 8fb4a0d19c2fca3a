// SPDX-License-Identifier: Apache-2.0
// A report in the form that the command line asks for.
#pragma once

#include <string>

#include "checks/app/commands.hpp"
#include "lib/command/output.hpp"
#include "lib/report/report.hpp"

namespace muster::app {

// In a `stream` of reports each JSON document takes one line.
[[nodiscard]] std::string render(const Report& report,
                                 const CheckCommand& command,
                                 const Console& console,
                                 bool stream);

}  // namespace muster::app
