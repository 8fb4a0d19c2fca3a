// SPDX-License-Identifier: Apache-2.0
// Values of each shape, and the texts of errors.
#include "lib/profile/binder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

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

std::string or_list(std::span<const std::string_view> words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool last = i + 1 == words.size();
    const std::string_view join = i == 0 ? "" : last ? " or " : ", ";
    text.append(join).append(words[i].empty() ? "\"\"" : words[i]);
  }
  return text;
}

std::string hint(std::string_view key, const std::vector<std::string>& known,
                 const std::vector<std::string>& candidates) {
  const auto dot = key.find('.');
  const std::string outer(key.substr(0, dot));
  if (dot != std::string_view::npos && std::ranges::count(known, outer) > 0) {
    return fmt::format("dots are for --set; write '{}: {{{}: …}}'", outer,
                       printable(key.substr(dot + 1), 80));
  }
  std::string near = nearest(key, candidates);
  if (near.empty() && dot != std::string_view::npos) near = nearest(outer, candidates);
  return near.empty() ? fmt::format("known here: {}", fmt::join(known, ", "))
                      : fmt::format("did you mean '{}'?", near);
}

// The keys that say where a block's values come from.
bool is_reserved(std::string_view key) { return key == "source" || key == "as_of"; }

}  // namespace

Place below(const Place& block, std::string_view key, int line) {
  const auto own = block.sources.find(std::string(key));
  return {.path = block.path.empty() ? std::string(key) : fmt::format("{}.{}", block.path, key),
          .line = line,
          .source = own == block.sources.end() ? block.source : own->second,
          .as_of = block.as_of,
          .sources = {}};
}

Yaml mapping_of(std::string_view key, const Yaml& value) {
  Yaml mapping;
  mapping.kind = Yaml::Kind::mapping;
  mapping.line = value.line;
  mapping.entries.push_back({std::string(key), value.line, value});
  return mapping;
}

tl::unexpected<Error> Binder::wrong(int line, std::string_view message) const {
  return make_error(fmt::format("{}: {}", at(file_, line), printable(message, 2000)));
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
  return wrong(line,
               fmt::format("unknown key '{}'; {}", unknown.path, hint(key, known, candidates)));
}

