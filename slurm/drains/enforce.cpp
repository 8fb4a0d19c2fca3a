// SPDX-License-Identifier: Apache-2.0
#include "slurm/drains/enforce.hpp"

#include <fmt/format.h>

#include <tuple>
#include <utility>

#include "lib/base/text.hpp"
#include "lib/report/summary.hpp"
#include "slurm/cluster/queue.hpp"
#include "slurm/drains/enforcement.hpp"
#include "slurm/policy/decide.hpp"
#include "slurm/policy/limits.hpp"
#include "slurm/policy/reason.hpp"

namespace muster::slurm {
namespace {

using std::chrono::milliseconds;

// Slurm counts time in whole seconds: after this long, all drains of the same second as ours are
// visible.
constexpr milliseconds kUntilRanked{1200};
// A drain that is younger than this may have been applied just now, and others may follow.
constexpr std::chrono::seconds kFresh{2};

constexpr std::string_view kNoTime =
    "not drained: too little of the hook's time is left to verify the drain";

}  // namespace

Enforcement::Enforcement(const HookRequest& request, const HookServices& services)
    : request_(request), services_(services) {
  situation_.report = result_.report = request.report;
  situation_.rules = request.rules;
  situation_.now = services.now();
  situation_.boot_id = request.boot_id;
  situation_.identity = request.identity;
  situation_.machine = request.machine;
}

HookResult Enforcement::run() {
  const bool is_sick = drain_finding(*request_.report, request_.rules) != nullptr;
  // First, so that a run that is killed makes the next one ask.
  if (is_sick && services_.last_look != nullptr && !request_.dry_run) {
    services_.last_look->forget();
  }
  if (!is_sick && !needs_slurm()) {
    result_.decision = decide(situation_);
  } else {
    exclude_others();
    if (look()) {
      reconcile();
      const auto drain = current_drain(situation_);
      const bool is_judged = drain && request_.judge_drained;
      situation_.of_drained = is_judged ? request_.judge_drained(drain->check) : nullptr;
      situation_.is_power_saved = drain && is_power_saved(*drain);
      count_unclean_run();
      act();
    } else {
      give_up();
    }
  }
  if (!result_.decision.sick) report_end_of_refusal();
  note_look();
  write_history();
  return std::move(result_);
}

bool Enforcement::needs_slurm() const {
  if (services_.last_look == nullptr) return is_health_check(*request_.report);
  return !services_.last_look->is_recent(request_.boot_id, situation_.now);
}

void Enforcement::exclude_others() {
  if (request_.dry_run || !services_.exclude_others) return;
  const auto trouble = services_.exclude_others();
  if (!trouble.empty()) report("trouble", trouble);
}

bool Enforcement::look() {
  situation_.node.reset();
  situation_.cluster.clear();
  situation_.trouble = services_.trouble;
  if (services_.controller == nullptr) return false;
  const auto before = time_left();
  auto nodes = services_.controller->nodes(request_.node);
  longest_look_ = std::max(longest_look_, before - time_left());
  situation_.now = services_.now();
  if (!nodes) {
    situation_.trouble = nodes.error().message;
    return false;
  }
  const auto* const own = find_node(*nodes, request_.node);
  if (own == nullptr) {
    situation_.trouble = fmt::format("Slurm does not list {}", request_.node);
    return false;
  }
  situation_.node = *own;
  // slurmd runs a health check before it registers: for Slurm the node is still powering up, but it
  // may be drained and resumed.
  if (!request_.is_remote) situation_.node->state = without_powering_up(own->state);
  situation_.cluster = std::move(*nodes);
  return true;
}

milliseconds Enforcement::time_left() const {
  return services_.left ? services_.left() : milliseconds::max() / 2;
}

bool Enforcement::wait(milliseconds time) const {
  const auto longest = std::max(time_left() - longest_look_, milliseconds(0));
  services_.sleep(std::min(time, longest));
  return time <= longest;
}

bool Enforcement::has_time_to_drain() const {
  constexpr milliseconds kForTheHistory{300};
  // Three commands to Slurm and two queries between them: a command is one call, a query two.
  return time_left() >= kUntilRanked + 3 * longest_look_ + kForTheHistory;
}

bool Enforcement::is_drained() const {
  return situation_.node && standing_of(*situation_.node) == Standing::drained;
}

bool Enforcement::shows(std::string_view reason) const {
  return is_drained() && without_reboot(situation_.node->reason) == without_reboot(reason);
}

std::optional<std::string> Enforcement::allowed_memory(std::string text) const {
  const bool may_write = request_.rules.memory != "none" && may_remember(*situation_.node);
  return may_write ? std::optional(std::move(text)) : std::nullopt;
}

void Enforcement::remember(const std::string& text) {
  auto& node = *situation_.node;
  if (request_.dry_run || !allowed_memory(text) || node.memory == text) return;
  if (services_.controller->remember(request_.node, text)) node.memory = text;
}

std::string Enforcement::memory_of(const NodeMemory& drain, std::string_view reason) const {
  return memory_while(*situation_.node, drain, reason, request_.rules, situation_.now);
}

std::string Enforcement::memory_of(const NodeMemory& drain) const {
  return memory_of(drain, situation_.node->reason);
}

Result<void> Enforcement::send_drain(const NodeMemory& drain, const std::string& reason) const {
  return services_.controller->drain(request_.node, reason,
                                     allowed_memory(memory_of(drain, reason)));
}

void Enforcement::note_host(NodeMemory& drain) const {
  drain.hardware = hash_hardware(request_.identity);
  drain.gpus = count_gpus(request_.identity);
  drain.machine = hash_machine(request_.machine);
}

bool Enforcement::is_power_saved(const NodeMemory& drain) const {
  if (lost_its_reason(*situation_.node)) return true;
  const bool has_booted = !drain.boot.empty() && drain.boot != request_.boot_id;
  return has_booted && services_.controller->is_cloud_node(request_.node);
}

void Enforcement::reconcile() {
  const auto& node = *situation_.node;
  auto memory = parse_node_memory(node.memory);
  const bool in_service = standing_of(node) == Standing::in_service;
  if (in_service && memory && !memory->check.empty()) return release(*memory);
  if (in_service && memory && memory->is_new) remember("");
  // Otherwise the drain would be taken for muster's once Slurm drops the reason.
  if (is_drained() && memory && !memory->check.empty() && !memory->overruled &&
      !memory_of_drain(node)) {
    memory->overruled = true;
    remember(to_text(*memory));
  }
  const auto drain = current_drain(situation_);
  const bool is_fresh = node.since && situation_.now - *node.since < kFresh;
  if (!drain || drain->settled || !is_fresh) return;
  const auto before = std::pair{situation_.node, situation_.cluster};
  static_cast<void>(wait(kUntilRanked));
  if (!look()) std::tie(situation_.node, situation_.cluster) = before;
}

// Our own resume takes the drain out of the memory in the same request.
void Enforcement::release(const NodeMemory& drain) {
  const auto& seen_in = drain.last_boot.empty() ? drain.boot : drain.last_boot;
  // After `scontrol reboot` Slurm puts the node back itself: no admin has looked at it.
  const bool by_reboot =
      !seen_in.empty() && !request_.boot_id.empty() && seen_in != request_.boot_id;
  const bool is_other = is_other_host(drain, request_.identity, request_.machine);
  result_.decision.check = drain.check;
  report("released", is_other ? "the name belongs to another host by now, and is in service"
                     : by_reboot
                         ? "the node was rebooted and is in service again; its drains still "
                           "count"
                         : "the node was resumed, but not by muster");
  remember(by_reboot && !is_other ? memory_after(*situation_.node, request_.rules, situation_.now)
                                  : "");
}

// Also counts for a node that is down or rebooting.
void Enforcement::count_unclean_run() {
  const auto drain = is_drained() ? current_drain(situation_) : memory_of_drain(*situation_.node);
  if (!drain) return;
  const auto& judged = report_of_drain(situation_);
  if (cleanness_of(judged, request_.rules, *drain) != Cleanness::unclean) return;
  const auto* const found = drain_finding(judged, request_.rules);
  if (found != nullptr && is_drained()) {
    if (is_other_host(*drain, request_.identity, request_.machine)) return renew(*drain, *found);
    if (seriousness(found->remedy) > seriousness(drain->remedy)) return worsen(*drain, *found);
    correct_reason(*drain, *found);
  }
  if (drain->clean == 0) return;
  auto changed = *drain;
  changed.clean = 0;
  remember(memory_of(changed));
}

void Enforcement::correct_reason(const NodeMemory& drain, const Finding& found) {
  const auto device = found.device == "node" ? "" : found.device;
  const auto others = count_others(report_of_drain(situation_), found);
  const bool is_same = found.check == drain.check && device == drain.device;
  if (!is_same || lost_its_reason(*situation_.node)) return;
  if (others == others_in(situation_.node->reason)) return;
  if (request_.dry_run || !has_time_to_drain()) return;
  // If it fails, the next run tries again.
  static_cast<void>(send_drain(drain, make_reason(found, others)));
  static_cast<void>(look());
}

void Enforcement::worsen(const NodeMemory& drain, const Finding& found) {
  auto worse = drain;
  worse.boot = request_.boot_id;  // a reboot before it was found is not its remedy
  worse.last_boot.clear();
  worse.clean = 0;
  worse.admin.clear();
  change_drain(worse, found, "worsened",
               fmt::format("{}; the node was drained for {}", sentence(found), drain.check));
}

void Enforcement::renew(const NodeMemory& drain, const Finding& found) {
  if (request_.dry_run || !has_time_to_drain()) return;
  NodeMemory fresh{.at = situation_.now, .boot = request_.boot_id, .settled = true};
  note_host(fresh);
  situation_.node->memory.clear();  // with the flaps of the other host
  change_drain(fresh, found, "drained",
               fmt::format("{}; the drain for {} was that of another host with this name",
                           sentence(found), drain.check));
}

void Enforcement::change_drain(const NodeMemory& drain, const Finding& found, std::string_view kind,
                               std::string message) {
  if (request_.dry_run || !has_time_to_drain()) return;
  const auto reason = make_reason(found, count_others(report_of_drain(situation_), found));
  auto changed = drain;
  changed.check = found.check;
  changed.device = found.device == "node" ? "" : found.device;
  changed.remedy = found.remedy;
  const auto sent = send_drain(changed, reason);
  result_.decision.check = found.check;
  result_.decision.device = found.device;
  if (look() && shows(reason)) return report(kind, std::move(message), reason);
  report_problem(fmt::format("{}; the reason could not be changed: {}", message,
                             sent ? "Slurm does not show it" : sent.error().message));
}

void Enforcement::act() {
  if (!situation_.node) return give_up();
  result_.decision = decide(situation_);
  result_.drained = is_drained();
  if (current_drain(situation_)) result_.report = &report_of_drain(situation_);
  switch (result_.decision.action) {
    case Action::drain:
      return drain();
    case Action::keep:
      return keep();
    case Action::resume:
      return resume();
    case Action::nothing:
      return leave_alone();
  }
}

void Enforcement::drain() {
  const auto& decision = result_.decision;
  if (request_.dry_run) {
    return report("dry_run", fmt::format("would drain: {}", decision.why), decision.reason);
  }
  if (!has_time_to_drain()) return refuse(kNoTime);
  NodeMemory own{.check = decision.check,
                 .device = decision.device == "node" ? "" : decision.device,
                 .remedy = decision.remedy,
                 .at = situation_.now,
                 .boot = request_.boot_id};
  note_host(own);
  const auto sent = send_drain(own, decision.reason);
  const bool is_compared = wait(kUntilRanked);
  verify_drain(sent, is_compared);
}

// `is_compared`: other drains of the same second are already visible. Otherwise the drain stays
// unsettled in the node's memory, and the next run compares it.
void Enforcement::verify_drain(const Result<void>& sent, bool is_compared) {
  const bool seen = look();
  result_.drained = seen ? is_drained() : sent.has_value();
  const auto decision = result_.decision;
  if (!shows(decision.reason)) {
    if (!sent) {
      const bool is_refused = is_refusal(sent.error(), "scontrol");
      return report_problem(
          fmt::format("{}: {}", is_refused ? "not drained" : "the drain may still be applied",
                      sent.error().message));
    }
    if (!seen) return report_problem(fmt::format("drained, not verified: {}", situation_.trouble));
    return report_problem(
        fmt::format(R"(drained, and right after that the node is "{}" with the reason "{}")",
                    printable(situation_.node->state), printable(situation_.node->reason)));
  }
  const auto beyond = beyond_share(*situation_.node, situation_.cluster, request_.rules);
  if (!beyond.empty()) {
    return take_back(
        fmt::format("put back into service, because other nodes were drained first: {}. Its fault "
                    "is {}",
                    beyond, decision.why));
  }
  if (!is_compared) {
    return report_problem(fmt::format(
        "drained, and not compared with the drains of other nodes, because the hook's time is "
        "over: {}",
        decision.why));
  }
  auto settled = shown_drain(*situation_.node);
  settled.settled = true;
  remember(memory_of(settled));
  report("drained", decision.why, decision.reason);
  auto stopped = stopped_by(*situation_.node, situation_.cluster, request_.rules);
  if (!stopped.empty()) report("stopped", std::move(stopped));
}

void Enforcement::keep() {
  const auto drain = current_drain(situation_);
  const bool was_remembered = memory_of_drain(*situation_.node).has_value();
  auto kept = *drain;
  kept.settled = true;
  if (!request_.is_remote) {
    const bool was_sent_from_elsewhere = kept.boot.empty() && !request_.boot_id.empty();
    if (!was_remembered || was_sent_from_elsewhere) {
      kept.boot = request_.boot_id;
      note_host(kept);
    }
    kept.last_boot = kept.boot == request_.boot_id ? "" : request_.boot_id;
  }
  if (result_.decision.clean) ++kept.clean;
  kept.admin = result_.decision.admin;
  remember(memory_of(kept));
  const bool is_expected = !was_remembered && !request_.dry_run && allowed_memory("");
  if (is_expected && look() && !memory_of_drain(*situation_.node)) {
    result_.decision.why += fmt::format(
        "; Slurm does not store the node's memory (slurm.memory: {} in muster.yaml), so it stays "
        "drained until an admin runs muster resume {}",
        request_.rules.memory, request_.node);
  }
  report_kept(drain->at);
}

void Enforcement::resume() {
  const std::string why = result_.decision.why;
  const std::string reason = situation_.node->reason;
  if (request_.dry_run) {
    return report("dry_run", fmt::format("would resume: {}", why), reason);
  }
  // The node is sick, but its drain was one too many.
  if (result_.decision.sick) {
    return take_back(about_fault(fmt::format("put back into service: {}", why)));
  }
  if (put_back(std::nullopt)) report("resumed", why, reason);
}

bool Enforcement::put_back(std::optional<Time> uncounted) {
  const std::string reason = situation_.node->reason;
  const auto drain = current_drain(situation_);
  const bool is_void = drain && is_other_host(*drain, request_.identity, request_.machine);
  const auto memory =
      is_void ? "" : memory_after(*situation_.node, request_.rules, situation_.now, uncounted);
  const auto sent = services_.controller->resume(request_.node, allowed_memory(memory));
  const bool seen = look();
  // Only the node shows whether it was resumed: after an error Slurm may have done it.
  const bool done = seen ? !shows(reason) : sent.has_value();
  result_.drained = seen ? is_drained() : !done;
  if (!done) {
    report_problem(
        fmt::format("not resumed: {}", sent ? "Slurm accepted it and the node is still drained"
                                            : std::string_view(sent.error().message)));
  }
  return done;
}

void Enforcement::take_back(std::string message) {
  result_.decision.loud = true;
  result_.decision.action = Action::nothing;
  const std::string reason = situation_.node->reason;
  if (put_back(shown_drain(*situation_.node).at)) report("undone", std::move(message), reason);
}

void Enforcement::leave_alone() {
  const auto& decision = result_.decision;
  if (decision.sick) return refuse(decision.why);
  if (is_drained() && is_ours(situation_.node->reason)) report_kept(situation_.node->since);
}

void Enforcement::refuse(std::string_view why) {
  result_.decision.action = Action::nothing;
  auto message = about_fault(why);
  if (!was_refused(message)) report("refused", std::move(message));
  note_refusal();
}

void Enforcement::give_up() {
  result_.decision = decide(situation_);
  result_.out_of_reach = true;
  if (result_.decision.sick) {
    refuse(fmt::format("cannot reach Slurm: {}", situation_.trouble));
  }
}

HookResult enforce(const HookRequest& request, const HookServices& services) {
  return Enforcement(request, services).run();
}

}  // namespace muster::slurm
