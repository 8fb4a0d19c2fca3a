// SPDX-License-Identifier: Apache-2.0
#include "slurm/cluster/node_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "lib/base/text.hpp"

namespace muster::slurm {
namespace {

constexpr std::size_t kFields = 6;
using Fields = std::array<std::string_view, kFields>;

struct Word {
  std::string_view state;
  Standing standing;
};

// The long and the short form of each. What is not here is `away`.
constexpr std::array kWords{
    Word{"idle", Standing::in_service},
    Word{"mixed", Standing::in_service},
    Word{"mix", Standing::in_service},
    Word{"allocated", Standing::in_service},
    Word{"alloc", Standing::in_service},
    Word{"completing", Standing::in_service},
    Word{"comp", Standing::in_service},
    Word{"planned", Standing::in_service},
    Word{"plnd", Standing::in_service},
    Word{"reserved", Standing::in_service},  // for jobs of a reservation; maintenance is `maint`
    Word{"resv", Standing::in_service},
    Word{"blocked", Standing::in_service},
    Word{"block", Standing::in_service},
    Word{"drained", Standing::drained},
    Word{"drain", Standing::drained},
    Word{"draining", Standing::drained},
    Word{"drng", Standing::drained},
    Word{"down", Standing::down},
    Word{"fail", Standing::down},
    Word{"failing", Standing::down},
    Word{"failg", Standing::down},
    Word{"inval", Standing::down},
    Word{"powered_down", Standing::down},
    Word{"pow_dn", Standing::down},
};

Standing standing_of_word(std::string_view word) {
  const auto* const known = std::ranges::find(kWords, word, &Word::state);
  return known == kWords.end() ? Standing::away : known->standing;
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || c == '_'; }

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (auto& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

// The last field is the reason, which may hold bars of its own.
std::optional<Fields> fields_of(std::string_view line) {
  Fields fields;
  for (std::size_t i = 0; i + 1 < kFields; ++i) {
    const auto bar = line.find('|');
    if (bar == std::string_view::npos) return std::nullopt;
    fields.at(i) = line.substr(0, bar);
    line.remove_prefix(bar + 1);
  }
  fields.back() = line;
  return fields;
}

std::optional<Time> parse_time(std::string_view text) {
  const auto seconds = parse_unsigned(text);
  constexpr std::uint64_t kLast = 253402300799;  // of the year 9999
  if (!seconds || *seconds == 0 || *seconds > kLast) return std::nullopt;
  return Time(std::chrono::seconds(static_cast<std::int64_t>(*seconds)));
}

NodeState parse_node(const Fields& fields) {
  const auto& [name, partition, state, user, since, reason] = fields;
  NodeState node{.name = std::string(name), .state = std::string(state)};
  if (!partition.empty()) node.partitions.emplace_back(partition);
  if (reason != "none") node.reason = reason;
  if (user != "Unknown") node.user = user;
  node.since = parse_time(since);
  return node;
}

// Nodes by name, in the order of their first lines.
class Nodes {
 public:
  void add(NodeState node) {
    const auto [place, is_new] = places_.try_emplace(node.name, nodes_.size());
    last_is_new_ = is_new;
    if (is_new) {
      nodes_.push_back(std::move(node));
      return;
    }
    auto& partitions = nodes_[place->second].partitions;
    for (auto& partition : node.partitions) {
      if (std::ranges::find(partitions, partition) == partitions.end()) {
        partitions.push_back(std::move(partition));
      }
    }
  }

  // Somebody's reason of several lines: Slurm stores line breaks as they are.
  void add_to_reason(std::string_view line) {
    if (last_is_new_) nodes_.back().reason += fmt::format("\n{}", line);
  }

  [[nodiscard]] bool empty() const { return nodes_.empty(); }

  std::vector<NodeState> take() { return std::move(nodes_); }

 private:
  std::vector<NodeState> nodes_;
  std::map<std::string, std::size_t, std::less<>> places_;
  bool last_is_new_ = false;
};

// A suffix tells what the word does not: * does not respond, ~ powered down, # powering up,
// % powering down, ! to be powered down, @ to be rebooted, ^ rebooting, $ maintenance, - planned.
struct Parts {
  std::string word;
  std::string suffixes;
};

Parts parts_of(const NodeState& node) {
  const auto state = lower_case(node.state);
  const auto end = std::ranges::find_if_not(state, is_letter);
  return {{state.begin(), end}, {end, state.end()}};
}

}  // namespace

Standing standing_of(const NodeState& node) {
  const auto [word, suffixes] = parts_of(node);
  const auto standing = standing_of_word(word);
  if (suffixes.find_first_not_of("*~#%@$-^!+") != std::string_view::npos) return Standing::away;
  if (suffixes.find_first_of("@^#%!") != std::string_view::npos) return Standing::away;
  if (standing != Standing::in_service) return standing;
  if (suffixes.find('$') != std::string_view::npos) return Standing::away;
  if (suffixes.find('~') != std::string_view::npos) return Standing::down;
  if (suffixes.find('*') == std::string_view::npos) return standing;
  // Right after it was resumed, a node is "idle*" for a second.
  return word == "idle" ? Standing::away : Standing::down;
}

bool is_up(const NodeState& node) {
  const auto [word, suffixes] = parts_of(node);
  const auto standing = standing_of_word(word);
  const bool is_known = standing == Standing::in_service || standing == Standing::drained;
  return is_known && suffixes.find_first_of("~#%^!") == std::string::npos;
}

Result<std::vector<NodeState>> parse_sinfo(std::string_view text) {
  Nodes nodes;
  for (const auto line : split_lines(text)) {
    const auto fields = fields_of(line);
    if (fields && !fields->front().empty()) {
      nodes.add(parse_node(*fields));
    } else if (!nodes.empty()) {
      nodes.add_to_reason(line);
    } else {
      return make_error(fmt::format(
          "sinfo: \"{}\" is no line of the form {}", printable(line, 80), kSinfoFormat));
    }
  }
  return nodes.take();
}

}  // namespace muster::slurm
