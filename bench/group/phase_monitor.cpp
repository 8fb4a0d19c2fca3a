// SPDX-License-Identifier: Apache-2.0
#include "bench/group/phase_monitor.hpp"

#include <fmt/format.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "bench/sockets/poller.hpp"

namespace muster::bench {

Result<std::unique_ptr<PhaseMonitor>> PhaseMonitor::make(std::size_t sources) {
  Descriptor wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake.is_open()) return os_error("create", "eventfd", errno);
  return std::unique_ptr<PhaseMonitor>(new PhaseMonitor(sources, std::move(wake)));
}

void PhaseMonitor::wake() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto count = ::write(wake_.get(), &one, sizeof one);
}

void PhaseMonitor::clear_wake() {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto got = ::read(wake_.get(), &count, sizeof count);
}

void PhaseMonitor::enter(Phase phase, Clock::duration limit, ProgressCounters counters) {
  const std::lock_guard lock(mutex_);
  ++stage_.number;
  stage_.phase = std::move(phase);
  stage_.limit = limit;
  stage_.deadline = after(limit);
  counters_ = std::move(counters);
  stage_.counted = static_cast<bool>(counters_);
  stage_.unit = stage_.counted ? counters_.unit : std::string();
  stage_.started = stage_.finished = 0;
  if (counters_) stage_.finished = counters_.finished();
  if (check_time() < armed_) wake();
}

void PhaseMonitor::update_progress() {
  if (!counters_) return;
  stage_.started = counters_.started();
  const auto now = counters_.finished();
  if (std::exchange(stage_.finished, now) != now) stage_.deadline = after(stage_.limit);
}

// Often enough to notice soon that a restarted limit has expired.
Clock::time_point PhaseMonitor::check_time() const {
  constexpr int kChecks = 8;
  return counters_ ? std::min(stage_.deadline, after(stage_.limit / kChecks)) : stage_.deadline;
}

Clock::time_point PhaseMonitor::next_check() {
  const std::lock_guard lock(mutex_);
  update_progress();
  return check_time();
}

Result<void> PhaseMonitor::wait_joined() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return joined_ || trouble_; });
  if (trouble_) return make_error(*trouble_);
  return {};
}

Result<void> PhaseMonitor::post(Kind kind, std::string_view text) {
  if (text.size() > kMaxText) {
    return make_error(
        fmt::format("message of {} bytes: expected at most {}", text.size(), kMaxText));
  }
  auto message = pack(kind, text);
  const std::lock_guard lock(mutex_);
  if (trouble_) return make_error(*trouble_);
  posts_.push_back(std::move(message));
  wake();
  return {};
}

bool PhaseMonitor::can_collect() const {
  bool complete = true;
  for (const auto& inbox : inboxes_) {
    if (!inbox.messages.empty()) continue;
    if (inbox.left) return true;  // which is an error
    complete = complete && inbox.lost;
  }
  return complete || trouble_;
}

Result<std::vector<std::string>> PhaseMonitor::collect(Kind kind) {
  std::unique_lock lock(mutex_);
  stage_.waits = true;
  changed_.wait(lock, [this] { return can_collect(); });
  stage_.waits = false;
  if (trouble_) return make_error(*trouble_);
  std::vector<std::string> result;
  result.reserve(inboxes_.size());
  for (auto& inbox : inboxes_) {
    if (inbox.messages.empty()) {
      if (inbox.left) return make_error("a rank has left the run early");
      result.emplace_back();  // lost
      continue;
    }
    auto message = std::move(inbox.messages.front());
    inbox.messages.pop_front();
    inbox.bytes -= message.payload.size();
    if (message.kind != kind) return make_error("bug in muster-bench: ranks are out of step");
    result.push_back(std::move(message.payload));
  }
  return result;
}

std::vector<std::size_t> PhaseMonitor::awaited() {
  const std::lock_guard lock(mutex_);
  std::vector<std::size_t> sources;
  for (std::size_t i = 0; stage_.waits && i < inboxes_.size(); ++i) {
    const auto& inbox = inboxes_[i];
    if (inbox.messages.empty() && !inbox.left && !inbox.lost) sources.push_back(i);
  }
  return sources;
}

void PhaseMonitor::go_on_without_the_lost() {
  const std::lock_guard lock(mutex_);
  goes_on_ = true;
}

std::vector<Trouble> PhaseMonitor::losses() {
  const std::lock_guard lock(mutex_);
  return losses_;
}

bool PhaseMonitor::pass_over(const Trouble& loss, const std::vector<std::size_t>& sources) {
  const std::lock_guard lock(mutex_);
  if (!goes_on_) return false;
  losses_.push_back(loss);
  for (const auto source : sources) inboxes_[source].lost = true;
  changed_.notify_all();
  return true;
}

void PhaseMonitor::give_up(GivingUp reason, Clock::duration patience) {
  std::unique_lock lock(mutex_);
  if (!giving_up_) giving_up_ = std::move(reason);
  wake();
  changed_.wait_for(lock, patience, [this] { return ended_; });
}

void PhaseMonitor::leave() {
  const std::lock_guard lock(mutex_);
  leaving_ = true;
  wake();
}

std::vector<PackedMessage> PhaseMonitor::take_posts() {
  const std::lock_guard lock(mutex_);
  return std::exchange(posts_, {});
}

Stage PhaseMonitor::stage() {
  const std::lock_guard lock(mutex_);
  update_progress();
  return stage_;
}

bool PhaseMonitor::is_leaving() {
  const std::lock_guard lock(mutex_);
  return leaving_;
}

std::optional<GivingUp> PhaseMonitor::giving_up() {
  const std::lock_guard lock(mutex_);
  return giving_up_;
}

void PhaseMonitor::arm(Clock::time_point until, bool watches_deadlines) {
  const std::lock_guard lock(mutex_);
  armed_ = watches_deadlines ? until : Clock::time_point::min();
  // The process may have entered a phase since `until` was chosen.
  if (stage_.deadline < armed_) wake();
}

bool PhaseMonitor::deliver(std::size_t source, Message message) {
  const std::lock_guard lock(mutex_);
  auto& inbox = inboxes_[source];
  inbox.bytes += message.payload.size();
  if (inbox.bytes > 2 * kMaxText) return false;
  inbox.messages.push_back(std::move(message));
  if (can_collect()) changed_.notify_all();
  return true;
}

void PhaseMonitor::mark_left(std::size_t source) {
  const std::lock_guard lock(mutex_);
  inboxes_[source].left = true;
  changed_.notify_all();
}

void PhaseMonitor::mark_joined() {
  const std::lock_guard lock(mutex_);
  joined_ = true;
  changed_.notify_all();
}

void PhaseMonitor::fail(std::string why) {
  const std::lock_guard lock(mutex_);
  if (!trouble_) trouble_ = std::move(why);
  changed_.notify_all();
}

void PhaseMonitor::mark_ended() {
  const std::lock_guard lock(mutex_);
  ended_ = true;
  changed_.notify_all();
}

}  // namespace muster::bench
