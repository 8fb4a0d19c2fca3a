// SPDX-License-Identifier: Apache-2.0
#include "checks/nhc_conf/size.hpp"

#include <fmt/format.h>

#include <cctype>
#include <cmath>

#include "lib/base/text.hpp"

namespace muster::nhc {
namespace {

constexpr std::string_view kUnits = "kmgtpe";

// The power of a unit's letter; 0 for none.
int take_unit(std::string_view& text) {
  if (text.empty()) return 0;
  const auto letter = static_cast<char>(std::tolower(static_cast<unsigned char>(text.back())));
  const auto found = kUnits.find(letter);
  if (found == std::string_view::npos) return 0;
  text.remove_suffix(1);
  return static_cast<int>(found) + 1;
}

}  // namespace

Result<std::uint64_t> parse_whole(std::string_view text, std::uint64_t most) {
  auto number = parse_unsigned(text);
  if (number && *number <= most) return number;
  return make_error(fmt::format("expects a whole number, got \"{}\"", printable(text, 40)));
}

Result<double> parse_size(std::string_view text) {
  auto number = text;
  if (number.ends_with('b') || number.ends_with('B')) number.remove_suffix(1);
  const int power = take_unit(number);
  const auto value = parse_unsigned(number);
  if (!value) {
    return make_error(fmt::format("expects a size as 512MB, got \"{}\"", printable(text, 40)));
  }
  return static_cast<double>(*value) * std::pow(1024.0, power == 0 ? 1 : power);
}

Result<double> parse_count(std::string_view text) {
  auto number = text;
  const int power = take_unit(number);
  const auto value = parse_unsigned(number);
  if (!value) {
    return make_error(fmt::format("expects a number as 10k, got \"{}\"", printable(text, 40)));
  }
  return static_cast<double>(*value) * std::pow(1000.0, power);
}

Result<Amount> parse_amount(std::string_view text, ParseAmount parse) {
  if (text.ends_with('%')) {
    const auto value = parse_unsigned(text.substr(0, text.size() - 1));
    if (!value || *value > 100) {
      return make_error(fmt::format("expects a share as 5%, got \"{}\"", printable(text, 40)));
    }
    return Amount{.value = static_cast<double>(*value), .percent = true};
  }
  TRY_ASSIGN(const auto value, parse(text));
  return Amount{.value = value};
}

}  // namespace muster::nhc
