// SPDX-License-Identifier: Apache-2.0
// NHC's own checks, judged on a snapshot: pure functions from facts and the arguments of a line to
// findings. The caller adds the check's name and the place of the line.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checks/shared/support.hpp"

namespace muster::nhc {

using Arguments = std::vector<std::string>;
using Judge = Findings (*)(const Snapshot&, const Arguments&);

// What is said of a line that cannot be judged.
[[nodiscard]] inline Finding not_judged(std::string_view why,
                                        std::string_view device = checks::kNode) {
  return {.device = std::string(device),
          .outcome = Outcome::unknown,
          .message = fmt::format("not judged: {}", why)};
}

// A failure of the node as a whole; for that of a device there is checks::failed().
[[nodiscard]] inline Finding failed(std::string message, Remedy remedy = Remedy::fix_config) {
  return checks::failed(checks::kNode, std::move(message), remedy);
}

// The finding, or a warning in place of a failure where the line asks for no more.
[[nodiscard]] inline Finding softened(Finding finding, bool soft) {
  if (soft && finding.outcome == Outcome::fail) finding.outcome = Outcome::warn;
  return finding;
}

// The finding with what was seen and what the line wants.
[[nodiscard]] inline Finding compared(Finding finding, Value observed, Value limit) {
  finding.observed = std::move(observed);
  finding.limit = std::move(limit);
  return finding;
}

// "512 kB", "1870.2 GiB".
[[nodiscard]] inline std::string size_in_words(double bytes) {
  return bytes < 1024.0 * 1024 * 1024 ? fmt::format("{:.0f} kB", bytes / 1024)
                                      : checks::in_gib(bytes);
}

// The argument at `index`, or the empty string, which NHC takes for none.
[[nodiscard]] inline std::string_view argument(const Arguments& arguments, std::size_t index) {
  return index < arguments.size() ? std::string_view(arguments[index]) : std::string_view();
}

}  // namespace muster::nhc
