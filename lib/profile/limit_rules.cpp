// SPDX-License-Identifier: Apache-2.0
#include "lib/profile/limit_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <string_view>
#include <utility>

#include "lib/profile/types.hpp"

namespace muster {
namespace {

struct Number {
  double value = 0;
  std::string shown;
  bool share = false;
  bool time = false;
};

using Numbers = std::map<std::string, Number>;  // by path

// Adds what has an order: all numbers of a value, and none of its lists.
// NOLINTNEXTLINE(misc-no-recursion): as deep as the types of a profile
void collect(const std::string& path, const Type& type, const void* value, Numbers& found) {
  using Shape = Type::Shape;
  const auto add = [&](double number, std::string shown) {
    found[path] = {
        .value = number, .shown = std::move(shown), .share = type.share, .time = type.time};
  };
  switch (type.shape) {
    case Shape::whole:
      add(*static_cast<const int*>(value),
          fmt::format("{:g}", static_cast<double>(*static_cast<const int*>(value))));
      return;
    case Shape::number:
      add(*static_cast<const double*>(value),
          fmt::format("{:g}", *static_cast<const double*>(value)));
      return;
    case Shape::quantity:
      add(*static_cast<const double*>(value), type.show(*static_cast<const double*>(value)));
      return;
    case Shape::limit:
    case Shape::owned:
    case Shape::map:
      type.each(value, [&](const std::string& key, const void* item) {
        const bool keyed = type.shape == Shape::map;
        collect(keyed ? fmt::format("{}.{}", path, key) : path, *type.item, item, found);
      });
      return;
    case Shape::block:
      for (const auto& member : type.members) {
        collect(fmt::format("{}.{}", path, member.name), *member.type,
                static_cast<const std::byte*>(value) + member.offset, found);
      }
      return;
    case Shape::truth:
    case Shape::text:
    case Shape::word:
    case Shape::words:
    case Shape::list:
      return;
  }
}

// "host.disk.inodes_warn_above" to "host.disk.inodes_fail_above"; empty where
// it is no warning.
std::string failure_of(std::string_view path, std::string_view suffix) {
  constexpr std::string_view kWarn = "warn_";
  const auto warn = path.rfind(kWarn);
  if (warn == std::string_view::npos || warn < path.rfind('.')) return {};
  const auto rest = path.substr(warn + kWarn.size());
  if (!rest.starts_with(suffix)) return {};
  return fmt::format("{}fail_{}", path.substr(0, warn), rest);
}

std::optional<BrokenLimit> judge_order(const Numbers& numbers, const std::string& path,
                                       const Number& warn) {
  for (const std::string_view side : {"above", "below"}) {
    const auto failure = failure_of(path, side);
    const auto fail = numbers.find(failure);
    if (failure.empty() || fail == numbers.end()) continue;
    const double beyond = fail->second.value - warn.value;
    if (side == "above" ? beyond >= 0 : beyond <= 0) continue;
    return BrokenLimit{path,
                       fmt::format("is {}; it never warns before '{}' of {} fails", warn.shown,
                                   failure.substr(failure.rfind('.') + 1), fail->second.shown)};
  }
  return std::nullopt;
}

std::optional<BrokenLimit> judge_number(const Profile& profile, const std::string& path,
                                        const Number& number) {
  constexpr double kWhole = 100;
  if (number.share && number.value >= kWhole) {
    return BrokenLimit{path, fmt::format("is {}; it must be below 100%", number.shown)};
  }
  constexpr std::array<std::string_view, 3> kLengths{".window", ".deadline", ".answer_within"};
  const bool has_length =
      std::ranges::any_of(kLengths, [&](std::string_view each) { return path.ends_with(each); });
  // What no file sets is not judged by.
  if (number.time && has_length && number.value <= 0 && profile.origins.contains(path)) {
    return BrokenLimit{path, fmt::format("is {}; it must be above 0 s", number.shown)};
  }
  return std::nullopt;
}

}  // namespace

std::optional<BrokenLimit> find_broken_limit(const Profile& profile) {
  Numbers numbers;
  for (const auto& member : profile_type().members) {
    if (member.name == "bench") continue;  // its limits have an order of their own
    const auto* value = static_cast<const std::byte*>(static_cast<const void*>(&profile));
    collect(std::string(member.name), *member.type, value + member.offset, numbers);
  }
  for (const auto& [path, number] : numbers) {
    if (auto broken = judge_number(profile, path, number)) return broken;
    if (auto broken = judge_order(numbers, path, number)) return broken;
  }
  return std::nullopt;
}

}  // namespace muster
