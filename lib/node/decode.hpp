// SPDX-License-Identifier: Apache-2.0
// JSON to described structs, the reverse of encode.hpp. What is missing keeps its default ("not
// observed"), unknown keys are ignored, and the first wrong type is named by its place.
#pragma once

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <concepts>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/node/encode.hpp"

namespace muster::json {

using Element = simdjson::dom::element;

// The members of an object, asked for in the order in which they were most likely written.
class Members {
 public:
  explicit Members(const simdjson::dom::object& object) : object_(object), next_(object.begin()) {}

  // False when there is no such member.
  bool find(std::string_view key, Element& value) {
    if (next_ != object_.end() && next_.key() == key) {
      value = next_.value();
      ++next_;
      return true;
    }
    return object_.at_key(key).get(value) == simdjson::SUCCESS;
  }

 private:
  simdjson::dom::object object_;
  simdjson::dom::object::iterator next_;
};

class Decoder {
 public:
  // Empty when everything fitted.
  [[nodiscard]] const std::string& error() const { return error_; }

  void refuse(std::string why) {
    if (error_.empty()) error_ = std::move(why);
  }

  // Hands the members of an object to `take`. False once anything was wrong.
  template <class Take>
  bool object(const Element& json, Take&& take) {
    simdjson::dom::object object;
    if (json.get(object) != simdjson::SUCCESS) return expected("an object");
    Members members(object);
    take(members);
    return error_.empty();
  }

  // Reads the value at `key`, if there is one.
  template <class T>
  void member(Members& members, std::string_view key, T& value) {
    Element found;
    if (error_.empty() && members.find(key, found)) read_at({.key = key}, found, value);
  }

  template <Described T>
  bool read(const Element& json, T& value) {
    return object(json, [&](Members& members) {
      for_each_field<T>(
          [&](const auto& field) { member(members, field.name, value.*field.member); });
    });
  }

  bool read(const Element& json, bool& value) {
    return json.get(value) == simdjson::SUCCESS || expected("true or false");
  }

  bool read(const Element& json, double& value) {
    return json.get(value) == simdjson::SUCCESS || expected("a number");
  }

  template <std::integral T>
  bool read(const Element& json, T& value) {
    if (!json.is_int64() && !json.is_uint64()) return expected("a whole number");
    std::uint64_t natural = 0;
    if (json.get(natural) == simdjson::SUCCESS) {
      if (natural > static_cast<std::uint64_t>(std::numeric_limits<T>::max())) {
        return expected("a smaller number");
      }
      value = static_cast<T>(natural);
      return true;
    }
    const auto negative = json.get_int64().value_unsafe();
    if (std::is_unsigned_v<T> ||
        negative < static_cast<std::int64_t>(std::numeric_limits<T>::min())) {
      return expected("a larger number");
    }
    value = static_cast<T>(negative);
    return true;
  }

  bool read(const Element& json, std::string& value) {
    std::string_view text;
    if (json.get(text) != simdjson::SUCCESS) return expected("a string");
    value = text;
    return true;
  }

  bool read(const Element& json, PciKind& kind) {
    std::string_view name;
    if (json.get(name) != simdjson::SUCCESS) return expected("a string");
    const auto* known =
        std::ranges::find(kPciKinds, name, [](const auto& each) { return each.second; });
    if (known == kPciKinds.end()) return expected("gpu, nvswitch, hca, ethernet, nvme or bridge");
    kind = known->first;
    return true;
  }

  template <class T>
  bool read(const Element& json, Fact<T>& fact) {
    for (const auto mark : {kAbsent, kUnreadable}) {
      Element reason;
      if (!json.is_object() || json.at_key(mark).get(reason) != simdjson::SUCCESS) continue;
      std::string why;
      if (!read_at({.key = mark}, reason, why)) return false;
      if (mark == kAbsent) {
        fact = Fact<T>::absent(std::move(why));
      } else {
        fact = Fact<T>::unreadable(std::move(why));
      }
      return true;
    }
    T value{};
    if (!read(json, value)) return false;
    fact = std::move(value);
    return true;
  }

  template <class T>
  bool read(const Element& json, std::vector<T>& values) {
    simdjson::dom::array array;
    if (json.get(array) != simdjson::SUCCESS) return expected("an array");
    values.clear();
    values.reserve(array.size());
    for (const Element element : array) {
      auto& value = values.emplace_back();
      if (!read_at({.index = values.size() - 1}, element, value)) return false;
    }
    return true;
  }

  template <class T>
  bool read(const Element& json, std::map<std::string, T>& values) {
    simdjson::dom::object object;
    if (json.get(object) != simdjson::SUCCESS) return expected("an object");
    for (const auto [key, value] : object) {
      if (!read_at({.key = key}, value, values[std::string(key)])) return false;
    }
    return true;
  }

  template <class T>
  bool read(const Element& json, Section<T>& section) {
    std::string status = "error";
    section.reason.clear();
    return object(json, [&](Members& members) {
      member(members, "status", status);
      member(members, "reason", section.reason);
      member(members, "duration_ms", section.duration_ms);
      if (!error_.empty()) return;
      for (const auto each : {Status::ok, Status::absent, Status::timeout, Status::error}) {
        if (to_string(each) != status) continue;
        section.status = each;
        if (each == Status::ok) member(members, "facts", section.facts);
        return;
      }
      expected("a status: ok, absent, timeout or error");
    });
  }

 private:
  // One step from the document to a value: a key, or an index where there is none.
  struct Step {
    std::string_view key;
    std::size_t index = 0;
  };

  template <class T>
  bool read_at(Step step, const Element& json, T& value) {
    path_.push_back(step);
    const bool good = read(json, value);
    path_.pop_back();
    return good;
  }

  // Always false.
  bool expected(std::string_view what) {
    std::string place = path_.empty() ? "/" : "";
    for (const auto& [key, index] : path_) {
      place += key.data() == nullptr ? fmt::format("/{}", index) : fmt::format("/{}", key);
    }
    refuse(fmt::format("{}: expected {}", place, what));
    return false;
  }

  std::vector<Step> path_;
  std::string error_;
};

}  // namespace muster::json
