// SPDX-License-Identifier: Apache-2.0
#include "bench/locate/topology.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "lib/base/text.hpp"
#include "lib/hosts/hostlist.hpp"

namespace muster::bench::locate {
namespace {

// Of one line: a switch, and the list of its nodes or of the switches below it.
struct Switch {
  std::string name;
  std::string_view nodes, switches;
};

// Slurm's keys, in whatever case.
Result<Switch> parse_slurm(const std::vector<std::string_view>& words) {
  Switch found;
  for (const auto word : words) {
    const auto equals = word.find('=');
    const auto key = lower_case(word.substr(0, equals));
    const auto value = equals == std::string_view::npos ? "" : word.substr(equals + 1);
    if (key == "switchname") {
      found.name = value;
    } else if (key == "nodes") {
      found.nodes = value;
    } else if (key == "switches") {
      found.switches = value;
    } else if (key != "linkspeed") {
      return make_error(fmt::format("unknown word \"{}\"", printable(word, 80)));
    }
  }
  if (found.name.empty()) return make_error("there is no SwitchName");
  if (found.nodes.empty() && found.switches.empty()) {
    return make_error("neither Nodes nor Switches");
  }
  return found;
}

Result<Switch> parse_line(std::string_view line) {
  const auto words = split_words(line);
  if (words.front().find('=') != std::string_view::npos) return parse_slurm(words);
  if (words.size() != 2) return make_error("expects a switch and the list of its nodes");
  return Switch{.name = std::string(words[0]), .nodes = words[1], .switches = {}};
}

class Reader {
 public:
  explicit Reader(Nodes& nodes) : nodes_(nodes) {
    for (Node node = 0; node < nodes.count(); ++node) known_[nodes.names[node]] = node;
    nodes_.leaves.assign(nodes.count(), kNoLeaf);
    nodes_.leaf_names.clear();
    nodes_.pods.clear();
  }

  [[nodiscard]] Result<void> take(std::string_view line) {
    TRY_ASSIGN(const auto found, parse_line(line));
    TRY_ASSIGN(auto names, expand_hostlist(found.nodes.empty() ? found.switches : found.nodes));
    if (!found.nodes.empty()) return add_leaf(found.name, names);
    above_.push_back(std::move(names));
    return {};
  }

  // Once all lines are read: a switch may be named before those below it.
  void finish() {
    std::map<std::string, std::size_t> leaves;
    for (std::size_t i = 0; i < nodes_.leaf_names.size(); ++i) leaves[nodes_.leaf_names[i]] = i;
    for (std::size_t i = 0; i < above_.size(); ++i) {
      for (const auto& name : above_[i]) {
        const auto leaf = leaves.find(name);
        if (leaf == leaves.end()) continue;
        nodes_.pods.resize(leaves.size(), kNoLeaf);
        nodes_.pods[leaf->second] = static_cast<int>(i);
      }
    }
  }

 private:
  [[nodiscard]] Result<void> add_leaf(const std::string& leaf,
                                      const std::vector<std::string>& names) {
    if (std::ranges::find(nodes_.leaf_names, leaf) != nodes_.leaf_names.end()) {
      return make_error(fmt::format("the switch {} stands there twice", printable(leaf, 80)));
    }
    const auto index = static_cast<int>(nodes_.leaf_names.size());
    nodes_.leaf_names.push_back(leaf);
    for (const auto& name : names) {
      const auto known = known_.find(name);
      if (known == known_.end()) continue;
      auto& own = nodes_.leaves[known->second];
      if (own != kNoLeaf) {
        return make_error(fmt::format("{} hangs from {} already", name,
                                      nodes_.leaf_names[static_cast<std::size_t>(own)]));
      }
      own = index;
    }
    return {};
  }

  Nodes& nodes_;
  std::map<std::string, Node> known_;
  std::vector<std::vector<std::string>> above_;  // what hangs from each switch of switches
};

}  // namespace

Result<void> set_topology(Nodes& nodes, std::string_view text, std::string_view file) {
  Reader reader(nodes);
  std::size_t number = 0;
  std::string content;  // a line, and those before it that it goes on from
  for (const auto line : split_lines(text)) {
    ++number;
    content += line.substr(0, line.find('#'));
    content.erase(content.find_last_not_of(" \t\r") + 1);
    if (content.ends_with('\\')) {
      content.pop_back();
      continue;
    }
    const auto whole = std::exchange(content, {});
    if (trim(whole).empty()) continue;
    if (auto done = reader.take(trim(whole)); !done) {
      return make_error(fmt::format("{}:{}: {}", file, number, done.error().message));
    }
  }
  if (!content.empty()) return make_error(fmt::format("{}: the last line goes on", file));
  reader.finish();
  if (std::ranges::all_of(nodes.leaves, [](int leaf) { return leaf == kNoLeaf; })) {
    return make_error(fmt::format("{}: it names none of the nodes of this run", file));
  }
  return {};
}

}  // namespace muster::bench::locate
