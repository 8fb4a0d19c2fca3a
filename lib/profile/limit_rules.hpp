// SPDX-License-Identifier: Apache-2.0
// What any limit must be, whichever check it belongs to.
#pragma once

#include <optional>
#include <string>

#include "lib/profile/profile.hpp"

namespace muster {

struct BrokenLimit {
  std::string path;
  std::string message;  // "is 195%; a share is below 100%"
};

// The first limit that cannot be meant: a share of 100% or more, a warning that comes after the
// failure, a window or a deadline without length.
[[nodiscard]] std::optional<BrokenLimit> find_broken_limit(const Profile& profile);

}  // namespace muster
