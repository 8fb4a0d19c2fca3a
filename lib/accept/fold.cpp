// SPDX-License-Identifier: Apache-2.0
// The rules for retests: how many readings confirm a failure, and what happens after the loss of a
// node or an event in its soak.
#include "lib/accept/fold.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lib/accept/step.hpp"

namespace muster::accept {
namespace {

constexpr std::int64_t kPause = 60;   // seconds between attempts without an answer
constexpr std::int64_t kMaxRuns = 6;  // runs of a stage that fails in a different way each time
constexpr int kMaxInterruptions = 5;  // in a row; the cause then lies in the node or in our setup

// Returns the causes in a group's attempt that are about this node.
std::vector<Cause> causes_of(const GroupAttempt& attempt, const std::string& node) {
  std::vector<Cause> causes;
  std::ranges::copy_if(attempt.causes, std::back_inserter(causes), [&](const Cause& cause) {
    return cause.node == node || (!cause.other.empty() && cause.other == node);
  });
  return causes;
}

}  // namespace

void NodeFold::begin(Stage stage, std::int64_t at) {
  standing_.stage = stage;
  standing_.since = at;
  counts_.clear();
  suspected_.clear();
  failed_.clear();
  runs_ = uncertain_ = whole_fails_ = slice_ended_ = 0;
}

void NodeFold::advance(std::int64_t at) {
  const auto index = static_cast<std::size_t>(standing_.stage);
  proven_[index] = true;
  remark(failed_, "not confirmed by a retest");
  if (standing_.stage == Stage::node) joined_ = at;
  if (standing_.stage != Stage::after) return begin(static_cast<Stage>(index + 1), at);
  suspected_.clear();
  standing_.since = at;
  const auto unseen = std::ranges::find(standing_.remarks, kGpusCheck, &Cause::check);
  if (unseen != standing_.remarks.end()) {
    return settle(NodeVerdict::not_tested, Charge::open, unseen->message, {*unseen});
  }
  standing_.verdict = standing_.remarks.empty() ? NodeVerdict::accepted : NodeVerdict::remarks;
}

void NodeFold::settle(NodeVerdict verdict, Charge charge, std::string why,
                      std::vector<Cause> causes) {
  standing_.verdict = verdict;
  standing_.charge = charge;
  standing_.why = std::move(why);
  standing_.causes = std::move(causes);
  standing_.lost = false;
  suspected_.clear();
  proven_ = {};
}

// Sets the verdict on a node with confirmed failures.
void NodeFold::settle(const std::vector<Cause>& causes) {
  const auto is_pair = [](const Cause& cause) { return cause.evidence == Evidence::pair; };
  if (std::ranges::all_of(causes, is_pair)) {
    return settle(NodeVerdict::held, Charge::open, to_line(causes.front()), causes);
  }
  for (const auto charge : {Charge::provider, Charge::ours, Charge::open}) {
    const auto found = std::ranges::find(causes, charge, &Cause::charge);
    if (found == causes.end()) continue;
    const auto verdict = charge == Charge::provider ? NodeVerdict::rejected : NodeVerdict::held;
    return settle(verdict, charge, to_line(*found), causes);
  }
}

void NodeFold::remark(const std::vector<Cause>& causes, std::string_view note) {
  for (auto cause : causes) {
    if (!note.empty()) cause.message = fmt::format("{}; {}", cause.message, note);
    const auto same = std::ranges::find_if(standing_.remarks, [&](const Cause& other) {
      return other.check == cause.check && other.device == cause.device;
    });
    if (same == standing_.remarks.end()) standing_.remarks.push_back(std::move(cause));
  }
}

// Whether the majority of several runs decides, rather than two equal readings.
bool NodeFold::is_by_majority(const Cause& cause) const {
  return cause.evidence == Evidence::slow && !is_group_stage(standing_.stage);
}

std::int64_t NodeFold::needed(const Cause& cause) const {
  return is_by_majority(cause) ? plan_->slow_runs / 2 + 1 : plan_->hard_reads;
}

std::int64_t NodeFold::count(const Cause& cause) {
  const auto found = std::ranges::find_if(counts_, [&](const Count& other) {
    return other.check == cause.check && other.device == cause.device;
  });
  if (found != counts_.end()) return ++found->times;
  counts_.push_back({cause.check, cause.device, 1});
  return 1;
}

// Judges a run of a stage that passed (no causes) or failed.
void NodeFold::judge(const std::vector<Cause>& causes, std::int64_t at) {
  ++runs_;
  standing_.since = at;
  std::vector<Cause> confirmed;
  for (const auto& cause : causes) {
    if (count(cause) >= needed(cause)) confirmed.push_back(cause);
  }
  if (!confirmed.empty()) return settle(confirmed);
  failed_.insert(failed_.end(), causes.begin(), causes.end());
  suspected_ = causes;
  const auto by_majority = [&](const Cause& cause) { return is_by_majority(cause); };
  const bool enough = runs_ >= plan_->slow_runs || std::ranges::none_of(failed_, by_majority);
  if (enough && std::ranges::all_of(causes, by_majority)) return advance(at);
  if (runs_ < std::max(kMaxRuns, plan_->slow_runs)) return;
  settle(NodeVerdict::held, Charge::open,
         fmt::format("it failed in a different way in each of {} runs", runs_), failed_);
}

void NodeFold::lose(const std::string& why, std::int64_t at) {
  not_before_ = at + kPause;
  asked_ = at;
  interruptions_ = 0;
  if (standing_.lost) return;
  ++losses_;
  if (standing_.stage == Stage::soak) ++standing_.soak_events;
  if (answered_ && losses_ >= plan_->losses) {
    return settle(NodeVerdict::rejected, Charge::provider,
                  fmt::format("it stopped answering {} times, the last time in stage {}: {}",
                              losses_, to_string(standing_.stage), why),
                  {});
  }
  remark({Cause{.check = std::string(kLostCheck), .device = "node", .message = why}});
  begin(std::min(standing_.stage, Stage::check), at);
  standing_.soaked_s = 0;
  rounds_ = 0;
  proven_ = {};
  standing_.lost = true;
  standing_.why = why;
  boot_.clear();
}

// Handles an attempt without a verdict: a check could not judge, or a step could not run.
void NodeFold::refuse(const std::string& why, const std::vector<Cause>& causes, std::int64_t at) {
  const bool uncertain = !causes.empty() && causes.front().evidence == Evidence::uncertain;
  standing_.since = at;
  if (uncertain && ++uncertain_ < plan_->uncertain_reads) return;
  if (uncertain) return settle(NodeVerdict::not_tested, Charge::open, why, causes);
  settle(NodeVerdict::held, Charge::ours, why, causes);
}

// An interruption does not count as an attempt, but a step that never succeeds must not be tried
// forever. Pauses, because the driver may learn that its job has ended later than its steps do.
void NodeFold::interrupt(const std::string& why, std::int64_t at) {
  if (++interruptions_ > 1) not_before_ = at + kPause;
  if (interruptions_ < kMaxInterruptions) return;
  settle(NodeVerdict::not_tested, Charge::open,
         fmt::format("interrupted {} times in a row in stage {}: {}", interruptions_,
                     to_string(standing_.stage), why),
         {});
}

void NodeFold::soak_event(const std::vector<Cause>& causes, std::int64_t at) {
  standing_.since = at;
  const bool ours =
      std::ranges::all_of(causes, [](const Cause& cause) { return cause.charge == Charge::ours; });
  if (ours) return settle(causes);
  ++standing_.soak_events;
  standing_.soaked_s = 0;
  rounds_ = 0;
  if (++events_ < plan_->soaks) {
    remark(causes, "the soak began again");
    suspected_ = causes;
    return;
  }
  settle(NodeVerdict::rejected, Charge::provider,
         fmt::format("{} events in the soak, the last one {}", events_, to_line(causes.front())),
         causes);
}

void NodeFold::soak(const Attempt& attempt) {
  standing_.loaded_s += plan_->slice_s;
  if (attempt.end == AttemptEnd::fail) return soak_event(attempt.causes, attempt.ended);
  const bool gap = slice_ended_ != 0 && attempt.started - slice_ended_ > plan_->gap_s;
  if (gap) standing_.soaked_s = 0;
  slice_ended_ = attempt.ended;
  uncertain_ = 0;
  suspected_.clear();
  standing_.since = attempt.ended;
  standing_.soaked_s += plan_->slice_s;
  if (standing_.soaked_s >= plan_->soak_s) advance(attempt.ended);
}

bool NodeFold::wants_round() const {
  return standing_.stage == Stage::soak && standing_.soaked_s / plan_->round_s > rounds_;
}

void NodeFold::take(const Attempt& attempt) {
  auto& number = numbers_[static_cast<std::size_t>(attempt.stage)];
  number = std::max(number, attempt.number);
  if (attempt.end == AttemptEnd::running) standing_.running = true;
  if (attempt.end == AttemptEnd::running || is_final(standing_)) return;
  if (attempt.end == AttemptEnd::interrupted) return interrupt(attempt.why, attempt.ended);
  if (attempt.end == AttemptEnd::lost) return lose(attempt.why, attempt.ended);
  if (!boot_.empty() && !attempt.boot_id.empty() && attempt.boot_id != boot_) {
    lose("it rebooted on its own", attempt.started);
    if (is_final(standing_)) return;
  }
  answered_ = true;
  interruptions_ = 0;
  standing_.lost = false;
  standing_.why.clear();
  if (!attempt.boot_id.empty()) boot_ = attempt.boot_id;
  if (alone_ && is_group_stage(standing_.stage) && attempt.stage == Stage::soak) {
    begin(Stage::soak, attempt.started);
  }
  if (attempt.stage == Stage::inventory) inventory_ = &attempt;
  if (attempt.stage != standing_.stage) return;
  remark(attempt.remarks);
  if (attempt.end == AttemptEnd::refused) {
    return refuse(attempt.why, attempt.causes, attempt.ended);
  }
  if (attempt.stage == Stage::soak) return soak(attempt);
  judge(attempt.causes, attempt.ended);
}

// The majority of runs decides. If it is below the limit, the search for the slow node is repeated
// once.
void NodeFold::judge_whole(const GroupAttempt& attempt) {
  ++runs_;
  if (attempt.end == AttemptEnd::fail) {
    ++whole_fails_;
    failed_ = attempt.causes;
  }
  standing_.since = attempt.ended;
  if (runs_ < plan_->whole_runs) return;
  if (2 * whole_fails_ <= runs_) {
    failed_.clear();
    return advance(attempt.ended);
  }
  if (!std::exchange(located_again_, true)) return begin(Stage::fabric, attempt.ended);
  const auto overridden = [&](const Cause& cause) { return overridden_->contains(cause.check); };
  if (std::ranges::all_of(failed_, overridden)) {
    remark(failed_,
           fmt::format("in {} of {} runs, and an admin let the run go on", whole_fails_, runs_));
    failed_.clear();
    return advance(attempt.ended);
  }
  settle(NodeVerdict::held, Charge::open, to_line(failed_.front()), failed_);
}

void NodeFold::take(const GroupAttempt& attempt, const std::string& name) {
  if (attempt.end == AttemptEnd::running) standing_.running = true;
  if (attempt.end == AttemptEnd::running || is_final(standing_)) return;
  if (std::ranges::find(attempt.lost, name) != attempt.lost.end()) {
    return lose(attempt.why, attempt.ended);
  }
  if (attempt.stage != standing_.stage) return;
  if (attempt.end == AttemptEnd::interrupted || attempt.end == AttemptEnd::lost) {
    return interrupt(attempt.why, attempt.ended);
  }
  interruptions_ = 0;
  if (attempt.end == AttemptEnd::refused) {
    return refuse(attempt.why, attempt.causes, attempt.ended);
  }
  const auto causes = causes_of(attempt, name);
  if (attempt.stage == Stage::soak) {
    rounds_ = standing_.soaked_s / plan_->round_s;
    if (!causes.empty()) soak_event(causes, attempt.ended);
  } else if (attempt.stage == Stage::fabric || !causes.empty()) {
    judge(causes, attempt.ended);
  } else {
    judge_whole(attempt);
  }
}

void NodeFold::hold(const Cause& cause, Stage stage) {
  if (is_final(standing_)) return;
  settle(NodeVerdict::held, cause.charge, to_line(cause), {cause});
  standing_.stage = stage;
}

void NodeFold::leave_untested(std::string why) {
  settle(NodeVerdict::not_tested, Charge::open, std::move(why), {});
}

void NodeFold::take(const Decision& decision) {
  if (decision.kind == DecisionKind::withdraw) {
    settle(NodeVerdict::withdrawn, Charge::none, decision.why, {});
  } else if (decision.kind == DecisionKind::retest) {
    const auto numbers = numbers_;
    *this = NodeFold(*plan_, *overridden_, alone_);
    numbers_ = numbers;
    standing_.since = decision.at;
  }
}

void NodeFold::finish() {
  standing_.next_number = next_number(standing_.stage);
  if (is_final(standing_) || !is_overdue(asked_)) return;
  const auto why = standing_.why;
  if (answered_) {
    settle(NodeVerdict::rejected, Charge::provider,
           fmt::format("it did not return within {} min: {}", plan_->return_s / 60, why), {});
  } else {
    settle(NodeVerdict::not_tested, Charge::open, fmt::format("it never answered: {}", why), {});
  }
}

}  // namespace muster::accept
