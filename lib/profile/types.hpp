// SPDX-License-Identifier: Apache-2.0
// The types of a profile's values, for code that reads, checks or lists any of
// them and is no template: what is compiled for each struct is its table of
// members alone.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "lib/base/fields.hpp"
#include "lib/base/quantity.hpp"
#include "lib/base/result.hpp"
#include "lib/profile/limits/limit.hpp"
#include "lib/profile/owned.hpp"

namespace muster {

struct Type;

struct Member {
  std::string_view name, about;  // as the struct describes its member
  std::size_t offset = 0;        // in bytes, from the start of the struct
  const Type* type = nullptr;
};

struct Type {
  enum class Shape {
    truth,
    whole,
    number,
    text,
    word,
    words,
    quantity,
    limit,
    owned,
    list,
    map,
    block
  };
  using Visit = std::function<void(const std::string& key, const void* value)>;

  Shape shape = Shape::block;
  std::vector<Member> members{};  // of a block
  const Type* item = nullptr;     // what is in a limit, an owned group, a list or a map
  bool share = false,
       time = false;  // of a quantity: it is a percentage, it is in seconds

  // For a word that stands for an enumerator, and for a list of such words: the words, in the order
  // of the enumerators. `choose` sets the word to one of them, or appends one to the list.
  std::span<const std::string_view> choice{};
  void (*choose)(void* value, std::size_t index) = nullptr;
  // For a quantity: its value in its base unit; and the text of such a value.
  Result<double> (*parse)(std::string_view text) = nullptr;
  std::string (*show)(double value) = nullptr;
  // `enter` returns what is in a limit, which it sets, or in an owned group, or a new last item of
  // a list. `clear` unsets a limit, or empties a list.
  void* (*enter)(void* value) = nullptr;
  void (*clear)(void* value) = nullptr;
  // For a list: returns the item at an index, and the number of items.
  void* (*at)(void* value, std::size_t index) = nullptr;
  std::size_t (*size)(const void* value) = nullptr;
  // For a map: returns the value at a key, which is made where there is none.
  void* (*at_key)(void* value, const std::string& key) = nullptr;
  void (*erase)(void* value, const std::string& key) = nullptr;
  // For a limit that is set, an owned group and a map: calls back for all that is in it.
  void (*each)(const void* value, const Visit& visit) = nullptr;

  // The member of a block; none where it has no such member.
  [[nodiscard]] const Member* find(std::string_view name) const {
    const auto found = std::ranges::find(members, name, &Member::name);
    return found == members.end() ? nullptr : &*found;
  }

  [[nodiscard]] std::vector<std::string> keys() const {
    std::vector<std::string> names;
    for (const auto& member : members) names.emplace_back(member.name);
    return names;
  }
};

// A value of any type.
struct Slot {
  void* value = nullptr;
  const Type* type = nullptr;

  // One of the members of a block.
  [[nodiscard]] Slot of(const Member& member) const {
    return {static_cast<std::byte*>(value) + member.offset, member.type};
  }

  // What is in a limit, an owned group, a list or a map, at the address that its type gave.
  [[nodiscard]] Slot item(void* at) const { return {at, type->item}; }
};

template <class T>
[[nodiscard]] const Type& type_of();

template <class T>
[[nodiscard]] Slot slot_of(T& value) {
  return {&value, &type_of<T>()};
}

template <class T>
struct MakeType;

template <>
struct MakeType<bool> {
  static Type make() { return {.shape = Type::Shape::truth}; }
};

template <>
struct MakeType<int> {
  static Type make() { return {.shape = Type::Shape::whole}; }
};

template <>
struct MakeType<double> {
  static Type make() { return {.shape = Type::Shape::number}; }
};

template <>
struct MakeType<std::string> {
  static Type make() { return {.shape = Type::Shape::text}; }
};

template <>
struct MakeType<std::vector<std::string>> {
  static Type make() { return {.shape = Type::Shape::words}; }
};

// words_of() has a word for each enumerator that a profile may name; these come first.
template <class Enum>
requires std::is_enum_v<Enum>

struct MakeType<Enum> {
  static Type make() {
    return {.shape = Type::Shape::word,
            .choice = words_of(Enum{}),
            .choose = [](void* value, std::size_t index) {
              *static_cast<Enum*>(value) = static_cast<Enum>(index);
            }};
  }
};

template <class Enum>
requires std::is_enum_v<Enum>

struct MakeType<std::vector<Enum>> {
  using Self = std::vector<Enum>;

