// SPDX-License-Identifier: Apache-2.0
#include "lib/base/quantity.hpp"

#include <fmt/format.h>

#include <cmath>
#include <span>
#include <vector>

#include "lib/base/text.hpp"

namespace muster {
namespace {

struct Unit {
  std::string_view name;
  double factor;
  bool shown = true;  // a unit to render with, as opposed to one that is only understood
};

constexpr double kKibi = 1024;

// Ascending in factor.
template <class Kind>
constexpr auto kUnits = std::span<const Unit>{};

constexpr Unit kByteUnits[] = {{"B", 1},
                               {"kB", 1e3, false},
                               {"KB", 1e3, false},
                               {"KiB", kKibi},
                               {"MB", 1e6, false},
                               {"MiB", kKibi* kKibi},
                               {"GB", 1e9, false},
                               {"GiB", kKibi* kKibi* kKibi},
                               {"TB", 1e12, false},
                               {"TiB", kKibi* kKibi* kKibi* kKibi}};
constexpr Unit kPercentUnits[] = {{"%", 1}};
constexpr Unit kSecondUnits[] = {
    {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {"min", 60}, {"h", 3600}, {"d", 86400}};
constexpr Unit kCelsiusUnits[] = {{"C", 1}};
constexpr Unit kBytesPerSecondUnits[] = {
    {"B/s", 1}, {"kB/s", 1e3}, {"MB/s", 1e6}, {"GB/s", 1e9}, {"TB/s", 1e12}};
constexpr Unit kBitsPerSecondUnits[] = {{"Mb/s", 1e6}, {"Gb/s", 1e9}, {"Tb/s", 1e12}};
constexpr Unit kTransferUnits[] = {{"GT/s", 1e9}};
constexpr Unit kHertzUnits[] = {{"Hz", 1}, {"kHz", 1e3}, {"MHz", 1e6}, {"GHz", 1e9}};
constexpr Unit kWattUnits[] = {{"mW", 1e-3}, {"W", 1}, {"kW", 1e3}};
constexpr Unit kFlopUnits[] = {{"GFLOPS", 1e9}, {"TFLOPS", 1e12}, {"PFLOPS", 1e15}};

template <>
constexpr auto kUnits<BytesKind> = std::span<const Unit>(kByteUnits);
template <>
constexpr auto kUnits<PercentKind> = std::span<const Unit>(kPercentUnits);
template <>
constexpr auto kUnits<SecondsKind> = std::span<const Unit>(kSecondUnits);
template <>
constexpr auto kUnits<CelsiusKind> = std::span<const Unit>(kCelsiusUnits);
template <>
constexpr auto kUnits<BytesPerSecondKind> = std::span<const Unit>(kBytesPerSecondUnits);
template <>
constexpr auto kUnits<BitsPerSecondKind> = std::span<const Unit>(kBitsPerSecondUnits);
template <>
constexpr auto kUnits<TransfersKind> = std::span<const Unit>(kTransferUnits);
template <>
constexpr auto kUnits<HertzKind> = std::span<const Unit>(kHertzUnits);
template <>
constexpr auto kUnits<WattsKind> = std::span<const Unit>(kWattUnits);
template <>
constexpr auto kUnits<FlopsKind> = std::span<const Unit>(kFlopUnits);

std::string names_of(std::span<const Unit> units) {
  std::vector<std::string_view> names;
  for (const auto& unit : units) {
    if (unit.shown) names.push_back(unit.name);
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
  const auto units = kUnits<Kind>;
  const auto number_end = text.find_first_not_of("0123456789.eE+-");
  // "5e3" may be followed by a unit that starts with E or e: none does.
  const auto number = parse_number(text.substr(0, number_end));
  if (!number || *number < 0) {
    return make_error(fmt::format(
        "expected a number with a unit ({}), got \"{}\"", names_of(units), printable(text, 40)));
  }
  std::string_view name = number_end == std::string_view::npos ? "" : text.substr(number_end);
  if (name.starts_with(' ')) name.remove_prefix(1);
  for (const auto& unit : units) {
    if (unit.name == name) return Quantity<Kind>{*number * unit.factor};
  }
  if (name.empty()) {
    return make_error(
        fmt::format("\"{}\" has no unit; write one of {}", printable(text, 40), names_of(units)));
  }
  return make_error(fmt::format("\"{}\" has the unknown unit \"{}\"; write one of {}",
                                printable(text, 40),
                                printable(name, 20),
                                names_of(units)));
}

template <class Kind>
std::string to_string(Quantity<Kind> quantity) {
  const auto units = kUnits<Kind>;
  const Unit* chosen = nullptr;
  for (const auto& unit : units) {
    if (!unit.shown) continue;
    if (chosen == nullptr || quantity.value >= unit.factor) chosen = &unit;
  }
  if (quantity.value == 0) {  // in the base unit: "0 s", not "0 us"
    for (const auto& unit : units) {
      if (unit.factor == 1) chosen = &unit;
    }
  }
  const bool spaced = chosen->name != "%";
  return fmt::format(
      "{}{}{}", shortest(quantity.value / chosen->factor), spaced ? " " : "", chosen->name);
}

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

}  // namespace muster
