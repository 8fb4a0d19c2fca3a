// SPDX-License-Identifier: Apache-2.0
#include "lib/probes/parse/ib.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "lib/base/text.hpp"

namespace muster {
namespace {

tl::unexpected<Error> not_a(std::string_view what, std::string_view text) {
  return make_error(fmt::format("expected {}, got \"{}\"", what, printable(text, 60)));
}

// `count` groups of four hex digits, in lower case.
Result<std::string> parse_groups(std::string_view text, std::size_t count, std::string_view what) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  auto lower = lower_case(text);
  const auto groups = split(lower, ':');
  const bool right =
      groups.size() == count && std::ranges::all_of(groups, [&](auto group) {
        return group.size() == 4 && group.find_first_not_of(kDigits) == std::string_view::npos;
      });
  if (!right) return not_a(what, text);
  return lower;
}

Result<unsigned> parse_hex_up_to(std::string_view text, std::uint64_t most, std::string_view what) {
  const auto number = text.starts_with("0x") ? parse_hex(text) : not_a(what, text);
  if (!number || *number > most) return not_a(what, text);
  return static_cast<unsigned>(*number);
}

// Whether a word can be a speed's name; newer kernels may have new names.
bool is_speed_name(std::string_view text) {
  return text.size() >= 2 && text.size() <= 8 && std::ranges::all_of(text, [](char c) {
           return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
         });
}

}  // namespace

Result<LinkRate> parse_link_rate(std::string_view text) {
  constexpr std::string_view kForm = "a rate such as \"400 Gb/sec (4X NDR)\"";
  const auto words = split_words(text);
  if (words.size() < 3 || words.size() > 4 || words[1] != "Gb/sec") return not_a(kForm, text);
  if (!words[2].starts_with('(') || !words.back().ends_with(')')) return not_a(kForm, text);

  std::string_view lanes = words[2].substr(1);
  std::string_view speed;
  if (words.size() == 3) {
    lanes.remove_suffix(1);
  } else {
    speed = words[3].substr(0, words[3].size() - 1);
    if (!is_speed_name(speed)) return not_a(kForm, text);
  }
  if (!lanes.ends_with('X')) return not_a(kForm, text);
  lanes.remove_suffix(1);

  const auto gbps = parse_number(words[0]);
  const auto count = parse_unsigned(lanes);
  constexpr double kMaxGbps = 1e6;  // far above any link, so that garbage is not taken for a rate
  if (!gbps || *gbps < 0 || *gbps > kMaxGbps || !count || *count > 64) return not_a(kForm, text);
  return LinkRate{
      .gbps = *gbps, .lanes = static_cast<unsigned>(*count), .speed = std::string(speed)};
}

Result<unsigned> parse_numbered_state(std::string_view text) {
  constexpr std::string_view kForm = "a state such as \"4: ACTIVE\"";
  const auto colon = text.find(':');
  if (colon == std::string_view::npos) return not_a(kForm, text);
  const auto number = parse_unsigned(text.substr(0, colon));
  if (!number || *number > 255) return not_a(kForm, text);
  return static_cast<unsigned>(*number);
}

Result<unsigned> parse_lid(std::string_view text) {
  return parse_hex_up_to(text, std::numeric_limits<std::uint32_t>::max(),
                         "a LID such as \"0x1a0\"");
}

Result<unsigned> parse_pkey(std::string_view text) {
  return parse_hex_up_to(text, 0xffff, "a partition key such as \"0x8015\"");
}

Result<std::string> parse_gid(std::string_view text) {
  return parse_groups(text, 8, "a GID of eight groups of hex digits");
}

Result<std::string> parse_guid(std::string_view text) {
  return parse_groups(text, 4, "a GUID of four groups of hex digits");
}

}  // namespace muster
