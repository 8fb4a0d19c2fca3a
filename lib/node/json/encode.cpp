// SPDX-License-Identifier: Apache-2.0
#include "lib/node/json/encode.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "lib/base/text.hpp"

namespace muster::json {
namespace {

bool is_plain(char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; }

template <class T>
void append_number(std::string& out, T value) {
  std::array<char, 32> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  out.append(digits.data(), end);
}

}  // namespace

void Encoder::write(std::string_view text) {
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

void Encoder::write(bool value) { out_.append(value ? "true" : "false"); }

void Encoder::write(double value) {
  if (!std::isfinite(value)) {
    out_.append("null");
    return;
  }
  const auto begin = out_.size();
  append_number(out_, value);
  if (out_.find_first_of(".e", begin) == std::string::npos) out_.append(".0");
}

void Encoder::write(std::uint64_t value) { append_number(out_, value); }

void Encoder::write(std::int64_t value) { append_number(out_, value); }

void Encoder::write(PciKind kind) { write(kPciKinds.at(static_cast<std::size_t>(kind))); }

// Appends the character at the start of `text` and returns its length there.
std::size_t Encoder::append_special(std::string_view text) {
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

void Encoder::key(std::string_view name) {
  write(name);
  out_.push_back(':');
}

void Encoder::close(char bracket) {
  if (out_.back() == ',') out_.pop_back();
  out_.push_back(bracket);
}

}  // namespace muster::json
