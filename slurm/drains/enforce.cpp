// SPDX-License-Identifier: Apache-2.0
#include "slurm/drains/enforce.hpp"

#include <tuple>
#include <utility>

#include "slurm/drains/steps.hpp"
#include "slurm/policy/reason.hpp"
#include "slurm/policy/recovery.hpp"

namespace muster::slurm {
namespace {

using std::chrono::seconds;

constexpr seconds kFresh{2};

// Whatever Slurm says of the node, and even if it says nothing.
void note_unclean(Run& run) {
  auto& drain = run.situation.drain;
  const auto& order = run.order;
  const auto& report = report_of_drain(run.situation);
  if (!drain || tally(report, order.rules, *drain) != Tally::unclean) return;
  drain->clean_runs = 0;
  drain->resuming = false;
  auto* history = run.pen();
  if (history != nullptr) run.heed(history->note_run(order.node, false, order.boot_id));
  const auto* const found = drain_finding(report, order.rules);
  if (found == nullptr || !is_graver(found->remedy, drain->remedy)) return;
  // The boot goes with it: a reboot before it was found is not its remedy.
  drain->check = found->check;
  drain->remedy = found->remedy;
  drain->boot_id = order.boot_id;
  if (history != nullptr) run.heed(history->worsen_drain(order.node, *drain));
}

// Where this fails, the next run asks again.
void note_boot(Run& run) {
  if (run.knows_boot || run.pen() == nullptr) return;
  static_cast<void>(run.pen()->note_boot(run.order.node, run.order.boot_id));
}

// What happened to our last drain since.
void settle(Run& run) {
  auto& situation = run.situation;
  if (!situation.drain) return;
  if (situation.drain->confirmed && standing_of(*situation.node) == Standing::in_service) {
    return release(run);
  }
  // Slurm answers again, and the resume that was sent by an earlier run is not in force.
  if (situation.drain->resuming && run.shows_own()) {
    situation.drain->resuming = false;
    if (auto* history = run.pen()) run.heed(history->cancel_resume(run.order.node));
  }
  // A drain that came late, just now: others may be coming.
  const bool is_fresh = situation.node->since && situation.now - *situation.node->since < kFresh;
  if (situation.drain->confirmed || !run.shows_own() || !is_fresh) return;
  const auto before = std::pair{situation.node, situation.cluster};
  static_cast<void>(run.wait(kUntilRanked));
  if (!run.look()) std::tie(situation.node, situation.cluster) = before;
}

// The node is not ours to touch, or there is nothing to do.
void leave(Run& run) {
  auto& situation = run.situation;
  auto& decision = run.result.decision;
  const auto& drain = situation.drain;
  if (decision.sick) {
    run.refuse(decision.why);
  } else if (drain && !drain->confirmed) {
    decision.why = "the last drain was sent, and Slurm has not applied it";
  } else if (!drain && run.is_drained() && is_ours(situation.node->reason)) {
    run.say_kept(situation.node->since);
  }
  // One that was sent and not seen is waited for, but not for ever.
  if (!drain || drain->confirmed || situation.now - drain->at < kMayStillCome) return;
  if (auto* history = run.pen()) {
    run.heed(history->cancel_drain(run.order.node, situation.now));
  }
  run.say("not_applied", "Slurm never applied the last drain", drain->reason);
}

void act(Run& run) {
  run.result.decision = decide(run.situation);
  run.result.drained = run.is_drained();
  if (run.shows_own()) run.result.report = &report_of_drain(run.situation);
  switch (run.result.decision.action) {
    case Action::drain:
      return drain(run);
    case Action::keep:
      return keep(run);
    case Action::resume:
      return resume(run);
    case Action::nothing:
      return leave(run);
  }
}

}  // namespace

void keep(Run& run) {
  const auto& situation = run.situation;
  const bool is_recorded = run.shows_own();
  if (auto* history = run.pen(); history != nullptr && is_recorded) {
    const auto& order = run.order;
    if (!situation.drain->confirmed) run.heed(history->confirm_drain(order.node));
    if (run.result.decision.clean) {
      run.heed(history->note_run(order.node, true, order.boot_id));
    }
  }
  run.say_kept(is_recorded ? situation.drain->at : situation.node->since);
}

Enforced enforce(const Order& order, const Hands& hands) {
  Run run(order, hands);
  run.recall();
  note_unclean(run);
  const Known known{.drained_by_us = run.situation.drain.has_value(), .boot = run.knows_boot};
  if (!needs_slurm(*order.report, order.rules, known)) {
    run.result.decision = decide(run.situation);
  } else if (run.look()) {
    note_boot(run);
    settle(run);
    act(run);
  } else {
    run.give_up();
  }
  if (!run.result.decision.sick) run.end_refusal();
  return std::move(run.result);
}

}  // namespace muster::slurm
