// SPDX-License-Identifier: Apache-2.0
#include "bench/group/phase_monitor.hpp"

#include <fmt/format.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "bench/group/poller.hpp"

namespace muster::bench {

Result<std::unique_ptr<Board>> Board::make(std::size_t sources) {
  Descriptor wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake.is_open()) return make_error(fmt::format("eventfd: {}", std::strerror(errno)));
  return std::unique_ptr<Board>(new Board(sources, std::move(wake)));
}

void Board::wake() const {
  const std::uint64_t one = 1;
  // It can only fail when the thread has been woken four thousand million times and not run.
  [[maybe_unused]] const auto count = ::write(wake_.get(), &one, sizeof one);
}

void Board::woken() {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto got = ::read(wake_.get(), &count, sizeof count);
}

void Board::enter(std::string_view phase, Clock::duration limit, Headway headway) {
  const std::lock_guard lock(mutex_);
  ++stage_.number;
  stage_.phase = phase;
  stage_.limit = limit;
  stage_.deadline = after(limit);
  stage_.counted = headway != nullptr;
  headway_ = std::move(headway);
  if (headway_) seen_ = headway_->load(std::memory_order_relaxed);
  if (look() < armed_) wake();
}

void Board::heed_headway() {
  if (!headway_) return;
  const auto now = headway_->load(std::memory_order_relaxed);
  if (std::exchange(seen_, now) != now) stage_.deadline = after(stage_.limit);
}

// Often enough that a limit which begins anew ends soon after its time.
Clock::time_point Board::look() const {
  constexpr int kLooks = 8;
  return headway_ ? std::min(stage_.deadline, after(stage_.limit / kLooks)) : stage_.deadline;
}

Clock::time_point Board::next_look() {
  const std::lock_guard lock(mutex_);
  heed_headway();
  return look();
}

Result<void> Board::wait_joined() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return joined_ || trouble_; });
  if (trouble_) return make_error(*trouble_);
  return {};
}

Result<void> Board::post(Kind kind, std::string_view text) {
  if (text.size() > kMaxText) {
    return make_error(
        fmt::format("a text of {} bytes is too long: at most {}", text.size(), kMaxText));
  }
  auto parcel = pack(kind, text);
  const std::lock_guard lock(mutex_);
  if (trouble_) return make_error(*trouble_);
  posts_.push_back(std::move(parcel));
  wake();
  return {};
}

bool Board::can_collect() const { return trouble_ || filled_ == inboxes_.size() || spent_ > 0; }

Result<std::vector<std::string>> Board::collect(Kind kind) {
  std::unique_lock lock(mutex_);
  stage_.waits = true;
  changed_.wait(lock, [this] { return can_collect(); });
  stage_.waits = false;
  if (trouble_) return make_error(*trouble_);
  if (spent_ > 0) return make_error("a rank has left the run before all was said");
  std::vector<std::string> result;
  result.reserve(inboxes_.size());
  for (auto& inbox : inboxes_) {
    auto message = std::move(inbox.messages.front());
    inbox.messages.pop_front();
    inbox.bytes -= message.payload.size();
    if (inbox.messages.empty()) {
      --filled_;
      if (inbox.left) ++spent_;
    }
    if (message.kind != kind)
      return make_error("the ranks do not do the same: a bug in muster-bench");
    result.push_back(std::move(message.payload));
  }
  return result;
}

void Board::give_up(std::string_view why, Clock::duration patience) {
  std::unique_lock lock(mutex_);
  if (!giving_up_) giving_up_ = why;
  wake();
  changed_.wait_for(lock, patience, [this] { return ended_; });
}

void Board::leave() {
  const std::lock_guard lock(mutex_);
  leaving_ = true;
  wake();
}

std::vector<Parcel> Board::take_posts() {
  const std::lock_guard lock(mutex_);
  return std::exchange(posts_, {});
}

Stage Board::stage() {
  const std::lock_guard lock(mutex_);
  heed_headway();
  return stage_;
}

bool Board::is_leaving() {
  const std::lock_guard lock(mutex_);
  return leaving_;
}

std::optional<std::string> Board::giving_up() {
  const std::lock_guard lock(mutex_);
  return giving_up_;
}

void Board::arm(Clock::time_point until, bool heeds_deadlines) {
  const std::lock_guard lock(mutex_);
  armed_ = heeds_deadlines ? until : Clock::time_point::min();
  // What was entered since `until` was chosen.
  if (stage_.deadline < armed_) wake();
}

bool Board::deliver(std::size_t source, Message message) {
  const std::lock_guard lock(mutex_);
  auto& inbox = inboxes_[source];
  inbox.bytes += message.payload.size();
  if (inbox.bytes > 2 * kMaxText) return false;
  inbox.messages.push_back(std::move(message));
  if (inbox.messages.size() == 1) ++filled_;
  if (can_collect()) changed_.notify_all();
  return true;
}

void Board::mark_left(std::size_t source) {
  const std::lock_guard lock(mutex_);
  auto& inbox = inboxes_[source];
  if (inbox.left) return;
  inbox.left = true;
  if (inbox.messages.empty()) ++spent_;
  changed_.notify_all();
}

void Board::mark_joined() {
  const std::lock_guard lock(mutex_);
  joined_ = true;
  changed_.notify_all();
}

void Board::fail(std::string why) {
  const std::lock_guard lock(mutex_);
  if (!trouble_) trouble_ = std::move(why);
  changed_.notify_all();
}

void Board::mark_ended() {
  const std::lock_guard lock(mutex_);
  ended_ = true;
  changed_.notify_all();
}

}  // namespace muster::bench
