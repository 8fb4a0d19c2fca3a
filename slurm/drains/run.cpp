// SPDX-License-Identifier: Apache-2.0
#include "slurm/drains/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace muster::slurm {

using std::chrono::milliseconds;

namespace {

// What tells whether a refusal still stands.
constexpr std::array<std::string_view, 7> kRefused{
    "refused", "over", "drained", "undone", "resumed", "released", "not_applied"};

}  // namespace

Run::Run(const Order& the_order, const Hands& the_hands)
    : order(the_order), hands(the_hands), history_(the_hands.history) {
  situation.report = result.report = order.report;
  situation.rules = order.rules;
  situation.now = hands.now();
  situation.boot_id = order.boot_id;
  situation.identity = order.identity;
}

void Run::recall() {
  if (history_ == nullptr) return;
  const auto drain = history_->drain_of(order.node);
  const auto drains = history_->drains_of(order.node);
  if (drain && drains) {
    situation.drain = *drain;
    situation.drains = *drains;
    const bool is_judged = situation.drain && order.judge_drained;
    situation.of_drained = is_judged ? order.judge_drained(*situation.drain) : nullptr;
    const auto boot = history_->boot_of(order.node);
    knows_boot = order.boot_id.empty() || !boot || *boot == order.boot_id;
    return;
  }
  history_ = nullptr;
  say("trouble", drain ? drains.error().message : drain.error().message);
}

bool Run::look() {
  situation.node.reset();
  situation.cluster.clear();
  situation.trouble = hands.trouble;
  if (hands.controller == nullptr) return false;
  const auto before = left();
  auto nodes = hands.controller->nodes(order.node);
  longest_look_ = std::max(longest_look_, before - left());
  situation.now = hands.now();
  if (!nodes) {
    situation.trouble = nodes.error().message;
    return false;
  }
  const auto own = std::ranges::find(*nodes, order.node, &NodeState::name);
  if (own == nodes->end()) {
    situation.trouble = fmt::format("Slurm does not list {}", order.node);
    return false;
  }
  situation.node = *own;
  situation.cluster = std::move(*nodes);
  return true;
}

milliseconds Run::left() const { return hands.left ? hands.left() : milliseconds::max() / 2; }

bool Run::wait(milliseconds time) const {
  const auto longest = std::max(left() - longest_look_, milliseconds(0));
  hands.sleep(std::min(time, longest));
  return time <= longest;
}

bool Run::has_time_to_drain() const {
  constexpr milliseconds kForTheHistory{300};
  // Two orders and two looks between them: an order is one call, and a look is two.
  return left() >= kUntilRanked + 3 * longest_look_ + kForTheHistory;
}

bool Run::is_drained() const {
  return situation.node && standing_of(*situation.node) == Standing::drained;
}

bool Run::shows_own() const {
  return is_drained() && situation.drain && situation.node->reason == situation.drain->reason;
}

void Run::say(std::string_view kind, std::string message, std::string reason) {
  const auto& decision = result.decision;
  const auto& own = situation.drain;
  Event event{.at = hands.now(),
              .node = order.node,
              .kind = std::string(kind),
              .context = order.context,
              .job = order.job,
              .check = decision.check.empty() && own ? own->check : decision.check,
              .device = decision.device,
              .message = std::move(message),
              .reason = std::move(reason),
              .boot_id = order.boot_id};
  const bool is_written = pen() != nullptr && !is_mute_;
  auto written = is_written ? pen()->add(event) : Result<void>();
  hands.tell(event);
  result.events.push_back(std::move(event));
  if (written) return;
  is_mute_ = true;  // what follows would fail in the same way
  const auto& cause = written.error().message;
  if (result.events.back().message != cause) say("trouble", cause);
}

void Run::say_kept(std::optional<Time> since) {
  const auto& why = result.decision.why;
  if (history_ != nullptr && !order.dry_run) {
    const auto last =
        history_->events({.nodes = {order.node}, .kinds = {"kept"}, .since = since, .most = 1});
    if (last && !last->empty() && last->back().message == why) return;
  }
  say("kept", why, situation.node->reason);
}

// Of this context and this job: others have their own reasons, and say them.
bool Run::was_refused(std::string_view why) const {
  constexpr std::chrono::hours kAgain{1};
  if (history_ == nullptr || order.dry_run) return false;
  const auto events = history_->events({.nodes = {order.node},
                                        .kinds = {kRefused.begin(), kRefused.end()},
                                        .since = hands.now() - kAgain + std::chrono::seconds(1)});
  if (!events) return false;
  const auto last = std::find_if(events->rbegin(), events->rend(), [&](const Event& event) {
    const bool others = event.context != order.context || event.job != order.job;
    return !(others && (event.kind == "refused" || event.kind == "over"));
  });
  return last != events->rend() && last->kind == "refused" && last->message == why;
}

void Run::refuse(std::string why) {
  result.decision.action = Action::nothing;
  if (!was_refused(why)) say("refused", std::move(why));
}

// In each run of a healthy node: only the newest event is looked at.
void Run::end_refusal() {
  if (pen() == nullptr) return;
  const auto newest = pen()->events({.most = 1});
  if (!newest || newest->empty()) return;
  const auto& event = newest->back();
  const bool refused = event.kind == "refused" && event.node == order.node;
  if (refused && event.context == order.context) say("over", "no drain is called for any more");
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
  if (result.decision.sick) return refuse(std::move(why));
  say("trouble", std::move(why));
}

std::string Run::fate() const {
  if (!is_unrecorded) return "";
  return fmt::format(
      "; its history cannot be written: it stays drained until an admin says muster resume {}",
      order.node);
}

void Run::heed(const Result<void>& written) {
  if (!written) say("trouble", written.error().message);
}

}  // namespace muster::slurm
