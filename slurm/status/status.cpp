// SPDX-License-Identifier: Apache-2.0

#include "slurm/status/status.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>

#include "lib/base/clock.hpp"
#include "lib/base/text.hpp"
#include "slurm/policy/decide.hpp"
#include "slurm/policy/limits.hpp"
#include "slurm/policy/node_memory.hpp"
#include "slurm/policy/reason.hpp"

namespace muster::slurm {
namespace {

// The condition for resuming the node, judging by what Slurm shows.
std::string until(const NodeMemory& drain, bool is_remembered, const NodeState& node,
                  const Rules& rules, Time now) {
  const auto admin = fmt::format("muster resume {}", node.name);
  if (!drain.admin.empty()) return fmt::format("an admin runs {}: {}", admin, drain.admin);
  if (is_left_by_a_job(drain.check)) return "the leftover of an ended job is gone";
  if (needs_repair(drain.remedy)) return fmt::format("it is repaired, then {}", admin);
  if (!rules.resume) return fmt::format("an admin runs {} (resume: false)", admin);
  if (const auto flaps = flapping(drain.drains, rules, now); !flaps.empty()) {
    return fmt::format("an admin runs {}: {}", admin, flaps);
  }
  if (const auto why = why_not_remembered(node, rules); !why.empty()) {
    return fmt::format("an admin runs {}: {}", admin, why);
  }
  const auto reboot = drain.remedy == Remedy::reboot ? "a reboot, and " : "";
  const auto runs = fmt::format("{}clean run {} of {}", reboot, rules.clean_runs, rules.clean_runs);
  return is_remembered ? fmt::format("{} ({} so far)", runs, drain.clean) : runs;
}

DrainedNode drained_node(const NodeState& node, const Rules& rules, Time now) {
  const auto drain = shown_drain(node);
  const bool is_remembered = memory_of_drain(node).has_value();
  const auto power = power_of(node);
  // No hook runs there until then. On another host the drain is void.
  const auto first = power == Power::on ? ""
                     : power == Power::turning_on
                         ? std::string("it is up, and then ")
                         : fmt::format(
                               "it is powered up (scontrol update nodename={} "
                               "state=power_up), and on the same host ",
                               node.name);
  return {.node = node,
          .drain = drain,
          .is_remembered = is_remembered,
          .until = fmt::format("{}{}", first, until(drain, is_remembered, node, rules, now))};
}

// The drains that count for the limits of one partition.
struct Counts {
  std::size_t window = 0, standing = 0, repair = 0;
};

std::vector<UsedUp> used_up(const std::vector<NodeState>& cluster, const Rules& rules, Time now) {
  std::map<std::string, Counts> partitions;
  for (const auto& node : cluster) {
    if (!was_drained_by_us(node)) continue;
    const bool repair = needs_repair(shown_drain(node).remedy);
    for (const auto& name : node.partitions) {
      auto& counts = partitions[name];
      const auto since = drained_since(node);
      if (!since || *since > now - whole(rules.drain_window)) ++counts.window;
      ++(repair ? counts.repair : counts.standing);
    }
  }
  std::vector<UsedUp> limits;
  for (const auto& [name, counts] : partitions) {
    const auto up = nodes_up_in(name, cluster);
    const auto add = [&, &name = name](std::string_view key, const auto& share, int nodes,
                                       std::size_t count) {
      const auto most = allowance(up, share, nodes);
      if (count >= most) {
        limits.push_back(
            {.partition = name, .limit = std::string(key), .drained = count, .most = most});
      }
    };
    add("most_drained", rules.most_drained, rules.most_drained_nodes, counts.window);
    const auto most_in_repair = allowance(up, rules.most_in_repair, rules.most_in_repair_nodes);
    add("most_standing", rules.most_standing, rules.most_standing_nodes,
        count_standing(counts.standing, counts.repair, most_in_repair));
    add("most_in_repair", rules.most_in_repair, rules.most_in_repair_nodes, counts.repair);
  }
  return limits;
}

// Refusals that nodes in service have noted in their memory in Slurm.
void add_noted_refusals(const std::vector<NodeState>& cluster,
                        const std::set<std::string_view>& wanted, Time now,
                        std::vector<Event>& refused) {
  for (const auto& node : cluster) {
    if (!wanted.empty() && !wanted.contains(node.name)) continue;
    const auto memory = parse_node_memory(node.memory);
    if (!memory || !memory->refused || standing_of(node) != Standing::in_service) continue;
    const auto& noted = *memory->refused;
    const bool is_told = std::ranges::find(refused, node.name, &Event::node) != refused.end();
    if (is_told || now - noted.at > kRefusalLasts) continue;
    refused.push_back({.at = noted.at,
                       .node = node.name,
                       .kind = "refused",
                       .check = noted.check,
                       .device = noted.device,
                       .message = subject_of(noted.check, noted.device)});
  }
}

// Returns the last refusal of each node in the history that has not ended.
std::vector<Event> refusals(const std::vector<std::string>& nodes, Time now, const History& history,
                            std::string& trouble) {
  const auto events = history.events({.nodes = nodes, .since = now - std::chrono::hours(24)});
  if (!events) {
    trouble = events.error().message;
    return {};
  }
  std::map<std::string, Event> last;
  for (auto& refused : lasting_refusals(*events)) {
    // No hook of the node ends it here, and a sweep that still wants the drain renews it.
    if (refused.context == "sweep" && now - refused.at > kRefusalLasts) continue;
    last[refused.node] = std::move(refused);
  }
  std::vector<Event> refused;
  for (auto& [node, event] : last) refused.push_back(std::move(event));
  return refused;
}

void count(ClusterStatus& status, const NodeState& node) {
  ++status.nodes;
  if (node.state.find('*') != std::string::npos) status.not_responding.push_back(node);
  switch (standing_of(node)) {
    case Standing::asleep:
      ++status.asleep;
      [[fallthrough]];
    case Standing::in_service:
      ++status.in_service;
      break;
    case Standing::drained:
      if (is_kept_out(node)) {
        status.kept_out.push_back(node);
      } else if (!was_drained_by_us(node)) {
        ++status.drained_by_others;
      }
      break;
    case Standing::down:
      ++status.down;
      break;
    case Standing::unavailable:
      ++status.unavailable;
      break;
  }
}

constexpr std::size_t kColumns = 80;

// Lines of at most kColumns that begin with `indent` blanks. The JSON has all of a longer word.
std::string paragraph(std::string_view text, std::size_t indent) {
  std::string words;
  const auto line = printable(text, 1000);
  for (const auto word : split_words(line)) words += printable(word, kColumns - indent) + " ";
  return std::string(indent, ' ') + wrapped(words, indent, kColumns) + "\n";
}

std::string time_of(std::optional<Time> time) { return time ? utc(*time) : ""; }

std::string since(const NodeState& node) {
  const auto since = drained_since(node);
  return since ? utc(*since) : "an unknown time";
}

std::string_view without_leader(std::string_view reason) {
  return reason.starts_with(kOurs) ? reason.substr(kOurs.size()) : reason;
}

// A heading, followed by `write` of each element; empty if there are none.
template <class Each, class Write>
std::string section(std::string_view heading, const std::vector<Each>& list, const Write& write) {
  if (list.empty()) return "";
  auto text = fmt::format("\n{}\n", heading);
  for (const auto& each : list) text += write(each);
  return text;
}

// Like section(), with the number of elements in the heading.
template <class Each, class Write>
std::string numbered(std::string_view heading, const std::vector<Each>& list, const Write& write) {
  return section(fmt::format("{}: {}", heading, list.size()), list, write);
}

std::string lines_of(const DrainedNode& each) {
  const auto node = fmt::format("{} {} since {}{}", each.node.name, each.node.state,
                                since(each.node), each.drain.accepted ? ", accepted" : "");
  // Slurm drops the reason of a node that it powers up.
  const auto reason = lost_its_reason(each.node) ? subject_of(each.drain.check, each.drain.device)
                                                 : std::string(without_leader(each.node.reason));
  return paragraph(node, 2) + paragraph(reason, 4) +
         paragraph(fmt::format("until {}", each.until), 4);
}

std::string lines_of_refusal(const Event& event) {
  const auto context = event.context.empty() ? "" : fmt::format(", {}", event.context);
  return paragraph(fmt::format("{} at {}{}", event.node, utc(event.at), context), 2) +
         paragraph(event.message, 4);
}

using Json = nlohmann::ordered_json;

Json json_of(const DrainedNode& each) {
  const auto& [node, drain, is_remembered, until] = each;
  return {{"node", printable(node.name)},
          {"partitions", node.partitions},
          {"state", printable(node.state)},
          {"since", time_of(drained_since(node))},
          {"reason", printable(node.reason, 1000)},
          {"check", printable(drain.check)},
          {"device", printable(drain.device)},
          {"remedy", drain.remedy == Remedy::none ? "" : to_string(drain.remedy)},
          {"clean_runs", is_remembered ? Json(drain.clean) : Json()},
          {"until", until},
          {"accepted", drain.accepted}};
}

Json json_of(const NodeState& node) {
  return {{"node", printable(node.name)},
          {"state", printable(node.state)},
          {"reason", printable(node.reason, 1000)},
          {"since", time_of(drained_since(node))}};
}

Json json_of(const StoppedCheck& stopped) {
  return {{"check", printable(stopped.check)},
          {"partition", printable(stopped.partition)},
          {"drains", stopped.drains},
          {"most", stopped.most}};
}

Json json_of(const UsedUp& limit) {
  return {{"partition", printable(limit.partition)},
          {"limit", limit.limit},
          {"drained", limit.drained},
          {"most", limit.most}};
}

Json json_of(const Event& event) {
  return {{"node", printable(event.node)},     {"at", utc(event.at)},
          {"context", event.context},          {"check", printable(event.check)},
          {"device", printable(event.device)}, {"message", printable(event.message, 1000)}};
}

template <class Each>
Json list_of(const std::vector<Each>& all) {
  auto list = Json::array();
  for (const auto& each : all) list.push_back(json_of(each));
  return list;
}

}  // namespace

ClusterStatus status_of(const std::vector<NodeState>& cluster,
                        const std::vector<std::string>& nodes, const Rules& rules, Time now,
                        const History* history) {
  const std::set<std::string_view> wanted(nodes.begin(), nodes.end());
  ClusterStatus status{.at = now, .clean_runs = rules.clean_runs};
  for (const auto& node : cluster) {
    if (!wanted.empty() && !wanted.contains(node.name)) continue;
    count(status, node);
    if (was_drained_by_us(node)) status.drained.push_back(drained_node(node, rules, now));
  }
  std::ranges::stable_sort(status.drained, {}, [](const DrainedNode& each) {
    return drained_since(each.node).value_or(Time());
  });
  status.stopped = stopped_checks(cluster, rules);
  status.used_up = used_up(cluster, rules, now);
  if (history == nullptr) {
    status.history = "no history on this machine";
  } else {
    status.refused = refusals(nodes, now, *history, status.history);
  }
  add_noted_refusals(cluster, wanted, now, status.refused);
  return status;
}

std::string to_text(const ClusterStatus& status, const Rules& rules) {
  const auto asleep =
      status.asleep == 0 ? "" : fmt::format(" ({} of them powered down)", status.asleep);
  std::string out = paragraph(
      fmt::format("{}: {} in service{}, {} drained by muster, {} by others, {} new, "
                  "{} down, {} in maintenance or booting",
                  counted(static_cast<std::uint64_t>(status.nodes), "node"), status.in_service,
                  asleep, status.drained.size(), status.drained_by_others, status.kept_out.size(),
                  status.down, status.unavailable),
      0);
  if (status.hidden > 0) {
    out += paragraph(fmt::format("{} more nodes are powered down and not listed by Slurm, drained "
                                 "or not: PrivateData=cloud in slurm.conf shows them",
                                 status.hidden),
                     0);
  }
  out += numbered("Stopped checks", status.stopped, [&](const StoppedCheck& stopped) {
    return paragraph(why_stopped(stopped, rules), 2);
  });
  out += section("Limits that are used up: sick nodes stay in service", status.used_up,
                 [](const UsedUp& limit) {
                   return paragraph(
                       fmt::format("{} in partition {}: {} drained, {} allowed", limit.limit,
                                   limit.partition, limit.drained, limit.most),
                       2);
                 });
  out += numbered("Drained by muster", status.drained, lines_of);
  out += numbered("Sick and not drained", status.refused, lines_of_refusal);
  out += numbered("New, and not accepted yet", status.kept_out, [](const NodeState& node) {
    return paragraph(fmt::format("{} {} since {}", node.name, node.state, since(node)), 2);
  });
  out += numbered("slurmd does not answer", status.not_responding, [](const NodeState& node) {
    const auto why = node.reason.empty() ? "" : fmt::format(": {}", node.reason);
    return paragraph(fmt::format("{} {}{}", node.name, node.state, why), 2);
  });
  if (rules.memory != "none") return out;
  const auto also = status.history.empty() ? "" : fmt::format(" ({})", status.history);
  const auto note = fmt::format(
      "Nodes that are sick and not drained are only in their own history, because slurm: memory is "
      "none: run muster events there{}.",
      also);
  return out + "\n" + paragraph(note, 0);
}

std::string to_json(const ClusterStatus& status) {
  const Json json{{"schema", "muster.status/1"},
                  {"at", utc(status.at)},
                  {"nodes", status.nodes},
                  {"in_service", status.in_service},
                  {"powered_down", status.asleep},
                  {"hidden", status.hidden},
                  {"drained_by_muster", status.drained.size()},
                  {"drained_by_others", status.drained_by_others},
                  {"down", status.down},
                  {"away", status.unavailable},
                  {"clean_runs_needed", status.clean_runs},
                  {"stopped", list_of(status.stopped)},
                  {"used_up", list_of(status.used_up)},
                  {"drained", list_of(status.drained)},
                  {"refused", list_of(status.refused)},
                  {"refused_unknown", status.history},
                  {"new", list_of(status.kept_out)},
                  {"not_responding", list_of(status.not_responding)}};
  return json.dump(2, ' ', true, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace muster::slurm
