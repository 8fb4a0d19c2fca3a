// SPDX-License-Identifier: Apache-2.0
#include "slurm/drains/admin.hpp"

#include <fmt/format.h>

#include <functional>
#include <utility>

#include "lib/base/text.hpp"
#include "slurm/cluster/node_memory.hpp"
#include "slurm/policy/reason.hpp"

namespace muster::slurm {
namespace {

constexpr std::size_t kLongestQuote = 200;
constexpr std::string_view kRefusedKind = "refused";

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
  std::function<Result<void>(const NodeState& node)> send;
  // Whether Slurm shows what was sent: how the node was before, and is now.
  std::function<bool(const NodeState& before, const NodeState& now)> is_shown;
  std::function<Result<void>()> record = {};  // when it is shown; none: nothing is to be recorded
  std::string done;                           // "drained", the kind of the event
  std::string reason;                         // of the event
};

// The node's memory without the drain that an admin puts another over; nothing where there is none.
std::optional<std::string> without_drain(const NodeState& node) {
  auto memory = parse_node_memory(node.memory);
  if (!memory) return std::nullopt;
  return to_text({.drains = std::move(memory->drains), .more = std::move(memory->more)});
}

Result<NodeState> read(Controller& controller, const std::string& name) {
  TRY_ASSIGN(const auto nodes, controller.nodes(name));
  const auto* const node = find_node(nodes, name);
  return node == nullptr ? make_error("Slurm does not list it") : Result<NodeState>(*node);
}

// Sends it, and says what came of it.
AdminAnswer act(const NodeState& before, Controller& controller, const Task& task) {
  AdminAnswer answer{.node = before.name};
  const auto sent = task.send(before);
  const auto now = read(controller, before.name);
  answer.done = now && task.is_shown(before, *now);
  if (!answer.done) {
    answer.what = !sent  ? fmt::format("not done: {}", sent.error().message)
                  : !now ? fmt::format("sent, and Slurm does not show it: {}", now.error().message)
                         : fmt::format("sent, and Slurm does not show it: it is {}",
                                       printable(now->state, 40));
    return answer;
  }
  answer.what = task.done;
  if (const auto recorded = task.record ? task.record() : Result<void>(); !recorded) {
    answer.what += fmt::format(" (not in the history: {})", recorded.error().message);
  }
  return answer;
}

// What was done or refused: to the history, and to whoever listens. The answer says where the
// history does not have it.
void note(AdminAnswer& answer, std::string_view kind, const AdminRequest& request, History* history,
          const Task& task) {
  if (request.dry_run) return;
  const bool refused = kind == kRefusedKind;
  const Event event{
      .at = request.now,
      .node = answer.node,
      .kind = std::string(kind),
      .context = "admin",
      .message = refused ? fmt::format("{}: not {}: {}", request.user, task.done, answer.what)
                         : fmt::format("{}: {}", request.user, answer.what),
      .reason = refused ? "" : task.reason};
  if (history == nullptr) {
    answer.what += " (not in the history)";
  } else if (const auto noted = history->add(event); !noted) {
    answer.what += fmt::format(" (not in the history: {})", noted.error().message);
  }
  if (request.tell) request.tell(event);
}

// Others act meanwhile: each node is judged by what Slurm says right before.
AdminAnswer treat(const std::string& name, const AdminRequest& request, Controller& controller,
                  History* history, const Task& task) {
  const auto node = read(controller, name);
  auto objection =
      node ? task.objection(*node) : fmt::format("left alone: {}", node.error().message);
  if (!objection.empty()) {
    AdminAnswer answer{.node = name, .what = std::move(objection)};
    note(answer, kRefusedKind, request, history, task);
    return answer;
  }
  if (request.dry_run) {
    return {.node = name, .done = true, .what = fmt::format("would be {}", task.done)};
  }
  auto answer = act(*node, controller, task);
  note(answer, answer.done ? task.done : "trouble", request, history, task);
  return answer;
}

Result<std::vector<AdminAnswer>> carry_out(const AdminRequest& request, Controller& controller,
                                           History* history, const Task& task) {
  TRY_ASSIGN(const auto cluster, controller.nodes(""));
  std::vector<AdminAnswer> answers;
  for (const auto& name : request.nodes) {
    if (find_node(cluster, name) != nullptr) {
      answers.push_back(treat(name, request, controller, history, task));
      continue;
    }
    answers.push_back({.node = name, .what = "left alone: Slurm knows no such node"});
    note(answers.back(), kRefusedKind, request, history, task);
  }
  return answers;
}

}  // namespace

Result<std::vector<AdminAnswer>> drain_nodes(const AdminRequest& request, Controller& controller,
                                             History* history) {
  const auto reason = make_admins_reason(request.user, request.text);
  return carry_out(request, controller, history,
                   {.objection =
                        [](const NodeState& node) {
                          const auto standing = standing_of(node);
                          const bool free = standing == Standing::in_service ||
                                            (standing == Standing::drained && is_ours(node.reason));
                          return free ? std::string() : left_alone(node);
                        },
                    .send =
                        [&](const NodeState& node) {
                          return controller.drain(node.name, reason, without_drain(node));
                        },
                    .is_shown =
                        [&](const NodeState& /*before*/, const NodeState& now) {
                          return standing_of(now) == Standing::drained && now.reason == reason;
                        },
                    .done = "drained",
                    .reason = reason});
}

Result<std::vector<AdminAnswer>> resume_nodes(const AdminRequest& request, Controller& controller,
                                              History* history) {
  std::function<Result<void>()> end;  // of the drain that was open before
  return carry_out(
      request, controller, history,
      {.objection = [](const NodeState& node) -> std::string {
         const auto standing = standing_of(node);
         if (standing == Standing::in_service) return "left alone: it is in service";
         const bool ours = is_ours(node.reason) || is_admins(node.reason);
         return standing == Standing::drained && ours ? std::string() : left_alone(node);
       },
       .send =
           [&](const NodeState& node) {
             const auto known = history == nullptr
                                    ? std::nullopt
                                    : history->drain_of(node.name).value_or(std::nullopt);
             end = [history, known, name = node.name, at = request.now]() -> Result<void> {
               if (history == nullptr) return {};
               if (known) {
                 if (auto ended = history->end_drain(name, *known, at); !ended) return ended;
               }
               return history->forget_flaps(name);
             };
             const bool is_memory = parse_node_memory(node.memory).has_value();
             return controller.resume(node.name,
                                      is_memory ? std::optional<std::string>("") : std::nullopt);
           },
       .is_shown =
           [](const NodeState& before, const NodeState& now) {
             return standing_of(now) != Standing::drained || now.reason != before.reason;
           },
       .record = [&] { return end(); },
       .done = "resumed",
       .reason = ""});
}

}  // namespace muster::slurm
