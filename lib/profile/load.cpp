// SPDX-License-Identifier: Apache-2.0
#include "lib/profile/load.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "lib/base/text.hpp"
#include "lib/profile/layers.hpp"
#include "lib/profile/yaml.hpp"

namespace muster {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".yaml";
constexpr std::string_view kFolder = "profiles";  // of the profiles that are carried
constexpr std::string_view kSiteSchema = "muster.site/1";

ProfileFile file_of(fs::path path, std::string shown, bool of_site = false,
                    const ShippedFile* carried = nullptr) {
  std::string stem = path.stem().string();
  return {std::move(path), std::move(shown), std::move(stem), of_site, carried};
}

ProfileFile carried_file(const ShippedFile& file) {
  return file_of(file.name, std::string(file.name), false, &file);
}

std::string shown_name(const fs::path& folder, const fs::path& file) {
  const fs::path plain = (folder / "").lexically_normal().parent_path();
  return (plain.filename() / file.filename()).string();
}

// Adds the profiles in a folder that are not in `found`. The site's folder need not exist.
Result<void> list_folder(const fs::path& folder, bool of_site, ProfileIndex& found) {
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  if (error == std::errc::no_such_file_or_directory && of_site) return {};
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const fs::path& path = entry->path();
    auto file = file_of(path, of_site ? path.string() : shown_name(folder, path), of_site);
    const bool hidden = file.stem.starts_with('.');  // an editor's temporary file
    if (path.extension() != kSuffix || hidden || file.stem == kDefaults) continue;
    found.try_emplace(file.stem, file);
  }
  if (error) return make_error("list {}: {}", folder.string(), error.message());
  return {};
}

// The file that the program carries under that name, or null.
const ShippedFile* carried_at(const fs::path& path) {
  const auto files = shipped_files();
  const auto found = std::ranges::find(files, path.native(), &ShippedFile::name);
  return found == files.end() ? nullptr : &*found;
}

std::string_view text_of(ShippedWord word) { return shipped_words().substr(word.begin, word.size); }

// NOLINTNEXTLINE(misc-no-recursion): as deep as the tree
Yaml tree_of(std::span<const ShippedNode> nodes, const std::vector<std::string_view>& sections) {
  const ShippedNode& top = nodes.front();
  Yaml tree{.kind = top.kind, .line = top.line, .text = std::string(text_of(top.text))};
  std::size_t children = 0;
  for (std::size_t i = 1; i < nodes.size(); i += nodes[i].size) ++children;
  if (tree.kind == Yaml::Kind::mapping) {
    tree.entries.reserve(children);
  } else {
    tree.items.reserve(children);
  }
  for (std::size_t i = 1; i < nodes.size(); i += nodes[i].size) {
    const ShippedNode& below = nodes[i];
    if (!sections.empty() && std::ranges::count(sections, text_of(below.key)) == 0) continue;
    auto value = tree_of(nodes.subspan(i, below.size), {});
    if (tree.kind == Yaml::Kind::mapping) {
      tree.entries.push_back({std::string(text_of(below.key)), below.key_line, std::move(value)});
    } else {
      tree.items.push_back(std::move(value));
    }
  }
  return tree;
}

Result<void> list_shipped(const ProfileSources& sources, ProfileIndex& found) {
  if (!sources.shipped.empty()) return list_folder(sources.shipped, false, found);
  for (const auto& each : shipped_files()) {
    ProfileFile file = carried_file(each);
    if (file.path.parent_path() != kFolder || file.stem == kDefaults) continue;
    found.try_emplace(file.stem, file);
  }
  return {};
}

// An invalid file has none here, and is reported when its profile is loaded.
std::vector<std::string> aliases_of(const ProfileFile& file) {
  std::vector<std::string> aliases;
  const auto document = read_sections(file, {"aliases"});
  const Yaml* block = document ? document->find("aliases") : nullptr;
  if (block == nullptr) return aliases;
  for (const auto& alias : block->items) aliases.push_back(alias.text);
  return aliases;
}

