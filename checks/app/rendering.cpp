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
                              .width = to_terminal ? console.width : 0};
  switch (command.format) {
    case Format::json:
      return to_json(report, options, stream ? 0 : 2);
    case Format::prometheus:
      return to_prometheus(report);
    case Format::junit:
      return to_junit(report);
    case Format::npd:
      return to_npd(report);
    case Format::nhc:
      return to_nhc(report);
    case Format::text:
      break;
  }
  return to_text(report, options);
}

}  // namespace muster::app
