// SPDX-License-Identifier: Apache-2.0
#include "slurm/drains/adopting.hpp"

#include <fmt/format.h>

#include <utility>

#include "slurm/policy/reason.hpp"
#include "slurm/policy/recovery.hpp"
#include "slurm/policy/remembering.hpp"

namespace muster::slurm {

bool adopt(Run& run) {
  auto& situation = run.situation;
  if (!run.is_drained() || run.shows_own()) return false;
  auto drain = drain_of_memory(*situation.node, run.request.identity);
  const bool is_remembered = drain.has_value();
  // One that the history knows and whose reason is another by now was edited by somebody.
  if (!drain && !situation.drain) drain = drain_of_reason(situation);
  if (!drain) return false;
  if (!run.record(*drain)) {
    run.recall();
    return false;
  }
  situation.drain = std::move(drain);
  run.judge_again();
  if (run.own_drain_record() == nullptr) return true;
  run.say(
      "adopted",
      fmt::format("muster drained the node, which the history does not know: taken over from {}",
                  is_remembered ? "what stands with the node in Slurm" : "its reason alone"),
      situation.drain->reason);
  return true;
}

void settle_memory(Run& run) {
  auto& situation = run.situation;
  const auto memory = parse_node_memory(situation.node->memory);
  const bool stands = memory && !memory->check.empty();
  if (!stands || situation.drain || standing_of(*situation.node) != Standing::in_service) return;
  const bool by_reboot =
      !memory->boot.empty() && !situation.boot_id.empty() && memory->boot != situation.boot_id;
  if (by_reboot) situation.drains = merge_drains(situation.drains, memory->drains);
  run.remember(by_reboot ? memory_after(situation, std::nullopt) : "");
}

void update_reason(Run& run) {
  auto& situation = run.situation;
  if (run.request.dry_run || !run.shows_own() || !run.has_time_to_drain()) return;
  const auto before = *situation.drain;
  const auto parts = parse_reason(before.reason);
  const bool names_it = parts && parts->check == before.check && parts->remedy == before.remedy;
  if (!parts || names_it) return;
  Finding finding{.check = before.check,
                  .outcome = Outcome::fail,
                  .message = "found while the node was drained",
                  .remedy = before.remedy};
  const auto& report = report_of_drain(situation);
  const auto* const found = drain_finding(report, run.request.rules);
  const bool is_there =
      found != nullptr && found->check == before.check && found->remedy == before.remedy;
  if (is_there) finding = *found;
  auto worse = before;
  worse.reason = make_reason(finding, is_there ? count_others(report, finding) : 0);
  auto* history = run.own_drain_record();
  if (history != nullptr)
    run.warn_if_failed(history->worsen_drain(run.request.node, before, worse));
  const auto sent = run.services.controller->drain(run.request.node, worse.reason,
                                                   run.memory_text(memory_while(situation, worse)));
  situation.drain = worse;
  if (run.look() && run.shows_own()) return;
  // What was sent may still come: its memory says then whose it is.
  situation.drain = before;
  if (history != nullptr)
    run.warn_if_failed(history->worsen_drain(run.request.node, worse, before));
  run.complain(fmt::format("the reason could not be changed: {}",
                           sent ? "Slurm does not show it" : sent.error().message));
}

void update_memory(Run& run) {
  if (run.shows_own()) run.remember(memory_while(run.situation, *run.situation.drain));
}

}  // namespace muster::slurm
