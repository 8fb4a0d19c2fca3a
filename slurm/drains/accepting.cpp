// SPDX-License-Identifier: Apache-2.0
#include "slurm/drains/accepting.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lib/base/text.hpp"
#include "slurm/cluster/node_memory.hpp"
#include "slurm/policy/drain_cause.hpp"
#include "slurm/policy/reason.hpp"
#include "slurm/policy/remembering.hpp"

namespace muster::slurm {
namespace {

bool is_wanted(const AdminRequest& request, const NodeState& node) {
  return request.nodes.empty() ||
         std::ranges::find(request.nodes, node.name) != request.nodes.end();
}

// What the node's memory is to be. A drain of before there was one gets one.
std::string accepted_memory(const NodeState& node, const AdminRequest& request) {
  const auto cause = cause_of(node);
  if (auto standing = memory_of_drain(node)) {
    standing->accepted = true;
    return to_text(*standing);
  }
  const auto before = parse_node_memory(node.memory).value_or(NodeMemory());
  return to_text({.check = cause.check,
                  .device = cause.device,
                  .remedy = std::string(to_string(cause.remedy)),
                  .at = node.since.value_or(request.now),
                  .drains = before.drains,
                  .accepted = true,
                  .reason = short_hash(without_reboot(node.reason)),
                  .more = before.more});
}

// Sends it; why not, or empty.
std::string send(const NodeState& node, const AdminRequest& request, Controller& controller) {
  if (!may_remember(node)) {
    return fmt::format(
        "left alone: its field in Slurm has a text of the site's: \"{}\"; muster resume {} puts it "
        "back into service",
        printable(node.memory, 80), node.name);
  }
  const auto sent = controller.remember(node.name, accepted_memory(node, request));
  return sent ? std::string() : fmt::format("not done: {}", sent.error().message);
}

// Whether Slurm shows it, as of a second look at all nodes.
bool shows_accepted(const std::vector<NodeState>& cluster, const std::string& name) {
  const auto* const node = find_node(cluster, name);
  return node != nullptr && cause_of(*node).accepted;
}

void note(AdminAnswer& answer, std::string_view check, const AdminRequest& request,
          History* history) {
  const Event event{.at = request.now,
                    .node = answer.node,
                    .kind = answer.done ? "accepted" : "refused",
                    .context = "admin",
                    .check = std::string(check),
                    .message = fmt::format("{}: {}: {}", request.user, check, answer.what)};
  const auto noted = history == nullptr ? make_error("there is none") : history->add(event);
  if (!noted) answer.what += fmt::format(" (not in the history: {})", noted.error().message);
  if (request.tell) request.tell(event);
}

}  // namespace

Result<std::vector<AdminAnswer>> accept_drains(const AdminRequest& request, std::string_view check,
                                               Controller& controller, History* history) {
  TRY_ASSIGN(const auto cluster, controller.nodes(""));
  std::vector<AdminAnswer> answers;
  for (const auto& node : cluster) {
    const auto cause = cause_of(node);
    if (!was_drained_by_us(node) || cause.check != check || !is_wanted(request, node)) continue;
    AdminAnswer answer{.node = node.name};
    if (request.dry_run) {
      answer.done = true;
      answer.what = "would be accepted";
    } else if (!cause.accepted) {
      answer.what = send(node, request, controller);
    }
    answers.push_back(std::move(answer));
  }
  if (request.dry_run || answers.empty()) return answers;
  const auto now = controller.nodes("");
  for (auto& answer : answers) {
    answer.done = answer.what.empty() && now && shows_accepted(*now, answer.node);
    if (answer.done) {
      answer.what = "accepted: it stays drained, and counts for no breaker";
    } else if (answer.what.empty()) {
      answer.what = now ? "sent, and Slurm does not show it: a node remembers it only where "
                          "slurm.memory in muster.yaml names a field of Slurm's"
                        : fmt::format("sent, not verified: {}", now.error().message);
    }
    note(answer, check, request, history);
  }
  return answers;
}

}  // namespace muster::slurm
