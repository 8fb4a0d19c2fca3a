// SPDX-License-Identifier: Apache-2.0

#include "slurm/cluster/node_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <utility>

#include "lib/base/host_name.hpp"
#include "lib/base/text.hpp"

namespace muster::slurm {
namespace {

// One of the names may lack the domain; if both have one, they must match.
bool is_same_host(std::string_view a, std::string_view b) {
  if (a == b) return true;
  const bool both = a.find('.') != std::string_view::npos && b.find('.') != std::string_view::npos;
  return !both && without_domain(a) == without_domain(b);
}

struct Words {
  Standing standing;
  std::array<std::string_view, 13> states;
};

// The states, in long and short form. Reserved nodes are for jobs of a reservation; maintenance is
// `maint`, which is unavailable like all other words.
constexpr std::array kWords{
    Words{Standing::in_service,
          {"idle", "mixed", "mix", "allocated", "alloc", "completing", "comp", "planned", "plnd",
           "reserved", "resv", "blocked", "block"}},
    Words{Standing::drained, {"drained", "drain", "draining", "drng"}},
    Words{Standing::down, {"down", "fail", "failing", "failg", "inval", "powered_down", "pow_dn"}}};

// A suffix that sinfo prints, and scontrol's flags for it.
struct Suffix {
  char sign;
  std::array<std::string_view, 4> flags;
};

constexpr std::array kSuffixes{
    Suffix{'*', {"not_responding", "no_respond"}},
    Suffix{'~', {"powered_down", "pow_dn", "powered"}},
    Suffix{'#', {"powering_up", "power_up", "pow_up"}},
    Suffix{'%', {"powering_down"}},
    Suffix{'!', {"power_down", "power_drain"}},
    Suffix{'@', {"reboot_requested", "reboot"}},
    Suffix{'^', {"reboot_issued"}},
    Suffix{'$', {"maintenance", "maint"}},
};

// Flags that do not concern jobs or power.
constexpr std::array<std::string_view, 5> kNeutral{"cloud", "dynamic_norm", "dynamic_future",
                                                   "external", "perfctrs"};

Standing standing_of_word(std::string_view word) {
  for (const auto& [standing, states] : kWords) {
    if (!word.empty() && std::ranges::count(states, word) > 0) return standing;
  }
  return Standing::unavailable;
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || c == '_'; }

std::vector<std::string_view> split_at(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const auto end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + separator.size());
  }
}

// The separators that sinfo prints after each field, and after the last one of a line.
std::string behind_field(std::string_view nonce) { return fmt::format("|{}|", nonce); }

std::string behind_line(std::string_view nonce) { return fmt::format("|{}.", nonce); }

// Returns nothing if these are not the requested fields.
std::optional<NodeState> parse_node(const std::vector<std::string_view>& fields) {
  constexpr std::size_t kFields = 6;  // plus the memory, if this sinfo supports its field
  const bool has_memory = fields.size() == kFields + 1;
  if (fields.size() != kFields && !has_memory) return std::nullopt;
  if (fields[0].empty() || fields[0].find_first_of("|\n") != std::string_view::npos) {
    return std::nullopt;
  }
  NodeState node{.name = std::string(fields[0]), .state = std::string(fields[2])};
  if (!fields[1].empty()) node.partitions.emplace_back(fields[1]);
  if (fields.back() != "none") node.reason = fields.back();
  // Slurm 24.11 prints a user even if the reason is gone.
  if (fields[3] != "Unknown" && !node.reason.empty()) node.user = fields[3];
  if (const auto since = parse_time(fields[4]); since != Time{} && !node.reason.empty()) {
    node.since = since;
  }
  if (has_memory && fields[5] != "(null)" && fields[5] != "N/A") node.memory = fields[5];
  return node;
}

// A state split into its parts. The suffixes refine the standing: * not responding, ~ powered down,
// # powering up, % powering down, ! to be powered down, @ to be rebooted, ^ rebooting, $
// maintenance, - planned, + several.
struct Parts {
  Standing standing = Standing::unavailable;
  bool is_idle = false;
  std::string suffixes;

  [[nodiscard]] bool has_any(std::string_view signs) const {
    return suffixes.find_first_of(signs) != std::string::npos;
  }
};

// `unavailable` takes precedence over `drained`, that over `down`, and that over all others.
Standing worse_of(Standing a, Standing b) {
  for (const auto standing : {Standing::unavailable, Standing::drained, Standing::down}) {
    if (a == standing || b == standing) return standing;
  }
  return a;
}

// Adds one word of a state, with its suffixes, to the parts.
void add_word(std::string_view word, bool is_first, Parts& parts) {
  const auto end =
      static_cast<std::size_t>(std::ranges::find_if_not(word, is_letter) - word.begin());
  parts.suffixes += word.substr(end);
  word = word.substr(0, end);
  const auto* const suffix = std::ranges::find_if(kSuffixes, [&](const Suffix& each) {
    return std::ranges::find(each.flags, word) != each.flags.end();
  });
  const bool is_flag = suffix != kSuffixes.end() && !word.empty();
  if (is_flag) parts.suffixes.push_back(suffix->sign);
  parts.is_idle = parts.is_idle || word == "idle";
  const bool adds_nothing = word.empty() || is_flag || std::ranges::count(kNeutral, word) > 0;
  if (!is_first && adds_nothing) return;
  const auto standing = standing_of_word(word);
  parts.standing = is_first ? standing : worse_of(parts.standing, standing);
}

