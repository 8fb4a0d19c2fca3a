// SPDX-License-Identifier: Apache-2.0
// The shape of a profile above its blocks: groups of checks, bench, contexts, and the rest.
#include "lib/profile/layers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <concepts>
#include <optional>
#include <utility>

#include "lib/profile/limits/all.hpp"
#include "lib/profile/load.hpp"

namespace muster {
namespace {

// Its blocks are checks: `<group>.<name>`.
template <class T>
concept CheckGroup = std::same_as<T, Owned<HostLimits>> || std::same_as<T, Owned<PciLimits>> ||
    std::same_as<T, Owned<GpuLimits>> || std::same_as<T, Owned<IbLimits>> ||
    std::same_as<T, Owned<TopoLimits>> || std::same_as<T, Owned<EnvLimits>> ||
    std::same_as<T, Owned<MusterLimits>>;

// What says how a node is judged, as opposed to which profile this is.
template <class T>
concept Judging = CheckGroup<T> || std::same_as<T, Owned<BenchLimits>> ||
    std::same_as<T, std::map<std::string, Context>>;

// The block of a check that has no limits.
struct NoLimits {
  static constexpr auto fields() { return std::tuple<>{}; }
};

bool is_known_to_loader(std::string_view key) {
  return key == "schema" || key == "name" || key == "extends";
}

// [..] and {..} and quoted text are YAML; all other text is the value as it is, so that `*` and
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

std::vector<std::string> judging_keys() {
  std::vector<std::string> keys;
  for_each_field<Profile>([&]<class Member>(const Field<Profile, Member>& each) {
    if (Judging<Member>) keys.emplace_back(each.name);
  });
  return keys;
}

std::vector<std::string> keys_of_file() {
  std::vector<std::string> keys = keys_of<Profile>();
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
  // Other names of the same hardware are this file's, never those of what it extends.
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
    return binder_.wrong(
        0,
        fmt::format(
            "'{}' is not YAML: \"{}\"", setting.substr(0, equals), setting.substr(equals + 1)));
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
  return binder_.value(recognise, place, profile_.recognise);
}

Result<void> Layers::check_keys(const Yaml& document, const std::string& file) {
  binder_.begin(file);
  const auto keys = keys_of_file();
  Place place;
  if (auto entered = binder_.enter(document, place, keys); !entered) return entered;
  return binder_.each(document, [&](std::string_view key, int line, const Yaml& /*value*/) {
    if (std::ranges::count(keys, key) > 0) return Result<void>{};
    return Result<void>(binder_.unknown_key(place, key, line, keys));
  });
}

Result<void> Layers::add(const Yaml& document, Place place, bool whole_file) {
  const std::vector<std::string> keys = whole_file ? keys_of_file() : judging_keys();
  if (auto entered = binder_.enter(document, place, keys); !entered) return entered;

  return binder_.each(document, [&](std::string_view key, int line, const Yaml& value) {
    if (whole_file && is_known_to_loader(key)) return Result<void>{};
    if (std::ranges::count(keys, key) == 0) {
      return Result<void>(binder_.unknown_key(place, key, line, keys));
    }
    return add_member(key, value, below(place, key, line));
  });
}

Result<void> Layers::add_member(std::string_view key, const Yaml& value, const Place& place) {
  Result<void> done;
  for_each_field<Profile>([&]<class Member>(const Field<Profile, Member>& each) {
    if (each.name != key) return;
    if constexpr (CheckGroup<Member>) {
      done = add_group(value, place, *(profile_.*each.member));
    } else {
      done = binder_.value(value, place, profile_.*each.member);
    }
  });
  return done;
}

template <Described Group>
Result<void> Layers::add_group(const Yaml& node, Place place, Group& group) {
  std::vector<std::string> keys = keys_of<Group>();
  for (auto& name : declared_in(place.path)) keys.push_back(std::move(name));
  if (auto entered = binder_.enter(node, place, keys); !entered) return entered;

  return binder_.each(node, [&](std::string_view key, int line, const Yaml& value) {
    const Place block = below(place, key, line);
    std::optional<Result<void>> done;
    for_each_field<Group>([&](const auto& each) {
      if (each.name == key) done = binder_.block(value, block, group.*each.member, true);
    });
    if (done) return *done;
    if (declares_) declared_.insert(block.path);
    if (!declared_.contains(block.path)) {
      return Result<void>(binder_.unknown_key(place, key, line, keys));
    }
    NoLimits none;
    return binder_.block(value, block, none, true);
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
