// SPDX-License-Identifier: Apache-2.0
// Files that a profile names, and what is said of one that was not looked for or is not right.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "checks/shared/support.hpp"

namespace muster::checks::host {

// What was seen of `path`; none where the snapshot was taken without looking for it.
[[nodiscard]] inline const FileFact* file_at(const Environment& environment,
                                             const std::string& path) {
  const auto found = std::ranges::find(environment.files, path, &FileFact::path);
  return found == environment.files.end() ? nullptr : &*found;
}

[[nodiscard]] inline Finding not_looked_for(const std::string& path) {
  return not_known(path, fmt::format("whether {} exists", path),
                   Fact<bool>::unreadable("the snapshot was taken without looking for it"));
}

[[nodiscard]] inline Finding unusable(const std::string& path, std::string message,
                                      std::string observed, std::string limit) {
  return warned(path, std::move(message), Remedy::fix_config,
                {std::move(observed), std::move(limit)});
}

[[nodiscard]] inline Finding nonexistent(const std::string& path, std::string limit) {
  return unusable(path, fmt::format("{} does not exist", path), "missing", std::move(limit));
}

}  // namespace muster::checks::host
