// SPDX-License-Identifier: Apache-2.0
// Writes described structs as JSON: the members of a struct are its keys, in order. A fact that is
// not known is an object with the reason: {"$absent": "…"} or {"$unreadable": "…"}.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
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

// Writes one value. Enumerations are written as the words of json_words(Enum), a constexpr function
// that is found by the type and returns a word per enumerator, in order.
class JsonWriter {
 public:
  explicit JsonWriter(nlohmann::ordered_json& target) : target_(target) {}

  void write(bool value);
  void write(double value);
  void write(std::int64_t value);
  void write(std::uint64_t value);
  void write(std::string_view text);
  // Begins an object of about `size` members.
  void begin_object(std::size_t size);

  void write(int value) { write(std::int64_t{value}); }

  void write(unsigned value) { write(std::uint64_t{value}); }

  void write(const std::string& text) { write(std::string_view(text)); }

  void write(std::monostate /*null*/) {}

  template <class T>
  void write(const T& value);

  template <class T>
  void write(const Fact<T>& fact) {
    if (fact) return write(*fact);
    begin_object(1);
    member(fact.is_absent() ? kAbsentKey : kUnreadableKey, fact.why());
  }

  template <class T>
  void write(const std::optional<T>& value) {
    if (value) write(*value);
  }

  template <class... T>
  void write(const std::variant<T...>& value) {
    std::visit([this](const auto& held) { this->write(held); }, value);
  }

  template <class T>
  void write(const std::vector<T>& values) {
    begin_array(values.size());
    for (const auto& value : values) JsonWriter(add_item()).write(value);
  }

  template <class T>
  void write(const std::map<std::string, T>& values) {
    begin_object(values.size());
    for (const auto& [name, value] : values) member(name, value);
  }

  // Adds a member to the object that was begun. Instantiated per type, not per member: a file that
  // writes sixty structs compiles in seconds.
  template <class T>
  [[gnu::noinline]] void member(std::string_view name, const T& value) {
    JsonWriter(add_member(name)).write(value);
  }

 private:
  void begin_array(std::size_t size);
  [[nodiscard]] nlohmann::ordered_json& add_item();
  [[nodiscard]] nlohmann::ordered_json& add_member(std::string_view name);

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

  nlohmann::ordered_json& target_;
};

// Described structs, enumerations, and types with a function write_json(JsonWriter&, const T&).
template <class T>
void JsonWriter::write(const T& value) {
  if constexpr (Described<T>) {
    begin_object(count_fields<T>() + 1);
    if constexpr (requires { T::kSchema; }) member("schema", T::kSchema);
    for_each_field<T>([&](const auto& field) {
      const auto& each = value.*field.member;
      if (field.presence == Presence::unless_empty && is_empty(each)) return;
      member(field.name, each);
    });
  } else if constexpr (std::is_enum_v<T>) {
    write(json_words(value)[static_cast<std::size_t>(value)]);
  } else {
    write_json(*this, value);
  }
}

// Calls `write` for an empty document and returns its JSON, in one line without its end. Invalid
// UTF-8, which a kernel log can have, is replaced; numbers that JSON does not know become null.
[[nodiscard]] std::string write_json_text(const std::function<void(JsonWriter&)>& write);

template <class T>
[[nodiscard]] std::string to_json_line(const T& value) {
  return write_json_text([&](JsonWriter& json) { json.write(value); });
}

}  // namespace muster
