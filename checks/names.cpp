// SPDX-License-Identifier: Apache-2.0
#include "checks/names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "checks/catalogue.hpp"
#include "lib/base/text.hpp"
#include "lib/profile/limits/host.hpp"
#include "lib/profile/yaml.hpp"

namespace muster {
namespace {

const std::vector<std::string>& probe_names() {
  static const std::vector<std::string> names(kProbeNames.begin(), kProbeNames.end());
  return names;
}

bool is_known_check(const std::string& entry) {
  if (names_check(entry)) return true;
  const bool is_glob = entry.find_first_of("*?") != std::string::npos;
  const auto dot = entry.find('.');
  const auto group = std::string_view(entry).substr(0, dot + 1);
  return is_glob && dot != std::string::npos &&
         std::ranges::any_of(check_ids(), [&](const auto& id) { return id.starts_with(group); });
}

tl::unexpected<Error> wrong(const Profile& profile, const std::string& path,
                            const std::string& entry, std::string_view kind,
                            const std::vector<std::string>& known) {
  const auto origin = profile.origins.find(path);
  const auto where =
      origin == profile.origins.end() ? profile.name : at(origin->second.file, origin->second.line);
  const auto near = nearest(entry, known);
  return make_error(fmt::format("{}: '{}' names unknown {} \"{}\"{}", where, path, kind,
                                printable(entry, 80),
                                near.empty() ? "" : fmt::format("; did you mean '{}'?", near)));
}

Result<void> check_context(const Profile& profile, const std::string& name,
                           const Context& context) {
  const std::array<std::pair<std::string_view, const Words*>, 3> lists{
      {{"run", &context.run}, {"skip", &context.skip}, {"count_unknown", &context.count_unknown}}};
  for (const auto& [key, entries] : lists) {
    const auto unknown = std::ranges::find_if_not(*entries, is_known_check);
    if (unknown == entries->end()) continue;
    return wrong(profile, fmt::format("contexts.{}.{}", name, key), *unknown, "check", check_ids());
  }
  return {};
}

}  // namespace

Result<void> check_names(const Profile& profile) {
  for (const auto& [name, context] : profile.contexts) {
    if (auto done = check_context(profile, name, context); !done) return done;
  }
  for (const auto& probe : profile.muster->probes.fatal) {
    if (std::ranges::count(probe_names(), probe) > 0) continue;
    return wrong(profile, "muster.probes.fatal", probe, "probe", probe_names());
  }
  return {};
}

Result<Profile> read_profile_of(const ProfileSources& sources, std::string_view name) {
  auto profile = load_profile(sources, name);
  if (!profile) return profile;
  if (auto known = check_names(*profile); !known) return tl::unexpected(known.error());
  return profile;
}

const std::vector<std::string>& check_ids() {
  static const std::vector<std::string> ids = [] {
    std::vector<std::string> all;
    all.reserve(checks::kAll.size());
    for (const Check* check : checks::kAll) all.emplace_back(check->id);
    return all;
  }();
  return ids;
}

bool names_check(std::string_view glob) {
  return std::ranges::any_of(check_ids(),
                             [&](const std::string& id) { return matches_glob(glob, id); });
}

}  // namespace muster
