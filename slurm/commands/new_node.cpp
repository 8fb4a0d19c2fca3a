// SPDX-License-Identifier: Apache-2.0
#include "slurm/commands/new_node.hpp"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "lib/base/clock.hpp"
#include "lib/report/summary.hpp"
#include "slurm/policy/node_memory.hpp"
#include "slurm/policy/reason.hpp"

namespace muster::app {
namespace {

using slurm::kNewNode;
using slurm::Standing;

constexpr std::size_t kLongestLine = 300;

Report not_swept(const std::string& node, std::string why) {
  Report report;
  report.node = node;
  report.verdict = Verdict::unknown;
  report.findings.push_back({.check = "bench.node",
                             .device = "node",
                             .outcome = Outcome::unknown,
                             .message = std::move(why)});
  return report;
}

class GateKeeper {
 public:
  GateKeeper(const NewNode& node, const GateServices& services)
      : node_(node), services_(services) {}

  Gate run() {
    auto gate = look_at(*services_.controller, nullptr);
    // Looks again at a node that was just drained.
    if (!gate) gate = look_at(*services_.controller, nullptr);
    if (!gate) gate = sweep();
    return gate.value_or(Gate::closed);
  }

 private:
  std::optional<Gate> sweep() {
    auto swept = services_.sweep();
    const auto report = swept ? *swept : not_swept(node_.name, std::move(swept.error().message));
    const auto controller = services_.reach();
    return controller ? look_at(**controller, &report) : Gate::closed;
  }

  // Returns nothing if only a clean sweep is missing. `swept` is its result, if one was run.
  std::optional<Gate> look_at(slurm::Controller& controller, const Report* swept) {
    const auto nodes = controller.nodes(node_.name);
    if (!nodes) {
      report("trouble", fmt::format("cannot reach Slurm: {}", nodes.error().message));
      return Gate::open;
    }
    const auto* const found = slurm::find_node(*nodes, node_.name);
    if (found == nullptr) return Gate::open;
    // slurmd runs a health check before it registers, and Slurm takes commands by then.
    own_ = *found;
    own_.state = slurm::without_powering_up(own_.state);
    const bool is_clean = node_.accepts && node_.report->verdict == Verdict::healthy;
    const auto standing = slurm::standing_of(own_);
    if (standing == Standing::in_service) {
      if (services_.last_look->is_kept_out()) {
        forget(controller);
        return accept("accepted: it was put into service, but not by muster");
      }
      if (is_clean && !node_.needs_sweep) return accept("accepted after a clean boot check");
      const auto gate = drain(controller);
      if (gate == Gate::closed && is_clean && services_.sweep) return std::nullopt;
      return gate;
    }
    if (standing != Standing::drained) return Gate::others;
    if (!slurm::is_kept_out(own_)) return slurm::own_drain(own_) ? Gate::open : Gate::others;
    // The node has a different disk, or Slurm applied the drain late.
    if (!node_.dry_run && !services_.last_look->is_kept_out()) {
      static_cast<void>(services_.last_look->note_kept_out());
    }
    if (!is_clean) {
      return keep_out(node_.accepts ? one_line(*node_.report, kLongestLine)
                                    : "a clean boot check is missing");
    }
    return node_.needs_sweep ? judge_sweep(controller, swept) : resume(controller);
  }

  // For a node whose boot check is clean. Jobs from before its drain may still run.
  std::optional<Gate> judge_sweep(slurm::Controller& controller, const Report* swept) {
    if (own_.state != "drained") {
      return keep_out("jobs are still running, and a clean sweep is missing");
    }
    if (swept == nullptr && services_.sweep) return std::nullopt;
    if (swept == nullptr) return keep_out("a clean sweep is missing, which muster hook boot runs");
    if (swept->verdict == Verdict::healthy) return resume(controller);
    return keep_out(fmt::format("its sweep: {}", one_line(*swept, kLongestLine)));
  }

  Gate drain(slurm::Controller& controller) {
    if (node_.dry_run) {
      report("dry_run", "would drain: a new node");
      return Gate::closed;
    }
    // Recorded first, so that the node is not drained again after an admin puts it into service.
    auto sent = services_.last_look->note_kept_out();
    if (sent) {
      sent = controller.drain(node_.name, kNewNode,
                              memory(to_text(slurm::NodeMemory{.is_new = true})));
      // Otherwise the next hook would accept it as one that an admin put into service.
      if (!sent) services_.last_look->forget_kept_out();
    }
    if (!sent) {
      report("trouble", sent.error().message);
      return Gate::open;
    }
    services_.add_event({.kind = "drained",
                         .message = fmt::format("a new node, drained until {}", what_is_clean()),
                         .reason = std::string(kNewNode),
                         .boot_id = node_.boot_id});
    return Gate::closed;
  }

  Gate resume(slurm::Controller& controller) {
    if (node_.dry_run) {
      report("dry_run", fmt::format("would resume after {}", what_is_clean()));
      return Gate::closed;
    }
    if (auto sent = controller.resume(node_.name, memory("")); !sent) {
      report("trouble", sent.error().message);
      return Gate::closed;
    }
    return accept(fmt::format("accepted after {}", what_is_clean()));
  }

  // The text for the node's field in Slurm; nothing if muster may not write there.
  [[nodiscard]] std::optional<std::string> memory(std::string text) const {
    const bool may_write = node_.remembers && slurm::may_remember(own_);
    return may_write ? std::optional(std::move(text)) : std::nullopt;
  }

  void forget(slurm::Controller& controller) const {
    const auto kept = slurm::parse_node_memory(own_.memory);
    if (kept && kept->is_new && !node_.dry_run && node_.remembers) {
      static_cast<void>(controller.remember(node_.name, ""));
    }
  }

  // The node is now like any other.
  Gate accept(std::string why) {
    if (!node_.dry_run) {
      const auto noted = services_.last_look->note(node_.boot_id, wall_time());
      if (!noted) report("trouble", noted.error().message);
    }
    report(node_.dry_run ? "dry_run" : "resumed", std::move(why));
    return Gate::open;
  }

  // Reports why it is not accepted, once.
  Gate keep_out(std::string_view why) {
    auto message = fmt::format("not accepted: {}", why);
    if (node_.dry_run || !was_kept_for(message)) report("kept", std::move(message));
    return Gate::closed;
  }

  [[nodiscard]] bool was_kept_for(std::string_view message) const {
    if (services_.history == nullptr) return false;
    const auto last =
        services_.history->events({.nodes = {node_.name}, .kinds = {"kept"}, .most = 1});
    return last && !last->empty() && last->back().message == message;
  }

  void report(std::string_view kind, std::string message) {
    services_.add_event(
        {.kind = std::string(kind), .message = std::move(message), .boot_id = node_.boot_id});
  }

  [[nodiscard]] std::string_view what_is_clean() const {
    return node_.needs_sweep ? "a clean boot check and a clean sweep" : "a clean boot check";
  }

  const NewNode& node_;
  const GateServices& services_;
  slurm::NodeState own_;
};

}  // namespace

Gate keep_gate(const NewNode& node, const GateServices& services) {
  return GateKeeper(node, services).run();
}

}  // namespace muster::app
