// SPDX-License-Identifier: Apache-2.0
// JSON to described structs, the reverse of encode.hpp. What is missing keeps its default ("not
// observed"), unknown keys are ignored, and the first wrong type is named by its place.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>

#include "lib/node/encode.hpp"

namespace muster::json {

class Decoder {
 public:
  // Empty when everything fitted.
  [[nodiscard]] const std::string& error() const { return error_; }

  // Reads the value at `key`, if there is one. False once anything was wrong.
  template <class T>
  bool member(const Json& object, std::string_view key, T& value) {
    if (!error_.empty()) return false;
    if (!object.is_object()) return expected("an object");
    const auto found = object.find(key);
    if (found == object.end()) return true;
    const auto length = path_.size();
    path_ += fmt::format("/{}", key);
    const bool good = read(*found, value);
    path_.resize(length);
    return good;
  }

  template <class T>
  bool read(const Json& json, T& value) {
    if constexpr (Described<T>) {
      if (!json.is_object()) return expected("an object");
      for_each_field<T>([&](const auto& field) { member(json, field.name, value.*field.member); });
      return error_.empty();
    } else if constexpr (std::is_same_v<T, bool>) {
      if (!json.is_boolean()) return expected("true or false");
      value = json.template get<bool>();
      return true;
    } else if constexpr (std::is_floating_point_v<T>) {
      if (!json.is_number()) return expected("a number");
      value = json.template get<T>();
      return true;
    } else {
      static_assert(std::is_integral_v<T>);
      return read_integer(json, value);
    }
  }

  bool read(const Json& json, std::string& value) {
    const auto* text = json.get_ptr<const std::string*>();
    if (text == nullptr) return expected("a string");
    value = *text;
    return true;
  }

  bool read(const Json& json, PciKind& kind) {
    std::string name;
    if (!read(json, name)) return false;
    for (const auto& [each, known] : kPciKinds) {
      if (known == name) {
        kind = each;
        return true;
      }
    }
    return expected("gpu, nvswitch, hca, ethernet, nvme or bridge");
  }

  template <class T>
  bool read(const Json& json, Fact<T>& fact) {
    std::string why;
    if (json.is_object() && json.contains(kAbsent)) {
      if (!member(json, kAbsent, why)) return false;
      fact = Fact<T>::absent(std::move(why));
      return true;
    }
    if (json.is_object() && json.contains(kUnreadable)) {
      if (!member(json, kUnreadable, why)) return false;
      fact = Fact<T>::unreadable(std::move(why));
      return true;
    }
    T value{};
    if (!read(json, value)) return false;
    fact = std::move(value);
    return true;
  }

  template <class T>
  bool read(const Json& json, std::vector<T>& values) {
    if (!json.is_array()) return expected("an array");
    values.resize(json.size());
    const auto length = path_.size();
    for (std::size_t i = 0; i < json.size(); ++i) {
      path_ += fmt::format("/{}", i);
      if (!read(json[i], values[i])) return false;
      path_.resize(length);
    }
    return true;
  }

  template <class T>
  bool read(const Json& json, std::map<std::string, T>& values) {
    if (!json.is_object()) return expected("an object");
    for (const auto& [key, value] : json.items()) {
      if (!member(json, key, values[key])) return false;
    }
    return true;
  }

  template <class T>
  bool read(const Json& json, Section<T>& section) {
    std::string status = "error";
    section.reason.clear();
    if (!member(json, "status", status) || !member(json, "reason", section.reason) ||
        !member(json, "duration_ms", section.duration_ms)) {
      return false;
    }
    for (const auto each : {Status::ok, Status::absent, Status::timeout, Status::error}) {
      if (to_string(each) != status) continue;
      section.status = each;
      return each != Status::ok || member(json, "facts", section.facts);
    }
    return expected("a status: ok, absent, timeout or error");
  }

 private:
  template <class T>
  bool read_integer(const Json& json, T& value) {
    if (!json.is_number_integer()) return expected("a whole number");
    if (json.is_number_unsigned()) {
      const auto number = json.get<std::uint64_t>();
      if (number > static_cast<std::uint64_t>(std::numeric_limits<T>::max())) {
        return expected("a smaller number");
      }
      value = static_cast<T>(number);
      return true;
    }
    const auto number = json.get<std::int64_t>();
    if (std::is_unsigned_v<T> ||
        number < static_cast<std::int64_t>(std::numeric_limits<T>::min())) {
      return expected("a larger number");
    }
    value = static_cast<T>(number);
    return true;
  }

  bool expected(std::string_view what) {
    if (error_.empty()) {
      error_ = fmt::format("{}: expected {}", path_.empty() ? "/" : path_, what);
    }
    return false;
  }

  std::string path_;
  std::string error_;
};

}  // namespace muster::json