Result<void> Binder::block(const Yaml& node, Place& place, const Keys& keys,
                           const Visit& visit) const {
  if (auto entered = enter(node, place, keys); !entered) return entered;
  for (const auto& entry : node.entries) {
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

Result<void> Binder::enter(const Yaml& node, Place& place, const Keys& keys) const {
  if (node.kind != Yaml::Kind::mapping) {
    if (place.path.empty()) return wrong(node.line, "a mapping is expected here");
    return wrong_type(node, place, "a mapping");
  }
  for (const auto& entry : node.entries) {
    Result<void> taken;
    if (entry.key == "as_of") taken = take_date(entry, place);
    if (entry.key == "source") taken = take_source(entry, place, keys);
    if (!taken) return taken;
  }
  return {};
}

Result<void> Binder::take_date(const YamlEntry& entry, Place& place) const {
  if (!is_date(entry.value.text)) {
    return wrong_type(entry.value, below(place, entry.key, entry.line),
                      "a date such as 2026-11-20");
  }
  place.as_of = entry.value.text;
  return {};
}

Result<void> Binder::take_source(const YamlEntry& entry, Place& place, const Keys& keys) const {
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

Result<void> Binder::truth(const Yaml& node, const Place& place, bool& out) {
  if (node.text != "true" && node.text != "false") {
    return wrong_type(node, place, "true or false");
  }
  out = node.text == "true";
  record(place, node.text);
  return {};
}

Result<void> Binder::whole(const Yaml& node, const Place& place, int& out) {
  const auto parsed = parse_signed(node.text);
  if (!parsed || *parsed > std::numeric_limits<int>::max()) {
    return wrong_type(node, place, "a whole number");
  }
  if (*parsed < 0) {
    return wrong(place.line, fmt::format("'{}' is {}; it cannot be negative", place.path, *parsed));
  }
  out = static_cast<int>(*parsed);
  record(place, node.text);
  return {};
}

Result<void> Binder::number(const Yaml& node, const Place& place, double& out) {
  const auto parsed = parse_number(node.text);
  if (!parsed) return wrong_type(node, place, "a number");
  if (*parsed < 0) {
    return wrong(place.line, fmt::format("'{}' is {}; it cannot be negative", place.path, *parsed));
  }
  out = *parsed;
  record(place, node.text);
  return {};
}

Result<void> Binder::text(const Yaml& node, const Place& place, Slot out) {
  if (node.kind != Yaml::Kind::scalar) return wrong_type(node, place, "text");
  *static_cast<std::string*>(out.value) = node.text;
  record(place, node.text);
  return {};
}

Result<void> Binder::word(const Yaml& node, const Place& place, Slot out) {
  if (node.kind != Yaml::Kind::scalar) return wrong_type(node, place, "text");
  TRY_ASSIGN(const auto index, index_among(place, node.text, out.type->choice));
  out.type->choose(out.value, index);
  record(place, node.text);
  return {};
}

Result<void> Binder::words(const Yaml& node, const Place& place, Slot out) {
  if (node.kind != Yaml::Kind::sequence) return wrong_type(node, place, "a list");
  const auto choice = out.type->choice;
  if (!choice.empty()) out.type->clear(out.value);
  Words read;
  for (const auto& item : node.items) {
    const Place item_place{
        .path = place.path, .line = item.line, .source = {}, .as_of = {}, .sources = {}};
    if (item.kind != Yaml::Kind::scalar) return wrong_type(item, item_place, "a list of text");
    if (!choice.empty()) {
      TRY_ASSIGN(const auto index, index_among(item_place, item.text, choice));
      out.type->choose(out.value, index);
    }
    read.push_back(item.text);
  }
  record(place, fmt::format("[{}]", fmt::join(read, ", ")));
  if (choice.empty()) *static_cast<Words*>(out.value) = std::move(read);
  return {};
}

Result<void> Binder::quantity(const Yaml& node, const Place& place, Slot out) {
  if (node.kind != Yaml::Kind::scalar) return wrong_type(node, place, "a number with a unit");
  const auto parsed = out.type->parse(node.text);
  if (!parsed) {
    return wrong(place.line, fmt::format("'{}': {}", place.path, parsed.error().message));
  }
  *static_cast<double*>(out.value) = *parsed;
  record(place, node.text);
  return {};
}

Result<void> Binder::limit(const Yaml& node, const Place& place, Slot out) {
  if (node.kind != Yaml::Kind::null) {
    return value(node, place, out.item(out.type->enter(out.value)));
  }
  out.type->clear(out.value);
  record(place, "null");
  return {};
}

Result<void> Binder::list(const Yaml& node, const Place& place, Slot out) {
  if (setting_ && node.kind == Yaml::Kind::mapping) return item(node, place, out);
  if (node.kind != Yaml::Kind::sequence) return wrong_type(node, place, "a list of mappings");
  forget(place.path);
  out.type->clear(out.value);
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    const Place item_place = below(place, fmt::format("{}", i), node.items[i].line);
    const Slot read = out.item(out.type->enter(out.value));
    if (auto done = value(node.items[i], item_place, read); !done) return done;
  }
  if (node.items.empty()) record(place, "[]");
  return {};
}

// --set bench.job_all_reduce.0.fail_below=…: one item of a list that is there
// already.
Result<void> Binder::item(const Yaml& node, const Place& place, Slot list) {
  for (const auto& entry : node.entries) {
    if (is_reserved(entry.key)) continue;
    const auto dot = entry.key.find('.');
    const auto key = std::string_view(entry.key).substr(0, dot);
    TRY_ASSIGN(const auto index, index_of(place, key, list.type->size(list.value)));
    const Slot out = list.item(list.type->at(list.value, index));
    const Place item_place = below(place, key, entry.line);
    auto done = dot == std::string::npos
                    ? value(entry.value, item_place, out)
                    : value(mapping_of(entry.key.substr(dot + 1), entry.value), item_place, out);
    if (!done) return done;
  }
  return {};
}

Result<void> Binder::map(const Yaml& node, const Place& place, Slot out) {
  if (node.kind != Yaml::Kind::mapping) return wrong_type(node, place, "a mapping");
  const bool of_blocks = out.type->item->shape == Type::Shape::block;
  for (const auto& entry : node.entries) {
    // The keys of a map may have dots of their own: what is left of a setting's
    // path is the key, but for the member behind the last dot where the values
    // are blocks.
    const auto dot = setting_ && of_blocks ? entry.key.rfind('.') : std::string::npos;
    const std::string key = entry.key.substr(0, dot);
    const Place key_place = below(place, key, entry.line);
    if (dot == std::string::npos && entry.value.kind == Yaml::Kind::null) {
      out.type->erase(out.value, key);
      forget(key_place.path);
      continue;
    }
    const Slot read = out.item(out.type->at_key(out.value, key));
    auto done = dot == std::string::npos
                    ? value(entry.value, key_place, read)
                    : value(mapping_of(entry.key.substr(dot + 1), entry.value), key_place, read);
    if (!done) return done;
  }
  return {};
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as the types of a profile
Result<void> Binder::value(const Yaml& node, const Place& place, Slot out) {
  using Shape = Type::Shape;
  switch (out.type->shape) {
    case Shape::truth:
      return truth(node, place, *static_cast<bool*>(out.value));
    case Shape::whole:
      return whole(node, place, *static_cast<int*>(out.value));
    case Shape::number:
      return number(node, place, *static_cast<double*>(out.value));
    case Shape::text:
      return text(node, place, out);
    case Shape::word:
      return word(node, place, out);
    case Shape::words:
      return words(node, place, out);
    case Shape::quantity:
      return quantity(node, place, out);
    case Shape::limit:
      return limit(node, place, out);
    case Shape::owned:
      return value(node, place, out.item(out.type->enter(out.value)));
    case Shape::list:
      return list(node, place, out);
    case Shape::map:
      return map(node, place, out);
    case Shape::block:
      break;
  }
  Place inside = place;
  const auto keys = [&] { return out.type->keys(); };
  return block(node, inside, keys, [&](std::string_view key, int line, const Yaml& entry) {
    const auto* member = out.type->find(key);
    if (member == nullptr) return Result<void>(unknown_key(inside, key, line, keys()));
    return value(entry, below(inside, key, line), out.of(*member));
  });
}

Result<void> Binder::check(const Yaml& node, Place place, Slot out) {
  const Type& policy = policy_type();
  const auto keys = [&] {
    auto names = out.type->keys();
    for (auto& name : policy.keys()) names.push_back(std::move(name));
    return names;
  };
  return block(node, place, keys, [&](std::string_view key, int line, const Yaml& entry) {
    const Place inside = below(place, key, line);
    if (const auto* member = out.type->find(key)) return value(entry, inside, out.of(*member));
    const auto* of_policy = policy.find(key);
    if (of_policy == nullptr) return Result<void>(unknown_key(place, key, line, keys()));
    return value(entry, inside, Slot{&profile_.policies[place.path], &policy}.of(*of_policy));
  });
}

Result<std::size_t> Binder::index_among(const Place& place, std::string_view word,
                                        std::span<const std::string_view> choice) const {
  const auto found = std::ranges::find(choice, word);
  if (found != choice.end()) return static_cast<std::size_t>(found - choice.begin());
  return wrong(place.line, fmt::format("'{}' is \"{}\"; it must be {}", place.path,
                                       printable(word, 60), or_list(choice)));
}

Result<std::size_t> Binder::index_of(const Place& place, std::string_view key,
                                     std::size_t size) const {
  const auto index = parse_unsigned(key);
  if (index && *index < size) return static_cast<std::size_t>(*index);
  return wrong(place.line, fmt::format("'{}' has {} items, numbered from 0; there is no '{}'",
                                       place.path, size, printable(key, 40)));
}

void Binder::record(const Place& place, std::string as_written) {
  profile_.origins[place.path] = {
      .file = file_, .line = place.line, .source = place.source, .as_of = place.as_of};
  profile_.values[place.path] = std::move(as_written);
}

void Binder::forget(const std::string& path) {
  const std::string inside = fmt::format("{}.", path);
  const auto erase_from = [&](auto& map) {
    map.erase(path);
    const auto first = map.lower_bound(inside);
    auto last = first;
    while (last != map.end() && last->first.starts_with(inside)) ++last;
    map.erase(first, last);
  };
  erase_from(profile_.origins);
  erase_from(profile_.values);
}

}  // namespace muster
