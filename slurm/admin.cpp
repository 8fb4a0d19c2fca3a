// SPDX-License-Identifier: Apache-2.0
#include "slurm/admin.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "lib/base/text.hpp"
#include "slurm/reason.hpp"

namespace muster::slurm {
namespace {

constexpr std::size_t kLongestQuote = 200;

std::string left_alone(const NodeState& node) {
  const auto by = node.user.empty() ? "" : fmt::format(" by {}", printable(node.user, 40));
  const auto reason =
      node.reason.empty() ? "" : fmt::format(": \"{}\"", printable(node.reason, kLongestQuote));
  return fmt::format("left alone: it is {}{}{}", printable(node.state, 40), by, reason);
}

// What to do with a node, or why nothing: empty where it is to be done.
using Objection = std::function<std::string(const NodeState&)>;

struct Task {
  Objection objection;
  std::function<Result<void>(const std::string& node)> act;
  std::string done, would;   // "drained", "would be drained"
  std::string kind, reason;  // of the event
};

Result<std::vector<AdminAnswer>> carry_out(const AdminOrder& order,
                                           Controller& controller,
                                           History& history,
                                           const Task& task) {
  const auto cluster = controller.nodes("");
  if (!cluster) return tl::unexpected(cluster.error());
  std::vector<AdminAnswer> answers;
  for (const auto& name : order.nodes) {
    auto& answer = answers.emplace_back(AdminAnswer{.node = name});
    const auto node = std::ranges::find(*cluster, name, &NodeState::name);
    if (node == cluster->end()) {
      answer.what = "left alone: Slurm knows no such node";
      continue;
    }
    answer.what = task.objection(*node);
    if (!answer.what.empty()) continue;
    answer.done = true;
    answer.what = order.dry_run ? task.would : task.done;
    if (order.dry_run) continue;
    const auto acted = task.act(name);
    if (!acted) {
      answer = {.node = name, .what = fmt::format("not done: {}", acted.error().message)};
    }
    const auto noted = history.add({.at = order.now,
                                    .node = name,
                                    .kind = acted ? task.kind : "trouble",
                                    .context = "admin",
                                    .message = fmt::format("{}: {}", order.user, answer.what),
                                    .reason = task.reason});
    if (!noted) answer.what += fmt::format(" (not in the history: {})", noted.error().message);
  }
  return answers;
}

}  // namespace

Result<std::vector<AdminAnswer>> drain_nodes(const AdminOrder& order,
                                             Controller& controller,
                                             History& history) {
  const auto reason = make_admins_reason(order.user, order.text);
  return carry_out(order,
                   controller,
                   history,
                   {.objection =
                        [](const NodeState& node) {
                          const auto standing = standing_of(node);
                          const bool free = standing == Standing::in_service ||
                                            (standing == Standing::drained && is_ours(node.reason));
                          return free ? std::string() : left_alone(node);
                        },
                    .act = [&](const std::string& node) { return controller.drain(node, reason); },
                    .done = "drained",
                    .would = "would be drained",
                    .kind = "drained",
                    .reason = reason});
}

Result<std::vector<AdminAnswer>> resume_nodes(const AdminOrder& order,
                                              Controller& controller,
                                              History& history) {
  return carry_out(order,
                   controller,
                   history,
                   {.objection = [](const NodeState& node) -> std::string {
                      const auto standing = standing_of(node);
                      if (standing == Standing::in_service) return "left alone: it is in service";
                      const bool ours = is_ours(node.reason) || is_admins(node.reason);
                      return standing == Standing::drained && ours ? std::string()
                                                                   : left_alone(node);
                    },
                    .act = [&](const std::string& node) -> Result<void> {
                      if (auto resumed = controller.resume(node); !resumed) return resumed;
                      return history.end_drain(node, order.now, true);
                    },
                    .done = "resumed",
                    .would = "would be resumed",
                    .kind = "resumed",
                    .reason = ""});
}

}  // namespace muster::slurm
