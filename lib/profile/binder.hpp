// SPDX-License-Identifier: Apache-2.0
// Reads YAML into described structs: every key must be a member, every value must have the member's
// type, and the origin of each value is recorded. Lists replace, mappings merge key by key.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <span>
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

// A position in a document, with the source and date that apply there.
struct Place {
  std::string path;  // "host.memory.total"; empty for the whole document
  int line = 0;
  // Parts of the document, which outlives its places.
  std::string_view source, as_of;
  std::map<std::string_view, std::string_view> sources;  // by key, if `source` is a mapping
};

[[nodiscard]] Place below(const Place& block, std::string_view key, int line);

// A mapping with one key, for the rest of a setting's path.
[[nodiscard]] Yaml mapping_of(std::string_view key, const Yaml& value);

// The first part of a setting's path, up to a dot; its value is a mapping for the rest.
[[nodiscard]] YamlEntry part_of(const YamlEntry& entry, std::size_t dot);

class Binder;
struct BoundField;

using BoundFields = std::span<const BoundField>;

// A member of a described struct, for code that reads or lists any struct.
struct BoundField {
  std::string_view name, about;
  std::size_t offset = 0;  // in bytes, from the start of the struct
  bool optional = false;
  bool group = false;                 // of checks, or of benchmarks
  BoundFields (*inside)() = nullptr;  // of a struct: its members
  Result<void> (*read)(Binder& binder, const Yaml& node, const Place& place, void* value) = nullptr;

  [[nodiscard]] void* of(void* object) const { return static_cast<std::byte*>(object) + offset; }
};

// The members of T.
template <Described T>
[[nodiscard]] BoundFields fields_of();

// The members of a whole Profile; only profile.cpp includes all limits.
[[nodiscard]] BoundFields profile_fields();

// The member of that name, or null.
[[nodiscard]] const BoundField* find_field(BoundFields fields, std::string_view name);

[[nodiscard]] std::vector<std::string> names_of(BoundFields fields);

// The words of an enumeration that a profile may use.
template <HasWords Enum>
[[nodiscard]] constexpr std::span<const std::string_view> words_in_profile() {
  const std::span<const std::string_view> words = json_words(Enum{});
  return std::is_same_v<Enum, Outcome> ? words.first(kOutcomesOfProfiles) : words;
}

class Binder {
 public:
  using Visit = std::function<Result<void>(const YamlEntry& entry)>;
  using Keys = std::function<std::vector<std::string>()>;

  explicit Binder(Profile& profile) : profile_(profile) {}

  // Starts a document, under the name that errors and origins use. In a `setting` a key is the rest
  // of the path: "host.memory.total".
  void begin(std::string file, bool setting = false) {
    file_ = std::move(file);
    setting_ = setting;
    ++document_;
  }

  [[nodiscard]] tl::unexpected<Error> wrong(int line, std::string_view message) const;
  [[nodiscard]] tl::unexpected<Error> unknown_key(const Place& block, std::string_view key,
                                                  int line,
                                                  const std::vector<std::string>& known) const;

  // Reads a block's `source` and `as_of` into `place`, and visits its other keys in order until one
  // fails. `keys` returns those that the block may have.
  [[nodiscard]] Result<void> block(const Yaml& node, Place& place, const Keys& keys,
                                   const Visit& visit) const;

  // Reads a value over what `out` holds.
  [[nodiscard]] Result<void> value(const Yaml& node, const Place& place, bool& out);
  [[nodiscard]] Result<void> value(const Yaml& node, const Place& place, int& out);
  [[nodiscard]] Result<void> value(const Yaml& node, const Place& place, std::int64_t& out);
  [[nodiscard]] Result<void> value(const Yaml& node, const Place& place, double& out);
  [[nodiscard]] Result<void> value(const Yaml& node, const Place& place, std::string& out);
  [[nodiscard]] Result<void> value(const Yaml& node, const Place& place, Words& out);

  template <HasWords Enum>
  [[nodiscard]] Result<void> value(const Yaml& node, const Place& place, Enum& out) {
    std::string word;
    TRY(value(node, place, word));
    TRY_ASSIGN(const auto index, index_among(place, word, words_in_profile<Enum>()));
    out = static_cast<Enum>(index);
    return {};
  }

  template <HasWords Enum>
  [[nodiscard]] Result<void> value(const Yaml& node, const Place& place, std::vector<Enum>& out) {
    Words words;
    TRY(value(node, place, words));
    out.clear();
    for (std::size_t i = 0; i < words.size(); ++i) {
      const Place item{.path = place.path, .line = node.items[i].line};
      TRY_ASSIGN(const auto index, index_among(item, words[i], words_in_profile<Enum>()));
      out.push_back(static_cast<Enum>(index));
    }
    return {};
  }

  template <class Kind>
  [[nodiscard]] Result<void> value(const Yaml& node, const Place& place, Quantity<Kind>& out) {
    if (node.kind != Yaml::Kind::scalar) return wrong_type(node, place, "a number with a unit");
    const auto parsed = parse_quantity<Kind>(node.text);
    if (!parsed) {
      return wrong(place.line, fmt::format("'{}': {}", place.path, parsed.error().message));
    }
    if constexpr (std::is_same_v<Quantity<Kind>, Percent>) TRY(check_share(place, parsed->value));
    if constexpr (std::is_same_v<Quantity<Kind>, Seconds>) TRY(check_time(place, parsed->value));
    out = *parsed;
    record(place, node.text, out.value);
    return {};
  }

