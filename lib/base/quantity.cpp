// SPDX-License-Identifier: Apache-2.0
#include "lib/base/quantity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <vector>

#include "lib/base/text.hpp"
#include "lib/base/units.hpp"

namespace muster {
namespace {

struct Unit {
  std::string_view name;  // empty if it is only parsed
  double factor;
  std::string_view others = {};  // names that are only parsed
};

constexpr double kKibi = 1024;

// The units of each kind, ascending in factor.
template <class Kind>
constexpr std::array<Unit, 0> kUnits{};

template <>
constexpr std::array kUnits<BytesKind>{Unit{"B", 1},
                                       Unit{"", 1e3, "kB KB"},
                                       Unit{"KiB", kKibi},
                                       Unit{"", 1e6, "MB"},
                                       Unit{"MiB", kKibi* kKibi},
                                       Unit{"", 1e9, "GB"},
                                       Unit{"GiB", kKibi* kKibi* kKibi},
                                       Unit{"", 1e12, "TB"},
                                       Unit{"TiB", kKibi* kKibi* kKibi* kKibi}};
template <>
constexpr std::array kUnits<PercentKind>{Unit{"%", 1}};
template <>
constexpr std::array kUnits<SecondsKind>{Unit{"us", 1e-6},
                                         Unit{"ms", 1e-3},
                                         Unit{"s", 1, "sec secs second seconds"},
                                         Unit{"min", kMinute, "m mins minute minutes"},
                                         Unit{"h", kHour, "hr hrs hour hours"},
                                         Unit{"d", kDay, "day days"},
                                         Unit{"", 7 * kDay, "w week weeks"}};
template <>
constexpr std::array kUnits<CelsiusKind>{Unit{"C", 1}};
template <>
constexpr std::array kUnits<BytesPerSecondKind>{
    Unit{"B/s", 1}, Unit{"kB/s", 1e3}, Unit{"MB/s", 1e6}, Unit{"GB/s", 1e9}, Unit{"TB/s", 1e12}};
template <>
constexpr std::array kUnits<BitsPerSecondKind>{Unit{"Mb/s", 1e6}, Unit{"Gb/s", 1e9},
                                               Unit{"Tb/s", 1e12}};
template <>
constexpr std::array kUnits<TransfersKind>{Unit{"GT/s", 1e9}};
template <>
constexpr std::array kUnits<HertzKind>{Unit{"Hz", 1}, Unit{"kHz", 1e3}, Unit{"MHz", 1e6},
                                       Unit{"GHz", 1e9}};
template <>
constexpr std::array kUnits<WattsKind>{Unit{"mW", 1e-3}, Unit{"W", 1}, Unit{"kW", 1e3}};
template <>
constexpr std::array kUnits<FlopsKind>{Unit{"GFLOPS", 1e9}, Unit{"TFLOPS", 1e12},
                                       Unit{"PFLOPS", 1e15}};

std::string names_of(std::span<const Unit> units) {
  std::vector<std::string_view> names;
  for (const auto& unit : units) {
    if (!unit.name.empty()) names.push_back(unit.name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

// Four significant digits at least, and no trailing zeros.
std::string shortest(double value) {
  std::string text = fmt::format("{:.{}f}", value, std::abs(value) >= 1000 ? 0 : 3);
  if (text.find('.') != std::string::npos) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  return text;
}

}  // namespace

template <class Kind>
Result<Quantity<Kind>> parse_quantity(std::string_view text) {
  const std::span<const Unit> units = kUnits<Kind>;
  const auto number_end = text.find_first_not_of("0123456789.eE+-");
  // "5e3" may be followed by a unit that starts with E or e: none does.
  const auto number = parse_number(text.substr(0, number_end));
  if (number && *number < 0) {
    return make_error("\"{}\" is negative, expected at least 0", printable(text, 40));
  }
  if (!number) {
    return make_error("expected a number with a unit ({}), got \"{}\"", names_of(units),
                      printable(text, 40));
  }
  std::string_view name = number_end == std::string_view::npos ? "" : text.substr(number_end);
  if (name.starts_with(' ')) name.remove_prefix(1);
  if (name.empty()) {
    return make_error(fmt::format(R"("{}" has no unit; write {}{})", printable(text, 40),
                                  units.size() > 1 ? "one of " : "", names_of(units)));
  }
  for (const auto& unit : units) {
    const bool is_named =
        unit.name == name || std::ranges::count(split(unit.others, ' '), name) > 0;
    if (is_named) return Quantity<Kind>{*number * unit.factor};
  }
  return make_error(R"(unknown unit "{}" in "{}"; write one of {})", printable(name, 20),
                    printable(text, 40), names_of(units));
}

template <class Kind>
std::string to_string(Quantity<Kind> quantity) {
  const std::span<const Unit> units = kUnits<Kind>;
  const Unit* chosen = &units.front();
  for (const auto& unit : units) {
    if (!unit.name.empty() && quantity.value >= unit.factor) chosen = &unit;
  }
  // In the base unit: "0 s", not "0 us".
  const auto base = std::ranges::find(units, 1.0, &Unit::factor);
  if (quantity.value == 0 && base != units.end()) chosen = &*base;
  const bool spaced = chosen->name != "%";
  return fmt::format("{}{}{}", shortest(quantity.value / chosen->factor), spaced ? " " : "",
                     chosen->name);
}

// NOLINTBEGIN(bugprone-macro-parentheses): a type in template arguments
#define MUSTER_QUANTITY(Kind)                                             \
  template Result<Quantity<Kind>> parse_quantity<Kind>(std::string_view); \
  template std::string to_string<Kind>(Quantity<Kind>);
MUSTER_QUANTITY(BytesKind)
MUSTER_QUANTITY(PercentKind)
MUSTER_QUANTITY(SecondsKind)
MUSTER_QUANTITY(CelsiusKind)
MUSTER_QUANTITY(BytesPerSecondKind)
MUSTER_QUANTITY(BitsPerSecondKind)
MUSTER_QUANTITY(TransfersKind)
MUSTER_QUANTITY(HertzKind)
MUSTER_QUANTITY(WattsKind)
MUSTER_QUANTITY(FlopsKind)
#undef MUSTER_QUANTITY
// NOLINTEND(bugprone-macro-parentheses)

}  // namespace muster
