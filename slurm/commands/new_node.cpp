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
  services.say("drained",
               fmt::format("a new node, drained until {} in",
                           node.needs_sweep ? "a clean boot check and a clean sweep are"
                                            : "a clean boot check is"));
  return Gate::closed;
}

std::string_view what_is_in(const NewNode& node) {
  return node.needs_sweep ? "a clean boot check and a clean sweep are in"
                          : "a clean boot check is in";
}

Gate resume(const NewNode& node, const GateServices& services) {
  if (node.dry_run) {
    services.say("dry_run", fmt::format("would resume: {}", what_is_in(node)));
    return Gate::closed;
  }
  if (auto sent = services.controller->resume(node.name); !sent) {
    services.say("trouble", sent.error().message);
    return Gate::closed;
  }
  return accept(node, services, fmt::format("accepted: {}", what_is_in(node)));
}

// Why it is not accepted, once.
void say_kept(const NewNode& node, const GateServices& services, std::string why) {
  const auto last = services.history->events({.nodes = {node.name}, .kinds = {"kept"}, .most = 1});
  if (!node.dry_run && last && !last->empty() && last->back().message == why) return;
  services.say("kept", std::move(why));
}

// A node whose boot check is clean. Jobs that were there before it was drained come to their end.
Gate swept(const NewNode& node, const slurm::NodeState& own, const GateServices& services) {
  if (own.state != "drained") {
    say_kept(node, services, "not accepted: jobs still run here, and a clean sweep is missing");
    return Gate::closed;
  }
  if (node.sweep == nullptr && node.can_sweep) return Gate::sweep;
  if (node.sweep == nullptr) {
    say_kept(node, services, "not accepted: a clean sweep is missing, which muster hook boot runs");
    return Gate::closed;
  }
  if (node.sweep->verdict == Verdict::healthy) return resume(node, services);
  say_kept(node,
           services,
           fmt::format("not accepted: its sweep: {}", one_line(*node.sweep, kLongestLine)));
  return Gate::closed;
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
    if (is_clean && !node.needs_sweep) {
      return accept(node, services, "accepted: a clean boot check is in");
    }
    const auto gate = drain(node, services);
    return gate == Gate::closed && is_clean && node.can_sweep ? Gate::sweep : gate;
  }
  if (standing != Standing::drained || own->reason != kNewNode) return Gate::others;
  if (!is_clean) {
    say_kept(node,
             services,
             node.accepts ? fmt::format("not accepted: {}", one_line(*node.report, kLongestLine))
                          : std::string("not accepted: a clean boot check is missing"));
    return Gate::closed;
  }
  return node.needs_sweep ? swept(node, *own, services) : resume(node, services);
}

}  // namespace muster::app
