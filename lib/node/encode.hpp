// SPDX-License-Identifier: Apache-2.0
// Described structs to JSON: the fields() of a struct are its keys, in their order. A fact that is
// not known is an object with the reason: {"$absent": "…"} or {"$unreadable": "…"}.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <concepts>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/fact.hpp"
#include "lib/base/fields.hpp"
#include "lib/base/text.hpp"
#include "lib/node/pci.hpp"
#include "lib/node/section.hpp"

namespace muster::json {

inline constexpr std::string_view kAbsent = "$absent";
inline constexpr std::string_view kUnreadable = "$unreadable";

inline constexpr std::array kPciKinds{
    std::pair{PciKind::gpu, std::string_view("gpu")},
    std::pair{PciKind::nvswitch, std::string_view("nvswitch")},
    std::pair{PciKind::hca, std::string_view("hca")},
    std::pair{PciKind::ethernet, std::string_view("ethernet")},
    std::pair{PciKind::nvme, std::string_view("nvme")},
    std::pair{PciKind::bridge, std::string_view("bridge")},
};

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

  template <class T>
  void member(std::string_view name, const T& value) {
    write(name);
    out_.push_back(':');
    write(value);
    out_.push_back(',');
  }

  void write(std::string_view text) {
    out_.push_back('"');
    while (!text.empty()) {
      const auto* special = std::ranges::find_if_not(text, is_plain);
      const auto plain = static_cast<std::size_t>(special - text.begin());
      out_.append(text.substr(0, plain));
      text.remove_prefix(plain);
      if (!text.empty()) text.remove_prefix(append_special(text));
    }
    out_.push_back('"');
  }

  void write(const std::string& text) { write(std::string_view(text)); }

  void write(bool value) { out_.append(value ? "true" : "false"); }

  template <std::integral T>
  void write(T value) {
    append_number(value);
  }

  template <std::floating_point T>
  void write(T value) {
    if (!std::isfinite(value)) {
      out_.append("null");
      return;
    }
    const auto begin = out_.size();
    append_number(value);
    if (out_.find_first_of(".e", begin) == std::string::npos) out_.append(".0");
  }

  void write(PciKind kind) {
    const auto* known =
        std::ranges::find(kPciKinds, kind, [](const auto& each) { return each.first; });
    write(known == kPciKinds.end() ? std::string_view("bridge") : known->second);
  }

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
  [[nodiscard]] static bool is_plain(char c) {
    return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
  }

  // Appends the character at the start of `text` and returns its length there.
  std::size_t append_special(std::string_view text) {
    constexpr std::string_view kHex = "0123456789abcdef";
    const char c = text.front();
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out_.append({'\\', c});
    } else if (byte < 0x20) {
      out_.append("\\u00").append({kHex[byte >> 4U], kHex[byte & 0xfU]});
    } else {
      const auto length = utf8_length(text);
      out_.append(length > 0 ? text.substr(0, length) : "\ufffd");
      return std::max<std::size_t>(length, 1);
    }
    return 1;
  }

  void close(char bracket) {
    if (out_.back() == ',') out_.pop_back();
    out_.push_back(bracket);
  }

  template <class T>
  void append_number(T value) {
    std::array<char, 32> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    out_.append(digits.data(), end);
  }

  std::string out_;
};

}  // namespace muster::json