  static Type make() {
    return {.shape = Type::Shape::words,
            .choice = words_of(Enum{}),
            .choose =
                [](void* value, std::size_t index) {
                  static_cast<Self*>(value)->push_back(static_cast<Enum>(index));
                },
            .clear = [](void* value) { static_cast<Self*>(value)->clear(); }};
  }
};

template <class Kind>
struct MakeType<Quantity<Kind>> {
  static Type make() {
    return {.shape = Type::Shape::quantity,
            .share = std::is_same_v<Quantity<Kind>, Percent>,
            .time = std::is_same_v<Quantity<Kind>, Seconds>,
            .parse = [](std::string_view text) -> Result<double> {
              TRY_ASSIGN(const auto parsed, parse_quantity<Kind>(text));
              return parsed.value;
            },
            .show = [](double value) { return to_string(Quantity<Kind>{value}); }};
  }
};

template <class T>
struct MakeType<std::optional<T>> {
  using Self = std::optional<T>;

  static Type make() {
    return {.shape = Type::Shape::limit,
            .item = &type_of<T>(),
            // cppcheck-suppress returnDanglingLifetime ; a reference into *value
            .enter = [](void* value) -> void* { return &static_cast<Self*>(value)->emplace(); },
            .clear = [](void* value) { static_cast<Self*>(value)->reset(); },
            .each =
                [](const void* value, const Type::Visit& visit) {
                  const auto& limit = *static_cast<const Self*>(value);
                  if (limit) visit({}, &*limit);
                }};
  }
};

template <class T>
struct MakeType<Owned<T>> {
  using Self = Owned<T>;

  static Type make() {
    return {
        .shape = Type::Shape::owned,
        .item = &type_of<T>(),
        .enter = [](void* value) -> void* { return &**static_cast<Self*>(value); },
        .each = [](const void* value,
                   const Type::Visit& visit) { visit({}, &**static_cast<const Self*>(value)); }};
  }
};

template <class T>
struct MakeType<std::vector<T>> {
  using Self = std::vector<T>;

  static Type make() {
    return {
        .shape = Type::Shape::list,
        .item = &type_of<T>(),
        .enter = [](void* value) -> void* { return &static_cast<Self*>(value)->emplace_back(); },
        .clear = [](void* value) { static_cast<Self*>(value)->clear(); },
        .at = [](void* value, std::size_t i) -> void* { return &(*static_cast<Self*>(value))[i]; },
        .size = [](const void* value) { return static_cast<const Self*>(value)->size(); }};
  }
};

template <class T>
struct MakeType<std::map<std::string, T>> {
  using Self = std::map<std::string, T>;

  static Type make() {
    return {
        .shape = Type::Shape::map,
        .item = &type_of<T>(),
        .at_key = [](void* value, const std::string& key) -> void* {
          return &(*static_cast<Self*>(value))[key];
        },
        .erase = [](void* value, const std::string& key) { static_cast<Self*>(value)->erase(key); },
        .each =
            [](const void* value, const Type::Visit& visit) {
              for (const auto& [key, item] : *static_cast<const Self*>(value)) {
                visit(key, &item);
              }
            }};
  }
};

template <class Struct, class T>
Member member_of(const Struct& sample, const Field<Struct, T>& field) {
  const auto* start = static_cast<const void*>(&sample);
  const auto* member = static_cast<const void*>(&(sample.*field.member));
  return {.name = field.name,
          .about = field.about,
          .offset = static_cast<std::size_t>(static_cast<const std::byte*>(member) -
                                             static_cast<const std::byte*>(start)),
          .type = &type_of<T>()};
}

template <Described T>
struct MakeType<T> {
  static Type make() {
    const T sample{};
    Type type;
    for_each_field<T>([&](const auto& field) { type.members.push_back(member_of(sample, field)); });
    return type;
  }
};

// The types of a whole Profile and of a Policy, which only profile.cpp needs to know all members
// of.
[[nodiscard]] const Type& profile_type();
[[nodiscard]] const Type& policy_type();

// The type of the values of T; it is made when it is asked for first.
template <class T>
const Type& type_of() {
  static const Type type = MakeType<T>::make();
  return type;
}

}  // namespace muster
