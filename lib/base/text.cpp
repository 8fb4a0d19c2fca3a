// SPDX-License-Identifier: Apache-2.0
#include "lib/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>

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
    return make_error("expected {}, got \"{}\"", expected, printable(text, 40));
  }
  return value;
}

struct CodeRange {
  char32_t first;
  char32_t last;

  [[nodiscard]] constexpr bool holds(char32_t code) const { return code >= first && code <= last; }
};

// Control characters, and characters that hide, reorder or break lines of text.
constexpr std::array kUnprintable{CodeRange{0x00, 0x1f},     CodeRange{0x7f, 0x9f},
                                  CodeRange{0x61c, 0x61c},   CodeRange{0x200b, 0x200f},
                                  CodeRange{0x2028, 0x202e}, CodeRange{0x2060, 0x2069},
                                  CodeRange{0xfeff, 0xfeff}};

struct Utf8Form {
  unsigned char mask;  // the bits of the first byte that encode the length
  unsigned char lead;  // their value
  std::size_t length;  // in bytes
  char32_t least;      // smaller codes are overlong
};

constexpr std::array kUtf8Forms{Utf8Form{0x80, 0x00, 1, 0}, Utf8Form{0xe0, 0xc0, 2, 0x80},
                                Utf8Form{0xf0, 0xe0, 3, 0x800}, Utf8Form{0xf8, 0xf0, 4, 0x10000}};

struct Character {
  char32_t code = 0;
  std::size_t length = 0;  // in bytes; 0 for none
};

// The valid UTF-8 character at the start of `text`.
Character decode(std::string_view text) {
  constexpr char32_t kLargest = 0x10ffff;
  constexpr CodeRange kSurrogates{0xd800, 0xdfff};
  if (text.empty()) return {};
  const auto first = static_cast<unsigned char>(text.front());
  const auto* form =
      std::ranges::find_if(kUtf8Forms, [&](const auto& f) { return (first & f.mask) == f.lead; });
  if (form == kUtf8Forms.end() || text.size() < form->length) return {};
  char32_t code = first & static_cast<unsigned char>(~form->mask);
  for (const char next : text.substr(1, form->length - 1)) {
    const auto byte = static_cast<unsigned char>(next);
    if ((byte & 0xc0U) != 0x80) return {};
    code = (code << 6U) | (byte & 0x3fU);
  }
  if (code < form->least || code > kLargest || kSurrogates.holds(code)) return {};
  return {.code = code, .length = form->length};
}

// The length of the valid, printable character at the start of `text`; 0 for none.
std::size_t printable_length(std::string_view text) {
  const auto character = decode(text);
  const bool hidden = std::ranges::any_of(
      kUnprintable, [&](const CodeRange& r) { return r.holds(character.code); });
  return hidden ? 0 : character.length;
}

bool is_plain(char c) { return c >= ' ' && c <= '~'; }

// The Damerau-Levenshtein distance: insertions, deletions, replacements and swaps of neighbours.
std::size_t edit_distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  std::vector<std::size_t> above = row;   // the previous row
  std::vector<std::size_t> before = row;  // and the one before
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::swap(before, above);
    std::swap(above, row);
    row[0] = i + 1;
    for (std::size_t j = 0; j < to.size(); ++j) {
      const std::size_t replaced = above[j] + (from[i] == to[j] ? 0 : 1);
      row[j + 1] = std::min({replaced, row[j] + 1, above[j + 1] + 1});
      const bool swapped = i > 0 && j > 0 && from[i] == to[j - 1] && from[i - 1] == to[j];
      if (swapped) row[j + 1] = std::min(row[j + 1], before[j - 1] + 1);
    }
  }
  return row.back();
}

// Returns the only candidate that begins with the word or ends with ".word"; empty for several.
std::string completed(std::string_view word, const std::vector<std::string>& candidates) {
  constexpr std::size_t kShortest = 3;
  if (word.size() < kShortest) return "";
  std::string found;
  for (const auto& candidate : candidates) {
    const bool goes_on =
        candidate.starts_with(word) || candidate.ends_with(fmt::format(".{}", word));
    if (!goes_on) continue;
    if (!found.empty()) return "";
    found = candidate;
  }
  return found;
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
  for (text = trim(text); !text.empty(); text = trim(text)) {
    const auto end = std::min(text.find_first_of(kBlanks), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return words;
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
  }
  return lower;
}

std::vector<std::string_view> split_lines(std::string_view text) {
  auto lines = split(text, '\n');
  if (lines.back().empty()) lines.pop_back();
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
  auto value = parse_integer<double>(text, "a number");
  if (value && !std::isfinite(*value)) {
    return make_error("expected a finite number, got \"{}\"", printable(text, 40));
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
          fmt::format(R"(expected a list such as "0-3,8", got "{}")", printable(text, 80)));
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

bool matches_any(const std::vector<std::string>& patterns, std::string_view text) {
  return std::ranges::any_of(patterns, [&](const auto& each) { return matches_glob(each, text); });
}

std::size_t utf8_length(std::string_view text) { return decode(text).length; }

std::string printable(std::string_view text, std::size_t max_length) {
  if (text.size() <= max_length && std::ranges::all_of(text, is_plain)) return std::string(text);
  constexpr std::string_view kEllipsis = "…";
  std::string shown;
  shown.reserve(std::min(text.size(), max_length));
  std::size_t fits = 0;  // where to cut, with room for the ellipsis
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

std::string or_list(std::span<const std::string_view> words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view join = i == 0 ? "" : i + 1 == words.size() ? " or " : ", ";
    text.append(join).append(words[i].empty() ? "\"\"" : words[i]);
  }
  return text;
}

std::string counted(std::uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::size_t text_width(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80; }));
}

std::string wrapped(std::string_view text, std::size_t indent, std::size_t width) {
  if (width == 0) return std::string(text);
  constexpr std::size_t kMin = 30;
  const auto room = std::max(width - std::min(indent, width), kMin);
  std::string lines;
  std::size_t used = 0;
  for (const auto word : split_words(text)) {
    const auto length = text_width(word);
    if (used > 0 && used + 1 + length > room) {
      lines += fmt::format("\n{}", std::string(indent, ' '));
      used = 0;
    } else if (used > 0) {
      lines.push_back(' ');
      ++used;
    }
    lines += word;
    used += length;
  }
  return lines;
}

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  constexpr std::size_t kLongest = 200;  // longer words are not typos, and slow to compare
  if (word.size() > kLongest) return "";
  // Any letter is one letter away from any other: "-J" is not a typo of "-v".
  const std::size_t tolerance = word.size() < 3 ? 0 : std::max<std::size_t>(1, word.size() / 3);
  const auto given = lower_case(word);
  std::size_t best = tolerance + 1;
  std::string found;
  for (const auto& candidate : candidates) {
    const std::size_t distance = edit_distance(given, lower_case(candidate));
    if (distance < best) {
      best = distance;
      found = candidate;
    }
  }
  return found.empty() ? completed(given, candidates) : found;
}

}  // namespace muster
