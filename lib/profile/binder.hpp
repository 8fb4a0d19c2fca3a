// SPDX-License-Identifier: Apache-2.0
// Writes YAML into described structs: every key is a field, every value is of the field's type, and
// where each value came from is noted. Lists replace, mappings merge key by key.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "lib/base/fields.hpp"
#include "lib/base/quantity.hpp"
#include "lib/base/result.hpp"
#include "lib/profile/profile.hpp"
#include "lib/profile/yaml.hpp"

namespace muster {

// Where in a document, and whose word holds there.
struct Place {
  std::string path;  // "host.memory.total"; empty for the whole document
  int line = 0;
  std::string source, as_of;
  std::map<std::string, std::string> sources;  // of a block whose `source` is a mapping by key
};

[[nodiscard]] Place below(const Place& block, std::string_view key, int line);

// The keys that say where a block's values come from.
[[nodiscard]] bool is_reserved(std::string_view key);

template <Described T>
[[nodiscard]] const std::vector<std::string>& keys_of() {
  static const std::vector<std::string> keys = [] {
    std::vector<std::string> names;
    for_each_field<T>([&](const auto& each) { names.emplace_back(each.name); });
    return names;
  }();
  return keys;
}

// With those of its policy.
template <Described T>
[[nodiscard]] const std::vector<std::string>& keys_of_check() {
  static const std::vector<std::string> keys = [] {
    std::vector<std::string> names = keys_of<T>();
    names.insert(names.end(), keys_of<Policy>().begin(), keys_of<Policy>().end());
    return names;
  }();
  return keys;
}

class Binder {
 public:
  explicit Binder(Profile& profile) : profile_(profile) {}

  // What errors and origins call the document from here on. In a `setting` a key is the path's
  // rest: "host.memory.total".
  void begin(std::string file, bool setting = false) {
    file_ = std::move(file);
    setting_ = setting;
  }

  [[nodiscard]] const std::string& file() const { return file_; }

  [[nodiscard]] tl::unexpected<Error> wrong(int line, std::string_view message) const;
  [[nodiscard]] tl::unexpected<Error> unknown_key(const Place& block,
                                                  std::string_view key,
                                                  int line,
                                                  const std::vector<std::string>& known) const;

  // A block: `node` must be a mapping, whose `source` and `as_of` are taken into `place`.
  [[nodiscard]] Result<void> enter(const Yaml& node,
                                   Place& place,
                                   const std::vector<std::string>& keys) const;

  // Visits a block's keys, without those that are reserved, in order until one fails.
  template <class Visit>  // Result<void>(std::string_view key, int line, const Yaml& value)
  [[nodiscard]] Result<void> each(const Yaml& block, const Visit& visit) const;

  [[nodiscard]] Result<void> value(const Yaml& node, const Place& place, bool& out);
  [[nodiscard]] Result<void> value(const Yaml& node, const Place& place, int& out);
  [[nodiscard]] Result<void> value(const Yaml& node, const Place& place, double& out);
  [[nodiscard]] Result<void> value(const Yaml& node, const Place& place, std::string& out);
  [[nodiscard]] Result<void> value(const Yaml& node, const Place& place, Words& out);
  template <class Kind>
  [[nodiscard]] Result<void> value(const Yaml& node, const Place& place, Quantity<Kind>& out);
  template <class T>
  [[nodiscard]] Result<void> value(const Yaml& node, const Place& place, std::optional<T>& out);
  template <Described T>
  [[nodiscard]] Result<void> value(const Yaml& node, const Place& place, std::vector<T>& out);
  template <class T>
  [[nodiscard]] Result<void> value(const Yaml& node,
                                   const Place& place,
                                   std::map<std::string, T>& out);

  template <Described T>
  [[nodiscard]] Result<void> value(const Yaml& node, const Place& place, T& out) {
    return block(node, place, out, false);
  }

  template <Described T>
  [[nodiscard]] Result<void> value(const Yaml& node, const Place& place, Owned<T>& out) {
    return block(node, place, *out, false);
  }

  // A struct's block. A check's block takes the keys of its policy too.
  template <Described T>
  [[nodiscard]] Result<void> block(const Yaml& node, Place place, T& out, bool of_check);

 private:
  [[nodiscard]] Result<void> take_date(const YamlEntry& entry, Place& place) const;
  [[nodiscard]] Result<void> take_source(const YamlEntry& entry,
                                         Place& place,
                                         const std::vector<std::string>& keys) const;
  [[nodiscard]] tl::unexpected<Error> wrong_type(const Yaml& node,
                                                 const Place& place,
                                                 std::string_view wanted) const;
  [[nodiscard]] Result<void> check_choice(const Place& place, std::string_view word) const;
  template <Described T>
  [[nodiscard]] std::optional<Result<void>> field_of(std::string_view key,
                                                     const Yaml& node,
                                                     const Place& place,
                                                     T& out);
  template <Described T>
  [[nodiscard]] Result<void> set_item(const Yaml& node, const Place& place, std::vector<T>& out);
  [[nodiscard]] Result<std::size_t> index_of(const Place& place,
                                             std::string_view key,
                                             std::size_t size) const;
  void record(const Place& place, std::string as_written);
  void forget(const std::string& path);