Result<ProfileFile> find_alias(const ProfileIndex& files, std::string_view name) {
  std::vector<std::string> known;
  const auto plain = plain_profile_name(name);
  for (const auto& [stem, file] : files) {
    if (plain_profile_name(stem) == plain && stem != name) return file;
  }
  for (const auto& [stem, file] : files) {
    known.push_back(stem);
    for (const auto& alias : aliases_of(file)) {
      if (plain_profile_name(alias) == plain) return file;
      known.push_back(alias);
    }
  }
  const std::string near = nearest(plain, known);
  return make_missing(
      "unknown profile '{}'{}", printable(name, 80),
      near.empty() ? "; muster profiles lists them" : fmt::format("; did you mean '{}'?", near));
}

// The file at a path that is relative to the folder of `from`, if that is set.
ProfileFile file_at(const ProfileFile* from, std::string_view path) {
  const fs::path folder = from == nullptr ? fs::path() : from->path.parent_path();
  fs::path full = (folder / path).lexically_normal();
  if (from != nullptr && from->carried != nullptr) {
    if (const auto* carried = carried_at(full)) return carried_file(*carried);
  }
  return file_of(full, full.string());
}

// Returns the text at `key`; empty if the document has none.
Result<std::string> text_at(const Yaml& document, std::string_view key, std::string_view file) {
  const Yaml* value = document.find(key);
  if (value == nullptr) return std::string();
  if (value->kind == Yaml::Kind::scalar && !value->text.empty()) return value->text;
  return make_error("{}: '{}' must be text", at(file, value->line), key);
}

// A schema is optional, but must be the supported one.
Result<void> check_schema(const Yaml& document, std::string_view expected, std::string_view file) {
  TRY_ASSIGN(const auto schema, text_at(document, "schema", file));
  if (schema == expected || schema.empty()) return {};
  return make_error("{}: unsupported schema \"{}\", expected {}",
                    at(file, document.find("schema")->line), printable(schema, 60), expected);
}

Result<void> check_site_keys(const Yaml& document, std::string_view file) {
  static const std::vector<std::string> known{"schema", "profile", "overrides", "slurm", "repair"};
  for (const auto& [key, line, value] : document.entries) {
    if (std::ranges::count(known, key) > 0) continue;
    return make_error("{}: unknown key '{}'; {}", at(file, line), printable(key, 80),
                      hint(key, known));
  }
  return {};
}

constexpr std::size_t kMaxChain = 16;  // profiles that extend one another

struct Document {
  ProfileFile file;
  Yaml yaml;

