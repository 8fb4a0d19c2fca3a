// SPDX-License-Identifier: Apache-2.0
#include "slurm/enforce.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "lib/base/text.hpp"
#include "slurm/reason.hpp"

namespace muster::slurm {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Slurm's times are whole seconds: after this, all drains of the second of ours are to be seen.
constexpr milliseconds kUntilRanked{1200};
constexpr seconds kFresh{2};
// A slurmctld that hung applies what it was sent when it wakes up.
constexpr seconds kMayStillCome{600};

class Enforcer {
 public:
  Enforcer(const Order& order, const Hands& hands)
      : order_(order), hands_(hands), history_(hands.history) {
    situation_.report = order.report;
    situation_.rules = order.rules;
    situation_.now = hands.now();
    situation_.boot_id = order.boot_id;
    situation_.identity = order.identity;
  }

  Enforced run() {
    recall();
    note_unclean();
    const Known known{.drained_by_us = situation_.drain.has_value(), .boot = knows_boot_};
    if (!needs_slurm(*order_.report, order_.rules, known)) {
      result_.decision = decide(situation_);
      return std::move(result_);
    }
    if (look()) {
      note_boot();
      settle();
      act();
    } else {
      give_up();
    }
    return std::move(result_);
  }

 private:
  void recall();
  void note_unclean();
  void note_boot();
  void say_kept(std::optional<Time> since);
  [[nodiscard]] bool look();
  void give_up();
  void settle();
  void release();
  void act();
  void drain();
  [[nodiscard]] bool still_wanted(const OwnDrain& own);
  void follow_another();
  void verify(const Result<void>& sent);
  void take_back(std::string message);
  [[nodiscard]] bool put_back();
  void keep();
  void resume();
  void leave();
  void say(std::string_view kind, std::string message, std::string reason = "");
  void refuse(std::string why);
  void complain(std::string message);
  void heed(const Result<void>& written);

  [[nodiscard]] Standing standing() const { return standing_of(*situation_.node); }

  [[nodiscard]] bool is_drained() const {
    return situation_.node && standing() == Standing::drained;
  }

  // Word for word: with another reason it is another's.
  [[nodiscard]] bool shows_own() const {
    return is_drained() && situation_.drain && situation_.node->reason == situation_.drain->reason;
  }

  // Nothing is written in a dry run.
  [[nodiscard]] History* pen() const { return order_.dry_run ? nullptr : history_; }

