// SPDX-License-Identifier: Apache-2.0
#include "slurm/drains/resuming.hpp"

#include <fmt/format.h>

#include <utility>

#include "lib/base/text.hpp"

namespace muster::slurm {
namespace {

// The history waited for its disk, and somebody may have acted meanwhile: an admin's drain must not
// be undone. If nothing is sent any more, that was said.
bool still_ours(Run& run) {
  const bool seen = run.look();
  if (seen && run.shows_own()) return true;
  run.warn_if_failed(run.writable_history()->cancel_resume(run.request.node));
  run.result.decision.action = Action::nothing;
  run.result.drained = !seen || run.is_drained();
  if (!seen) {
    run.complain(fmt::format("not resumed: Slurm could not be asked: {}", run.situation.trouble));
    return false;
  }
  const auto& node = *run.situation.node;
  run.say("trouble",
          fmt::format(R"(not resumed: meanwhile the node is "{}" with the reason "{}")",
                      printable(node.state),
                      printable(node.reason)));
  return false;
}

// Whether the node is out of our drain; if not, why was said.
bool put_back(Run& run) {
  const auto sent = run.services.controller->resume(run.request.node);
  const bool seen = run.look();
  // An error is no answer, and neither is the lack of one.
  const bool done = seen ? !run.shows_own() : sent.has_value();
  run.result.drained = seen ? run.is_drained() : !done;
  if (!done) {
    run.complain(fmt::format("not resumed: {}",
                             sent ? "Slurm took it and the node is still drained"
                                  : std::string_view(sent.error().message)));
  }
  return done;
}

}  // namespace

void keep(Run& run) {
  const auto& situation = run.situation;
  const bool is_recorded = run.shows_own();
  if (auto* history = run.writable_history(); history != nullptr && is_recorded) {
    const auto& request = run.request;
    if (!situation.drain->confirmed) run.warn_if_failed(history->confirm_drain(request.node));
    if (run.result.decision.clean) {
      run.warn_if_failed(history->note_run(request.node, true, request.boot_id));
    }
  }
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
    return take_back(run, fmt::format("put back into service: {}", why));
  }
  const auto begun = run.writable_history()->begin_resume(run.request.node, *run.situation.drain);
  if (!begun) return run.complain(fmt::format("not resumed: {}", begun.error().message));
  if (!*begun) {
    run.result.decision.action = Action::keep;
    run.result.decision.why = "another run found it unclean";
    return run.say_kept(run.situation.drain->at);
  }
  if (!still_ours(run) || !put_back(run)) return;
  run.warn_if_failed(run.writable_history()->end_drain(run.request.node, run.situation.now, false));
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
  if (!put_back(run)) return;  // the record stays unconfirmed, and the next run comes here again
  if (history != nullptr)
    run.warn_if_failed(history->cancel_drain(run.request.node, run.situation.now));
  run.say("undone", std::move(message), reason);
}

void release(Run& run) {
  auto& situation = run.situation;
  // Unless another process of this node resumed it just now.
  const auto open = run.history()->drain_of(run.request.node);
  if (!open || !*open) return situation.drain.reset();
  // Ours, that came late or whose process was killed: earlier drains still count.
  const bool by_admin = !(*open)->resuming;
  run.say(
      by_admin ? "released" : "resumed",
      by_admin ? "somebody else resumed the node" : "the resume that was sent before is in force",
      situation.drain->reason);
  if (auto* history = run.writable_history()) {
    run.warn_if_failed(history->end_drain(run.request.node, situation.now, by_admin));
  }
  situation.drain.reset();
  // Whoever resumed it has looked at it: the node begins anew.
  if (by_admin) situation.drains.clear();
}

}  // namespace muster::slurm
