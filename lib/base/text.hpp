// SPDX-License-Identifier: Apache-2.0
// Strict parsing of the small texts that kernels write, and text that is safe to show.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.hpp"

namespace muster {

[[nodiscard]] std::string_view trim(std::string_view text);
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);
// Words between runs of blanks, tabs and newlines.
[[nodiscard]] std::vector<std::string_view> split_words(std::string_view text);
// Lines without their newline; a last line without one counts.
[[nodiscard]] std::vector<std::string_view> split_lines(std::string_view text);

// The text with ASCII's capital letters small, and all others as they are.
[[nodiscard]] std::string lower_case(std::string_view text);

// The whole text must be the number: no sign for unsigned, no blanks, no rest, no overflow.
[[nodiscard]] Result<std::uint64_t> parse_unsigned(std::string_view text);
[[nodiscard]] Result<std::int64_t> parse_signed(std::string_view text);
[[nodiscard]] Result<std::uint64_t> parse_hex(std::string_view text);  // with or without 0x
[[nodiscard]] Result<double> parse_number(std::string_view text);      // finite

// A kernel list such as "0-3,8,10-11"; ascending; at most 65536 members.
[[nodiscard]] Result<std::vector<unsigned>> parse_cpu_list(std::string_view text);
[[nodiscard]] std::string to_cpu_list(const std::vector<unsigned>& members);

// Shell-style glob with * and ? only, over the whole text; case-sensitive.
[[nodiscard]] bool matches_glob(std::string_view pattern, std::string_view text);

// Whether one of the globs does.
[[nodiscard]] bool matches_any(const std::vector<std::string>& patterns, std::string_view text);

// How many bytes the UTF-8 character at the start of `text` has; 0 where there is no valid one.
[[nodiscard]] std::size_t utf8_length(std::string_view text);

// One printable line: control characters, line breaks and invalid UTF-8 become \xNN; at most
// `max_length` bytes, cut with "…" at a character's border.
[[nodiscard]] std::string printable(std::string_view text, std::size_t max_length = 400);

// The candidate nearest to `word` by edits, else the only one that begins with it or ends with it
// behind a dot; empty when none is near enough to be a slip.
[[nodiscard]] std::string nearest(std::string_view word,
                                  const std::vector<std::string>& candidates);

}  // namespace muster
