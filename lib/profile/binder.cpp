// SPDX-License-Identifier: Apache-2.0
// Plain values, the words that a value may be, and the texts of errors.
#include "lib/profile/binder.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "lib/base/text.hpp"
#include "lib/profile/ib_speeds.hpp"

namespace muster {
namespace {

struct Choice {
  std::string_view path;  // a glob
  std::vector<std::string> words;
};

std::vector<std::string> names_of_ib_speeds() {
  std::vector<std::string> names(kIbSpeeds.size());
  std::ranges::transform(
      kIbSpeeds, names.begin(), [](const IbSpeed& speed) { return std::string(speed.name); });
  return names;
}

// Values of which only some words mean anything.
const std::vector<Choice>& choices() {
  static const std::vector<std::string> remedies{"none",
                                                 "watch",
                                                 "restart_app",
                                                 "reset_gpu",
                                                 "restart_service",
                                                 "reboot",
                                                 "reseat_or_replace",
                                                 "fix_config",
                                                 "report_to_provider"};
  static const std::vector<Choice> all{
      {"*.fail_as", {"fail", "warn", "pass"}},
      {"*.warn_as", {"fail", "warn", "pass"}},
      {"host.kernel_log.kinds.*", {"fail", "warn", "pass"}},
      {"gpu.xid.kinds.*", {"fail", "warn", "pass"}},
      {"gpu.sxid.kinds.*", {"fail", "warn", "pass"}},
      {"*.remedy", remedies},
      {"*.remedy_in_vm", remedies},
      {"host.sysctl.transparent_hugepage", {"always", "madvise", "never"}},
      {"pci.link.unmeasurable", {"skip", "unknown"}},
      {"gpu.present.vendor", {"nvidia", "amd"}},
      {"gpu.compute_mode.expected", {"default", "exclusive_process", "prohibited"}},
      {"ib.rate.width", {"1X", "2X", "4X"}},
      {"ib.rate.speed", names_of_ib_speeds()},
      {"ib.pkey.require", {"non_default_full_member", "default_full_member", "any_full_member"}},
      {"topo.pairing.nearest", {"", "same_switch", "same_numa"}},
      {"topo.nvlink_matrix.ends_in", {"", "switch", "gpu"}},
      {"bench.transport.require", {"ib", "gdr", "sharp"}},
      {"bench.*.memory", {"gpu", "host"}},
      {"bench.*.algorithm", {"ring", "tree", "nvls", "collnet", "any"}}};
  return all;
}

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

std::string or_list(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool last = i + 1 == words.size();
    const std::string_view join = i == 0 ? "" : last ? " or " : ", ";
    text.append(join).append(words[i].empty() ? "\"\"" : words[i]);
  }
  return text;
}

std::string hint(std::string_view key,
                 const std::vector<std::string>& known,
                 const std::vector<std::string>& candidates) {
  const auto dot = key.find('.');
  const std::string outer(key.substr(0, dot));
  if (dot != std::string_view::npos && std::ranges::count(known, outer) > 0) {
    return fmt::format(
        "dots are for --set; write '{}: {{{}: …}}'", outer, printable(key.substr(dot + 1), 80));
  }
  const std::string near = nearest(key, candidates);
  return near.empty() ? fmt::format("known here: {}", fmt::join(known, ", "))
                      : fmt::format("did you mean '{}'?", near);
}

}  // namespace

Place below(const Place& block, std::string_view key, int line) {
  const auto own = block.sources.find(std::string(key));
  return {.path = block.path.empty() ? std::string(key) : fmt::format("{}.{}", block.path, key),
          .line = line,
          .source = own == block.sources.end() ? block.source : own->second,
          .as_of = block.as_of,
          .sources = {}};
}

bool is_reserved(std::string_view key) { return key == "source" || key == "as_of"; }

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

