// SPDX-License-Identifier: Apache-2.0
#include "checks/app/rendering.hpp"

#include <unistd.h>

namespace muster::app {

std::string render(const Report& report,
                   const CheckCommand& command,
                   const Console& console,
                   bool stream) {
  const bool to_terminal = descriptor_named(command.output) == STDOUT_FILENO;
  const RenderOptions options{.verbose = command.verbose,
                              .quiet = command.quiet,
                              .colour = to_terminal && console.colour,
                              .width = to_terminal ? console.width : 0,
                              .indent = stream ? 0 : 2};
  return row_of(command.format).render(report, options);
}

}  // namespace muster::app
