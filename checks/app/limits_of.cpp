// SPDX-License-Identifier: Apache-2.0
#include "checks/app/limits_of.hpp"

#include <fmt/format.h>

#include <type_traits>

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
concept GroupOfChecks = std::is_same_v<T, HostLimits> || std::is_same_v<T, PciLimits> ||
    std::is_same_v<T, GpuLimits> || std::is_same_v<T, IbLimits> || std::is_same_v<T, TopoLimits> ||
    std::is_same_v<T, EnvLimits> || std::is_same_v<T, MusterLimits>;

}  // namespace

std::vector<LimitKey> limit_keys(std::string_view check) {
  const auto dot = check.find('.');
  const auto group = check.substr(0, dot);
  const auto name = dot == std::string_view::npos ? std::string_view() : check.substr(dot + 1);
  std::vector<LimitKey> keys;
  for_each_field<Profile>([&](const auto& each) {
    using Member = decltype(member_type(each.member));
    if constexpr (GroupOfChecks<Member>) {
      if (each.name == group) add_check<Member>(name, keys);
    }
  });
  return keys;
}

std::map<std::string, LimitValue> values_at(const Profile& profile, std::string_view path) {
  std::map<std::string, LimitValue> found;
  const auto below = fmt::format("{}.", path);
  for (auto each = profile.values.lower_bound(std::string(path)); each != profile.values.end();
       ++each) {
    if (each->first != path && !each->first.starts_with(below)) {
      // "host.disk_x" sorts between "host.disk" and "host.disk.y".
      if (!each->first.starts_with(path)) break;
      continue;
    }
    const auto origin = profile.origins.find(each->first);
    found[each->first] = {.value = each->second,
                          .origin = origin == profile.origins.end() ? Origin{} : origin->second};
  }
  return found;
}

}  // namespace muster::app
