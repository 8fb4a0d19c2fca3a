// SPDX-License-Identifier: Apache-2.0
// The limits of a check in a profile, and the contexts that run it.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checks/check.hpp"
#include "lib/profile/profile.hpp"

namespace muster::app {

struct LimitKey {
  std::string name;  // "fail_above", or "gpu.speed" in a block within the block
  std::string about;
  bool optional = false;  // if it is not set, its rule is not judged
};

// Empty for a check without limits.
[[nodiscard]] std::vector<LimitKey> limit_keys(std::string_view check);

// Returns the contexts that run the check, or those that do not.
[[nodiscard]] std::vector<std::string> contexts_of(const Profile& profile, const Check& check,
                                                   bool running);

// Returns the values at `path` and below it, by key in natural order. An empty path selects the
// whole profile.
[[nodiscard]] std::vector<std::pair<std::string, SetValue>> values_at(const Profile& profile,
                                                                      std::string_view path);

// Whether `a` comes before `b` in natural order: patterns.2 before patterns.10.
[[nodiscard]] bool comes_before(std::string_view a, std::string_view b);

// Quotes a value if it needs quotes: `32 GT/s`, `[a, b]`, `"?*"`, `""`.
[[nodiscard]] std::string shown_value(std::string_view value);

// "profiles/nd_v5.yaml:31"; and its source, "azhpc-images 8e9d055, as of 2026-07-29", or nothing.
[[nodiscard]] std::string place_of(const Origin& origin);
[[nodiscard]] std::string source_of(const Origin& origin);

}  // namespace muster::app
