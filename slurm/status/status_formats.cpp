// SPDX-License-Identifier: Apache-2.0
// Writes the status of a cluster as text and as JSON.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "lib/base/text.hpp"
#include "slurm/policy/reason.hpp"
#include "slurm/status/status.hpp"

namespace muster::slurm {
namespace {

constexpr std::size_t kColumns = 80;

// Wraps words into lines that begin with `indent` blanks.
std::string wrapped(std::string_view text, std::size_t indent) {
  const auto line = printable(text, 1000);
  std::string out;
  std::size_t column = kColumns + 1;
  for (const auto word : split_words(line)) {
    // A word longer than a line is cut: the JSON has all of it.
    const auto shown =
        word.size() > kColumns - indent ? printable(word, kColumns - indent) : std::string(word);
    if (column + 1 + shown.size() > kColumns) {
      if (!out.empty()) out += '\n';
      out += std::string(indent, ' ') + shown;
      column = indent + shown.size();
    } else {
      out += ' ' + shown;
      column += 1 + shown.size();
    }
  }
  return out + "\n";
}

std::string since(const NodeState& node) {
  return node.since ? utc(*node.since) : "an unknown time";
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

// The same with the number of elements in the heading.
template <class Each, class Write>
std::string numbered(std::string_view heading, const std::vector<Each>& list, const Write& write) {
  return section(fmt::format("{}: {}", heading, list.size()), list, write);
}

std::string lines_of(const DrainedNode& each) {
  const auto node = fmt::format("{} {} since {}{}", each.node.name, each.node.state,
                                since(each.node), each.accepted ? ", accepted" : "");
  return wrapped(node, 2) + wrapped(without_leader(each.node.reason), 4) +
         wrapped(fmt::format("until {}", each.until), 4);
}

std::string lines_of_refusal(const Event& event) {
  const auto context = event.context.empty() ? "" : fmt::format(", {}", event.context);
  return wrapped(fmt::format("{} at {}{}", event.node, utc(event.at), context), 2) +
         wrapped(event.message, 4);
}

nlohmann::ordered_json json_of(const DrainedNode& each) {
  nlohmann::ordered_json json{{"node", printable(each.node.name)},
                              {"partitions", each.node.partitions},
                              {"state", printable(each.node.state)},
                              {"since", each.node.since ? utc(*each.node.since) : ""},
                              {"reason", printable(each.node.reason, 1000)},
                              {"check", printable(each.check)},
                              {"device", printable(each.device)},
                              {"remedy", each.remedy},
                              {"clean_runs", nullptr},
                              {"until", each.until},
                              {"accepted", each.accepted}};
  if (each.clean_runs) json["clean_runs"] = *each.clean_runs;
  return json;
}

nlohmann::ordered_json json_of(const std::vector<NodeState>& nodes) {
  auto list = nlohmann::ordered_json::array();
  for (const auto& node : nodes) {
    list.push_back({{"node", printable(node.name)},
                    {"state", printable(node.state)},
                    {"reason", printable(node.reason, 1000)},
                    {"since", node.since ? utc(*node.since) : ""}});
  }
  return list;
}

}  // namespace

std::string to_text(const ClusterStatus& status, const Rules& rules) {
  std::string out = wrapped(
      fmt::format("{} nodes: {} in service, {} drained by muster, {} by others, {} new, "
                  "{} down, {} in maintenance or booting",
                  status.nodes, status.in_service, status.drained.size(), status.drained_by_others,
                  status.kept_out.size(), status.down, status.away),
      0);
  out += numbered("Stopped checks", status.stopped, [&](const StoppedCheck& stopped) {
    return wrapped(to_string(stopped, rules), 2);
  });
  out +=
      section("Limits that are used up: sick nodes stay in service", status.used_up,
              [](const UsedUp& limit) {
                return wrapped(fmt::format("{} in partition {}: {} drained, {} allowed",
                                           limit.limit, limit.partition, limit.drained, limit.most),
                               2);
              });
  out += numbered("Drained by muster", status.drained, lines_of);
  out += numbered("Sick and not drained", status.refused, lines_of_refusal);
  out += numbered("New, and not accepted yet", status.kept_out, [](const NodeState& node) {
    return wrapped(fmt::format("{} {} since {}", node.name, node.state, since(node)), 2);
  });
  out += numbered("slurmd does not answer", status.not_responding, [](const NodeState& node) {
    const auto why = node.reason.empty() ? "" : fmt::format(": {}", node.reason);
    return wrapped(fmt::format("{} {}{}", node.name, node.state, why), 2);
  });
  if (rules.memory != "none") return out;
  const auto also = status.history.empty() ? "" : fmt::format(" ({})", status.history);
  const auto note = fmt::format(
      "Nodes that are sick and not drained are only in their own history, because slurm: memory is "
      "none: run muster events there{}.",
      also);
  return out + "\n" + wrapped(note, 0);
}

std::string to_json(const ClusterStatus& status) {
  nlohmann::ordered_json json{{"schema", "muster.status/1"},
                              {"at", utc(status.at)},
                              {"nodes", status.nodes},
                              {"in_service", status.in_service},
                              {"drained_by_muster", status.drained.size()},
                              {"drained_by_others", status.drained_by_others},
                              {"down", status.down},
                              {"away", status.away},
                              {"clean_runs_needed", status.clean_runs}};
  auto list = nlohmann::ordered_json::array();
  for (const auto& each : status.stopped) {
    list.push_back({{"check", printable(each.check)},
                    {"partition", printable(each.partition)},
                    {"drains", each.drains},
                    {"most", each.most}});
  }
  json["stopped"] = std::exchange(list, nlohmann::ordered_json::array());
  for (const auto& each : status.used_up) {
    list.push_back({{"partition", printable(each.partition)},
                    {"limit", each.limit},
                    {"drained", each.drained},
                    {"most", each.most}});
  }
  json["used_up"] = std::exchange(list, nlohmann::ordered_json::array());
  for (const auto& each : status.drained) list.push_back(json_of(each));
  json["drained"] = std::exchange(list, nlohmann::ordered_json::array());
  for (const auto& event : status.refused) {
    list.push_back({{"node", printable(event.node)},
                    {"at", utc(event.at)},
                    {"context", event.context},
                    {"check", printable(event.check)},
                    {"device", printable(event.device)},
                    {"message", printable(event.message, 1000)}});
  }
  json["refused"] = std::exchange(list, nlohmann::ordered_json::array());
  json["refused_unknown"] = status.history;
  json["new"] = json_of(status.kept_out);
  json["not_responding"] = json_of(status.not_responding);
  return json.dump(2, ' ', true, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace muster::slurm
