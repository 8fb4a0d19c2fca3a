// SPDX-License-Identifier: Apache-2.0
// Writes described structs as JSON: the members of a struct are its keys, in order. A fact that is
// not known is an object with the reason: {"$absent": "…"} or {"$unreadable": "…"}.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "lib/base/fact.hpp"
#include "lib/base/fields.hpp"

namespace muster {

inline constexpr std::string_view kAbsentKey = "$absent";
inline constexpr std::string_view kUnreadableKey = "$unreadable";

// Appends JSON to `text`, without line ends. Invalid UTF-8, which a kernel log can have, is
// replaced; numbers that JSON does not know become null. With `longest`, all strings are made
// printable and cut at that length.
class JsonWriter {
 public:
  explicit JsonWriter(std::string& text, std::optional<std::size_t> longest = {})
      : text_(text), longest_(longest) {}

  void write(bool value) { text_ += value ? "true" : "false"; }

  void write(double value);
  void write(std::int64_t value);
  void write(std::uint64_t value);
  void write(std::string_view value);

  void write(int value) { write(std::int64_t{value}); }
  void write(unsigned value) { write(std::uint64_t{value}); }
  void write(const std::string& value) { write(std::string_view(value)); }
  void write(std::monostate /*null*/) { text_ += "null"; }

  // Described structs, enumerations, and types with a function write_json(JsonWriter&, const T&).
  template <class T>
  void write(const T& value);

  template <class T>
  void write(const Fact<T>& fact) {
    if (fact) return write(*fact);
    object([&] { member(fact.is_absent() ? kAbsentKey : kUnreadableKey, fact.why()); });
  }

  template <class T>
  void write(const std::optional<T>& value) {
    value ? write(*value) : write(std::monostate{});
  }

  template <class... T>
  void write(const std::variant<T...>& value) {
    std::visit([this](const auto& held) { this->write(held); }, value);
  }

  template <class T>
  void write(const std::vector<T>& values) {
    text_ += '[';
    for (const auto& value : values) {
      separate();
      write(value);
    }
    text_ += ']';
  }

  template <class T>
  void write(const std::map<std::string, T>& values) {
    object([&] {
      for (const auto& [name, value] : values) member(name, value);
    });
  }

  // Writes an object, for whose members `write_members` calls member().
  template <class WriteMembers>
  void object(const WriteMembers& write_members) {
    text_ += '{';
    write_members();
    text_ += '}';
  }

  // Instantiated per type, not per member: a file that writes sixty structs compiles in seconds.
  template <class T>
  [[gnu::noinline]] void member(std::string_view name, const T& value) {
    separate();
    write(name);
    text_ += ':';
    write(value);
  }

  // Writes the value of a described member, unless it is left out.
  template <class Field, class T>
  void field(const Field& field, const T& value) {
    if (field.presence != Presence::unless_empty || !is_empty(value)) member(field.name, value);
  }

 private:
  // Adds the comma before all but the first of an object or array.
  void separate() {
    if (text_.back() != '{' && text_.back() != '[') text_ += ',';
  }

  template <class T>
  [[nodiscard]] static bool is_empty(const T& value) {
    if constexpr (requires { value.has_value(); }) {
      return !value.has_value();
      // cppcheck-suppress identicalConditionAfterEarlyExit; the requirements differ
    } else if constexpr (requires { value.empty(); }) {
      return value.empty();
    } else {
      return false;
    }
  }

  std::string& text_;
  std::optional<std::size_t> longest_;
};

template <class T>
void JsonWriter::write(const T& value) {
  if constexpr (Described<T>) {
    object([&] {
      if constexpr (requires { T::kSchema; }) member("schema", T::kSchema);
      for_each_field<T>([&](const auto& field) { this->field(field, value.*field.member); });
    });
  } else if constexpr (HasWords<T>) {
    write(to_string(value));
  } else {
    write_json(*this, value);
  }
}

// The JSON of an object, for whose members `write_members(JsonWriter&)` calls member().
template <class WriteMembers>
[[nodiscard]] std::string write_json_object(const WriteMembers& write_members) {
  std::string text;
  JsonWriter json(text);
  json.object([&] { write_members(json); });
  return text;
}

template <class T>
[[nodiscard]] std::string to_json_line(const T& value) {
  std::string text;
  JsonWriter(text).write(value);
  return text;
}

}  // namespace muster
