// SPDX-License-Identifier: Apache-2.0
// The keys of a check's block in a profile, from the same lists that YAML is read by.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lib/profile/profile.hpp"

namespace muster::app {

struct LimitKey {
  std::string name;  // "fail_above", or "gpu.speed" in a block within the block
  std::string about;
  bool optional = false;  // where it is not set, its rule is not judged
};

// Empty for a check without limits of its own.
[[nodiscard]] std::vector<LimitKey> limit_keys(std::string_view check);

struct LimitValue {
  std::string value;  // as written
  Origin origin;
};

// What the profile says at `path`, and below it where that is a list or a map: one entry by key.
[[nodiscard]] std::map<std::string, LimitValue> values_at(const Profile& profile,
                                                          std::string_view path);

}  // namespace muster::app