  Profile& profile_;
  std::string file_;
  bool setting_ = false;
};

// A mapping with one key, for the rest of a setting's path.
[[nodiscard]] Yaml mapping_of(std::string_view key, const Yaml& value);

template <class Visit>
Result<void> Binder::each(const Yaml& block, const Visit& visit) const {
  for (const auto& entry : block.entries) {
    if (is_reserved(entry.key)) continue;
    const auto dot = setting_ ? entry.key.find('.') : std::string::npos;
    const std::string_view key = std::string_view(entry.key).substr(0, dot);
    Result<void> done =
        dot == std::string::npos
            ? visit(key, entry.line, entry.value)
            : visit(key, entry.line, mapping_of(entry.key.substr(dot + 1), entry.value));
    if (!done) return done;
  }
  return {};
}

template <class Kind>
Result<void> Binder::value(const Yaml& node, const Place& place, Quantity<Kind>& out) {
  if (node.kind != Yaml::Kind::scalar) return wrong_type(node, place, "a number with a unit");
  const auto parsed = parse_quantity<Kind>(node.text);
  if (!parsed) {
    return wrong(place.line, fmt::format("'{}': {}", place.path, parsed.error().message));
  }
  out = *parsed;
  record(place, node.text);
  return {};
}

template <class T>
Result<void> Binder::value(const Yaml& node, const Place& place, std::optional<T>& out) {
  if (node.kind == Yaml::Kind::null) {
    out.reset();
    record(place, "null");
    return {};
  }
  T read{};
  if (auto done = value(node, place, read); !done) return done;
  out = std::move(read);
  return {};
}

template <Described T>
Result<void> Binder::value(const Yaml& node, const Place& place, std::vector<T>& out) {
  if (setting_ && node.kind == Yaml::Kind::mapping) return set_item(node, place, out);
  if (node.kind != Yaml::Kind::sequence) return wrong_type(node, place, "a list of mappings");
  std::vector<T> read;
  forget(place.path);
  for (const auto& item : node.items) {
    const Place item_place = below(place, fmt::format("{}", read.size()), item.line);
    if (auto done = value(item, item_place, read.emplace_back()); !done) return done;
  }
  if (read.empty()) record(place, "[]");
  out = std::move(read);
  return {};
}

// --set bench.job_all_reduce.0.fail_below=…: one item of a list that is there already.
template <Described T>
Result<void> Binder::set_item(const Yaml& node, const Place& place, std::vector<T>& out) {
  return each(node, [&](std::string_view key, int line, const Yaml& item) -> Result<void> {
    const auto index = index_of(place, key, out.size());
    if (!index) return tl::unexpected(index.error());
    return value(item, below(place, key, line), out[*index]);
  });
}

template <class T>
Result<void> Binder::value(const Yaml& node, const Place& place, std::map<std::string, T>& out) {
  if (node.kind != Yaml::Kind::mapping) return wrong_type(node, place, "a mapping");
  for (const auto& entry : node.entries) {
    // The keys of a map may have dots of their own: what is left of a setting's path is the key,
    // but for the field behind the last dot where the values are blocks.
    const auto dot = setting_ && Described<T> ? entry.key.rfind('.') : std::string::npos;
    const std::string key = entry.key.substr(0, dot);
    const Place key_place = below(place, key, entry.line);
    if (dot == std::string::npos && entry.value.kind == Yaml::Kind::null) {
      out.erase(key);
      forget(key_place.path);
      continue;
    }
    auto done =
        dot == std::string::npos
            ? value(entry.value, key_place, out[key])
            : value(mapping_of(entry.key.substr(dot + 1), entry.value), key_place, out[key]);
    if (!done) return done;
  }
  return {};
}

// Nothing when `T` has no such field.
template <Described T>
std::optional<Result<void>> Binder::field_of(std::string_view key,
                                             const Yaml& node,
                                             const Place& place,
                                             T& out) {
  std::optional<Result<void>> done;
  for_each_field<T>([&](const auto& each) {
    if (!done && each.name == key) done = value(node, place, out.*each.member);
  });
  return done;
}

template <Described T>
Result<void> Binder::block(const Yaml& node, Place place, T& out, bool of_check) {
  const auto& keys = of_check ? keys_of_check<T>() : keys_of<T>();
  if (auto entered = enter(node, place, keys); !entered) return entered;
  return each(node, [&](std::string_view key, int line, const Yaml& entry) -> Result<void> {
    const Place key_place = below(place, key, line);
    if (auto done = field_of(key, entry, key_place, out)) return *done;
    if (of_check && std::ranges::count(keys, key) > 0) {
      return *field_of(key, entry, key_place, profile_.policies[place.path]);
    }
    return unknown_key(place, key, line, keys);
  });
}

}  // namespace muster
