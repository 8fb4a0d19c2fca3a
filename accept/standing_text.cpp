// SPDX-License-Identifier: Apache-2.0
#include "accept/standing_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "lib/base/quantity.hpp"
#include "lib/base/text.hpp"
#include "lib/hosts/hostlist.hpp"

namespace muster::accept {
namespace {

constexpr std::array<std::string_view, kStageWords.size()> kStageTexts{
    "identity and versions of each node",
    "muster check on each node",
    "muster-bench node on each node",
    "muster-bench locate over all nodes",
    "all-reduce over all nodes",
    "load on all GPUs, and all-reduces between",
    "muster check and short tests on each node",
};

std::string time_text(std::int64_t seconds) {
  return to_string(Seconds{static_cast<double>(seconds)});
}

std::vector<std::string> names_with(const Order& order, const Actions& actions,
                                    NodeVerdict verdict) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < actions.standings.size(); ++i) {
    if (actions.standings[i].verdict == verdict) names.push_back(order.nodes[i].name);
  }
  return names;
}

// "2 rejected, 1 held".
std::string counts_text(const Order& order, const Actions& actions) {
  std::vector<std::string> counts;
  for (const auto word : kNodeVerdictWords) {
    const auto verdict = *parse_word<NodeVerdict>(word);
    const auto count = names_with(order, actions, verdict).size();
    if (count == 0) continue;
    std::string spoken(word);
    std::ranges::replace(spoken, '_', ' ');
    counts.push_back(fmt::format("{} {}", count, spoken));
  }
  return fmt::format("{}", fmt::join(counts, ", "));
}

std::string lines_of_verdict(const Order& order, const Actions& actions, NodeVerdict verdict) {
  // Nodes with the same reason share a line.
  std::map<std::string, std::vector<std::string>> nodes;
  for (std::size_t i = 0; i < actions.standings.size(); ++i) {
    const auto& standing = actions.standings[i];
    if (standing.verdict == verdict) nodes[standing.why].push_back(order.nodes[i].name);
  }
  std::string text;
  for (const auto& [why, names] : nodes) {
    text += fmt::format("{:12}{}: {}\n", to_string(verdict), printable(fold_hostlist(names)),
                        printable(why));
  }
  return text;
}

std::string lines_of_stages(const Order& order, const Actions& actions) {
  std::map<Stage, std::vector<std::string>> waiting;
  std::map<Stage, std::vector<std::string>> running;
  for (std::size_t i = 0; i < actions.standings.size(); ++i) {
    const auto& standing = actions.standings[i];
    if (is_final(standing)) continue;
    auto& list = standing.running ? running : waiting;
    list[standing.stage].push_back(order.nodes[i].name);
  }
  std::string text;
  for (const auto& [stage, names] : running) {
    text += fmt::format("{:12}{}: in stage {}\n", "running", printable(fold_hostlist(names)),
                        to_string(stage));
  }
  for (const auto& [stage, names] : waiting) {
    text += fmt::format("{:12}{}: for stage {}\n", "waiting", printable(fold_hostlist(names)),
                        to_string(stage));
  }
  return text;
}

}  // namespace

std::string progress_line(const Order& order, const Actions& actions) {
  std::map<Stage, std::size_t> running;
  std::size_t lost = 0;
  std::int64_t left = 0;
  for (const auto& standing : actions.standings) {
    if (is_final(standing)) continue;
    if (standing.running) ++running[standing.stage];
    if (standing.lost) ++lost;
    left = std::max(left, order.plan.soak_s - standing.soaked_s);
  }
  std::vector<std::string> stages;
  for (const auto& [stage, count] : running) {
    stages.push_back(fmt::format("{} {}", to_string(stage), count));
  }
  std::string text = fmt::format(
      "running: {}; {}", stages.empty() ? "none" : fmt::format("{}", fmt::join(stages, ", ")),
      counts_text(order, actions));
  if (lost > 0) text += fmt::format(", {} lost", lost);
  if (left > 0) text += fmt::format("; {} of soak left", time_text(left / 60 * 60));
  return text;
}

std::string standing_text(const Order& order, const Actions& actions) {
  std::string text = fmt::format("{:12}{}: {}\n", "delivery", counted(order.nodes.size(), "node"),
                                 counts_text(order, actions));
  for (const auto& breaker : actions.breakers) {
    text += fmt::format(
        "{:12}stage {}: {} of {} nodes fail {}: one cause? Look at the limit, the image or the "
        "fabric; --go-on {} continues\n",
        "stopped", to_string(breaker.stage), breaker.nodes.size(), breaker.of, breaker.check,
        breaker.check);
  }
  for (const auto verdict : {NodeVerdict::rejected, NodeVerdict::held, NodeVerdict::not_tested,
                             NodeVerdict::withdrawn}) {
    text += lines_of_verdict(order, actions, verdict);
  }
  return text + lines_of_stages(order, actions);
}

std::string plan_text(const Plan& plan, std::size_t nodes) {
  std::string text = fmt::format("plan {}, {}\n", plan.name, counted(nodes, "node"));
  std::int64_t total = 0;
  for (const auto word : kStageWords) {
    const auto stage = *parse_word<Stage>(word);
    if (nodes < 2 && is_group_stage(stage)) continue;
    const auto longest = stage == Stage::soak ? plan.soak_s : deadline_s(plan, stage);
    total += longest;
    text += fmt::format("  {:10}{:45}{}{}\n", word, kStageTexts.at(static_cast<std::size_t>(stage)),
                        stage == Stage::soak ? "" : "at most ", time_text(longest));
  }
  const double hours = static_cast<double>(total) / 3600;
  const double node_hours = hours * static_cast<double>(nodes);
  text += fmt::format("at most {:.1f} h and {:.0f} node-hours without retests", hours, node_hours);
  if (plan.node_hour_price > 0) {
    text += fmt::format(", which cost {:.0f}", node_hours * plan.node_hour_price);
  }
  return text + '\n';
}

}  // namespace muster::accept
