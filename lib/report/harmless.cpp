// SPDX-License-Identifier: Apache-2.0
#include "lib/report/harmless.hpp"

#include <algorithm>

namespace muster {
namespace {

constexpr std::string_view kCut = "...";

bool is_harmless(char c) {
  constexpr std::string_view kSpecial = "'\"`$\\*?;|<>&()[]{}!#~";
  return c > ' ' && c < 0x7f && kSpecial.find(c) == std::string_view::npos;
}

// Whether this is a later byte of a multi-byte character.
bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xc0U) == 0x80; }

// The replacement of `c`, which may be the first byte of several.
char substitute(char c) {
  if (c == ';') return ',';
  if (static_cast<unsigned char>(c) >= 0x80) return '-';
  return is_harmless(c) ? c : ' ';
}

void remove_trailing_blanks(std::string& text) {
  while (!text.empty() && text.back() == ' ') text.pop_back();
}

}  // namespace

std::string harmless(std::string_view text, std::size_t max_length) {
  std::string safe;
  for (const char c : text) {
    if (continues_character(c)) continue;
    const char next = substitute(c);
    if (next == ' ' && (safe.empty() || safe.back() == ' ')) continue;
    if (next == ',') remove_trailing_blanks(safe);
    safe.push_back(next);
  }
  remove_trailing_blanks(safe);
  if (safe.size() <= max_length) return safe;
  const auto mark = kCut.substr(0, max_length);
  safe.resize(max_length - mark.size());
  remove_trailing_blanks(safe);
  safe.append(mark);
  return safe;
}

}  // namespace muster
