// SPDX-License-Identifier: Apache-2.0
#include "lib/profile/load.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "lib/base/text.hpp"
#include "lib/profile/layers.hpp"
#include "lib/profile/sources.hpp"
#include "lib/profile/yaml.hpp"

namespace muster {
namespace {

constexpr std::size_t kMaxChain = 16;  // profiles that extend one another

struct Document {
  ProfileFile file;
  Yaml yaml;

  [[nodiscard]] tl::unexpected<Error> wrong_parent(std::string_view why) const {
    const int line = yaml.find("extends")->line;
    return make_error(fmt::format("{}: 'extends': {}", at(file.shown, line), why));
  }
};

// Fails if `file` is already in the chain.
Result<void> refuse_cycle(const std::vector<Document>& chain, const ProfileFile& file) {
  const auto again = std::ranges::find_if(chain, [&](const Document& each) {
    return each.file.path == file.path && each.file.carried == file.carried;
  });
  if (again == chain.end()) return {};
  std::string cycle;
  for (auto each = again; each != chain.end(); ++each) {
    cycle += fmt::format("{} -> ", each->file.shown);
  }
  return chain.back().wrong_parent(fmt::format("a cycle: {}{}", cycle, again->file.shown));
}

// Reads the profile, what it extends, and so on.
Result<std::vector<Document>> read_chain(const ProfileSources& sources, std::string_view name) {
  TRY_ASSIGN(const auto index, list_profiles(sources));
  TRY_ASSIGN(auto file, find_profile(sources, index, name));
  std::vector<Document> chain;
  while (true) {
    TRY(refuse_cycle(chain, file));
    TRY_ASSIGN(auto document, read_profile(file));
    chain.push_back({std::move(file), std::move(document)});
    const Document& last = chain.back();
    TRY_ASSIGN(const auto parent, extends_of(last.yaml, last.file));
    if (parent.empty()) return chain;
    if (chain.size() == kMaxChain) {
      return last.wrong_parent(fmt::format("more than {} levels", kMaxChain));
    }
    auto found = find_profile(sources, index, parent, &last.file);
    if (!found) return last.wrong_parent(found.error().message);
    file = *std::move(found);
  }
}

Result<void> add_files(const ProfileSources& sources, const std::vector<Document>& chain,
                       Layers& layers) {
  const ProfileFile defaults = defaults_file(sources);
  TRY_ASSIGN(const auto document, read_profile(defaults));
  TRY_ASSIGN(const auto parent, parent_of_defaults(defaults, document));
  if (parent) {
    TRY_ASSIGN(const auto below, read_profile(*parent));
    TRY(layers.add_file(below, parent->shown, true));
  }
  TRY(layers.add_file(document, defaults.shown, true));
  for (auto each = chain.rbegin(); each != chain.rend(); ++each) {
    TRY(layers.add_file(each->yaml, each->file.shown, false));
  }
  return {};
}

// Blocks of checks and benchmarks need a source; policies and the other keys of a profile do not.
bool needs_source(std::string_view path) {
  const std::string_view group = path.substr(0, path.find('.'));
  const std::string_view key = path.substr(path.rfind('.') + 1);
  constexpr std::array<std::string_view, 4> kOthers{"summary", "aliases", "recognise", "contexts"};
  return std::ranges::count(kOthers, group) == 0 && find_field(fields_of<Policy>(), key) == nullptr;
}

}  // namespace

Result<Profile> load_profile(const ProfileSources& sources, std::string_view name) {
  TRY_ASSIGN(const auto chain, read_chain(sources, name));
  Profile profile;
  profile.name = chain.front().file.stem;
  Layers layers(profile);
  TRY(add_files(sources, chain, layers));
  TRY_ASSIGN(const auto site, read_site(sources));
  if (site.overrides.kind != Yaml::Kind::null) {
    TRY(layers.add_overrides(site.overrides, site.shown));
  }
  for (const auto& setting : sources.settings) TRY(layers.add_setting(setting));
  TRY(layers.check_rules());
  return profile;
}

std::vector<std::string> review(const Profile& profile) {
  std::vector<std::string> warnings;
  std::set<std::string> blocks;
  for (const auto& [path, origin] : profile.origins) {
    if (!origin.source.empty() || !needs_source(path)) continue;
    const std::string block = path.substr(0, path.find('.', path.find('.') + 1));
    if (!blocks.insert(block).second) continue;
    warnings.push_back(fmt::format("{}: '{}' has no source", at(origin.file, origin.line), block));
  }
  return warnings;
}

Result<std::vector<std::string>> profile_names(const ProfileSources& sources) {
  std::vector<std::string> names;
  TRY_ASSIGN(const auto files, list_profiles(sources));
  for (const auto& [stem, file] : files) {
    names.push_back(stem);
    const auto document = read_sections(file, {"aliases"});
    const Yaml* aliases = document ? document->find("aliases") : nullptr;
    if (aliases == nullptr) continue;
    for (const auto& alias : aliases->items) names.push_back(alias.text);
  }
  std::ranges::sort(names);
  return names;
}

Result<SiteChoice> site_profile(const ProfileSources& sources) {
  TRY_ASSIGN(const auto site, read_site(sources));
  return SiteChoice{.profile = site.profile, .place = at(site.shown, site.profile_line)};
}

bool well_formed_setting(std::string_view text) {
  const std::string_view key = text.substr(0, text.find('='));
  if (key.empty() || key.size() == text.size()) return false;
  if (key.starts_with('.') || key.ends_with('.')) return false;
  return std::ranges::all_of(key, [](char c) { return c > ' ' && c < 0x7f; });
}

}  // namespace muster
