// SPDX-License-Identifier: Apache-2.0
#include "slurm/commands/new_node.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lib/report/summary.hpp"
#include "slurm/policy/reason.hpp"

namespace muster::app {
namespace {

using slurm::kNewNode;
using slurm::Standing;

constexpr std::size_t kLongestLine = 300;

// From now on the node is as any other.
Gate accept(const NewNode& node, const GateServices& services, const std::string& why) {
  if (!node.dry_run) {
    const auto noted = services.history->note_boot(node.name, node.boot_id);
    if (!noted) services.say("trouble", noted.error().message);
  }
  services.say(node.dry_run ? "dry_run" : "resumed", why);
  return Gate::open;
}

bool was_kept_out(const NewNode& node, const GateServices& services) {
  const auto drains = services.history->events({.nodes = {node.name}, .kinds = {"drained"}});
  return drains && std::ranges::any_of(
                       *drains, [](const slurm::Event& event) { return event.reason == kNewNode; });
}

Gate drain(const NewNode& node, const GateServices& services) {
  if (node.dry_run) {
    services.say("dry_run", "would drain: a new node");
    return Gate::closed;
  }
  if (auto sent = services.controller->drain(node.name, kNewNode); !sent) {
    services.say("trouble", sent.error().message);
    return Gate::open;
  }
  services.say("drained", "a new node, drained until a clean boot check is in");
  return Gate::closed;
}

Gate resume(const NewNode& node, const GateServices& services) {
  if (node.dry_run) {
    services.say("dry_run", "would resume: a clean boot check is in");
    return Gate::closed;
  }
  if (auto sent = services.controller->resume(node.name); !sent) {
    services.say("trouble", sent.error().message);
    return Gate::closed;
  }
  return accept(node, services, "accepted: a clean boot check is in");
}

// Why it is not accepted, once.
void say_kept(const NewNode& node, const GateServices& services) {
  auto why = node.accepts ? fmt::format("not accepted: {}", one_line(*node.report, kLongestLine))
                          : std::string("not accepted: a clean boot check is missing");
  const auto last = services.history->events({.nodes = {node.name}, .kinds = {"kept"}, .most = 1});
  if (!node.dry_run && last && !last->empty() && last->back().message == why) return;
  services.say("kept", std::move(why));
}

}  // namespace

bool is_new(const slurm::History& history, std::string_view node) {
  const auto known = history.knows(node);
  return known && !*known;
}

Gate keep_gate(const NewNode& node, const GateServices& services) {
  const auto nodes = services.controller->nodes(node.name);
  if (!nodes) {
    services.say("trouble", fmt::format("Slurm could not be asked: {}", nodes.error().message));
    return Gate::open;
  }
  const auto own = std::ranges::find(*nodes, node.name, &slurm::NodeState::name);
  if (own == nodes->end()) return Gate::open;
  const bool is_clean = node.accepts && node.report->verdict == Verdict::healthy;
  const auto standing = slurm::standing_of(*own);
  if (standing == Standing::in_service) {
    if (was_kept_out(node, services)) {
      return accept(node, services, "accepted: somebody put it into service");
    }
    return is_clean ? accept(node, services, "accepted: a clean boot check is in")
                    : drain(node, services);
  }
  if (standing != Standing::drained || own->reason != kNewNode) return Gate::others;
  if (is_clean) return resume(node, services);
  say_kept(node, services);
  return Gate::closed;
}

}  // namespace muster::app