  const Order& order_;
  const Hands& hands_;
  History* history_;
  Situation situation_;
  Enforced result_;
  bool is_mute_ = false;    // events cannot be written
  bool knows_boot_ = true;  // Slurm was asked in this boot, or that cannot be told
};

void Enforcer::say(std::string_view kind, std::string message, std::string reason) {
  const auto& decision = result_.decision;
  const auto& own = situation_.drain;
  Event event{.at = hands_.now(),
              .node = order_.node,
              .kind = std::string(kind),
              .context = order_.context,
              .job = order_.job,
              .check = decision.check.empty() && own ? own->check : decision.check,
              .device = decision.device,
              .message = std::move(message),
              .reason = std::move(reason),
              .boot_id = order_.boot_id};
  const bool is_written = pen() != nullptr && !is_mute_;
  auto written = is_written ? pen()->add(event) : Result<void>();
  hands_.tell(event);
  result_.events.push_back(std::move(event));
  if (written) return;
  is_mute_ = true;  // what follows would fail in the same way
  say("trouble", written.error().message);
}

// What the report calls for is not done.
void Enforcer::refuse(std::string why) {
  result_.decision.action = Action::nothing;
  say("refused", std::move(why));
}

// Slurm did not do what it was told, or did not say.
void Enforcer::complain(std::string message) {
  result_.out_of_reach = true;
  say("trouble", std::move(message));
}

void Enforcer::heed(const Result<void>& written) {
  if (!written) say("trouble", written.error().message);
}

// What this node's history says.
void Enforcer::recall() {
  if (history_ == nullptr) return;
  const auto drain = history_->drain_of(order_.node);
  const auto drains = history_->drains_of(order_.node);
  if (drain && drains) {
    situation_.drain = *drain;
    situation_.drains = *drains;
    const auto boot = history_->boot_of(order_.node);
    knows_boot_ = order_.boot_id.empty() || !boot || *boot == order_.boot_id;
    return;
  }
  history_ = nullptr;
  say("trouble", drain ? drains.error().message : drain.error().message);
}

// Whatever Slurm says of the node, and even if it says nothing.
void Enforcer::note_unclean() {
  auto& drain = situation_.drain;
  if (!drain || tally(*order_.report, order_.rules, *drain) != Tally::unclean) return;
  drain->clean_runs = 0;
  auto* history = pen();
  if (history != nullptr) heed(history->note_run(order_.node, false, order_.boot_id));
  const auto found = decide(situation_);
  if (!found.sick || !is_graver(found.remedy, drain->remedy)) return;
  // The boot goes with it: a reboot before it was found is not its remedy.
  drain->check = found.check;
  drain->remedy = found.remedy;
  drain->boot_id = order_.boot_id;
  if (history != nullptr) heed(history->worsen_drain(order_.node, *drain));
}

// Where this fails, the next run asks again.
void Enforcer::note_boot() {
  if (knows_boot_ || pen() == nullptr) return;
  static_cast<void>(pen()->note_boot(order_.node, order_.boot_id));
}

// What Slurm says now. False where it does not, and the situation has the reason.
bool Enforcer::look() {
  situation_.node.reset();
  situation_.cluster.clear();
  situation_.trouble = hands_.trouble;
  if (hands_.controller == nullptr) return false;
  auto nodes = hands_.controller->nodes(order_.node);
  situation_.now = hands_.now();
  if (!nodes) {
    situation_.trouble = nodes.error().message;
    return false;
  }
  const auto own = std::find_if(nodes->begin(), nodes->end(), [&](const NodeState& each) {
    return each.name == order_.node;
  });
  if (own == nodes->end()) {
    situation_.trouble = fmt::format("Slurm does not list {}", order_.node);
    return false;
  }
  situation_.node = *own;
  situation_.cluster = std::move(*nodes);
  return true;
}

void Enforcer::give_up() {
  result_.decision = decide(situation_);
  result_.out_of_reach = true;
  // A healthy node that was asked about for the first time in this boot: the next run asks again.
  if (!result_.decision.sick && !situation_.drain) return;
  say(result_.decision.sick ? "refused" : "trouble",
      fmt::format("Slurm could not be asked: {}", situation_.trouble));
}

// The node is in service, and our drain had been seen.
void Enforcer::release() {
  // Unless another process of this node resumed it just now.
  const auto open = history_->drain_of(order_.node);
  if (!open || !*open) return situation_.drain.reset();
  // Ours, that came late or whose process was killed: earlier drains still count.
  const bool by_admin = !(*open)->resuming;
  say(by_admin ? "released" : "resumed",
      by_admin ? "somebody else resumed the node" : "the resume that was sent before is in force",
      situation_.drain->reason);
  if (auto* history = pen()) heed(history->end_drain(order_.node, situation_.now, by_admin));
  situation_.drain.reset();
  // Whoever resumed it has looked at it: the node begins anew.
  if (by_admin) situation_.drains.clear();
}

// What happened to our last drain since.
void Enforcer::settle() {
  if (!situation_.drain) return;
  if (situation_.drain->confirmed && standing() == Standing::in_service) {
    return release();
  }
  // A drain that came late, just now: others may be coming.
  const bool is_fresh = situation_.node->since && situation_.now - *situation_.node->since < kFresh;
  if (situation_.drain->confirmed || !shows_own() || !is_fresh) return;
  const auto before = std::pair{situation_.node, situation_.cluster};
  hands_.sleep(kUntilRanked);
  if (!look()) std::tie(situation_.node, situation_.cluster) = before;
}

void Enforcer::act() {
  result_.decision = decide(situation_);
  result_.drained = is_drained();
  switch (result_.decision.action) {
    case Action::drain:
      return drain();
    case Action::keep:
      return keep();
    case Action::resume:
      return resume();
    case Action::nothing:
      return leave();
  }
}

void Enforcer::drain() {
  const auto& decision = result_.decision;
  if (order_.dry_run) {
    return say("dry_run", fmt::format("would drain: {}", decision.why), decision.reason);
  }
  if (history_ == nullptr) {
    return refuse("not drained, because the history could not remember it");
  }
  const OwnDrain own{.reason = decision.reason,
                     .at = situation_.now,
                     .boot_id = order_.boot_id,
                     .identity = order_.identity,
                     .check = decision.check,
                     .remedy = decision.remedy};
  const auto begun = history_->begin_drain(order_.node, own, situation_.drain);
  if (!begun) {
    return refuse(fmt::format("not drained, because the history could not remember it: {}",
                              begun.error().message));
  }
  if (!*begun) return follow_another();
  if (!still_wanted(own)) return;
  situation_.drain = own;
  const auto sent = hands_.controller->drain(order_.node, own.reason);
  hands_.sleep(kUntilRanked);
  verify(sent);
}

// Another process of this node, a prolog or a health check, has begun to drain it.
void Enforcer::follow_another() {
  hands_.sleep(kUntilRanked);
  recall();
  if (!look()) return give_up();
  result_.decision = decide(situation_);
  result_.drained = is_drained();
  if (result_.decision.action == Action::keep) return keep();
  refuse("another run of muster drains the node");
}

// The history waited for its disk; somebody may have acted meanwhile. If it is not wanted any more,
// the record is as it was, and that was said.
bool Enforcer::still_wanted(const OwnDrain& own) {
  const bool seen = look();
  if (seen) {
    auto again = decide(situation_);
    if (again.action == Action::drain && again.reason == own.reason) return true;
    result_.decision = std::move(again);
  }
  heed(history_->cancel_drain(order_.node, situation_.now));
  if (situation_.drain) {
    heed(history_->begin_drain(order_.node, *situation_.drain).map([](bool /*begun*/) {}));
  }
  result_.drained = is_drained();
  if (!seen) {
    give_up();
  } else if (result_.decision.action == Action::keep) {
    keep();
  } else {
    refuse(result_.decision.why);
  }
  return false;
}

void Enforcer::verify(const Result<void>& sent) {
  const bool seen = look();
  result_.drained = seen ? is_drained() : sent.has_value();
  if (!seen || !shows_own()) {
    // The record stays as it is: what was sent may still come.
    if (!sent) return complain(fmt::format("the drain may still come: {}", sent.error().message));
    if (!seen) return complain(fmt::format("drained, not verified: {}", situation_.trouble));
    return complain(
        fmt::format("drained, and right after that the node is \"{}\" with the reason "
                    "\"{}\"",
                    printable(situation_.node->state),
                    printable(situation_.node->reason)));
  }
  if (!within_allowance(*situation_.node, situation_.cluster, order_.rules)) {
    return take_back(
        fmt::format("put back into service, because other nodes were drained first and the site's "
                    "share is used up: {}",
                    result_.decision.why));
  }
  heed(history_->confirm_drain(order_.node));
  say("drained", result_.decision.why, result_.decision.reason);
}

// Nothing else is looked at before: the less time, the less likely that somebody else acts in it.
void Enforcer::take_back(std::string message) {
  result_.decision.loud = true;
  result_.decision.action = Action::nothing;
  const std::string reason = situation_.drain->reason;
  if (auto* history = pen()) {
    heed(history->begin_resume(order_.node, *situation_.drain).map([](bool /*begun*/) {}));
  }
  if (!put_back()) return;  // the record stays unconfirmed, and the next run comes here again
  if (auto* history = pen()) heed(history->cancel_drain(order_.node, situation_.now));
  say("undone", std::move(message), reason);
}

// Whether the node is out of our drain; if not, why was said.
bool Enforcer::put_back() {
  const auto sent = hands_.controller->resume(order_.node);
  const bool seen = look();
  // An error is no answer, and neither is the lack of one.
  const bool done = seen ? !shows_own() : sent.has_value();
  result_.drained = seen ? is_drained() : !done;
  if (!done) {
    complain(fmt::format("not resumed: {}",
                         sent ? "Slurm took it and the node is still drained"
                              : std::string_view(sent.error().message)));
  }
  return done;
}

void Enforcer::keep() {
  const auto& decision = result_.decision;
  const bool is_recorded = shows_own();
  if (auto* history = pen(); history != nullptr && is_recorded) {
    if (!situation_.drain->confirmed) heed(history->confirm_drain(order_.node));
    if (decision.clean) heed(history->note_run(order_.node, true, order_.boot_id));
  }
  say_kept(is_recorded ? situation_.drain->at : situation_.node->since);
}

// Once for each state of things, not in each run.
void Enforcer::say_kept(std::optional<Time> since) {
  const auto& why = result_.decision.why;
  if (history_ != nullptr) {
    const auto last =
        history_->events({.nodes = {order_.node}, .kinds = {"kept"}, .since = since, .most = 1});
    if (last && !last->empty() && last->back().message == why) return;
  }
  say("kept", why, situation_.node->reason);
}

void Enforcer::resume() {
  const std::string why = result_.decision.why;
  const std::string reason = situation_.node->reason;
  if (order_.dry_run) return say("dry_run", fmt::format("would resume: {}", why), reason);
  // Not because it is well: too many were drained at once, and Slurm did what it was told late.
  if (result_.decision.sick) {
    return take_back(fmt::format("put back into service: {}", why));
  }
  const auto begun = history_->begin_resume(order_.node, *situation_.drain);
  if (!begun) return complain(fmt::format("not resumed: {}", begun.error().message));
  if (!*begun) {
    result_.decision.action = Action::keep;
    result_.decision.why = "another run found it unclean";
    return say_kept(situation_.drain->at);
  }
  if (!put_back()) return;
  heed(history_->end_drain(order_.node, situation_.now, false));
  say("resumed", why, reason);
}

void Enforcer::leave() {
  const auto& drain = situation_.drain;
  if (result_.decision.sick) {
    say("refused", result_.decision.why);
  } else if (drain && !drain->confirmed) {
    result_.decision.why = "the last drain was sent, and Slurm has not applied it";
  } else if (!drain && is_drained() && is_ours(situation_.node->reason)) {
    say_kept(situation_.node->since);
  }
  // One that was sent and not seen is waited for, but not for ever.
  if (!drain || drain->confirmed || situation_.now - drain->at < kMayStillCome) return;
  if (auto* history = pen()) heed(history->cancel_drain(order_.node, situation_.now));
  say("not_applied", "Slurm never applied the last drain", drain->reason);
}

}  // namespace

Enforced enforce(const Order& order, const Hands& hands) { return Enforcer(order, hands).run(); }

}  // namespace muster::slurm
