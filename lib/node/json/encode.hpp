// SPDX-License-Identifier: Apache-2.0
// Described structs to JSON: the members of a struct are its keys, in their order. A fact that is
// not known is an object with the reason: {"$absent": "…"} or {"$unreadable": "…"}.
#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/fact.hpp"
#include "lib/base/fields.hpp"
#include "lib/node/pci.hpp"
#include "lib/node/section.hpp"

namespace muster::json {

inline constexpr std::string_view kAbsent = "$absent";
inline constexpr std::string_view kUnreadable = "$unreadable";

// Appends JSON to a string. Bytes that are not UTF-8 (a kernel log holds what users like) become
// U+FFFD, and numbers that JSON does not know become null.
class Encoder {
 public:
  [[nodiscard]] std::string take() { return std::move(out_); }

  template <class Members>
  void object(Members&& members) {
    out_.push_back('{');
    members();
    close('}');
  }

  // One function for each type and not for each member: a file that writes sixty structs is
  // compiled in seconds.
  template <class T>
  [[gnu::noinline]] void member(std::string_view name, const T& value) {
    key(name);
    write(value);
    out_.push_back(',');
  }

  void write(std::string_view text);
  void write(bool value);
  void write(double value);
  void write(std::uint64_t value);
  void write(std::int64_t value);
  void write(PciKind kind);

  void write(const std::string& text) { write(std::string_view(text)); }

  void write(unsigned value) { write(std::uint64_t{value}); }

  void write(int value) { write(std::int64_t{value}); }

  template <Described T>
  void write(const T& value) {
    object([&] {
      for_each_field<T>([&](const auto& field) { member(field.name, value.*field.member); });
    });
  }

  template <class T>
  void write(const Fact<T>& fact) {
    if (fact) return write(*fact);
    object([&] { member(fact.is_absent() ? kAbsent : kUnreadable, fact.why()); });
  }

  template <class T>
  void write(const std::vector<T>& values) {
    out_.push_back('[');
    for (const auto& value : values) {
      write(value);
      out_.push_back(',');
    }
    close(']');
  }

  template <class T>
  void write(const std::map<std::string, T>& values) {
    object([&] {
      for (const auto& [key, value] : values) member(key, value);
    });
  }

  template <class T>
  void write(const Section<T>& section) {
    object([&] {
      member("status", to_string(section.status));
      if (!section.reason.empty()) member("reason", section.reason);
      member("duration_ms", section.duration_ms);
      if (section.ok()) member("facts", section.facts);
    });
  }

 private:
  void key(std::string_view name);
  void close(char bracket);
  std::size_t append_special(std::string_view text);

  std::string out_;
};

}  // namespace muster::json
