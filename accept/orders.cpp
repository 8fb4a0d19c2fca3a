// SPDX-License-Identifier: Apache-2.0
#include "accept/orders.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "lib/base/json_write.hpp"
#include "lib/base/root.hpp"
#include "lib/base/text.hpp"
#include "lib/hosts/hostlist.hpp"
#include "lib/profile/binder.hpp"
#include "lib/profile/load.hpp"
#include "lib/profile/yaml.hpp"

namespace muster::accept {
namespace {

using OrderedNodes = std::vector<OrderedNode>;

// A key in a line of an @FILE.
struct NodeKey {
  std::string_view word;
  std::string OrderedNode::*member;
};

constexpr std::array kNodeKeys{NodeKey{"host", &OrderedNode::host},
                               NodeKey{"serial", &OrderedNode::serial},
                               NodeKey{"group", &OrderedNode::group}};

Result<void> read_word(OrderedNode& node, std::string_view word) {
  const auto equals = word.find('=');
  const auto* const key = std::ranges::find(kNodeKeys, word.substr(0, equals), &NodeKey::word);
  if (equals == std::string_view::npos || key == kNodeKeys.end()) {
    return make_error("unexpected \"{}\", expected host=, serial= or group=", printable(word, 80));
  }
  auto& value = node.*(key->member);
  if (!value.empty()) return make_error("{}= is given twice", key->word);
  value = word.substr(equals + 1);
  if (value.empty()) return make_error("{}= has no value", key->word);
  return {};
}

Result<OrderedNodes> parse_line(std::string_view line) {
  const auto words = split_words(line);
  OrderedNode like;
  for (std::size_t i = 1; i < words.size(); ++i) TRY(read_word(like, words[i]));
  TRY_ASSIGN(const auto names, expand_hostlist(words.front(), kMaxNodes));
  if (names.size() > 1 && !(like.host.empty() && like.serial.empty())) {
    return make_error("{} are {} nodes, but host= and serial= are for a single node",
                      printable(words.front(), 80), names.size());
  }
  OrderedNodes nodes;
  for (const auto& name : names) {
    nodes.push_back(like);
    nodes.back().name = name;
  }
  return nodes;
}

// Programs would take a name like "-x" for an option, and "." and ".." are folders.
bool is_safe(const std::string& name) {
  return std::isalnum(static_cast<unsigned char>(name.front())) != 0;
}

// The nodes read so far.
struct NodeList {
  OrderedNodes nodes;
  std::vector<std::string> places;  // of each node, before errors: "order:2: ", or empty

