// SPDX-License-Identifier: Apache-2.0
// Strict parsing of small texts such as kernel attributes, and text that is safe to print.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.hpp"

namespace muster {

[[nodiscard]] std::string_view trim(std::string_view text);
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);
// Splits at blanks, tabs and newlines.
[[nodiscard]] std::vector<std::string_view> split_words(std::string_view text);
// Splits into lines without their newlines. The last line needs none.
[[nodiscard]] std::vector<std::string_view> split_lines(std::string_view text);

// Converts ASCII letters to lower case.
[[nodiscard]] std::string lower_case(std::string_view text);

// The whole text must be a number in range: no blanks, and no sign if it is unsigned.
[[nodiscard]] Result<std::uint64_t> parse_unsigned(std::string_view text);
[[nodiscard]] Result<std::int64_t> parse_signed(std::string_view text);
[[nodiscard]] Result<std::uint64_t> parse_hex(std::string_view text);  // with or without 0x
[[nodiscard]] Result<double> parse_number(std::string_view text);      // finite

// Parses a kernel list such as "0-3,8,10-11": ascending, at most 65536 members.
[[nodiscard]] Result<std::vector<unsigned>> parse_cpu_list(std::string_view text);
[[nodiscard]] std::string to_cpu_list(const std::vector<unsigned>& members);

// Matches the whole text with a glob of * and ?; case-sensitive.
[[nodiscard]] bool matches_glob(std::string_view pattern, std::string_view text);

// Whether any of the globs matches.
[[nodiscard]] bool matches_any(const std::vector<std::string>& patterns, std::string_view text);

// The number of bytes of the UTF-8 character at the start of `text`; 0 if it is invalid.
[[nodiscard]] std::size_t utf8_length(std::string_view text);

// Makes one printable line: control characters, line breaks and invalid UTF-8 become \xNN. Longer
// text is cut with "…" at a character boundary.
[[nodiscard]] std::string printable(std::string_view text, std::size_t max_length = 400);

// "a, b or c"; an empty word is quoted.
[[nodiscard]] std::string or_list(std::span<const std::string_view> words);

// "1 node", "2 nodes".
[[nodiscard]] std::string counted(std::uint64_t count, std::string_view noun);

// The approximate width on a terminal: characters, not bytes.
[[nodiscard]] std::size_t text_width(std::string_view text);

// Wraps text between words at `width`, 0 for never. All lines but the first are indented.
[[nodiscard]] std::string wrapped(std::string_view text, std::size_t indent,
                                  std::size_t width = 80);

// Returns the candidate nearest to `word` by edit distance, else the only one that begins with it
// or ends with ".word"; empty if none is similar enough to be a typo.
[[nodiscard]] std::string nearest(std::string_view word,
                                  const std::vector<std::string>& candidates);

}  // namespace muster