  [[nodiscard]] tl::unexpected<Error> wrong_parent(std::string_view why) const {
    const int line = yaml.find("extends")->line;
    return make_error("{}: 'extends': {}", at(file.shown, line), why);
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

ProfileFile defaults_file(const ProfileSources& sources) {
  const std::string name = fmt::format("{}{}", kDefaults, kSuffix);
  if (sources.shipped.empty()) return carried_file(*carried_at(fs::path(kFolder) / name));
  return file_of(sources.shipped / name, shown_name(sources.shipped, name));
}

Result<void> add_files(const ProfileSources& sources, const std::vector<Document>& chain,
                       Layers& layers) {
  const ProfileFile defaults = defaults_file(sources);
  TRY_ASSIGN(const auto document, read_profile(defaults));
  TRY_ASSIGN(const auto parent, extends_of(document, defaults));
  if (!parent.empty()) {
    ProfileFile file = file_at(&defaults, parent);
    file.shown = file.path.filename().string();
    TRY_ASSIGN(const auto below, read_profile(file));
    TRY(layers.add_file(below, file.shown, true));
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

std::string plain_profile_name(std::string_view name) {
  constexpr std::string_view kPrefix = "standard_";
  const std::string plain = lower_case(name);
  return plain.starts_with(kPrefix) ? plain.substr(kPrefix.size()) : plain;
}

Result<ProfileIndex> list_profiles(const ProfileSources& sources) {
  ProfileIndex found;
  if (!sources.site.empty()) {
    TRY(list_folder(sources.site / "profiles", true, found));
  }
  TRY(list_shipped(sources, found));
  return found;
}

Result<ProfileFile> find_profile(const ProfileSources& sources, const ProfileIndex& index,
                                 std::string_view name, const ProfileFile* from) {
  if (name.find('/') != std::string_view::npos || name.ends_with(kSuffix)) {
    return file_at(from, name);
  }
  const auto found = index.find(std::string(name));
  if (found == index.end()) return find_alias(index, name);
  std::error_code ignored;  // an error means that they are not the same file
  if (from == nullptr || !fs::equivalent(found->second.path, from->path, ignored)) {
    return found->second;
  }
  ProfileIndex shipped;
  TRY(list_shipped(sources, shipped));
  const auto below = shipped.find(std::string(name));
  return below == shipped.end() ? find_alias(shipped, name) : below->second;
}

Result<Yaml> read_profile(const ProfileFile& file) {
  auto document = read_sections(file, {});
  if (!document) return document;
  if (document->kind != Yaml::Kind::mapping) {
    return make_error("{}: a profile must be a mapping", file.shown);
  }
  TRY(check_schema(*document, kProfileSchema, file.shown));
  TRY_ASSIGN(const auto name, text_at(*document, "name", file.shown));
  if (!name.empty() && name != file.stem) {
    return make_error(R"({}: the name is "{}", but the file's is "{}")",
                      at(file.shown, document->find("name")->line), printable(name, 80), file.stem);
  }
  return document;
}

Result<Yaml> read_sections(const ProfileFile& file, const std::vector<std::string_view>& sections) {
  if (file.carried != nullptr) return tree_of(file.carried->nodes, sections);
  TRY_ASSIGN(const auto text, read_yaml_text(file.path));
  return parse_yaml(text, file.shown);
}

Result<std::string> extends_of(const Yaml& document, const ProfileFile& file) {
  return text_at(document, "extends", file.shown);
}

Result<void> check_root(std::string_view root) {
  std::error_code failure;
  if (fs::is_directory(root, failure)) return {};
  return make_error("--root {}: {}", printable(root, 200),
                    failure ? failure.message() : "not a folder");
}

Result<SiteFile> read_site(const ProfileSources& sources) {
  SiteFile site;
  if (sources.site.empty()) return site;
  const fs::path path = sources.site / "muster.yaml";
  site.shown = path.string();
  const auto text = read_yaml_text(path);
  if (!text && text.error().missing) return site;
  if (!text) return tl::unexpected(text.error());
  TRY_ASSIGN(const auto document, parse_yaml(*text, site.shown));
  if (document.kind == Yaml::Kind::null) return site;
  if (document.kind != Yaml::Kind::mapping) {
    return make_error("{}: expected a mapping", at(site.shown, document.line));
  }
  TRY(check_site_keys(document, site.shown));
  TRY(check_schema(document, kSiteSchema, site.shown));
  TRY_ASSIGN(site.profile, text_at(document, "profile", site.shown));
  const auto block = [&](std::string_view key) {
    const Yaml* found = document.find(key);
    return found == nullptr ? Yaml{} : *found;
  };
  site.profile_line = block("profile").line;
  site.overrides = block("overrides");
  site.slurm = block("slurm");
  site.repair = block("repair");
  return site;
}

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
  for (const auto& [path, value] : profile.values) {
    const auto& origin = value.origin;
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
    std::ranges::move(aliases_of(file), std::back_inserter(names));
  }
  std::ranges::sort(names);
  return names;
}

bool well_formed_setting(std::string_view text) {
  const std::string_view key = text.substr(0, text.find('='));
  if (key.empty() || key.size() == text.size()) return false;
  if (key.starts_with('.') || key.ends_with('.')) return false;
  return std::ranges::all_of(key, [](char c) { return c > ' ' && c < 0x7f; });
}

}  // namespace muster
