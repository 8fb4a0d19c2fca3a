// SPDX-License-Identifier: Apache-2.0
// What is odd about a profile that loads.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lib/profile/ceilings.hpp"
#include "lib/profile/load.hpp"
#include "lib/profile/types.hpp"
#include "lib/profile/yaml.hpp"

namespace muster {
namespace {

// Nothing that is measured comes nearer to its ceiling than this (links reach
// 96 to 98%).
constexpr double kNearCeiling = 0.98;

// Blocks of the checks and of bench say where their values come from; what a
// run does needs no witness.
bool needs_source(std::string_view path) {
  const std::string_view group = path.substr(0, path.find('.'));
  const std::string_view key = path.substr(path.rfind('.') + 1);
  constexpr std::array<std::string_view, 4> kOthers{"summary", "aliases", "recognise", "contexts"};
  return std::ranges::count(kOthers, group) == 0 && policy_type().find(key) == nullptr;
}

std::string location_of(const Profile& profile, const std::string& path) {
  const auto origin = profile.origins.find(path);
  if (origin == profile.origins.end()) return profile.name;
  return at(origin->second.file, origin->second.line);
}

}  // namespace

std::vector<std::string> review(const Profile& profile) {
  std::vector<std::string> warnings;
  for (const auto& limit : bounded_limits(profile)) {
    const bool judged = limit.path.ends_with("_below");
    if (!judged || limit.of_ceiling <= kNearCeiling) continue;
    warnings.push_back(fmt::format("{}: '{}' is {}, {:.1f}% of its physical ceiling of {} ({})",
                                   location_of(profile, limit.path), limit.path, limit.limit,
                                   limit.of_ceiling * 100, limit.ceiling, limit.because));
  }
  std::set<std::string> blocks;
  for (const auto& [path, origin] : profile.origins) {
    if (!origin.source.empty() || !needs_source(path)) continue;
    const std::string block = path.substr(0, path.find('.', path.find('.') + 1));
    if (!blocks.insert(block).second) continue;
    warnings.push_back(fmt::format("{}: '{}' has no source", at(origin.file, origin.line), block));
  }
  return warnings;
}

}  // namespace muster
