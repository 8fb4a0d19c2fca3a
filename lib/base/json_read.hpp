// SPDX-License-Identifier: Apache-2.0
// Reads described structs from JSON, the reverse of json_write.hpp. Missing keys keep their
// defaults, unless they are required; unknown keys are ignored. An error gives the path of the
// first wrong value: "/pci/facts/devices/3/address: expected a string".
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "lib/base/fact.hpp"
#include "lib/base/fields.hpp"
#include "lib/base/result.hpp"

// The parser's own header takes seconds to compile.
namespace simdjson::dom {
class element;
}

namespace muster {

// A value of a document that is being read. All readers of one document share its first error.
class JsonReader {
 public:
  using Json = simdjson::dom::element;

  [[nodiscard]] bool failed() const { return !error_.empty(); }

  // Records an error at this value, unless the document already has one.
  void refuse(std::string_view why) const;

  void read(bool& value) const;
  void read(double& value) const;
  void read(std::int64_t& value) const;
  void read(std::uint64_t& value) const;
  void read(int& value) const;
  void read(unsigned& value) const;
  void read(std::string& value) const;
  void read(std::variant<std::monostate, bool, std::int64_t, double, std::string>& value) const;

  template <class T>
  void read(T& value) const;

  template <class T>
  void read(Fact<T>& fact) const {
    if (const auto reason = read_reason()) {
      fact = Fact<T>::failed(*reason);
    } else {
      fact = T{};
      read(*fact);
    }
  }

  template <class T>
  void read(std::optional<T>& value) const {
    if (!is_null()) read(value.emplace());
  }

  template <class T>
  void read(std::vector<T>& values) const {
    values = std::vector<T>(size_of_array());
    read_items(values.data(), sizeof(T), &read_as<T>);
  }

  template <class T>
  void read(std::map<std::string, T>& values) const {
    // Most objects are in order.
    each_member([&](std::string_view key, const JsonReader& value) {
      value.read(values.try_emplace(values.end(), std::string(key))->second);
    });
  }

  // Calls visit(key, value) for the members of an object, in order, until one is wrong.
  template <class Visit>
  void each_member(const Visit& visit) const {
    visit_members(&visit, [](const void* of, std::string_view key, const JsonReader& value) {
      (*static_cast<const Visit*>(of))(key, value);
    });
  }

  template <class T>
  void member(std::string_view key, T& value, Presence presence = Presence::optional) const {
    read_member(key, &value, &read_as<T>, presence);
  }

  // Records an error and returns false if the value is not an object.
  [[nodiscard]] bool expect_object() const;
  void expect_schema(std::string_view schema) const;

 private:
  friend Result<void> read_json_text(std::string_view text,
                                     const std::function<void(const JsonReader&)>& read);

  // Type-erased: code shared by all types takes the address of a value and a function to read it.
  using Read = void (*)(const JsonReader&, void* value);
  using VisitMember = void (*)(const void* visit, std::string_view key, const JsonReader& value);

  template <class T>
  static void read_as(const JsonReader& json, void* value) {
    json.read(*static_cast<T*>(value));
  }

  JsonReader(const Json& json, std::string& error) : json_(json), error_(error) {}

  // A member of `outer`, or an item if it has no key.
  JsonReader(const JsonReader& outer, const Json& json, std::string_view key, std::size_t index = 0)
      : json_(json), error_(outer.error_), outer_(&outer), key_(key), index_(index) {}

  void read_member(std::string_view key, void* value, Read read, Presence presence) const;
  void visit_members(const void* visit, VisitMember call) const;
  void read_items(void* values, std::size_t size, Read read) const;
  [[nodiscard]] std::string place() const;
  [[nodiscard]] bool is_null() const;
  [[nodiscard]] std::size_t size_of_array() const;
  // The reason of a fact that is not known.
  [[nodiscard]] std::optional<Error> read_reason() const;
  [[nodiscard]] std::size_t read_word(std::span<const std::string_view> words) const;
  template <class T>
  void read_whole(T& value) const;

  const Json& json_;
  std::string& error_;
  const JsonReader* outer_ = nullptr;
  std::string_view key_;
  std::size_t index_ = 0;
};

// Described structs, enumerations, and types with a function read_json(const JsonReader&, T&).
template <class T>
void JsonReader::read(T& value) const {
  if constexpr (Described<T>) {
    if (!expect_object()) return;
    if constexpr (requires { T::kSchema; }) expect_schema(T::kSchema);
    for_each_field<T>([&](const auto& field) {
      if (!failed()) member(field.name, value.*field.member, field.presence);
    });
  } else if constexpr (std::is_enum_v<T>) {
    value = static_cast<T>(read_word(json_words(value)));
  } else {
    read_json(*this, value);
  }
}

// Parses `text` and calls `read` with its root. Returns the syntax error, or that of a value.
[[nodiscard]] Result<void> read_json_text(std::string_view text,
                                          const std::function<void(const JsonReader&)>& read);

template <class T>
[[nodiscard]] Result<T> from_json(std::string_view text) {
  T value{};
  TRY(read_json_text(text, [&](const JsonReader& json) { json.read(value); }));
  return value;
}

}  // namespace muster