Parts parts_of(const NodeState& node) {
  const auto state = lower_case(trim(node.state));
  Parts parts;
  bool is_first = true;
  // scontrol writes "IDLE+DRAIN"; a "+" at the end is a suffix of sinfo.
  for (const auto word : split(state, '+')) {
    if (!word.empty()) add_word(word, is_first, parts);
    is_first = false;
  }
  return parts;
}

}  // namespace

Result<std::vector<NodeName>> parse_names(std::string_view text) {
  std::vector<NodeName> names;
  for (const auto line : split_lines(text)) {
    const auto bar = line.find('|');
    if (bar == std::string_view::npos || bar == 0 || bar + 1 == line.size()) {
      return make_error(fmt::format("sinfo: invalid line \"{}\", expected {}", printable(line, 80),
                                    kNamesFormat));
    }
    names.push_back(
        {.node = std::string(line.substr(0, bar)), .host = std::string(line.substr(bar + 1))});
  }
  // A node has a line for each of its partitions.
  std::ranges::sort(names, {}, &NodeName::node);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

Result<std::string> node_on(const std::vector<NodeName>& names, std::string_view host) {
  std::vector<std::string> found;
  for (const auto& name : names) {
    if (is_same_host(name.host, host)) found.push_back(name.node);
  }
  if (found.empty()) {
    return make_missing(
        fmt::format("no Slurm partition has a node on the host {}", printable(host, 100)));
  }
  if (found.size() == 1) return found.front();
  const auto own = std::ranges::find(found, without_domain(host));
  if (own != found.end()) return *own;
  return make_error(fmt::format(
      "the host {} has {} nodes in Slurm, as {} and {}: set SLURMD_NODENAME to the one that is "
      "meant",
      printable(host, 100), found.size(), printable(found[0], 100), printable(found[1], 100)));
}

std::optional<Time> parse_time(std::string_view text) {
  const auto seconds = parse_unsigned(text);
  constexpr std::uint64_t kLast = 253402300799;  // of the year 9999
  if (!seconds || *seconds > kLast) return std::nullopt;
  return Time(std::chrono::seconds(static_cast<std::int64_t>(*seconds)));
}

const NodeState* find_node(const std::vector<NodeState>& nodes, std::string_view name) {
  const auto found = std::ranges::find(nodes, name, &NodeState::name);
  return found == nodes.end() ? nullptr : &*found;
}

Standing standing_apart_from_power(const NodeState& node) { return parts_of(node).standing; }

Standing standing_of(const NodeState& node) {
  const auto parts = parts_of(node);
  if (parts.suffixes.find_first_not_of("*~#%@$-^!+") != std::string::npos)
    return Standing::unavailable;
  if (parts.has_any("@^#%!")) return Standing::unavailable;
  if (parts.standing != Standing::in_service) return parts.standing;
  if (parts.has_any("$")) return Standing::unavailable;
  if (parts.has_any("~")) return Standing::asleep;
  if (!parts.has_any("*")) return parts.standing;
  // A node is "idle*" for a second after it was resumed.
  return parts.is_idle ? Standing::unavailable : Standing::down;
}

Power power_of(const NodeState& node) {
  const auto parts = parts_of(node);
  // A node that is powering up may be powered down again at once.
  if (parts.has_any("%!")) return Power::turning_off;
  if (parts.has_any("#")) return Power::turning_on;
  return parts.has_any("~") ? Power::off : Power::on;
}

std::string without_powering_up(std::string_view state) {
  const bool is_on_its_way = power_of({.state = std::string(state)}) == Power::turning_on;
  if (!is_on_its_way) return std::string(state);
  std::string left;
  for (const auto word : split(state, '+')) {
    const auto flag = lower_case(word);
    if (flag == "powering_up" || flag == "not_responding") continue;
    if (!left.empty()) left += '+';
    left += word;
  }
  std::erase(left, '#');
  return left;
}

bool is_in_maintenance(const NodeState& node) { return parts_of(node).has_any("$"); }

bool is_up(const NodeState& node) {
  const auto parts = parts_of(node);
  const bool is_known =
      parts.standing == Standing::in_service || parts.standing == Standing::drained;
  return is_known && !parts.has_any("~#%^!");
}

std::string sinfo_format(std::string_view memory_field, std::string_view nonce) {
  std::string format;
  for (const auto field :
       {"NodeList", "PartitionName", "StateLong", "User", "TimeStamp", "", "Reason"}) {
    const std::string_view name = *field == '\0' ? memory_field : field;
    if (name.empty()) continue;
    // A width of 0 does not truncate.
    const bool is_last = name == "Reason";
    format.append(fmt::format("{}:0{}{}", name, is_last ? behind_line(nonce) : behind_field(nonce),
                              is_last ? "" : ","));
  }
  return format;
}

Result<std::vector<NodeState>> parse_sinfo(std::string_view text, std::string_view nonce) {
  std::vector<NodeState> nodes;
  std::map<std::string, std::size_t> places;
  auto lines = split_at(text, fmt::format("{}\n", behind_line(nonce)));
  if (lines.back().empty()) lines.pop_back();
  for (const auto line : lines) {
    auto node = parse_node(split_at(line, behind_field(nonce)));
    if (!node) {
      return make_error(fmt::format("sinfo: unexpected output \"{}\"", printable(line, 80)));
    }
    const auto [place, is_new] = places.try_emplace(node->name, nodes.size());
    if (is_new) {
      nodes.push_back(*std::move(node));
      continue;
    }
    auto& partitions = nodes[place->second].partitions;
    for (auto& partition : node->partitions) {
      if (std::ranges::count(partitions, partition) == 0) partitions.push_back(partition);
    }
  }
  return nodes;
}

}  // namespace muster::slurm
