// SPDX-License-Identifier: Apache-2.0
// Structs that describe themselves: each member has a name in JSON and YAML and a meaning. The JSON
// of snapshots and reports, the keys of a profile and the generated documents come from these
// descriptions.
//
//   struct HugePages {
//     MUSTER_DESCRIBED(HugePages);
//     MUSTER_FIELD(std::uint64_t, size_kib, "size of one page in KiB") = 0;
//     MUSTER_FIELD(Fact<std::uint64_t>, free, "pages free");
//   };
//
// A struct with a member `static constexpr std::string_view kSchema` has it as its key "schema".
// Enumerations have words, by the same idea.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace muster {

// Whether JSON always has a key. Reading ignores the absence of all but required keys.
enum class Presence { optional, required, unless_empty };

template <class Struct, class T>
struct Field {
  std::string_view name;
  T Struct::*member;
  std::string_view about;  // one line, with the unit
  Presence presence;
};

template <class Struct, class T>
Field(std::string_view, T Struct::*, std::string_view, Presence) -> Field<Struct, T>;

template <int N>
using Nth = std::integral_constant<int, N>;

// A macro argument cannot contain a comma.
template <class T>
using ByName = std::map<std::string, T>;

// The first line of a described struct, which then compares by its members.
#define MUSTER_DESCRIBED(Struct)                          \
  using Own = Struct;                                     \
  static constexpr int kCountBeforeMembers = __COUNTER__; \
  bool operator==(const Struct&) const = default

// A member, which JSON always has when written. An initial value may follow, as `= 0`.
#define MUSTER_FIELD(Type, member, about) MUSTER_NTH_FIELD(Type, member, #member, about, optional)

// A member without which JSON is refused.
#define MUSTER_REQUIRED(Type, member, about) \
  MUSTER_NTH_FIELD(Type, member, #member, about, required)

// A member that JSON has only if it is not empty.
#define MUSTER_UNLESS_EMPTY(Type, member, about) \
  MUSTER_NTH_FIELD(Type, member, #member, about, unless_empty)

// A member whose name in JSON and YAML is a keyword of C++.
#define MUSTER_KEY(Type, member, name, about) MUSTER_NTH_FIELD(Type, member, name, about, optional)

// Numbers the descriptions from 0 in each struct. Each is a template over the struct itself, so
// that only files that visit the fields pay for compiling them.
#define MUSTER_NTH_FIELD(Type, member, name, about, presence)                             \
  template <class Self = Own>                                                             \
  static constexpr auto nth_field(::muster::Nth<__COUNTER__ - kCountBeforeMembers - 1>) { \
    return ::muster::Field{name, &Self::member, about, ::muster::Presence::presence};     \
  }                                                                                       \
  Type member

template <class T>
concept Described = requires {
  T::kCountBeforeMembers;
};

// Calls visit(Field) for each member, in order.
template <Described T, int N = 0, class Visitor>
constexpr void for_each_field(Visitor&& visit) {
  if constexpr (requires { T::nth_field(Nth<N>()); }) {
    visit(T::nth_field(Nth<N>()));
    for_each_field<T, N + 1>(visit);
  } else {
    static_assert(
        !requires { T::nth_field(Nth<N + 1>()); }, "__COUNTER__ was used between two members");
  }
}

// Defines json_words(Enum), which returns the words of all enumerators, in order.
#define MUSTER_WORDS(Enum, ...)                                                          \
  inline constexpr auto k##Enum##Words = std::to_array<std::string_view>({__VA_ARGS__}); \
  constexpr const auto& json_words(Enum /*type*/) { return k##Enum##Words; }             \
  static_assert(std::is_enum_v<Enum>)

template <class Enum>
concept HasWords = std::is_enum_v<Enum> && requires(Enum value) {
  json_words(value);
};

template <HasWords Enum>
[[nodiscard]] constexpr std::string_view to_string(Enum value) {
  return json_words(value)[static_cast<std::size_t>(value)];
}

// The enumerator with this word; empty for an unknown word.
template <HasWords Enum>
[[nodiscard]] constexpr std::optional<Enum> parse_word(std::string_view word) {
  const auto& words = json_words(Enum{});
  const auto found = std::ranges::find(words, word);
  if (found == words.end()) return std::nullopt;
  return static_cast<Enum>(found - words.begin());
}

}  // namespace muster
