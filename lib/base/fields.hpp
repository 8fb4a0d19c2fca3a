// SPDX-License-Identifier: Apache-2.0
// The one list of a struct's members: name in JSON and YAML, the member, and what it means. The
// JSON of a snapshot, the keys of a profile and the generated documents all come from it.
#pragma once

#include <string_view>
#include <tuple>

namespace muster {

template <class Struct, class T>
struct Field {
  std::string_view name;
  T Struct::*member;
  std::string_view about;  // one line, with the unit
};

template <class Struct, class T>
constexpr Field<Struct, T> field(std::string_view name, T Struct::*member, std::string_view about) {
  return {name, member, about};
}

// One entry of fields(): the member's name is its name in JSON and YAML.
#define MUSTER_FIELD(member, about) ::muster::field(#member, &Self::member, about)

// A described struct has `static constexpr auto fields()` returning a tuple of Field. It is a
// template over the struct itself, so that only the files that walk the fields pay for compiling
// the tuple.
template <class T>
concept Described = requires {
  T::fields();
};

template <Described T, class Visitor>
constexpr void for_each_field(Visitor&& visit) {
  std::apply([&](const auto&... each) { (visit(each), ...); }, T::fields());
}

}  // namespace muster
