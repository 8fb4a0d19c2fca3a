// SPDX-License-Identifier: Apache-2.0
#include "lib/profile/binder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "lib/base/text.hpp"

namespace muster {
namespace {

std::string shown(const Yaml& node) {
  switch (node.kind) {
    case Yaml::Kind::null:
      return "null";
    case Yaml::Kind::sequence:
      return "a list";
    case Yaml::Kind::mapping:
      return "a mapping";
    case Yaml::Kind::scalar:
      break;
  }
  return fmt::format("\"{}\"", printable(node.text, 60));
}

bool is_date(std::string_view text) {
  constexpr std::string_view kForm = "dddd-dd-dd";
  return std::ranges::equal(text, kForm, [](char c, char form) {
    return form == 'd' ? c >= '0' && c <= '9' : c == form;
  });
}

std::string hint_for_key(const Place& block, std::string_view key,
                         const std::vector<std::string>& known,
                         const std::vector<std::string>& candidates) {
  const auto dot = key.find('.');
  const std::string outer(key.substr(0, dot));
  if (dot != std::string_view::npos && std::ranges::count(known, outer) > 0) {
    return fmt::format("dots are for --set; write '{}: {{{}: …}}'", outer,
                       printable(key.substr(dot + 1), 80));
  }
  for (const auto word : {key, std::string_view(outer)}) {
    const auto near = nearest(word, candidates);
    if (!near.empty()) return fmt::format("did you mean '{}'?", below(block, near, 0).path);
  }
  return hint("", known);
}

// The keys that say where a block's values come from.
bool is_reserved(std::string_view key) { return key == "source" || key == "as_of"; }

}  // namespace

Place below(const Place& block, std::string_view key, int line) {
  const auto own = block.sources.find(key);
  std::string path;
  path.reserve(block.path.size() + 1 + key.size());
  if (!block.path.empty()) path.append(block.path).push_back('.');
  path.append(key);
  return {.path = std::move(path),
          .line = line,
          .source = own == block.sources.end() ? block.source : own->second,
          .as_of = block.as_of,
          .sources = {}};
}

const BoundField* find_field(BoundFields fields, std::string_view name) {
  const auto found = std::ranges::find(fields, name, &BoundField::name);
  return found == fields.end() ? nullptr : &*found;
}

std::vector<std::string> names_of(BoundFields fields) {
  std::vector<std::string> names;
  for (const auto& field : fields) names.emplace_back(field.name);
  return names;
}

Yaml mapping_of(std::string_view key, const Yaml& value) {
  Yaml mapping{.kind = Yaml::Kind::mapping, .line = value.line};
  mapping.entries.push_back({std::string(key), value.line, value});
  return mapping;
}

YamlEntry part_of(const YamlEntry& entry, std::size_t dot) {
  return {entry.key.substr(0, dot), entry.line, mapping_of(entry.key.substr(dot + 1), entry.value)};
}

tl::unexpected<Error> Binder::wrong(int line, std::string_view message) const {
  return make_error("{}: {}", at(file_, line), printable(message, 2000));
}

tl::unexpected<Error> Binder::wrong_type(const Yaml& node, const Place& place,
                                         std::string_view wanted) const {
  return wrong(place.line, fmt::format("'{}' must be {}, not {}", place.path, wanted, shown(node)));
}

tl::unexpected<Error> Binder::unknown_key(const Place& block, std::string_view key, int line,
                                          const std::vector<std::string>& known) const {
  const Place unknown = below(block, key, line);
  std::vector<std::string> candidates = known;
  candidates.insert(candidates.end(), {"source", "as_of"});
  return wrong(line, fmt::format("unknown key '{}'; {}", unknown.path,
                                 hint_for_key(block, key, known, candidates)));
}

Result<void> Binder::block(const Yaml& node, Place& place, const Keys& keys,
                           const Visit& visit) const {
  TRY(enter(node, place, keys));
  for (const auto& entry : node.entries) {
    if (is_reserved(entry.key)) continue;
    const auto dot = setting_ ? entry.key.find('.') : std::string::npos;
    TRY(dot == std::string::npos ? visit(entry) : visit(part_of(entry, dot)));
  }
  return {};
}

Result<void> Binder::enter(const Yaml& node, Place& place, const Keys& keys) const {
  if (node.kind != Yaml::Kind::mapping) {
    if (place.path.empty()) return wrong(node.line, "expected a mapping");
    return wrong_type(node, place, "a mapping");
  }
  for (const auto& entry : node.entries) {
    if (entry.key == "source") TRY(read_source(entry, place, keys));
    if (entry.key != "as_of") continue;
    if (!is_date(entry.value.text)) {
      return wrong_type(entry.value, below(place, entry.key, entry.line),
                        "a date such as 2026-11-20");
    }
    place.as_of = entry.value.text;
  }
  return {};
}

Result<void> Binder::read_source(const YamlEntry& entry, Place& place, const Keys& keys) const {
  const Place here = below(place, entry.key, entry.line);
  if (entry.value.kind == Yaml::Kind::scalar) {
    place.source = entry.value.text;
    return {};
  }
  if (entry.value.kind != Yaml::Kind::mapping) {
    return wrong_type(entry.value, here, "text, or a mapping from key to text");
  }
  const auto known = keys();
  for (const auto& [key, line, source] : entry.value.entries) {
    if (std::ranges::count(known, key) == 0) return unknown_key(here, key, line, known);
    if (source.kind != Yaml::Kind::scalar) {
      return wrong_type(source, below(here, key, line), "text");
    }
    place.sources[key] = source.text;
  }
  return {};
}

Result<void> Binder::value(const Yaml& node, const Place& place, bool& out) {
  if (node.text != "true" && node.text != "false") {
    return wrong_type(node, place, "true or false");
  }
  out = node.text == "true";
  record(place, node.text);
  return {};
}

Result<void> Binder::value(const Yaml& node, const Place& place, int& out) {
  const auto parsed = parse_signed(node.text);
  if (!parsed || *parsed > std::numeric_limits<int>::max()) {
    return wrong_type(node, place, "a whole number");
  }
  if (*parsed < 0) return wrong_type(node, place, "0 or more");
  out = static_cast<int>(*parsed);
  record(place, node.text, out);
  return {};
}

Result<void> Binder::value(const Yaml& node, const Place& place, std::int64_t& out) {
  int number = 0;
  TRY(value(node, place, number));
  out = number;
  return {};
}

Result<void> Binder::value(const Yaml& node, const Place& place, double& out) {
  const auto parsed = parse_number(node.text);
  if (!parsed) return wrong_type(node, place, "a number");
  if (*parsed < 0) return wrong_type(node, place, "0 or more");
  out = *parsed;
  record(place, node.text, out);
  return {};
}

Result<void> Binder::value(const Yaml& node, const Place& place, std::string& out) {
  if (node.kind != Yaml::Kind::scalar) return wrong_type(node, place, "text");
  out = node.text;
  record(place, node.text);
  return {};
}

Result<void> Binder::value(const Yaml& node, const Place& place, Words& out) {
  if (node.kind != Yaml::Kind::sequence) return wrong_type(node, place, "a list");
  out.clear();
  for (const auto& item : node.items) {
    const Place inside{.path = place.path, .line = item.line};
    if (item.kind != Yaml::Kind::scalar) return wrong_type(item, inside, "a list of text");
    out.push_back(item.text);
  }
  record(place, fmt::format("[{}]", fmt::join(out, ", ")));
  return {};
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as the types of a profile
Result<void> Binder::described(const Yaml& node, Place place, BoundFields fields, void* out) {
  const auto keys = [&] { return names_of(fields); };
  return block(node, place, keys, [&](const YamlEntry& entry) -> Result<void> {
    const auto* field = find_field(fields, entry.key);
    if (field == nullptr) return unknown_key(place, entry.key, entry.line, keys());
    return field->read(*this, entry.value, below(place, entry.key, entry.line), field->of(out));
  });
}

Result<void> Binder::check(const Yaml& node, Place place, BoundFields limits, void* out) {
  const auto of_policy = fields_of<Policy>();
  const auto keys = [&] {
    auto names = names_of(limits);
    std::ranges::move(names_of(of_policy), std::back_inserter(names));
    return names;
  };
  return block(node, place, keys, [&](const YamlEntry& entry) -> Result<void> {
    const Place inside = below(place, entry.key, entry.line);
    if (const auto* limit = find_field(limits, entry.key)) {
      return limit->read(*this, entry.value, inside, limit->of(out));
    }
    const auto* field = find_field(of_policy, entry.key);
    if (field == nullptr) return unknown_key(place, entry.key, entry.line, keys());
    return field->read(*this, entry.value, inside, field->of(&profile_.policies[place.path]));
  });
}

// No limit is a share of 100% or more.
Result<void> Binder::check_share(const Place& place, double percent) const {
  if (percent < 100) return {};
  return wrong(place.line, fmt::format("'{}' must be below 100%", place.path));
}

Result<void> Binder::check_time(const Place& place, double seconds) const {
  constexpr std::array<std::string_view, 3> kLengths{".window", ".deadline", ".answer_within"};
  const bool is_length =
      std::ranges::any_of(kLengths, [&](auto each) { return place.path.ends_with(each); });
  if (!is_length || seconds > 0) return {};
  return wrong(place.line, fmt::format("'{}' must be above 0 s", place.path));
}

Result<std::size_t> Binder::index_among(const Place& place, std::string_view word,
                                        std::span<const std::string_view> choice) const {
  const auto found = std::ranges::find(choice, word);
  if (found != choice.end()) return static_cast<std::size_t>(found - choice.begin());
  return wrong(place.line, fmt::format("'{}' must be {}, not \"{}\"", place.path, or_list(choice),
                                       printable(word, 60)));
}

Result<std::size_t> Binder::index_of(const Place& place, std::string_view key,
                                     std::size_t size) const {
  const auto index = parse_unsigned(key);
  if (index && *index < size) return static_cast<std::size_t>(*index);
  return wrong(place.line, fmt::format("'{}' has {} items, numbered from 0; there is no '{}'",
                                       place.path, size, printable(key, 40)));
}

void Binder::record(const Place& place, std::string as_written, std::optional<double> number) {
  profile_.values[place.path] = {.text = std::move(as_written),
                                 .origin = {.file = file_,
                                            .line = place.line,
                                            .source = std::string(place.source),
                                            .as_of = std::string(place.as_of)},
                                 .number = number,
                                 .document = document_};
}

void Binder::forget(const std::string& path) {
  auto& values = profile_.values;
  values.erase(path);
  const std::string inside = fmt::format("{}.", path);
  const auto first = values.lower_bound(inside);
  auto last = first;
  while (last != values.end() && last->first.starts_with(inside)) ++last;
  values.erase(first, last);
}

std::string place_of_value(const Profile& profile, std::string_view path) {
  auto found = profile.values.find(path);
  if (found == profile.values.end()) {
    const std::string inside = fmt::format("{}.", path);
    found = profile.values.lower_bound(inside);
    if (found == profile.values.end() || !found->first.starts_with(inside)) return profile.name;
  }
  return at(found->second.origin.file, found->second.origin.line);
}

BoundFields profile_fields() { return fields_of<Profile>(); }
bool expects_gpus(const Profile& profile) { return profile.gpu->present.count.value_or(0) > 0; }
bool expects_hcas(const Profile& profile) { return profile.ib->present.count.value_or(0) > 0; }

}  // namespace muster
