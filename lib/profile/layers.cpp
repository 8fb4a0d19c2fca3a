// SPDX-License-Identifier: Apache-2.0
// The shape of a profile above its blocks: groups of checks, bench, contexts,
// and the rest.
#include "lib/profile/layers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lib/profile/load.hpp"

namespace muster {
namespace {

// Whether a profile's member is a group of checks: its blocks are
// `<group>.<name>`.
bool is_group(const Member& member) {
  return member.type->shape == Type::Shape::owned && member.name != "bench";
}

// The block of a check that has no limits.
struct NoLimits {
  MUSTER_DESCRIBED(NoLimits);
};

bool is_known_to_loader(std::string_view key) {
  return key == "schema" || key == "name" || key == "extends";
}

// [..] and {..} and quoted text are YAML; all other text is the value as it is,
// so that `*` and
// `: ` need no quotes on a command line.
Result<Yaml> value_of_setting(std::string_view text) {
  const char first = text.empty() ? ' ' : text.front();
  if (std::string_view("[{\"'").find(first) != std::string_view::npos) {
    return parse_yaml(text, "--set");
  }
  Yaml value;
  if (text == "null" || text == "~") return value;
  value.kind = Yaml::Kind::scalar;
  value.text = text;
  return value;
}

// The members that say how a node is judged, as opposed to which profile this
// is.
std::vector<std::string> judging_keys() {
  std::vector<std::string> keys;
  for (const auto& member : profile_type().members) {
    const bool judges = member.type->shape == Type::Shape::owned || member.name == "contexts";
    if (judges) keys.emplace_back(member.name);
  }
  return keys;
}

std::vector<std::string> keys_of_file() {
  std::vector<std::string> keys = profile_type().keys();
  keys.insert(keys.end(), {"schema", "name", "extends"});
  return keys;
}

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
  // Other names of the same hardware are this file's, never those of what it
  // extends.
  profile_.aliases.clear();
  profile_.origins.erase("aliases");
  profile_.values.erase("aliases");
  return add(document, {}, true);
}

Result<void> Layers::add_overrides(const Yaml& overrides, const std::string& file) {
  binder_.begin(file);
  declares_ = false;
  Place place;
  place.source = "this site";
  return add(overrides, std::move(place), false);
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
    return binder_.wrong(0, fmt::format("'{}' is not YAML: \"{}\"", setting.substr(0, equals),
                                        setting.substr(equals + 1)));
  }
  clear_lines(*value);
  Place place;
  place.source = "command line";
  return add(mapping_of(setting.substr(0, equals), *value), std::move(place), false);
}

Result<void> Layers::add_recognise(const Yaml& recognise, const std::string& file) {
  binder_.begin(file);
  Place place;
  place.path = "recognise";
  place.line = recognise.line;
  return binder_.value(recognise, place,
                       {&profile_.recognise, profile_type().find("recognise")->type});
}

Result<void> Layers::check_keys(const Yaml& document, const std::string& file) {
  binder_.begin(file);
  const auto keys = keys_of_file();
  Place place;
  const auto known = [&] { return keys; };
  return binder_.block(document, place, known,
                       [&](std::string_view key, int line, const Yaml& /*value*/) {
                         if (std::ranges::count(keys, key) > 0) return Result<void>{};
                         return Result<void>(binder_.unknown_key(place, key, line, keys));
                       });
}

Result<void> Layers::add(const Yaml& document, Place place, bool whole_file) {
  const std::vector<std::string> keys = whole_file ? keys_of_file() : judging_keys();
  const auto known = [&] { return keys; };
  return binder_.block(document, place, known,
                       [&](std::string_view key, int line, const Yaml& value) {
                         if (whole_file && is_known_to_loader(key)) return Result<void>{};
                         if (std::ranges::count(keys, key) == 0) {
                           return Result<void>(binder_.unknown_key(place, key, line, keys));
                         }
                         const Slot all{&profile_, &profile_type()};
                         const Member& member = *all.type->find(key);
                         const Place inside = below(place, key, line);
                         return is_group(member) ? add_group(value, inside, all.of(member))
                                                 : binder_.value(value, inside, all.of(member));
                       });
}

Result<void> Layers::add_group(const Yaml& node, Place place, Slot owned) {
  const Slot group{owned.type->enter(owned.value), owned.type->item};
  const auto keys = [&] {
    std::vector<std::string> names = group.type->keys();
    for (auto& name : declared_in(place.path)) names.push_back(std::move(name));
    return names;
  };
  return binder_.block(node, place, keys, [&](std::string_view key, int line, const Yaml& value) {
    const Place block = below(place, key, line);
    if (const auto* member = group.type->find(key)) {
      return binder_.check(value, block, group.of(*member));
    }
    if (declares_) declared_.insert(block.path);
    if (!declared_.contains(block.path)) {
      return Result<void>(binder_.unknown_key(place, key, line, keys()));
    }
    NoLimits none;
    return binder_.check(value, block, slot_of(none));
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
