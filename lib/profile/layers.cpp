// SPDX-License-Identifier: Apache-2.0
#include "lib/profile/layers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lib/profile/load.hpp"

namespace muster {
namespace {

// A group of checks: its blocks are `<group>.<name>`.
bool is_group(const BoundField& member) { return member.owned && member.name != "bench"; }

bool is_known_to_loader(std::string_view key) {
  return key == "schema" || key == "name" || key == "extends";
}

// [..], {..} and quoted text are YAML. All other text is the value itself, so that `*` and `: `
// need no quotes on a command line.
Result<Yaml> value_of_setting(std::string_view text) {
  const char first = text.empty() ? ' ' : text.front();
  if (std::string_view("[{\"'").find(first) != std::string_view::npos) {
    return parse_yaml(text, "--set");
  }
  if (text == "null" || text == "~") return Yaml{};
  return Yaml{.kind = Yaml::Kind::scalar, .text = std::string(text)};
}

// The members that say how a node is judged, as opposed to which profile this is.
std::vector<std::string> judging_keys() {
  std::vector<std::string> keys;
  for (const auto& field : profile_fields()) {
    if (field.owned || field.name == "contexts") keys.emplace_back(field.name);
  }
  return keys;
}

std::vector<std::string> keys_of_file() {
  auto keys = names_of(profile_fields());
  keys.insert(keys.end(), {"schema", "name", "extends"});
  return keys;
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as the document
void clear_lines(Yaml& node) {
  node.line = 0;
  for (auto& item : node.items) clear_lines(item);
  for (auto& entry : node.entries) {
    entry.line = 0;
    clear_lines(entry.value);
  }
}

}  // namespace

Result<void> Layers::add_file(const Yaml& document, const std::string& file, bool defaults) {
  binder_.begin(file);
  declares_ = defaults;
  // Aliases belong to one file and are not inherited.
  profile_.aliases.clear();
  profile_.origins.erase("aliases");
  profile_.values.erase("aliases");
  return add(document, {}, true);
}

Result<void> Layers::add_overrides(const Yaml& overrides, const std::string& file) {
  binder_.begin(file);
  declares_ = false;
  return add(overrides, {.source = "this site"}, false);
}

Result<void> Layers::add_setting(std::string_view setting) {
  binder_.begin("--set", true);
  declares_ = false;
  if (!well_formed_setting(setting)) {
    return binder_.wrong(0, fmt::format("\"{}\" is not KEY=VALUE", setting));
  }
  const auto equals = setting.find('=');
  auto value = value_of_setting(setting.substr(equals + 1));
  if (!value) {
    return binder_.wrong(0, fmt::format("'{}': invalid YAML \"{}\"", setting.substr(0, equals),
                                        setting.substr(equals + 1)));
  }
  clear_lines(*value);
  return add(mapping_of(setting.substr(0, equals), *value), {.source = "command line"}, false);
}

Result<void> Layers::add_recognise(const Yaml& recognise, const std::string& file) {
  binder_.begin(file);
  return binder_.value(recognise, {.path = "recognise", .line = recognise.line},
                       profile_.recognise);
}

Result<void> Layers::check_keys(const Yaml& document, const std::string& file) const {
  Binder binder(profile_);
  binder.begin(file);
  const auto keys = keys_of_file();
  Place place;
  return binder.block(document, place, keys,
                      [&](auto key, int line, const Yaml& /*value*/) -> Result<void> {
                        if (std::ranges::count(keys, key) > 0) return {};
                        return binder.unknown_key(place, key, line, keys);
                      });
}

Result<void> Layers::check_rules() const {
  return muster::check_rules(profile_, binder_.numbers());
}

Result<void> Layers::add(const Yaml& document, Place place, bool whole_file) {
  const auto keys = whole_file ? keys_of_file() : judging_keys();
  return binder_.block(document, place, keys,
                       [&](auto key, int line, const Yaml& node) -> Result<void> {
                         if (whole_file && is_known_to_loader(key)) return {};
                         if (std::ranges::count(keys, key) == 0)
                           return binder_.unknown_key(place, key, line, keys);
                         const auto& field = *find_field(profile_fields(), key);
                         const Place inside = below(place, key, line);
                         if (is_group(field)) return add_group(node, inside, field);
                         return field.read(binder_, node, inside, field.of(&profile_));
                       });
}

Result<void> Layers::add_group(const Yaml& node, Place place, const BoundField& group) {
  const auto checks = group.inside();
  auto keys = names_of(checks);
  for (auto& name : declared_in(place.path)) keys.push_back(std::move(name));
  return binder_.block(
      node, place, keys, [&](auto key, int line, const Yaml& value) -> Result<void> {
        const Place block = below(place, key, line);
        if (const auto* check = find_field(checks, key)) {
          return binder_.check(value, block, check->inside(), check->of(group.of(&profile_)));
        }
        if (declares_) declared_.insert(block.path);
        if (!declared_.contains(block.path)) return binder_.unknown_key(place, key, line, keys);
        return binder_.check(value, block, {}, nullptr);
      });
}

std::vector<std::string> Layers::declared_in(std::string_view group) const {
  std::vector<std::string> names;
  const std::string prefix = fmt::format("{}.", group);
  for (const auto& id : declared_) {
    if (id.starts_with(prefix)) names.push_back(id.substr(prefix.size()));
  }
  return names;
}

}  // namespace muster
