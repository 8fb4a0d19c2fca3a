// SPDX-License-Identifier: Apache-2.0
#include "slurm/drains/draining.hpp"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "lib/base/text.hpp"
#include "slurm/drains/resuming.hpp"
#include "slurm/policy/allowance.hpp"
#include "slurm/policy/remembering.hpp"

namespace muster::slurm {
namespace {

constexpr std::string_view kNoTime =
    "not drained: too little of the hook's time is left to see what comes of it";

// Another process of this node, a prolog or a health check, has begun to drain it.
void follow_another(Run& run) {
  static_cast<void>(run.wait(kUntilRanked));
  run.recall();
  if (!run.look()) return run.give_up();
  run.result.decision = decide(run.situation);
  run.result.drained = run.is_drained();
  if (run.result.decision.action == Action::keep) return keep(run);
  run.refuse("another run of muster drains the node");
}

// The record is as it was before this run.
void forget(Run& run, const OwnDrain& own) {
  auto* history = run.own_drain_record();
  if (history == nullptr) return;
  const auto& last = run.situation.drain;
  run.warn_if_failed(history->cancel_drain(run.request.node, own, run.situation.now));
  if (last)
    run.warn_if_failed(history->begin_drain(run.request.node, *last).map([](bool /*begun*/) {}));
}

// The history waited for its disk; somebody may have acted meanwhile, and the time may be over. If
// it is not to be sent any more, nothing was done, and that was said.
bool still_to_be_sent(Run& run, const OwnDrain& own) {
  const bool seen = run.look();
  if (seen) {
    auto again = decide(run.situation);
    const bool wanted = again.action == Action::drain && again.reason == own.reason;
    if (wanted && run.has_time_to_drain()) return true;
    if (wanted) again.why = kNoTime;
    run.result.decision = std::move(again);
  }
  forget(run, own);
  run.result.drained = run.is_drained();
  if (!seen) {
    run.give_up();
  } else if (run.result.decision.action == Action::keep) {
    keep(run);
  } else {
    run.refuse(run.result.decision.why);
  }
  return false;
}

// `compared`: others' drains of the same second are to be seen by now.
void verify(Run& run, const Result<void>& sent, bool compared) {
  const bool seen = run.look();
  run.result.drained = seen ? run.is_drained() : sent.has_value();
  if (!seen || !run.shows_own()) {
    // The record stays as it is: what was sent may still come.
    if (!sent) {
      return run.complain(fmt::format("the drain may still come: {}{}", sent.error().message,
                                      run.unrecorded_drain_note()));
    }
    if (!seen) {
      return run.complain(fmt::format("drained, not verified: {}{}", run.situation.trouble,
                                      run.unrecorded_drain_note()));
    }
    return run.complain(
        fmt::format(R"(drained, and right after that the node is "{}" with the reason "{}")",
                    printable(run.situation.node->state), printable(run.situation.node->reason)));
  }
  const auto& decision = run.result.decision;
  const auto beyond = beyond_share(*run.situation.node, run.situation.cluster, run.request.rules);
  if (!beyond.empty()) {
    return take_back(
        run, fmt::format("put back into service, because other nodes were drained first, {}: {}",
                         beyond, decision.why));
  }
  if (!compared) {  // slurmctld took the time that was left: the next run compares
    return run.complain(
        fmt::format("drained, and not compared with the drains of other nodes, because the hook's "
                    "time is over: {}{}",
                    decision.why, run.unrecorded_drain_note()));
  }
  if (auto* history = run.own_drain_record())
    run.warn_if_failed(history->confirm_drain(run.request.node, *run.situation.drain));
  run.say("drained", decision.why + run.unrecorded_drain_note(), decision.reason);
  auto stopped = stopped_by(*run.situation.node, run.situation.cluster, run.request.rules);
  if (!stopped.empty()) run.say("stopped", std::move(stopped));
}

}  // namespace

void drain(Run& run) {
  const auto& decision = run.result.decision;
  if (run.request.dry_run) {
    return run.say("dry_run", fmt::format("would drain: {}", decision.why), decision.reason);
  }
  if (!run.has_time_to_drain()) return run.refuse(kNoTime);
  const OwnDrain own{.reason = decision.reason,
                     .at = run.situation.now,
                     .boot_id = run.request.boot_id,
                     .identity = run.request.identity,
                     .check = decision.check,
                     .remedy = decision.remedy};
  // Before it is sent, so that a later run can undo it.
  if (!run.record(own)) return follow_another(run);
  if (!still_to_be_sent(run, own)) return;
  run.situation.drain = own;
  const auto sent = run.services.controller->drain(
      run.request.node, own.reason, run.memory_text(memory_while(run.situation, own)));
  const bool compared = run.wait(kUntilRanked);
  verify(run, sent, compared);
}

}  // namespace muster::slurm
