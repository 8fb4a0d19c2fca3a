// SPDX-License-Identifier: Apache-2.0
#include "checks/app/limits_of.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>

#include "lib/base/text.hpp"
#include "lib/profile/limits/all.hpp"

namespace muster::app {
namespace {

template <class Struct, class T>
T member_type(T Struct::*);

template <class T>
constexpr bool kIsLimit = false;
template <class T>
constexpr bool kIsLimit<Limit<T>> = true;

template <Described T>
void add_keys(std::string_view prefix, std::vector<LimitKey>& keys) {
  for_each_field<T>([&](const auto& each) {
    using Member = decltype(member_type(each.member));
    if constexpr (Described<Member>) {
      add_keys<Member>(fmt::format("{}{}.", prefix, each.name), keys);
    } else {
      keys.push_back({.name = fmt::format("{}{}", prefix, each.name),
                      .about = std::string(each.about),
                      .optional = kIsLimit<Member>});
    }
  });
}

template <Described Group>
void add_check(std::string_view name, std::vector<LimitKey>& keys) {
  for_each_field<Group>([&](const auto& each) {
    if (each.name != name) return;
    using Block = decltype(member_type(each.member));
    add_keys<Block>("", keys);
  });
}

// The groups are the members of a profile whose members are the checks' blocks.
template <class T>
concept GroupOfChecks = std::is_same_v<T, Owned<HostLimits>> ||
    std::is_same_v<T, Owned<PciLimits>> || std::is_same_v<T, Owned<GpuLimits>> ||
    std::is_same_v<T, Owned<IbLimits>> || std::is_same_v<T, Owned<TopoLimits>> ||
    std::is_same_v<T, Owned<EnvLimits>> || std::is_same_v<T, Owned<MusterLimits>>;

constexpr std::size_t kLongestValue = 4096;

std::size_t leading_digits(std::string_view text) {
  return std::min(text.find_first_not_of("0123456789"), text.size());
}

}  // namespace

std::vector<LimitKey> limit_keys(std::string_view check) {
  const auto dot = check.find('.');
  const auto group = check.substr(0, dot);
  const auto name = dot == std::string_view::npos ? std::string_view() : check.substr(dot + 1);
  std::vector<LimitKey> keys;
  for_each_field<Profile>([&](const auto& each) {
    using Member = decltype(member_type(each.member));
    if constexpr (GroupOfChecks<Member>) {
      using Group = std::remove_reference_t<decltype(*std::declval<Member&>())>;
      if (each.name == group) add_check<Group>(name, keys);
    }
  });
  return keys;
}

std::vector<std::pair<std::string, LimitValue>> values_at(const Profile& profile,
                                                          std::string_view path) {
  std::vector<std::pair<std::string, LimitValue>> found;
  const auto below = fmt::format("{}.", path);
  for (const auto& [at, value] : profile.values) {
    if (!path.empty() && at != path && !at.starts_with(below)) continue;
    const auto origin = profile.origins.find(at);
    found.emplace_back(
        at,
        LimitValue{.value = value,
                   .origin = origin == profile.origins.end() ? Origin{} : origin->second});
  }
  std::ranges::sort(found,
                    [](const auto& a, const auto& b) { return comes_before(a.first, b.first); });
  return found;
}

bool comes_before(std::string_view a, std::string_view b) {
  while (!a.empty() && !b.empty()) {
    const auto digits = std::pair{leading_digits(a), leading_digits(b)};
    if (digits.first > 0 && digits.second > 0) {
      const auto left = a.substr(0, digits.first);
      const auto right = b.substr(0, digits.second);
      // A shorter number is a smaller one: keys have no leading zeros.
      if (left.size() != right.size()) return left.size() < right.size();
      if (left != right) return left < right;
      a.remove_prefix(left.size());
      b.remove_prefix(right.size());
      continue;
    }
    if (a.front() != b.front()) return a.front() < b.front();
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
  return a.empty() && !b.empty();
}

std::string shown_value(std::string_view value) {
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 ./_%+-=@";
  const bool list = value.size() >= 2 && value.front() == '[' && value.back() == ']';
  const bool plain = !value.empty() && value.front() != ' ' && value.back() != ' ' &&
                     value.find_first_not_of(kPlain) == std::string_view::npos;
  auto text = printable(value, kLongestValue);
  if (list || plain) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted.push_back('\\');
    quoted.push_back(c);
  }
  quoted.push_back('"');
  return quoted;
}

std::string place_of(const Origin& origin) {
  return printable(origin.line > 0 ? fmt::format("{}:{}", origin.file, origin.line) : origin.file,
                   kLongestValue);
}

std::string source_of(const Origin& origin) {
  const auto* separator = origin.source.empty() || origin.as_of.empty() ? "" : ", ";
  const auto date = origin.as_of.empty() ? std::string() : fmt::format("as of {}", origin.as_of);
  return printable(fmt::format("{}{}{}", origin.source, separator, date), kLongestValue);
}

}  // namespace muster::app
