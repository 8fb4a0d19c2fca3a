// SPDX-License-Identifier: Apache-2.0
#include "slurm/drains/admin.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <utility>

#include "lib/base/text.hpp"
#include "slurm/policy/node_memory.hpp"
#include "slurm/policy/reason.hpp"

namespace muster::slurm {
namespace {

// One thing that an admin does to nodes.
struct AdminAction {
  std::string done;    // "drained", the kind of the event
  std::string reason;  // of the event
  // Why a node is left alone; empty if it is not.
  std::function<std::string(const NodeState&)> objection;
  std::function<Result<void>(const NodeState&)> send;
  // Whether Slurm shows what was sent: the node as it was before, and as it is now.
  std::function<bool(const NodeState& before, const NodeState& now)> is_shown;
};

std::string left_alone(const NodeState& node) {
  constexpr std::size_t kLongestQuote = 200;
  const auto by = node.user.empty() ? "" : fmt::format(" by {}", printable(node.user, 40));
  const auto reason =
      node.reason.empty() ? "" : fmt::format(": \"{}\"", printable(node.reason, kLongestQuote));
  const auto state = printable(node.state, 40);
  return standing_of(node) == Standing::drained
             ? fmt::format("left alone: it is {}{}{}", state, by, reason)
             : fmt::format("left alone: its state is \"{}\"{}{}", state,
                           by.empty() ? by : fmt::format(", set{}", by), reason);
}

// The node's memory with this admin's drain in place of muster's; nothing if muster may not write
// the field.
std::optional<std::string> memory_with_admin(const NodeState& node, const std::string& user) {
  if (!may_remember(node)) return std::nullopt;
  auto memory = parse_node_memory(node.memory).value_or(NodeMemory());
  return to_text({.drains = std::move(memory.drains), .drained_by = user});
}

// Whether the node is drained, powered down or not; but not while it is to be rebooted.
bool is_drained(const NodeState& node) {
  return standing_of(node) == Standing::drained ||
         (standing_apart_from_power(node) == Standing::drained && power_of(node) != Power::on);
}

// Why `muster drain` leaves the node alone; empty if it does not.
std::string drain_objection(const NodeState& node) {
  const auto standing = standing_of(node);
  const bool is_free = standing == Standing::in_service || standing == Standing::asleep;
  const bool ours = is_drained(node) && (own_drain(node) || is_kept_out(node));
  return is_free || ours ? std::string() : left_alone(node);
}

// Whether the drain is one of `muster drain`, by its reason, or by the memory if Slurm dropped
// that.
bool was_drained_by_admin(const NodeState& node) {
  if (is_admins(node.reason)) return true;
  const auto memory = parse_node_memory(node.memory);
  return lost_its_reason(node) && memory && !memory->drained_by.empty();
}

// Why `muster resume` leaves the node alone; empty if it does not.
std::string resume_objection(const NodeState& node) {
  if (standing_of(node) == Standing::in_service) return "left alone: it is in service";
  if (standing_apart_from_power(node) == Standing::in_service) {
    return fmt::format("left alone: it is {}, and not drained", printable(node.state, 40));
  }
  const bool ours = own_drain(node) || is_kept_out(node) || was_drained_by_admin(node);
  return is_drained(node) && ours ? std::string() : left_alone(node);
}

// Reports what was done or refused.
void add_event(AdminAnswer& answer, Event event, const AdminRequest& request, History* history) {
  if (request.dry_run) return;
  event.at = request.now;
  event.node = answer.node;
  event.context = "admin";
  if (history == nullptr) {
    answer.what += " (not in the history)";
  } else if (const auto added = history->add(event); !added) {
    answer.what += fmt::format(" (not in the history: {})", added.error().message);
  }
  if (request.tell) request.tell(event);
}

void refuse(AdminAnswer& answer, const AdminRequest& request, History* history,
            const AdminAction& action) {
  add_event(answer,
            {.kind = "refused",
             .message = fmt::format("{}: not {}: {}", request.user, action.done, answer.what)},
            request, history);
}

AdminAnswer send_and_verify(const NodeState& before, Controller& controller,
                            const AdminAction& action) {
  AdminAnswer answer{.node = before.name};
  const auto sent = action.send(before);
  const auto now = controller.node(before.name);
  answer.done = now && action.is_shown(before, *now);
  answer.what =
      answer.done ? action.done
      : !sent     ? fmt::format("not done: {}", sent.error().message)
      : !now      ? fmt::format("sent, and Slurm does not show it: {}", now.error().message)
             : fmt::format("sent, and Slurm does not show it: it is {}", printable(now->state, 40));
  return answer;
}

// Keeps the order and removes duplicates.
std::vector<std::string> each_once(const std::vector<std::string>& names) {
  std::set<std::string_view> seen;
  std::vector<std::string> once;
  for (const auto& name : names) {
    if (seen.insert(name).second) once.push_back(name);
  }
  return once;
}

constexpr const char* kNoSuchNode = "left alone: no Slurm partition has this node";

// Others may act at the same time, so each node is judged by its state in Slurm right before.
AdminAnswer treat_node(const std::string& name, const AdminRequest& request, Controller& controller,
                       History* history, const AdminAction& action) {
  const auto node = controller.node(name);
  auto objection = node                   ? action.objection(*node)
                   : node.error().missing ? kNoSuchNode
                                          : fmt::format("left alone: {}", node.error().message);
  if (!objection.empty()) {
    AdminAnswer answer{.node = name, .what = std::move(objection)};
    refuse(answer, request, history, action);
    return answer;
  }
  if (request.dry_run) {
    return {.node = name, .done = true, .what = fmt::format("would be {}", action.done)};
  }
  auto answer = send_and_verify(*node, controller, action);
  add_event(answer,
            {.kind = answer.done ? action.done : "trouble",
             .message = fmt::format("{}: {}", request.user, answer.what),
             .reason = action.reason},
            request, history);
  return answer;
}

Result<std::vector<AdminAnswer>> treat_nodes(const AdminRequest& request, Controller& controller,
                                             History* history, const AdminAction& action) {
  TRY(controller.nodes(""));  // an error if Slurm does not answer at all
  std::vector<AdminAnswer> answers;
  for (const auto& name : each_once(request.nodes)) {
    answers.push_back(treat_node(name, request, controller, history, action));
  }
  return answers;
}

// Why the drain of this node cannot be accepted; empty if it can.
std::string accept_objection(const NodeState* node, std::string_view check, const Rules& rules) {
  if (node == nullptr) return kNoSuchNode;
  if (!was_drained_by_us(*node) || shown_drain(*node).check != check) {
    return fmt::format("left alone: it is not drained for {}", printable(check, 80));
  }
  const auto why = why_not_remembered(*node, rules);
  if (why.empty()) return "";
  return fmt::format("left alone: {}; muster resume {} puts it back into service", why, node->name);
}

// Sends the memory with `accepted`. Returns why not, or an empty string.
std::string send_accepted(const NodeState& node, Time now, Controller& controller) {
  auto drain = shown_drain(node);
  if (drain.at == Time{}) drain.at = now;
  drain.accepted = true;
  if (!lost_its_reason(node)) drain.reason = short_hash(without_reboot(node.reason));
  const auto sent = controller.remember(node.name, to_text(drain));
  return sent ? std::string() : fmt::format("not done: {}", sent.error().message);
}

// The nodes in the request; if it names none, all that are drained for the check.
std::vector<std::string> nodes_to_accept(const AdminRequest& request, std::string_view check,
                                         const std::vector<NodeState>& cluster) {
  if (!request.nodes.empty()) return each_once(request.nodes);
  std::vector<std::string> names;
  for (const auto& node : cluster) {
    if (was_drained_by_us(node) && shown_drain(node).check == check) names.push_back(node.name);
  }
  return names;
}

bool shows_accepted(const std::vector<NodeState>& cluster, const std::string& name) {
  const auto* const node = find_node(cluster, name);
  return node != nullptr && shown_drain(*node).accepted;
}

}  // namespace

Result<std::vector<AdminAnswer>> drain_nodes(const AdminRequest& request, Controller& controller,
                                             History* history) {
  const auto reason = make_admins_reason(request.user, request.text);
  const auto send = [&](const NodeState& node) {
    return controller.drain(node.name, reason, memory_with_admin(node, request.user));
  };
  const auto is_shown = [&](const NodeState& /*before*/, const NodeState& now) {
    return standing_apart_from_power(now) == Standing::drained && now.reason == reason;
  };
  return treat_nodes(request, controller, history,
                     {.done = "drained",
                      .reason = reason,
                      .objection = drain_objection,
                      .send = send,
                      .is_shown = is_shown});
}

Result<std::vector<AdminAnswer>> resume_nodes(const AdminRequest& request, Controller& controller,
                                              History* history) {
  // An admin has looked at it: its earlier drains no longer count.
  const auto send = [&](const NodeState& node) {
    const bool has_memory = parse_node_memory(node.memory).has_value();
    return controller.resume(node.name, has_memory ? std::optional<std::string>("") : std::nullopt);
  };
  const auto is_shown = [](const NodeState& before, const NodeState& now) {
    return standing_apart_from_power(now) != Standing::drained || now.reason != before.reason;
  };
  return treat_nodes(request, controller, history,
                     {.done = "resumed",
                      .reason = "",
                      .objection = resume_objection,
                      .send = send,
                      .is_shown = is_shown});
}

Result<std::vector<AdminAnswer>> accept_drains(const AdminRequest& request, std::string_view check,
                                               Controller& controller, History* history) {
  TRY_ASSIGN(const auto cluster, all_nodes(controller));
  std::vector<AdminAnswer> answers;
  for (auto& name : nodes_to_accept(request, check, cluster.nodes)) {
    const auto* const node = find_node(cluster.nodes, name);
    AdminAnswer answer{.node = std::move(name),
                       .what = accept_objection(node, check, request.rules)};
    if (answer.what.empty() && request.dry_run) {
      answer.done = true;
      answer.what = "would be accepted";
    } else if (answer.what.empty() && !shown_drain(*node).accepted) {
      answer.what = send_accepted(*node, request.now, controller);
    }
    answers.push_back(std::move(answer));
  }
  if (request.dry_run || answers.empty()) return answers;
  const auto now = all_nodes(controller);
  for (auto& answer : answers) {
    answer.done = answer.what.empty() && now && shows_accepted(now->nodes, answer.node);
    if (answer.done) {
      answer.what = "accepted: it stays drained, and counts for no breaker";
    } else if (answer.what.empty()) {
      answer.what = now ? "sent, and Slurm does not show it: slurm.memory in muster.yaml must name "
                          "a field that this Slurm has"
                        : fmt::format("sent, not verified: {}", now.error().message);
    }
    add_event(answer,
              {.kind = answer.done ? "accepted" : "refused",
               .check = std::string(check),
               .message = fmt::format("{}: {}: {}", request.user, check, answer.what)},
              request, history);
  }
  return answers;
}

}  // namespace muster::slurm
