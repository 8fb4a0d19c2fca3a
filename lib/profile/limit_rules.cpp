// SPDX-License-Identifier: Apache-2.0
#include "lib/profile/limit_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <concepts>
#include <map>
#include <string_view>
#include <utility>

#include "lib/profile/limits/all.hpp"

namespace muster {
namespace {

struct Number {
  double value = 0;
  std::string shown;
  bool share = false;
  bool time = false;
};

// Every number of a profile by its path.
class Numbers {
 public:
  template <Described T>
  void add(const std::string& path, const T& block) {
    for_each_field<T>([&](const auto& each) {
      add(path.empty() ? std::string(each.name) : fmt::format("{}.{}", path, each.name),
          block.*each.member);
    });
  }

  template <class Kind>
  void add(const std::string& path, const Quantity<Kind>& quantity) {
    found_[path] = {.value = quantity.value,
                    .shown = to_string(quantity),
                    .share = std::same_as<Quantity<Kind>, Percent>,
                    .time = std::same_as<Quantity<Kind>, Seconds>};
  }

  template <class T>
  void add(const std::string& path, const Owned<T>& group) {
    add(path, *group);
  }

  template <class T>
  void add(const std::string& path, const Limit<T>& limit) {
    if (limit) add(path, *limit);
  }

  template <class T>
  void add(const std::string& path, const std::map<std::string, T>& blocks) {
    for (const auto& [key, block] : blocks) add(fmt::format("{}.{}", path, key), block);
  }

  void add(const std::string& path, double number) {
    found_[path] = {.value = number, .shown = fmt::format("{:g}", number)};
  }

  void add(const std::string& path, int number) { add(path, static_cast<double>(number)); }

  // What is no number has no order.
  void add(const std::string& /*path*/, bool /*value*/) {}

  void add(const std::string& /*path*/, const std::string& /*value*/) {}

  template <class T>
  void add(const std::string& /*path*/, const std::vector<T>& /*values*/) {}

  [[nodiscard]] const std::map<std::string, Number>& found() const { return found_; }

 private:
  std::map<std::string, Number> found_;
};

// "host.disk.inodes_warn_above" to "host.disk.inodes_fail_above"; empty where it is no warning.
std::string failure_of(std::string_view path, std::string_view suffix) {
  constexpr std::string_view kWarn = "warn_";
  const auto warn = path.rfind(kWarn);
  if (warn == std::string_view::npos || warn < path.rfind('.')) return {};
  const auto rest = path.substr(warn + kWarn.size());
  if (!rest.starts_with(suffix)) return {};
  return fmt::format("{}fail_{}", path.substr(0, warn), rest);
}

std::optional<BrokenLimit> judge_order(const Numbers& numbers,
                                       const std::string& path,
                                       const Number& warn) {
  for (const std::string_view side : {"above", "below"}) {
    const auto failure = failure_of(path, side);
    const auto fail = numbers.found().find(failure);
    if (failure.empty() || fail == numbers.found().end()) continue;
    const double beyond = fail->second.value - warn.value;
    if (side == "above" ? beyond >= 0 : beyond <= 0) continue;
    return BrokenLimit{path,
                       fmt::format("is {}; it never warns before '{}' of {} fails",
                                   warn.shown,
                                   failure.substr(failure.rfind('.') + 1),
                                   fail->second.shown)};
  }
  return std::nullopt;
}

std::optional<BrokenLimit> judge_number(const Profile& profile,
                                        const std::string& path,
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
  for_each_field<Profile>([&](const auto& each) {
    // Its limits have an order of their own.
    if (each.name != "bench") numbers.add(std::string(each.name), profile.*each.member);
  });
  for (const auto& [path, number] : numbers.found()) {
    if (auto broken = judge_number(profile, path, number)) return broken;
    if (auto broken = judge_order(numbers, path, number)) return broken;
  }
  return std::nullopt;
}

}  // namespace muster