  void add(const OrderedNodes& more, const std::string& place) {
    nodes.insert(nodes.end(), more.begin(), more.end());
    places.resize(nodes.size(), place);
  }
};

Result<void> add_lines(NodeList& list, std::string_view text, std::string_view file) {
  int number = 0;
  for (auto line : split_lines(text)) {
    const auto place = fmt::format("{}: ", at(file, ++number));
    line = trim(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    const auto parsed = parse_line(line);
    if (!parsed) return make_error("{}{}", place, parsed.error().message);
    list.add(*parsed, place);
  }
  return {};
}

Result<void> add_word(NodeList& list, const std::string& word) {
  if (word.starts_with('@')) {
    constexpr std::size_t kMaxBytes = 64UL * 1024 * 1024;
    const auto path = std::filesystem::absolute(word.substr(1)).string();
    TRY_ASSIGN(const auto text, Root().read(path, kMaxBytes));
    return add_lines(list, text, word.substr(1));
  }
  const auto names = expand_hostlist(word, kMaxNodes);
  if (!names) return make_error("{}: {}", printable(word, 80), names.error().message);
  OrderedNodes nodes;
  for (const auto& name : *names) nodes.push_back({.name = name});
  list.add(nodes, "");
  return {};
}

// Refuses an empty list, too many nodes, duplicate names, and a serial number given twice.
Result<void> check_nodes(const NodeList& list) {
  if (list.nodes.empty()) return make_error("the list has no nodes");
  if (list.nodes.size() > kMaxNodes) {
    return make_error("too many nodes: {}, expected at most {}", list.nodes.size(), kMaxNodes);
  }
  std::set<std::string_view> names;
  std::map<std::string_view, std::string_view> serials;
  for (std::size_t i = 0; i < list.nodes.size(); ++i) {
    const auto& node = list.nodes[i];
    const auto& place = list.places[i];
    if (!is_safe(node.name)) {
      return make_error("{}invalid node \"{}\": it begins with neither a letter nor a digit", place,
                        printable(node.name, 80));
    }
    if (!names.insert(node.name).second) {
      return make_error("{}{} is in the list twice", place, node.name);
    }
    const auto [first, is_new] = serials.try_emplace(node.serial, node.name);
    if (!is_new && !node.serial.empty()) {
      return make_error("{}the serial {} is at {} and at {}", place, node.serial, first->second,
                        node.name);
    }
  }
  return {};
}

// Returns the error with the file of the plan, and the line of the keys that it begins with.
tl::unexpected<Error> in_plan(std::string_view file, const Yaml& yaml, const Error& error) {
  const auto* node = &yaml;
  for (std::string_view rest = error.message; rest.find(": ") != std::string_view::npos;) {
    const auto* inside = node->find(rest.substr(0, rest.find(": ")));
    if (inside == nullptr) break;
    node = inside;
    rest.remove_prefix(rest.find(": ") + 2);
  }
  return make_error("{}: {}", at(file, node == &yaml ? 0 : node->line), error.message);
}

// Checks the profile and the settings of a plan. Without a profile, any may be that of the nodes.
// An error about the settings is at the first one without which they are valid.
Result<void> check_settings(ProfileSources sources, const Plan& plan, std::string_view file,
                            const Yaml& yaml) {
  const auto& name = plan.profile.empty() ? std::string("generic") : plan.profile;
  sources.settings = plan.settings;
  if (load_profile(sources, name)) return {};
  if (plan.profile.empty()) {
    TRY_ASSIGN(const auto names, profile_names(sources));
    const auto fits = [&](const std::string& each) {
      return load_profile(sources, each).has_value();
    };
    if (std::ranges::any_of(names, fits)) return {};
  }
  sources.settings.clear();
  const auto* node = yaml.find("profile");
  for (std::size_t i = 0; i <= plan.settings.size(); ++i) {
    if (const auto loaded = load_profile(sources, name); !loaded) {
      return make_error("{}: {}", at(file, node == nullptr ? 0 : node->line),
                        loaded.error().message);
    }
    if (i == plan.settings.size()) break;
    sources.settings.push_back(plan.settings[i]);
    node = &yaml.find("settings")->items.at(i);
  }
  return {};
}

}  // namespace

Result<OrderedNodes> read_nodes(const std::vector<std::string>& words) {
  NodeList list;
  for (const auto& word : words) TRY(add_word(list, word));
  TRY(check_nodes(list));
  return std::move(list.nodes);
}

Result<Plan> read_plan(const std::string& word, const ProfileSources& sources) {
  if (word.find('/') == std::string::npos && word.find('.') == std::string::npos) {
    return shipped_plan(word);
  }
  TRY_ASSIGN(auto plan, shipped_plan("standard"));
  plan.name = std::filesystem::path(word).stem().string();
  TRY_ASSIGN(const auto text, read_yaml_text(word));
  TRY_ASSIGN(const auto yaml, parse_yaml(text, word));
  Profile scratch;  // the binder records the lines here
  Binder binder(scratch);
  binder.begin(word);
  TRY(binder.value(yaml, Place{}, plan));
  if (const auto checked = check_plan(plan); !checked) return in_plan(word, yaml, checked.error());
  TRY(check_settings(sources, plan, word, yaml));
  return plan;
}

std::string difference(const OrderedNodes& recorded, const OrderedNodes& asked) {
  std::map<std::string_view, const OrderedNode*> known;
  for (const auto& node : recorded) known[node.name] = &node;
  for (const auto& node : asked) {
    const auto same = known.find(node.name);
    if (same == known.end()) return fmt::format("{} was not ordered", node.name);
    if (*same->second != node) {
      return fmt::format("{} was ordered with another host, serial or group", node.name);
    }
    known.erase(same);
  }
  if (known.empty()) return {};
  return fmt::format("{} was ordered but is not in the list now", known.begin()->first);
}

std::string difference(const Plan& recorded, const Plan& asked) {
  std::string first;
  for_each_field<Plan>([&](const auto& field) {
    const auto& before = recorded.*field.member;
    const auto& now = asked.*field.member;
    if (!first.empty() || before == now) return;
    std::string before_text;
    std::string now_text;
    JsonWriter(before_text).write(before);
    JsonWriter(now_text).write(now);
    first = fmt::format("{} was {} in its plan and is {} now", field.name, before_text, now_text);
  });
  return first;
}

}  // namespace muster::accept
