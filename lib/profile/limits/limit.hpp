// SPDX-License-Identifier: Apache-2.0
// The types of limits. A limit that is not set is not judged, and the check reports that.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/base/fields.hpp"

namespace muster {

template <class T>
using Limit = std::optional<T>;
using Words = std::vector<std::string>;

template <HasWords Enum>
[[nodiscard]] Words words_for(const std::vector<Enum>& values) {
  Words words;
  for (const Enum value : values) words.emplace_back(to_string(value));
  return words;
}

}  // namespace muster
