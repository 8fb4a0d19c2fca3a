// SPDX-License-Identifier: Apache-2.0
// --help, made from the tables of options.
#include <fmt/format.h>

#include "checks/app/option_table.hpp"

namespace muster::app {
std::string overview_help() {
  std::string text =
      "Usage: muster COMMAND [OPTION]...\n\n"
      "Inspects a node of a GPU cluster, says what is wrong and what to do.\n\n";
  for (const auto& command : command_texts()) {
    text += fmt::format("  {:10}{}\n", command.name, wrapped(command.about, 12));
  }
  text +=
      "\n  -h, --help, --version\n\n"
      "muster COMMAND --help says more about one command, with examples:\n"
      "  muster check\n"
      "  muster explain gpu.xid\n"
      "  muster check --snapshot node.json\n\n"
      "Exit status: 0 healthy (warnings included), 1 unhealthy, 2 could not decide,\n"
      "64 bad usage, 78 bad configuration.\n";
  return text;
}

}  // namespace muster::app
