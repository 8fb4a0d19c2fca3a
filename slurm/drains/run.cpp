// SPDX-License-Identifier: Apache-2.0
#include "slurm/drains/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "slurm/policy/reason.hpp"
#include "slurm/policy/recovery.hpp"
#include "slurm/policy/remembering.hpp"

namespace muster::slurm {

using std::chrono::milliseconds;

namespace {

// A refusal that lasts is said again.
constexpr std::chrono::hours kAgain{1};

// What tells whether a refusal still stands.
constexpr std::array<std::string_view, 7> kRefused{"refused", "over",     "drained",    "undone",
                                                   "resumed", "released", "not_applied"};

}  // namespace

Run::Run(const HookRequest& the_request, const HookServices& the_services)
    : request(the_request), services(the_services), history_(the_services.history) {
  situation.report = result.report = request.report;
  situation.rules = request.rules;
  situation.now = services.now();
  situation.boot_id = request.boot_id;
  situation.identity = request.identity;
}

void Run::exclude_others() {
  if (request.dry_run || !services.exclude_others) return;
  const auto trouble = services.exclude_others();
  recall();
  if (!trouble.empty()) say("trouble", trouble);
}

void Run::judge_again() {
  const bool is_judged = situation.drain && request.judge_drained;
  situation.of_drained = is_judged ? request.judge_drained(*situation.drain) : nullptr;
}

void Run::recall() {
  if (history_ == nullptr) {
    knows_boot = !is_health_check(*request.report);
    return;
  }
  const auto drain = history_->drain_of(request.node);
  const auto drains = history_->drains_of(request.node);
  if (drain && drains) {
    situation.drain = *drain;
    situation.drains = *drains;
    judge_again();
    if (const auto& own = situation.drain) {
      const auto& last = own->boots_since.empty() ? own->boot_id : own->boots_since.back();
      was_rebooted = !last.empty() && !request.boot_id.empty() && last != request.boot_id;
    }
    const auto boot = history_->boot_of(request.node);
    knows_boot = request.boot_id.empty() || !boot || *boot == request.boot_id;
    return;
  }
  history_ = nullptr;
  say("trouble", drain ? drains.error().message : drain.error().message);
}

bool Run::look() {
  situation.node.reset();
  situation.cluster.clear();
  situation.trouble = services.trouble;
  if (services.controller == nullptr) return false;
  const auto before = left();
  auto nodes = services.controller->nodes(request.node);
  longest_look_ = std::max(longest_look_, before - left());
  situation.now = services.now();
  if (!nodes) {
    situation.trouble = nodes.error().message;
    return false;
  }
  const auto* const own = find_node(*nodes, request.node);
  if (own == nullptr) {
    situation.trouble = fmt::format("Slurm does not list {}", request.node);
    return false;
  }
  situation.node = *own;
  situation.cluster = std::move(*nodes);
  const auto memory = parse_node_memory(situation.node->memory);
  const bool counts = memory && (memory->check.empty() || memory_of_drain(*situation.node));
  if (counts) situation.drains = merge_drains(std::move(situation.drains), memory->drains);
  return true;
}

milliseconds Run::left() const { return services.left ? services.left() : milliseconds::max() / 2; }

bool Run::wait(milliseconds time) const {
  const auto longest = std::max(left() - longest_look_, milliseconds(0));
  services.sleep(std::min(time, longest));
  return time <= longest;
}

bool Run::has_time_to_drain() const {
  constexpr milliseconds kForTheHistory{300};
  // Two commands to Slurm and two questions between them: a command is one call, a question two.
  return left() >= kUntilRanked + 3 * longest_look_ + kForTheHistory;
}

bool Run::is_drained() const {
  return situation.node && standing_of(*situation.node) == Standing::drained;
}

bool Run::shows_own() const { return is_drained() && is_own(situation); }

bool Run::record(const OwnDrain& drain) {
  is_unrecorded = writable_history() == nullptr;
  if (is_unrecorded) return true;
  const auto begun = writable_history()->begin_drain(request.node, drain, situation.drain);
  if (begun) return *begun;
  is_unrecorded = true;
  say("trouble", begun.error().message);
  return true;
}

std::optional<std::string> Run::memory_text(std::string text) const {
  const bool may_write = request.rules.memory != "none" && may_remember(*situation.node);
  return may_write ? std::optional(std::move(text)) : std::nullopt;
}

void Run::remember(const std::string& text) const {
  if (request.dry_run || !memory_text(text) || situation.node->memory == text) return;
  static_cast<void>(services.controller->remember(request.node, text));
}

void Run::say(std::string_view kind, std::string message, std::string reason) {
  const auto& decision = result.decision;
  const auto& own = situation.drain;
  Event event{.at = services.now(),
              .node = request.node,
              .kind = std::string(kind),
              .context = request.context,
              .job = request.job,
              .check = decision.check.empty() && own ? own->check : decision.check,
              .device = decision.device,
              .message = std::move(message),
              .reason = std::move(reason),
              .boot_id = request.boot_id};
  const bool is_written = writable_history() != nullptr && !is_mute_;
  auto written = is_written ? writable_history()->add(event) : Result<void>();
  services.tell(event);
  result.events.push_back(std::move(event));
  if (written) return;
  is_mute_ = true;  // what follows would fail in the same way
  const auto& cause = written.error().message;
  if (result.events.back().message != cause) say("trouble", cause);
}

void Run::say_kept(std::optional<Time> since) {
  auto why = result.decision.why;
  if (shows_own() && why.find(situation.drain->check) == std::string::npos) {
    const auto parts = parse_reason(situation.drain->reason);
    why = fmt::format(
        "{}: {}",
        subject_of(situation.drain->check,
                   parts && parts->check == situation.drain->check ? parts->device : ""),
        why);
  }
  if (history_ != nullptr && !request.dry_run) {
    const auto last =
        history_->events({.nodes = {request.node}, .kinds = {"kept"}, .since = since, .most = 1});
    if (last && !last->empty() && last->back().message == why) return;
  }
  say("kept", why, situation.node->reason);
}

// Of this context and this job: others have their own reasons, and say them.
bool Run::was_refused(std::string_view message) const {
  if (history_ == nullptr || request.dry_run) return false;
  const auto events =
      history_->events({.nodes = {request.node},
                        .kinds = {kRefused.begin(), kRefused.end()},
                        .since = services.now() - kAgain + std::chrono::seconds(1)});
  if (!events) return false;
  const auto last = std::find_if(events->rbegin(), events->rend(), [&](const Event& event) {
    const bool others = event.context != request.context || event.job != request.job;
    return !(others && (event.kind == "refused" || event.kind == "over"));
  });
  return last != events->rend() && last->kind == "refused" && last->message == message;
}

void Run::refuse(std::string_view why) {
  result.decision.action = Action::nothing;
  auto message = about_fault(why);
  if (!was_refused(message)) say("refused", std::move(message));
  note_refusal();
}

// With the node in Slurm, so that `muster status` tells of it.
void Run::note_refusal() const {
  if (!situation.node || standing_of(*situation.node) != Standing::in_service) return;
  const Refusal refused{
      .at = situation.now, .check = result.decision.check, .device = result.decision.device};
  const auto memory = parse_node_memory(situation.node->memory);
  const bool is_noted = memory && memory->refused && memory->refused->check == refused.check &&
                        memory->refused->device == refused.device &&
                        refused.at - memory->refused->at < kAgain;
  if (!is_noted && has_time_to_drain()) remember(memory_refused(situation, refused));
}

std::string Run::about_fault(std::string_view text) const {
  return fmt::format("{}: {}", subject_of(result.decision.check, result.decision.device), text);
}

// In each run of a healthy node: only the newest event is looked at.
void Run::end_refusal() {
  if (writable_history() == nullptr) return;
  const auto newest = writable_history()->events({.most = 1});
  if (!newest || newest->empty()) return;
  const auto& event = newest->back();
  const bool refused = event.kind == "refused" && event.node == request.node;
  if (!refused || event.context != request.context) return;
  say("over", "no drain is called for any more");
  if (request.rules.memory == "none" || (!situation.node && !look())) return;
  const auto memory = parse_node_memory(situation.node->memory);
  if (memory && memory->refused) remember(memory_after(situation, std::nullopt));
}

void Run::complain(std::string message) {
  result.out_of_reach = true;
  say("trouble", std::move(message));
}

void Run::give_up() {
  result.decision = decide(situation);
  result.out_of_reach = true;
  // A healthy node that was asked about for the first time in this boot: the next run asks again.
  if (!result.decision.sick && !situation.drain) return;
  auto why = fmt::format("Slurm could not be asked: {}", situation.trouble);
  if (result.decision.sick) return refuse(why);
  say("trouble", std::move(why));
}

std::string Run::unrecorded_drain_note() const {
  if (!is_unrecorded) return "";
  return fmt::format(
      "; its history cannot be written: it stays drained until it can, or an admin says muster "
      "resume "
      "{}",
      request.node);
}

void Run::warn_if_failed(const Result<void>& written) {
  if (!written) say("trouble", written.error().message);
}

}  // namespace muster::slurm
