// SPDX-License-Identifier: Apache-2.0
// Structs that are described where they are written: each member with its name in JSON and YAML and
// what it means. The JSON of a snapshot, the keys of a profile and the generated documents all come
// from these descriptions.
//
//   struct HugePages {
//     MUSTER_DESCRIBED(HugePages);
//     MUSTER_FIELD(std::uint64_t, size_kib, "size of one page in KiB") = 0;
//     MUSTER_FIELD(Fact<std::uint64_t>, free, "pages free");
//   };
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <type_traits>

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

template <int N>
using Nth = std::integral_constant<int, N>;

// A macro takes no type with a comma in it.
template <class T>
using ByName = std::map<std::string, T>;

// The first line of a described struct, which then compares by its members.
#define MUSTER_DESCRIBED(Struct)                          \
  using Own = Struct;                                     \
  static constexpr int kCountBeforeMembers = __COUNTER__; \
  bool operator==(const Struct&) const = default

// A member; its initial value may follow, as `= 0`.
#define MUSTER_FIELD(Type, member, about) \
  MUSTER_NTH_FIELD(::muster::field(#member, &Self::member, about)) Type member

// A member whose name in JSON and YAML is a keyword of C++.
#define MUSTER_KEY(Type, member, name, about) \
  MUSTER_NTH_FIELD(::muster::field(name, &Self::member, about)) Type member

// The members' descriptions are numbered from 0 in their struct, whatever has counted before it.
// Each is a template over the struct itself, so that only the files that walk the fields pay for
// compiling them.
#define MUSTER_NTH_FIELD(description)                                                     \
  template <class Self = Own>                                                             \
  static constexpr auto nth_field(::muster::Nth<__COUNTER__ - kCountBeforeMembers - 1>) { \
    return description;                                                                   \
  }

template <class T>
concept Described = requires {
  T::kCountBeforeMembers;
};

// Calls visit(Field) for each member, in their order.
template <Described T, int N = 0, class Visitor>
constexpr void for_each_field(Visitor&& visit) {
  if constexpr (requires { T::nth_field(Nth<N>()); }) {
    visit(T::nth_field(Nth<N>()));
    for_each_field<T, N + 1>(visit);
  } else {
    static_assert(
        !requires { T::nth_field(Nth<N + 1>()); },
        "something between two members has taken a number");
  }
}

}  // namespace muster
