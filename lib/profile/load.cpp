// SPDX-License-Identifier: Apache-2.0
#include "lib/profile/load.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "lib/base/text.hpp"
#include "lib/profile/layers.hpp"
#include "lib/profile/rules.hpp"
#include "lib/profile/sources.hpp"
#include "lib/profile/yaml.hpp"

namespace muster {
namespace {

constexpr std::size_t kMaxChain = 16;

struct Document {
  ProfileFile file;
  Yaml yaml;
};

std::string path_of_cycle(const std::vector<Document>& chain) {
  std::string path;
  for (const auto& document : chain) path += fmt::format("{} -> ", document.file.shown);
  return path + chain.front().file.shown;
}

bool is_same(const ProfileFile& a, const ProfileFile& b) {
  return a.path == b.path && a.carried == b.carried;
}

// Where `chain` comes back to a file that is in it.
Result<void> refuse_cycle(const std::vector<Document>& chain, const ProfileFile& file) {
  const auto again =
      std::ranges::find_if(chain, [&](const Document& each) { return is_same(each.file, file); });
  if (again == chain.end()) return {};
  return make_error(
      fmt::format("{}: 'extends' goes in a circle: {}",
                  at(chain.back().file.shown, chain.back().yaml.find("extends")->line),
                  path_of_cycle({again, chain.end()})));
}

// What a document extends; nothing where it extends nothing.
Result<std::optional<ProfileFile>> parent_of(const ProfileSources& sources,
                                             const ProfileIndex& index, const Document& child) {
  TRY_ASSIGN(const auto name, extends_of(child.yaml, child.file));
  if (name.empty()) return std::nullopt;
  auto file = find_profile(sources, index, name, &child.file);
  if (file) return *std::move(file);
  return make_error(fmt::format("{}: 'extends': {}",
                                at(child.file.shown, child.yaml.find("extends")->line),
                                file.error().message));
}

// The profile, what it extends, what that extends, and so on.
Result<std::vector<Document>> read_chain(const ProfileSources& sources, std::string_view name) {
  TRY_ASSIGN(const auto index, list_profiles(sources));
  auto file = find_profile(sources, index, name);
  if (!file) return tl::unexpected(file.error());
  std::vector<Document> chain;
  while (true) {
    if (auto fine = refuse_cycle(chain, *file); !fine) return tl::unexpected(fine.error());
    TRY_ASSIGN(auto document, read_profile(*file));
    chain.push_back({*std::move(file), std::move(document)});

    const Document& last = chain.back();
    TRY_ASSIGN(auto parent, parent_of(sources, index, last));
    if (!parent) return chain;
    if (chain.size() == kMaxChain) {
      return make_error(
          fmt::format("{}: 'extends' goes on for {} files", last.file.shown, kMaxChain));
    }
    file = *std::move(parent);
  }
}

Result<void> lay_files(const ProfileSources& sources, const std::vector<Document>& chain,
                       Layers& layers) {
  const ProfileFile defaults = defaults_file(sources);
  TRY_ASSIGN(const auto document, read_profile(defaults));
  TRY_ASSIGN(const auto below, below_defaults(defaults, document));
  Result<void> done;
  if (below) {
    TRY_ASSIGN(const auto first, read_profile(*below));
    done = layers.add_file(first, (below)->shown, true);
  }
  if (done) done = layers.add_file(document, defaults.shown, true);
  for (auto each = chain.rbegin(); done && each != chain.rend(); ++each) {
    done = layers.add_file(each->yaml, each->file.shown, false);
  }
  return done;
}

Result<void> lay_choices(const ProfileSources& sources, Layers& layers) {
  TRY_ASSIGN(const auto site, read_site(sources));
  Result<void> done;
  if (site.overrides.kind != Yaml::Kind::null) {
    done = layers.add_overrides(site.overrides, site.shown);
  }
  for (const auto& setting : sources.settings) {
    if (done) done = layers.add_setting(setting);
  }
  return done;
}

}  // namespace

Result<Profile> load_profile(const ProfileSources& sources, std::string_view name) {
  TRY_ASSIGN(const auto chain, read_chain(sources, name));
  Profile profile;
  profile.name = chain.front().file.stem;
  Layers layers(profile);
  if (auto done = lay_files(sources, chain, layers); !done) return tl::unexpected(done.error());
  if (auto done = lay_choices(sources, layers); !done) return tl::unexpected(done.error());
  if (auto done = check_rules(profile); !done) return tl::unexpected(done.error());
  return profile;
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
