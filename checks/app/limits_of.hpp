// SPDX-License-Identifier: Apache-2.0
// What a profile says of a check: the keys of its block, from the same lists that YAML is read by,
// and which contexts run it.
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
  bool optional = false;  // where it is not set, its rule is not judged
};

// Empty for a check without limits of its own.
[[nodiscard]] std::vector<LimitKey> limit_keys(std::string_view check);

// The contexts that run the check, or those that leave it out.
[[nodiscard]] std::vector<std::string> contexts_of(const Profile& profile, const Check& check,
                                                   bool running);

struct LimitValue {
  std::string value;  // as written
  Origin origin;
};

// What the profile says at `path`, and below it where that is a list or a map: one entry by key, in
// natural order. An empty path is the whole profile.
[[nodiscard]] std::vector<std::pair<std::string, LimitValue>> values_at(const Profile& profile,
                                                                        std::string_view path);

// Whether `a` comes before `b` where numbers within text count as numbers: patterns.2, patterns.10.
[[nodiscard]] bool comes_before(std::string_view a, std::string_view b);

// A value as one can read where it begins and ends: `32 GT/s`, `[a, b]`, `"?*"`, `""`.
[[nodiscard]] std::string shown_value(std::string_view value);

// "profiles/nd_v5.yaml:31"; and who said so, "azhpc-images 8e9d055, as of 2026-07-29", or nothing.
[[nodiscard]] std::string place_of(const Origin& origin);
[[nodiscard]] std::string source_of(const Origin& origin);

}  // namespace muster::app
