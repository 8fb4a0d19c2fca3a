// SPDX-License-Identifier: Apache-2.0
// The one list of a struct's members: name in JSON and YAML, the member, and what it means. The
// JSON of a snapshot, the keys of a profile and the generated documents all come from it.
#pragma once

#include <string_view>

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

// The fields as a function that calls a visitor with each: a tuple of them would take the compiler
// several times as long.
template <class... Each>
constexpr auto field_list(Each... each) {
  return [=]([[maybe_unused]] auto& visit) { (visit(each), ...); };
}

// One entry of fields(): the member's name is its name in JSON and YAML.
#define MUSTER_FIELD(member, about) ::muster::field(#member, &Self::member, about)

// The last line of a described struct: MUSTER_FIELDS(Struct, MUSTER_FIELD(…), …); compares by
// members, too. fields() is a template over the struct itself, so that only the files that walk the
// fields pay for compiling them.
#define MUSTER_FIELDS(Struct, ...)            \
  template <class Self = Struct>              \
  static constexpr auto fields() {            \
    return ::muster::field_list(__VA_ARGS__); \
  }                                           \
  bool operator==(const Struct&) const = default

template <class T>
concept Described = requires {
  T::fields();
};

template <Described T, class Visitor>
constexpr void for_each_field(Visitor&& visit) {
  T::fields()(visit);
}

}  // namespace muster
