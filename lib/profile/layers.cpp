// SPDX-License-Identifier: Apache-2.0
#include "lib/profile/layers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/text.hpp"
#include "lib/profile/load.hpp"
#include "lib/profile/yaml.hpp"

namespace muster {
namespace {

constexpr std::string_view kDecode = "decode";  // a class that depends on the registers

// Keeps the first rule that is broken.
class Checker {
 public:
  explicit Checker(const Profile& profile) : profile_(profile) {}

  template <class... Arguments>
  void require(bool holds, const std::string& path, fmt::format_string<Arguments...> message,
               Arguments&&... arguments) {
    if (holds || !result_) return;
    result_ =
        make_error("{}: '{}' {}", place_of_value(profile_, path), printable(path),
                   printable(fmt::format(message, std::forward<Arguments>(arguments)...), 400));
  }

  void require_known(const std::string& path, std::string_view word,
                     const std::vector<std::string>& known) {
    if (std::ranges::count(known, word) > 0) return;  // hint() takes long
    require(false, path, "has the unknown name \"{}\"; {}", printable(word, 60), hint(word, known));
  }

  [[nodiscard]] Result<void> result() const { return result_; }

 private:
  const Profile& profile_;
  Result<void> result_;
};

// Checks pairs of keys in one block: the first must not exceed the second.
void check_order(const Profile& profile, Checker& checker) {
  struct Order {
    std::string_view low, high;
  };

  constexpr std::array<Order, 5> kOrders{{{"warn_above", "fail_above"},
                                          {"fail_below", "warn_below"},
                                          {"fail_below", "expected"},
                                          {"warn_below", "expected"},
                                          {"promised", "expected"}}};
  for (const auto& [path, low] : profile.values) {
    if (!low.number) continue;
    const auto begin = path.rfind('.') + 1;
    for (const auto& order : kOrders) {
      const auto key = path.find(order.low, begin);
      if (key == std::string::npos) continue;
      auto other = path;
      other.replace(key, order.low.size(), order.high);
      const auto high = profile.values.find(other);
      if (high == profile.values.end() || !high->second.number) continue;
      const bool holds = *low.number <= *high->second.number;
      if (high->second.document > low.document) {
        checker.require(holds, other, "is {}, below its '{}' of {}", high->second.text,
                        path.substr(begin), low.text);
      } else {
        checker.require(holds, path, "is {}, above its '{}' of {}", low.text, other.substr(begin),
                        high->second.text);
      }
    }
  }
}

template <class Q>
void check_collective(const std::string& path, const BenchLimit<Q>& limit, Checker& checker) {
  const bool is_set = limit.expected || limit.promised || limit.warn_below || limit.fail_below;
  checker.require(!is_set || limit.size, path,
                  "has no size; bus bandwidth means nothing without one");
}

void check_bench(const BenchLimits& bench, Checker& checker) {
  check_collective("bench.node_all_reduce", bench.node_all_reduce, checker);
  check_collective("bench.loopback_all_reduce", bench.loopback_all_reduce, checker);
  for_each_field<BenchLimits>([&](const auto& field) {
    if constexpr (requires { (bench.*field.member).front().fail_below; }) {
      for (std::size_t i = 0; i < (bench.*field.member).size(); ++i) {
        const auto& limit = (bench.*field.member)[i];
        const auto path = fmt::format("bench.{}.{}", field.name, i);
        const int least = limit.nodes_at_least.value_or(0);
        check_collective(path, limit, checker);
        checker.require(limit.algorithm.has_value(), path,
                        "has no algorithm; write ring, tree, nvls, collnet or any");
        checker.require(least >= 2, path, "needs nodes_at_least, of 2 or more");
        checker.require(limit.nodes_at_most.value_or(least) >= least, path,
                        "matches no job: nodes_at_most is below nodes_at_least");
      }
    }
  });
}

void check_names(const Profile& profile, Checker& checker) {
  for (const auto& [name, context] : profile.contexts) {
    checker.require_known(fmt::format("contexts.{}", name), name,
                          {"manual", "prolog", "epilog", "periodic", "boot"});
  }
  for (const auto& group : profile.must_observe) {
    checker.require_known("must_observe", group,
                          {kMustObserveWords.begin(), kMustObserveWords.end()});
  }
}

bool set_by_defaults(const Profile& profile, const std::string& path) {
  const auto found = profile.values.lower_bound(path);
  return found != profile.values.end() && found->second.origin.file.ends_with("defaults.yaml");
}

void check_kernel_log(const Profile& profile, Checker& checker) {
  const auto& log = profile.host->kernel_log;
  std::set<std::string> used;
  for (std::size_t i = 0; i < log.patterns.size(); ++i) {
    const auto& [pattern, kind, remedy] = log.patterns[i];
    const auto path = fmt::format("host.kernel_log.patterns.{}", i);
    checker.require(!pattern.empty(), path, "has no pattern");
    checker.require(log.kinds.contains(kind), fmt::format("{}.kind", path),
                    "is \"{}\", which is not among 'host.kernel_log.kinds'", kind);
    used.insert(kind);
  }
  const std::vector<std::string> known(used.begin(), used.end());
  // The defaults' kinds remain if another file replaces their patterns.
  const bool replaced = !set_by_defaults(profile, "host.kernel_log.patterns");
  for (const auto& [kind, outcome] : log.kinds) {
    const auto path = fmt::format("host.kernel_log.kinds.{}", kind);
    if (replaced && set_by_defaults(profile, path)) continue;
    checker.require_known(path, kind, known);
  }
}

bool is_number_up_to(std::string_view text, std::uint64_t most) {
  const auto parsed = parse_unsigned(text);
  return parsed && *parsed <= most;
}

// The rules and classes of XIDs or SXIDs.
template <class Limits>
void check_classes(const std::string& path, const Limits& limits, Checker& checker) {
  constexpr std::uint64_t kLargest = 999999;
  const auto require_class = [&](const std::string& place, const std::string& kind) {
    checker.require(kind == kDecode || limits.kinds.contains(kind), place,
                    "is \"{}\", which is not among '{}.kinds'", kind, path);
  };
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < limits.rules.size(); ++i) {
    const auto& rule = limits.rules[i];
    const auto place = fmt::format("{}.rules.{}", path, i);
    checker.require(!rule.xids.empty(), place, "has no xids");
    require_class(fmt::format("{}.class", place), rule.kind);
    const auto numbers = fmt::format("{}.xids", place);
    for (const auto& number : rule.xids) {
      checker.require(is_number_up_to(number, kLargest), numbers, "has \"{}\", which is not an XID",
                      number);
      checker.require(seen.insert(number).second, numbers, "has {}, as an earlier rule does",
                      number);
    }
  }
  for (const auto& [number, kind] : limits.classes) {
    const auto place = fmt::format("{}.classes.{}", path, number);
    checker.require(is_number_up_to(number, kLargest), place, "is not an XID");
    require_class(place, kind);
  }
}

void check_nvlink(const XidLimits& xid, Checker& checker) {
  constexpr int kRegisters = 7;
  const auto require_words = [&](const std::string& path, const Words& words) {
    for (const auto& word : words) {
      const auto bits = parse_hex(word);
      checker.require(bits && *bits <= UINT32_MAX, path, "has \"{}\", which is not a 32-bit word",
                      word);
    }
  };
  for (std::size_t i = 0; i < xid.nvlink_units.size(); ++i) {
    const auto& unit = xid.nvlink_units[i];
    for (const auto* words : {&unit.reset, &unit.reset_if_flagged, &unit.evaluate, &unit.ignore}) {
      require_words(fmt::format("gpu.xid.nvlink_units.{}", i), *words);
    }
  }
  for (std::size_t i = 0; i < xid.nvlink_reasons.size(); ++i) {
    require_words(fmt::format("gpu.xid.nvlink_reasons.{}", i), xid.nvlink_reasons[i].reasons);
  }
  for (std::size_t i = 0; i < xid.nvlink_bits.size(); ++i) {
    const auto& row = xid.nvlink_bits[i];
    const auto path = fmt::format("gpu.xid.nvlink_bits.{}", i);
    checker.require(row.number >= 1 && row.number <= kRegisters, path,
                    "has register {}, expected 1 to {}", row.number, kRegisters);
    for (const auto& bit : row.bits) {
      checker.require(is_number_up_to(bit, 31), path, "has bit \"{}\", expected 0 to 31", bit);
    }
    checker.require(row.kind == kDecode || xid.kinds.contains(row.kind),
                    fmt::format("{}.class", path), "is \"{}\", which is not among 'gpu.xid.kinds'",
                    row.kind);
  }
}

// A group of checks: its blocks are `<group>.<name>`.
bool is_group(const BoundField& member) { return member.group && member.name != "bench"; }

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
    if (field.group || field.name == "contexts") keys.emplace_back(field.name);
  }
  return keys;
}