  template <class T>
  [[nodiscard]] Result<void> value(const Yaml& node, const Place& place, std::optional<T>& out) {
    if (node.kind != Yaml::Kind::null) return value(node, place, out.emplace());
    out.reset();
    record(place, "null");
    return {};
  }

  template <class T>
  [[nodiscard]] Result<void> value(const Yaml& node, const Place& place, std::vector<T>& out) {
    if (setting_ && node.kind == Yaml::Kind::mapping) return items(node, place, out);
    if (node.kind != Yaml::Kind::sequence) return wrong_type(node, place, "a list of mappings");
    forget(place.path);
    out.clear();
    for (const auto& item : node.items) {
      const Place inside = below(place, std::to_string(out.size()), item.line);
      TRY(value(item, inside, out.emplace_back()));
    }
    if (out.empty()) record(place, "[]");
    return {};
  }

  template <class T>
  [[nodiscard]] Result<void> value(const Yaml& node, const Place& place, ByName<T>& out) {
    if (node.kind != Yaml::Kind::mapping) return wrong_type(node, place, "a mapping");
    for (const auto& entry : node.entries) {
      // The key of a map may contain dots. In a setting only the last one can begin a member's
      // name.
      const auto dot = setting_ && Described<T> ? entry.key.rfind('.') : std::string::npos;
      if (dot != std::string::npos) {
        const auto part = part_of(entry, dot);
        TRY(value(part.value, below(place, part.key, part.line), out[part.key]));
        continue;
      }
      const Place inside = below(place, entry.key, entry.line);
      if (entry.value.kind != Yaml::Kind::null) {
        TRY(value(entry.value, inside, out[entry.key]));
      } else {
        out.erase(entry.key);
        forget(inside.path);
      }
    }
    return {};
  }

  template <Described T>
  [[nodiscard]] Result<void> value(const Yaml& node, const Place& place, T& out) {
    return described(node, place, fields_of<T>(), &out);
  }

  // Reads a check's block, which has the keys of Policy as well.
  [[nodiscard]] Result<void> check(const Yaml& node, Place place, BoundFields limits, void* out);

 private:
  [[nodiscard]] Result<void> enter(const Yaml& node, Place& place, const Keys& keys) const;
  [[nodiscard]] Result<void> read_source(const YamlEntry& entry, Place& place,
                                         const Keys& keys) const;
  [[nodiscard]] tl::unexpected<Error> wrong_type(const Yaml& node, const Place& place,
                                                 std::string_view wanted) const;
  [[nodiscard]] Result<void> check_share(const Place& place, double percent) const;
  [[nodiscard]] Result<void> check_time(const Place& place, double seconds) const;
  [[nodiscard]] Result<std::size_t> index_among(const Place& place, std::string_view word,
                                                std::span<const std::string_view> choice) const;
  [[nodiscard]] Result<void> described(const Yaml& node, Place place, BoundFields fields,
                                       void* out);
  [[nodiscard]] Result<std::size_t> index_of(const Place& place, std::string_view key,
                                             std::size_t size) const;
  void record(const Place& place, std::string as_written, std::optional<double> number = {});
  void forget(const std::string& path);

  // Settings such as bench.job_all_reduce.0.fail_below=… change one item of a list.
  template <class T>
  [[nodiscard]] Result<void> items(const Yaml& node, const Place& place, std::vector<T>& list) {
    for (const auto& entry : node.entries) {
      const auto dot = entry.key.find('.');
      const auto part = dot == std::string::npos ? entry : part_of(entry, dot);
      TRY_ASSIGN(const auto index, index_of(place, part.key, list.size()));
      TRY(value(part.value, below(place, part.key, part.line), list[index]));
    }
    return {};
  }

  Profile& profile_;
  std::string file_;
  bool setting_ = false;
  int document_ = 0;  // how many have begun
};

template <class T, template <class> class Template>
inline constexpr bool kIsA = false;
template <class T, template <class> class Template>
inline constexpr bool kIsA<Template<T>, Template> = true;

template <Described T>
BoundFields fields_of() {
  static const auto all = [] {
    std::vector<BoundField> fields;
    const T sample{};
    const auto* start = static_cast<const std::byte*>(static_cast<const void*>(&sample));
    for_each_field<T>([&]<class Owner, class Member>(const Field<Owner, Member>& field) {
      const void* member = &(sample.*field.member);
      auto& bound = fields.emplace_back();
      bound = {.name = field.name,
               .about = field.about,
               .offset = static_cast<std::size_t>(static_cast<const std::byte*>(member) - start),
               .optional = kIsA<Member, std::optional>,
               .group = kIsA<Member, LimitGroup>};
      if constexpr (Described<Member>) bound.inside = &fields_of<Member>;
      bound.read = [](Binder& binder, const Yaml& node, const Place& place, void* value) {
        return binder.value(node, place, *static_cast<Member*>(value));
      };
    });
    return fields;
  }();
  return all;
}

}  // namespace muster
