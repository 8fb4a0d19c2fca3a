// SPDX-License-Identifier: Apache-2.0
// NHC's own checks, judged on a snapshot: pure functions from facts and the arguments of a line to
// findings. The caller adds the check's name and the place of the line.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checks/shared/support.hpp"

namespace muster::nhc {

using Arguments = std::vector<std::string>;
using Judge = Findings (*)(const Snapshot&, const Arguments&);

// `owner`: a number, or a match string for the name that the user has in etc/passwd; an error where
// there is no such name.
[[nodiscard]] Result<bool> is_owned_by(const Processes& processes,
                                       const RunningProcess& process,
                                       const std::string& owner);

// The last mount of a point, which lies on top of the others; null for none.
[[nodiscard]] const Mount* mount_at(const Snapshot& snapshot, std::string_view point);

// What is said of a line that cannot be judged.
[[nodiscard]] inline Finding not_judged(std::string_view why,
                                        std::string_view device = checks::kNode) {
  return {.device = std::string(device),
          .outcome = Outcome::unknown,
          .message = fmt::format("not judged: {}", why)};
}

// What does not hold.
[[nodiscard]] inline Finding failed(std::string message,
                                    Remedy remedy = Remedy::fix_config,
                                    std::string_view device = checks::kNode) {
  return {.device = std::string(device),
          .outcome = Outcome::fail,
          .message = std::move(message),
          .remedy = remedy};
}

// As a warning, where the line asks for no more.
[[nodiscard]] inline Finding softened(Finding finding, bool soft) {
  if (soft && finding.outcome == Outcome::fail) finding.outcome = Outcome::warn;
  return finding;
}

// The same with what was seen and what the line wants.
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

// Options as getopts reads them: single letters, together or apart, up to the first other word.
struct Options {
  std::map<char, std::vector<std::string>> given;  // with their values; flags have empty ones
  std::vector<std::string> rest;

  [[nodiscard]] bool has(char letter) const { return given.contains(letter); }

  [[nodiscard]] std::vector<std::string> values(char letter) const {
    const auto found = given.find(letter);
    return found == given.end() ? std::vector<std::string>() : found->second;
  }

  // The last one; empty for none.
  [[nodiscard]] std::string value(char letter) const {
    return has(letter) ? given.at(letter).back() : std::string();
  }
};

// `known`: the letters, each with a colon where it takes a value, as "0rs:t:".
[[nodiscard]] Result<Options> read_options(const Arguments& arguments, std::string_view known);

}  // namespace muster::nhc
