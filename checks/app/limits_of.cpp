// SPDX-License-Identifier: Apache-2.0
#include "checks/app/limits_of.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "checks/run.hpp"
#include "lib/base/text.hpp"
#include "lib/profile/binder.hpp"
#include "lib/profile/yaml.hpp"

namespace muster::app {
namespace {

// NOLINTNEXTLINE(misc-no-recursion): as deep as the types of a profile
void add_keys(std::string_view prefix, BoundFields block, std::vector<LimitKey>& keys) {
  for (const auto& field : block) {
    const auto name = fmt::format("{}{}", prefix, field.name);
    if (field.inside != nullptr) {
      add_keys(fmt::format("{}.", name), field.inside(), keys);
    } else {
      keys.push_back({.name = name, .about = std::string(field.about), .optional = field.optional});
    }
  }
}

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
  const auto* of_group = find_field(profile_fields(), group);
  if (of_group == nullptr || !of_group->group) return keys;
  const auto* block = find_field(of_group->inside(), name);
  if (block != nullptr && block->inside != nullptr) add_keys("", block->inside(), keys);
  return keys;
}

std::vector<std::string> contexts_of(const Profile& profile, const Check& check, bool running) {
  std::vector<std::string> names;
  for (const auto& [name, context] : profile.contexts) {
    const auto selected = select_checks(profile, {.context = name});
    if ((std::ranges::count(selected, &check) > 0) == running) names.push_back(name);
  }
  return names;
}

std::vector<std::pair<std::string, LimitValue>> values_at(const Profile& profile,
                                                          std::string_view path) {
  std::vector<std::pair<std::string, LimitValue>> found;
  const auto below = fmt::format("{}.", path);
  for (const auto& [at, value] : profile.values) {
    if (!path.empty() && at != path && !at.starts_with(below)) continue;
    const auto origin = profile.origins.find(at);
    found.emplace_back(
        at, LimitValue{.value = value,
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
      // Keys have no leading zeros, so a shorter number is smaller.
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
  return printable(at(origin.file, origin.line), kLongestValue);
}

std::string source_of(const Origin& origin) {
  const auto* separator = origin.source.empty() || origin.as_of.empty() ? "" : ", ";
  const auto date = origin.as_of.empty() ? std::string() : fmt::format("as of {}", origin.as_of);
  return printable(fmt::format("{}{}{}", origin.source, separator, date), kLongestValue);
}

}  // namespace muster::app