// The loader reads the last three.
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
  return binder.block(document, place, keys_of_file, [&](const YamlEntry& entry) -> Result<void> {
    if (std::ranges::count(keys, entry.key) > 0) return {};
    return binder.unknown_key(place, entry.key, entry.line, keys);
  });
}

Result<void> Layers::check_rules() const {
  Checker checker(profile_);
  check_bench(*profile_.bench, checker);
  check_order(profile_, checker);
  check_names(profile_, checker);
  check_kernel_log(profile_, checker);
  check_classes("gpu.xid", profile_.gpu->xid, checker);
  check_nvlink(profile_.gpu->xid, checker);
  check_classes("gpu.sxid", profile_.gpu->sxid, checker);
  return checker.result();
}

Result<void> Layers::add(const Yaml& document, Place place, bool whole_file) {
  const auto keys = whole_file ? keys_of_file() : judging_keys();
  const auto known = [&] { return keys; };
  return binder_.block(document, place, known, [&](const YamlEntry& entry) -> Result<void> {
    if (std::ranges::count(keys, entry.key) == 0) {
      return binder_.unknown_key(place, entry.key, entry.line, keys);
    }
    const auto* field = find_field(profile_fields(), entry.key);
    if (field == nullptr) return {};  // the loader's
    const Place inside = below(place, entry.key, entry.line);
    if (is_group(*field)) return add_group(entry.value, inside, *field);
    return field->read(binder_, entry.value, inside, field->of(&profile_));
  });
}

Result<void> Layers::add_group(const Yaml& node, Place place, const BoundField& group) {
  const auto checks = group.inside();
  const auto keys = [&] {
    auto names = names_of(checks);
    std::ranges::move(declared_in(place.path), std::back_inserter(names));
    return names;
  };
  return binder_.block(node, place, keys, [&](const YamlEntry& entry) -> Result<void> {
    const Place block = below(place, entry.key, entry.line);
    if (const auto* check = find_field(checks, entry.key)) {
      return binder_.check(entry.value, block, check->inside(), check->of(group.of(&profile_)));
    }
    if (declares_) declared_.insert(block.path);
    if (declared_.contains(block.path)) return binder_.check(entry.value, block, {}, nullptr);
    return binder_.unknown_key(place, entry.key, entry.line, keys());
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
