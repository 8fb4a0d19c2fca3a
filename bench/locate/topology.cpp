// SPDX-License-Identifier: Apache-2.0
// Reads which leaf switch each node hangs from.

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "bench/locate/rounds.hpp"
#include "lib/base/text.hpp"
#include "lib/hosts/hostlist.hpp"

namespace muster::bench::locate {
namespace {

// Parses one line: a switch with the list of its nodes, or of the switches below it.
struct SwitchLine {
  std::string name;
  std::string_view nodes{}, switches{};
};

Result<SwitchLine> parse_slurm(const std::vector<std::string_view>& words) {
  SwitchLine found;
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
      return make_error("unknown word \"{}\"", printable(word, 80));
    }
  }
  if (found.name.empty()) return make_error("no SwitchName");
  if (found.nodes.empty() && found.switches.empty()) return make_error("no Nodes or Switches");
  return found;
}

Result<SwitchLine> parse_line(std::string_view line) {
  const auto words = split_words(line);
  if (words.front().find('=') != std::string_view::npos) return parse_slurm(words);
  if (words.size() != 2) return make_error("expected a switch and the list of its nodes");
  return SwitchLine{.name = std::string(words[0]), .nodes = words[1]};
}

using NodesByName = std::map<std::string, Node>;

Result<void> add_leaf(Nodes& nodes, const NodesByName& known, const std::string& leaf,
                      const std::vector<std::string>& names) {
  if (std::ranges::count(nodes.leaf_names, leaf) > 0) {
    return make_error("duplicate switch \"{}\"", printable(leaf, 80));
  }
  const auto index = static_cast<int>(nodes.leaf_names.size());
  nodes.leaf_names.push_back(leaf);
  for (const auto& name : names) {
    const auto node = known.find(name);
    if (node == known.end()) continue;
    auto& own = nodes.leaves[node->second];
    if (own != kNoLeaf) {
      return make_error("{} already hangs from {}", name,
                        nodes.leaf_names[static_cast<std::size_t>(own)]);
    }
    own = index;
  }
  return {};
}

// `above`: the switches below each switch of switches.
void set_pods(Nodes& nodes, const std::vector<std::vector<std::string>>& above) {
  for (std::size_t i = 0; i < above.size(); ++i) {
    for (const auto& name : above[i]) {
      const auto leaf = std::ranges::find(nodes.leaf_names, name);
      if (leaf == nodes.leaf_names.end()) continue;
      nodes.pods.resize(nodes.leaf_names.size(), kNoLeaf);
      nodes.pods[static_cast<std::size_t>(leaf - nodes.leaf_names.begin())] = static_cast<int>(i);
    }
  }
}

}  // namespace

Result<void> set_topology(Nodes& nodes, std::string_view text, std::string_view file) {
  NodesByName known;
  for (Node node = 0; node < nodes.count(); ++node) known[nodes.names[node]] = node;
  nodes.leaves.assign(nodes.count(), kNoLeaf);
  nodes.leaf_names.clear();
  nodes.pods.clear();
  std::vector<std::vector<std::string>> above;
  const auto read_line = [&](std::string_view line) -> Result<void> {
    TRY_ASSIGN(const auto found, parse_line(line));
    TRY_ASSIGN(auto names, expand_hostlist(found.nodes.empty() ? found.switches : found.nodes));
    if (!found.nodes.empty()) return add_leaf(nodes, known, found.name, names);
    above.push_back(std::move(names));
    return {};
  };
  std::size_t number = 0;
  std::string line;  // with the lines that it continues
  for (const auto part : split_lines(text)) {
    ++number;
    line += part.substr(0, part.find('#'));
    line.erase(line.find_last_not_of(" \t\r") + 1);
    if (line.ends_with('\\')) {
      line.pop_back();
      continue;
    }
    const auto whole = std::exchange(line, {});
    if (trim(whole).empty()) continue;
    if (const auto read = read_line(trim(whole)); !read) {
      return make_error("{}:{}: {}", file, number, read.error().message);
    }
  }
  if (!line.empty()) return make_error("{}: the last line is incomplete", file);
  set_pods(nodes, above);  // a switch may be named before those below it
  if (std::ranges::all_of(nodes.leaves, [](int leaf) { return leaf == kNoLeaf; })) {
    return make_error("{}: names none of the nodes of this run", file);
  }
  return {};
}

}  // namespace muster::bench::locate