tl::unexpected<Error> Binder::wrong_type(const Yaml& node,
                                         const Place& place,
                                         std::string_view wanted) const {
  return wrong(place.line, fmt::format("'{}' must be {}, not {}", place.path, wanted, shown(node)));
}

tl::unexpected<Error> Binder::unknown_key(const Place& block,
                                          std::string_view key,
                                          int line,
                                          const std::vector<std::string>& known) const {
  const Place unknown = below(block, key, line);
  std::vector<std::string> candidates = known;
  candidates.insert(candidates.end(), {"source", "as_of"});
  return wrong(line,
               fmt::format("unknown key '{}'; {}", unknown.path, hint(key, known, candidates)));
}

Result<void> Binder::enter(const Yaml& node,
                           Place& place,
                           const std::vector<std::string>& keys) const {
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
    return wrong_type(
        entry.value, below(place, entry.key, entry.line), "a date such as 2026-11-20");
  }
  place.as_of = entry.value.text;
  return {};
}

Result<void> Binder::take_source(const YamlEntry& entry,
                                 Place& place,
                                 const std::vector<std::string>& keys) const {
  const Place here = below(place, entry.key, entry.line);
  if (entry.value.kind == Yaml::Kind::scalar) {
    place.source = entry.value.text;
    return {};
  }
  if (entry.value.kind != Yaml::Kind::mapping) {
    return wrong_type(entry.value, here, "text, or a mapping from key to text");
  }
  for (const auto& [key, line, source] : entry.value.entries) {
    if (std::ranges::count(keys, key) == 0) return unknown_key(here, key, line, keys);
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
  if (*parsed < 0) {
    return wrong(place.line, fmt::format("'{}' is {}; it cannot be negative", place.path, *parsed));
  }
  out = static_cast<int>(*parsed);
  record(place, node.text);
  return {};
}

Result<void> Binder::value(const Yaml& node, const Place& place, double& out) {
  const auto parsed = parse_number(node.text);
  if (!parsed) return wrong_type(node, place, "a number");
  if (*parsed < 0) {
    return wrong(place.line, fmt::format("'{}' is {}; it cannot be negative", place.path, *parsed));
  }
  out = *parsed;
  record(place, node.text);
  return {};
}

Result<void> Binder::value(const Yaml& node, const Place& place, std::string& out) {
  if (node.kind != Yaml::Kind::scalar) return wrong_type(node, place, "text");
  if (auto known = check_choice(place, node.text); !known) return known;
  out = node.text;
  record(place, node.text);
  return {};
}

Result<void> Binder::value(const Yaml& node, const Place& place, Words& out) {
  if (node.kind != Yaml::Kind::sequence) return wrong_type(node, place, "a list");
  Words read;
  for (const auto& item : node.items) {
    const Place item_place{
        .path = place.path, .line = item.line, .source = {}, .as_of = {}, .sources = {}};
    if (item.kind != Yaml::Kind::scalar) return wrong_type(item, item_place, "a list of text");
    if (auto known = check_choice(item_place, item.text); !known) return known;
    read.push_back(item.text);
  }
  out = std::move(read);
  record(place, fmt::format("[{}]", fmt::join(out, ", ")));
  return {};
}

Result<void> Binder::check_choice(const Place& place, std::string_view word) const {
  for (const auto& [path, words] : choices()) {
    if (!matches_glob(path, place.path)) continue;
    if (std::ranges::count(words, word) > 0) return {};
    return wrong(
        place.line,
        fmt::format(
            "'{}' is \"{}\"; it must be {}", place.path, printable(word, 60), or_list(words)));
  }
  return {};
}

Result<std::size_t> Binder::index_of(const Place& place,
                                     std::string_view key,
                                     std::size_t size) const {
  const auto index = parse_unsigned(key);
  if (index && *index < size) return static_cast<std::size_t>(*index);
  return wrong(place.line,
               fmt::format("'{}' has {} items, numbered from 0; there is no '{}'",
                           place.path,
                           size,
                           printable(key, 40)));
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
