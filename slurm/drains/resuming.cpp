// SPDX-License-Identifier: Apache-2.0
#include "slurm/drains/resuming.hpp"

#include <fmt/format.h>

#include <utility>

#include "lib/base/text.hpp"
#include "slurm/drains/adopting.hpp"
#include "slurm/policy/remembering.hpp"

namespace muster::slurm {
namespace {

// The history waited for its disk, and somebody may have acted meanwhile: an admin's drain must not
// be undone. If nothing is sent any more, that was said.
bool still_ours(Run& run) {
  const bool seen = run.look();
  if (seen && run.shows_own()) return true;
  run.warn_if_failed(run.writable_history()->cancel_resume(run.request.node, *run.situation.drain));
  run.result.decision.action = Action::nothing;
  run.result.drained = !seen || run.is_drained();
  if (!seen) {
    run.complain(fmt::format("not resumed: Slurm could not be asked: {}", run.situation.trouble));
    return false;
  }
  const auto& node = *run.situation.node;
  run.say("trouble", fmt::format(R"(not resumed: meanwhile the node is "{}" with the reason "{}")",
                                 printable(node.state), printable(node.reason)));
  return false;
}

// Whether the node is out of our drain; if not, why was said.
bool put_back(Run& run, std::optional<Time> uncounted) {
  const auto sent = run.services.controller->resume(
      run.request.node, run.memory_text(memory_after(run.situation, uncounted)));
  const bool seen = run.look();
  // An error is no answer, and neither is the lack of one.
  const bool done = seen ? !run.shows_own() : sent.has_value();
  run.result.drained = seen ? run.is_drained() : !done;
  if (!done) {
    run.complain(fmt::format("not resumed: {}", sent ? "Slurm took it and the node is still drained"
                                                     : std::string_view(sent.error().message)));
  }
  return done;
}

}  // namespace

void keep(Run& run) {
  auto& situation = run.situation;
  const bool is_recorded = run.shows_own();
  if (auto* history = run.writable_history(); history != nullptr && is_recorded) {
    const auto& request = run.request;
    if (!situation.drain->confirmed)
      run.warn_if_failed(history->confirm_drain(request.node, *situation.drain));
    if (run.result.decision.clean) {
      run.warn_if_failed(history->note_run(request.node, *situation.drain, true, request.boot_id));
    }
  }
  if (is_recorded && run.result.decision.clean) ++situation.drain->clean_runs;
  update_memory(run);
  run.say_kept(is_recorded ? situation.drain->at : situation.node->since);
}

void resume(Run& run) {
  const std::string why = run.result.decision.why;
  const std::string reason = run.situation.node->reason;
  if (run.request.dry_run) {
    return run.say("dry_run", fmt::format("would resume: {}", why), reason);
  }
  // Not because it is well: too many were drained at once, and Slurm did what it was told late.
  if (run.result.decision.sick) {
    return take_back(run, run.about_fault(fmt::format("put back into service: {}", why)));
  }
  // What another run finds meanwhile is told by the history alone.
  if (run.own_drain_record() == nullptr) {
    run.result.decision.action = Action::keep;
    run.result.decision.why = "the history cannot be written";
    return keep(run);
  }
  const auto begun = run.writable_history()->begin_resume(run.request.node, *run.situation.drain);
  if (!begun) return run.complain(fmt::format("not resumed: {}", begun.error().message));
  if (!*begun) {
    run.result.decision.action = Action::keep;
    run.result.decision.why = "another run found it unclean";
    return run.say_kept(run.situation.drain->at);
  }
  if (!still_ours(run) || !put_back(run, std::nullopt)) return;
  run.warn_if_failed(
      run.writable_history()->end_drain(run.request.node, *run.situation.drain, run.situation.now));
  run.say("resumed", why, reason);
}

// The node was looked at just now, unless the history had to be written.
void take_back(Run& run, std::string message) {
  run.result.decision.loud = true;
  run.result.decision.action = Action::nothing;
  const std::string reason = run.situation.drain->reason;
  auto* history = run.own_drain_record();
  if (history != nullptr) {
    run.warn_if_failed(
        history->begin_resume(run.request.node, *run.situation.drain).map([](bool /*begun*/) {}));
    if (!still_ours(run)) return;
  }
  if (!put_back(run, run.situation.drain->at))
    return;  // the record stays unconfirmed, and the next run comes here again
  if (history != nullptr)
    run.warn_if_failed(
        history->cancel_drain(run.request.node, *run.situation.drain, run.situation.now));
  run.say("undone", std::move(message), reason);
}

void release(Run& run) {
  auto& situation = run.situation;
  const auto& known = *situation.drain;
  // Unless another process of this node resumed it just now, and drained it again.
  const auto open = run.history()->drain_of(run.request.node);
  if (!open || !*open || (*open)->at != known.at || (*open)->reason != known.reason) {
    return situation.drain.reset();
  }
  // After `scontrol reboot` Slurm puts the node back itself, and the memory stands as it was.
  const auto memory = parse_node_memory(situation.node->memory);
  const bool is_forgotten = run.memory_text("").has_value() && (!memory || memory->check.empty());
  const bool by_reboot = !(*open)->resuming && run.was_rebooted && !is_forgotten;
  // Ours, that came late or whose process was killed: earlier drains still count.
  const bool by_admin = !(*open)->resuming && !by_reboot;
  run.say(by_admin || by_reboot ? "released" : "resumed",
          by_admin    ? "somebody else resumed the node"
          : by_reboot ? "the node was rebooted and is in service again; its drains still count"
                      : "the resume that was sent before is in force",
          known.reason);
  if (auto* history = run.writable_history()) {
    run.warn_if_failed(history->end_drain(run.request.node, known, situation.now));
    if (by_admin) run.warn_if_failed(history->forget_flaps(run.request.node));
  }
  situation.drain.reset();
  // Whoever resumed it has looked at it: the node begins anew.
  if (by_admin) situation.drains.clear();
  run.remember(memory_after(situation, std::nullopt));
}

}  // namespace muster::slurm
