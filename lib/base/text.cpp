// SPDX-License-Identifier: Apache-2.0
#include "lib/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>

namespace muster {
namespace {

constexpr std::string_view kBlanks = " \t\r\n\v\f";
constexpr unsigned kMaxListMember = 65535;

template <class T, class... Base>
Result<T> parse_integer(std::string_view text, const char* expected, Base... base) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, value, base...);
  if (text.empty() || failure != std::errc{} || stop != end) {
    return make_error(fmt::format("expected {}, got \"{}\"", expected, printable(text, 40)));
  }
  return value;
}

// The length of the valid UTF-8 character at the start of `text`; 0 when there is none. Control
// characters (C0, DEL, C1) and those that reorder or hide text count as none.
std::size_t printable_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first >= 0x20 && first < 0x7f) return 1;
  const std::size_t length = first >= 0xc2 && first < 0xe0   ? 2
                             : first >= 0xe0 && first < 0xf0 ? 3
                             : first >= 0xf0 && first < 0xf5 ? 4
                                                             : 0;
  if (length == 0 || text.size() < length) return 0;
  char32_t code = first & (0xffU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return 0;
    code = (code << 6U) | (byte(i) & 0x3fU);
  }
  const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  const bool control = code < 0xa0;
  const bool invisible = (code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
                         (code >= 0x2060 && code <= 0x2069) || code == 0xfeff || code == 0x61c;
  return overlong || surrogate || control || invisible || code > 0x10ffff ? 0 : length;
}

std::size_t edit_distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < to.size(); ++j) {
      const std::size_t substituted = diagonal + (from[i] == to[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substituted, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const auto end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::vector<std::string_view> split_words(std::string_view text) {
  std::vector<std::string_view> words;
  for (auto first = text.find_first_not_of(kBlanks); first != std::string_view::npos;
       first = text.find_first_not_of(kBlanks)) {
    text.remove_prefix(first);
    const auto end = std::min(text.find_first_of(kBlanks), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return words;
}

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const auto end = text.find('\n');
    lines.push_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return lines;
}

Result<std::uint64_t> parse_unsigned(std::string_view text) {
  return parse_integer<std::uint64_t>(text, "an unsigned number", 10);
}

Result<std::int64_t> parse_signed(std::string_view text) {
  return parse_integer<std::int64_t>(text, "a whole number", 10);
}

Result<std::uint64_t> parse_hex(std::string_view text) {
  const bool prefixed = text.starts_with("0x") || text.starts_with("0X");
  return parse_integer<std::uint64_t>(prefixed ? text.substr(2) : text, "a hexadecimal number", 16);
}

Result<double> parse_number(std::string_view text) {
  const auto value = parse_integer<double>(text, "a number");
  if (value && !std::isfinite(*value)) {
    return make_error(fmt::format("expected a finite number, got \"{}\"", printable(text, 40)));
  }
  return value;
}

Result<std::vector<unsigned>> parse_cpu_list(std::string_view text) {
  std::vector<unsigned> members;
  text = trim(text);
  if (text.empty()) return members;
  for (const auto range : split(text, ',')) {
    const auto dash = range.find('-');
    const auto first = parse_unsigned(range.substr(0, dash));
    const auto last =
        dash == std::string_view::npos ? first : parse_unsigned(range.substr(dash + 1));
    if (!first || !last || *first > *last || *last > kMaxListMember) {
      return make_error(
          fmt::format("expected a list such as \"0-3,8\", got \"{}\"", printable(text, 80)));
    }
    for (auto member = *first; member <= *last; ++member) {
      members.push_back(static_cast<unsigned>(member));
    }
  }
  std::ranges::sort(members);
  members.erase(std::unique(members.begin(), members.end()), members.end());
  return members;
}

std::string to_cpu_list(const std::vector<unsigned>& members) {
  std::string text;
  for (std::size_t first = 0; first < members.size();) {
    std::size_t last = first;
    while (last + 1 < members.size() && members[last + 1] == members[last] + 1) ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ",", members[first]);
    if (last > first) text += fmt::format("-{}", members[last]);
    first = last + 1;
  }
  return text;
}

bool matches_glob(std::string_view pattern, std::string_view text) {
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;
  std::size_t resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

std::string printable(std::string_view text, std::size_t max_length) {
  constexpr std::string_view kEllipsis = "…";
  std::string shown;
  shown.reserve(std::min(text.size(), max_length));
  std::size_t fits = 0;  // where to cut, so that the ellipsis has room
  while (!text.empty()) {
    const std::size_t length = printable_length(text);
    if (length > 0) {
      shown.append(text.substr(0, length));
    } else {
      shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(text.front()));
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
    if (shown.size() + kEllipsis.size() <= max_length) fits = shown.size();
    if (shown.size() > max_length) {
      shown.resize(fits);
      if (fits + kEllipsis.size() <= max_length) shown.append(kEllipsis);
      return shown;
    }
  }
  return shown;
}

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  const std::size_t tolerance = std::max<std::size_t>(1, word.size() / 3);
  std::size_t best = tolerance + 1;
  std::string found;
  for (const auto& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best) {
      best = distance;
      found = candidate;
    }
  }
  return found;
}

}  // namespace muster
