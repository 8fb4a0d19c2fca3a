// SPDX-License-Identifier: Apache-2.0
#include "accept/orders.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "lib/base/json_write.hpp"
#include "lib/base/root.hpp"
#include "lib/base/text.hpp"
#include "lib/hosts/hostlist.hpp"
#include "lib/profile/binder.hpp"
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
  node.*(key->member) = word.substr(equals + 1);
  if (!(node.*(key->member)).empty()) return {};
  return make_error("{}= has no value", key->word);
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

}  // namespace

Result<OrderedNodes> parse_nodes(std::string_view text, std::string_view file) {
  OrderedNodes nodes;
  int number = 0;
  for (auto line : split_lines(text)) {
    ++number;
    line = trim(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    const auto parsed = parse_line(line);
    if (!parsed) return make_error("{}:{}: {}", file, number, parsed.error().message);
    nodes.insert(nodes.end(), parsed->begin(), parsed->end());
  }
  return nodes;
}

Result<OrderedNodes> read_nodes(const std::vector<std::string>& words) {
  OrderedNodes nodes;
  for (const auto& word : words) {
    OrderedNodes more;
    if (word.starts_with('@')) {
      constexpr std::size_t kMaxBytes = 64UL * 1024 * 1024;
      const auto path = std::filesystem::absolute(word.substr(1)).string();
      TRY_ASSIGN(const auto text, Root().read(path, kMaxBytes));
      TRY_ASSIGN(more, parse_nodes(text, word.substr(1)));
    } else {
      TRY_ASSIGN(const auto names, expand_hostlist(word, kMaxNodes));
      for (const auto& name : names) more.push_back({.name = name});
    }
    nodes.insert(nodes.end(), more.begin(), more.end());
  }
  TRY(check_nodes(nodes));
  return nodes;
}

Result<void> check_nodes(const OrderedNodes& nodes) {
  if (nodes.empty()) return make_error("the list has no nodes");
  if (nodes.size() > kMaxNodes) {
    return make_error("too many nodes: {}, expected at most {}", nodes.size(), kMaxNodes);
  }
  std::set<std::string_view> names;
  std::map<std::string_view, std::string_view> serials;
  for (const auto& node : nodes) {
    if (!is_safe(node.name)) {
      return make_error(
          "invalid node \"{}\": it begins with neither a letter nor a "
          "digit",
          printable(node.name, 80));
    }
    if (!names.insert(node.name).second) {
      return make_error("{} is in the list twice", node.name);
    }
    const auto [first, is_new] = serials.try_emplace(node.serial, node.name);
    if (!is_new && !node.serial.empty()) {
      return make_error("the serial {} is at {} and at {}", node.serial, first->second, node.name);
    }
  }
  return {};
}

Result<Plan> read_plan(const std::string& word) {
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
