// SPDX-License-Identifier: Apache-2.0
#include "slurm/drains/enforce.hpp"

#include <fmt/format.h>

#include <tuple>
#include <utility>

#include "lib/report/summary.hpp"
#include "slurm/drains/adopting.hpp"
#include "slurm/drains/draining.hpp"
#include "slurm/drains/resuming.hpp"
#include "slurm/drains/run.hpp"
#include "slurm/policy/reason.hpp"
#include "slurm/policy/recovery.hpp"

namespace muster::slurm {
namespace {

using std::chrono::seconds;

constexpr seconds kFresh{2};

// Resets the count of clean runs if this run was not clean, whether or not Slurm answered.
void note_unclean(Run& run) {
  auto& drain = run.situation.drain;
  const auto& request = run.request;
  const auto& report = report_of_drain(run.situation);
  if (!drain || cleanness_of(report, request.rules, *drain) != Cleanness::unclean) return;
  drain->clean_runs = 0;
  drain->resuming = false;
  auto* history = run.writable_history();
  if (history != nullptr)
    run.warn_if_failed(history->note_run(request.node, *drain, false, request.boot_id));
  const auto* const found = drain_finding(report, request.rules);
  if (found == nullptr || gravity(found->remedy) <= gravity(drain->remedy)) return;
  // The boot goes with it: a reboot before it was found is not its remedy.
  auto worse = *drain;
  worse.check = found->check;
  worse.remedy = found->remedy;
  worse.boot_id = request.boot_id;
  if (history != nullptr) run.warn_if_failed(history->worsen_drain(request.node, *drain, worse));
  run.result.decision.check = found->check;
  run.result.decision.device = found->device;
  run.say("worsened",
          fmt::format("{}; the node was drained for {}", sentence(*found), drain->check));
  *drain = std::move(worse);
}

// Notes that Slurm was asked in this boot. Where that fails, the next run asks again.
void note_boot(Run& run) {
  if (run.knows_boot || run.is_unrecorded || run.writable_history() == nullptr) return;
  static_cast<void>(run.writable_history()->note_boot(run.request.node, run.request.boot_id));
}

// Finds out what happened to our last drain since the last run.
void settle(Run& run) {
  auto& situation = run.situation;
  if (!situation.drain) return;
  if (situation.drain->confirmed && standing_of(*situation.node) == Standing::in_service) {
    return release(run);
  }
  // Slurm answers again, and the resume that was sent by an earlier run is not in force.
  if (situation.drain->resuming && run.shows_own()) {
    situation.drain->resuming = false;
    if (auto* history = run.writable_history())
      run.warn_if_failed(history->cancel_resume(run.request.node, *situation.drain));
  }
  // A drain that came late, just now: others may be coming.
  const bool is_fresh = situation.node->since && situation.now - *situation.node->since < kFresh;
  if (situation.drain->confirmed || !run.shows_own() || !is_fresh) return;
  const auto before = std::pair{situation.node, situation.cluster};
  static_cast<void>(run.wait(kUntilRanked));
  if (!run.look()) std::tie(situation.node, situation.cluster) = before;
}

// Says why nothing is done: the node is not ours to touch, or nothing is called for.
void leave(Run& run) {
  auto& situation = run.situation;
  auto& decision = run.result.decision;
  const auto& drain = situation.drain;
  if (decision.sick) {
    run.refuse(decision.why);
  } else if (drain && !drain->confirmed) {
    decision.why = "the last drain was sent, and Slurm has not applied it";
  } else if (!drain && run.is_drained() && is_ours(situation.node->reason)) {  // an admin's own
    run.say_kept(situation.node->since);
  }
  // One that was sent and not seen is waited for, but not for ever.
  if (!drain || drain->confirmed || situation.now - drain->at < kMayStillCome) return;
  if (auto* history = run.writable_history()) {
    run.warn_if_failed(history->cancel_drain(run.request.node, *drain, situation.now));
  }
  run.say("not_applied", "Slurm never applied the last drain", drain->reason);
}

void act(Run& run) {
  update_reason(run);
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

HookResult enforce(const HookRequest& request, const HookServices& services) {
  Run run(request, services);
  run.recall();
  const auto is_needed = [&] {
    const HistoryFacts known{.drained_by_us = run.situation.drain.has_value(),
                             .boot = run.knows_boot};
    return needs_slurm(*request.report, request.rules, known);
  };
  if (is_needed()) run.exclude_others();
  note_unclean(run);
  if (!is_needed()) {
    run.result.decision = decide(run.situation);
  } else if (run.look()) {
    if (adopt(run)) note_unclean(run);
    note_boot(run);
    settle(run);
    settle_memory(run);
    act(run);
  } else {
    run.give_up();
  }
  if (run.is_unrecorded && services.ask_again && !request.dry_run) services.ask_again();
  if (!run.result.decision.sick) run.end_refusal();
  return std::move(run.result);
}

}  // namespace muster::slurm
