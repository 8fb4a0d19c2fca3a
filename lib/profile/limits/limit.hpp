// SPDX-License-Identifier: Apache-2.0
// What limits are made of. A limit that is not set is not judged, and the check says so.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/fields.hpp"

namespace muster {

template <class T>
using Limit = std::optional<T>;
using Words = std::vector<std::string>;

// A member whose text, or each text in it, is one of a few words.
template <class Struct, class T>
struct ChoiceField : Field<Struct, T> {
  std::span<const std::string_view> words;
};

template <class Struct, class T>
constexpr ChoiceField<Struct, T> choice(std::string_view name,
                                        T Struct::*member,
                                        std::span<const std::string_view> words,
                                        std::string_view about) {
  return {{name, member, about}, words};
}

// A member with the words that it may be: an array of string_view.
#define MUSTER_CHOICE(Type, member, words, about) \
  MUSTER_NTH_FIELD(::muster::choice(#member, &Self::member, words, about)) Type member

// An enumerator of a profile as it is written there.
template <class Enum>
[[nodiscard]] constexpr std::string_view word_of(Enum value) {
  return words_of(value)[static_cast<std::size_t>(value)];
}

}  // namespace muster
