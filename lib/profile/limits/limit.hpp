// SPDX-License-Identifier: Apache-2.0
// The types of limits. A limit that is not set is not judged, and the check reports that.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

template <class T>
using Limit = std::optional<T>;
using Words = std::vector<std::string>;

// The word for an enumerator in a profile.
template <class Enum>
[[nodiscard]] constexpr std::string_view word_of(Enum value) {
  return words_of(value)[static_cast<std::size_t>(value)];
}

template <class Enum>
[[nodiscard]] Words words_for(const std::vector<Enum>& values) {
  Words words;
  for (const Enum value : values) words.emplace_back(word_of(value));
  return words;
}

}  // namespace muster
