// SPDX-License-Identifier: Apache-2.0
// How a run reports what it did, without repeating itself in every run.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "slurm/drains/enforcement.hpp"
#include "slurm/policy/reason.hpp"

namespace muster::slurm {
namespace {

// A refusal that lasts is reported again.
constexpr std::chrono::hours kAgain{1};
constexpr std::chrono::hours kLongestRefusal{24};  // without being reported again

}  // namespace

void Enforcement::report(std::string_view kind, std::string message, std::string reason) {
  report(Event{.kind = std::string(kind),
               .check = result_.decision.check,
               .device = result_.decision.device,
               .message = std::move(message),
               .reason = std::move(reason)});
}

void Enforcement::report(Event event) {
  event.at = services_.now();
  event.node = request_.node;
  event.context = request_.context;
  event.job = request_.job;
  event.boot_id = request_.boot_id;
  services_.tell(event);
  result_.events.push_back(std::move(event));
}

// Called last, so that a hung disk cannot delay a request that is based on a fresh look at Slurm.
void Enforcement::write_history() {
  if (services_.history == nullptr || request_.dry_run || result_.events.empty()) return;
  const auto written = services_.history->add(result_.events);
  if (!written) report("trouble", written.error().message);
}

std::vector<Event> Enforcement::past_events(const EventFilter& filter) const {
  if (services_.history == nullptr || request_.dry_run) return {};
  return services_.history->events(filter).value_or(std::vector<Event>());
}

void Enforcement::report_kept(std::optional<Time> since) {
  auto why = result_.decision.why;
  const auto drain = current_drain(situation_);
  if (drain && why.find(drain->check) == std::string::npos) {
    why = fmt::format("{}: {}", subject_of(drain->check, drain->device), why);
  }
  const auto last =
      past_events({.nodes = {request_.node}, .kinds = {"kept"}, .since = since, .most = 1});
  if (!last.empty() && last.back().message == why) return;
  report("kept", why, situation_.node->reason);
}

void Enforcement::report_problem(std::string message) {
  result_.out_of_reach = true;
  report("trouble", std::move(message));
}

// Only for this context and job: others report their own refusals.
bool Enforcement::was_refused(std::string_view message) const {
  const auto events =
      past_events({.nodes = {request_.node},
                   .kinds = {"refused", "over", "drained", "undone", "resumed", "released"},
                   .since = services_.now() - kAgain + std::chrono::seconds(1)});
  const auto last = std::find_if(events.rbegin(), events.rend(), [&](const Event& event) {
    const bool is_others = event.context != request_.context || event.job != request_.job;
    const bool is_end_of_another = event.kind == "over" && event.check != result_.decision.check;
    return !(is_others && (event.kind == "refused" || is_end_of_another));
  });
  return last != events.rend() && last->kind == "refused" && last->message == message;
}

// Stored with the node in Slurm, for `muster status`.
void Enforcement::note_refusal() {
  if (!situation_.node || standing_of(*situation_.node) != Standing::in_service) return;
  const Refusal refused{
      .at = situation_.now, .check = result_.decision.check, .device = result_.decision.device};
  const auto memory = parse_node_memory(situation_.node->memory);
  const bool is_noted = memory && memory->refused && memory->refused->check == refused.check &&
                        memory->refused->device == refused.device &&
                        refused.at - memory->refused->at < kAgain;
  if (!is_noted && has_time_to_drain()) {
    remember(memory_refused(*situation_.node, request_.rules, situation_.now, refused));
  }
}

// Any run that judged the check ends its refusal: a health check can end a prolog's refusal.
void Enforcement::report_end_of_refusal() {
  if (request_.dry_run || !result_.events.empty()) return;
  // Every sick run makes the next one ask Slurm, so most runs need no look into the history.
  const bool is_quiet = services_.last_look != nullptr &&
                        services_.last_look->is_recent(request_.boot_id, situation_.now);
  const auto events =
      is_quiet ? std::vector<Event>()
               : past_events({.nodes = {request_.node}, .since = situation_.now - kLongestRefusal});
  for (const auto& refused : lasting_refusals(events)) {
    if (!has_passed(refused.check)) {
      refusal_lasts_ = true;
      continue;
    }
    Event over = refused;
    over.kind = "over";
    over.message = "a drain is no longer called for";
    report(std::move(over));
  }
  if (!result_.events.empty() && !situation_.node) static_cast<void>(look());
  if (!situation_.node) return;
  const auto memory = parse_node_memory(situation_.node->memory);
  if (!memory || !memory->refused) return;
  if (has_passed(memory->refused->check) || situation_.now - memory->refused->at > kRefusalLasts) {
    remember(memory_after(*situation_.node, request_.rules, situation_.now));
  }
}

bool Enforcement::has_passed(std::string_view check) const {
  return std::ranges::any_of(request_.report->checks, [&](const CheckResult& each) {
    return each.id == check && (each.outcome == Outcome::pass || each.outcome == Outcome::warn);
  });
}

void Enforcement::note_look() const {
  if (services_.last_look == nullptr || request_.dry_run || !situation_.node) return;
  const auto& node = *situation_.node;
  const auto memory = parse_node_memory(node.memory);
  const bool is_remembered = memory && (!memory->check.empty() || memory->refused);
  if (result_.decision.sick || result_.out_of_reach || is_ours(node.reason) || is_remembered ||
      refusal_lasts_) {
    return services_.last_look->forget();
  }
  static_cast<void>(services_.last_look->note(request_.boot_id, situation_.now));
}

std::string Enforcement::about_fault(std::string_view text) const {
  return fmt::format("{}: {}", subject_of(result_.decision.check, result_.decision.device), text);
}

}  // namespace muster::slurm
