// SPDX-License-Identifier: Apache-2.0
// What a process and the thread that speaks for it share: the phase that the process is in, and the
// texts on their way between it and the other ranks.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/group/group.hpp"
#include "bench/group/message_socket.hpp"
#include "lib/base/descriptor.hpp"
#include "lib/base/result.hpp"

namespace muster::bench {

class PhaseMonitor {
 public:
  // `sources`: how many other ranks send texts. On rank 0 all the others, elsewhere rank 0 alone.
  [[nodiscard]] static Result<std::unique_ptr<PhaseMonitor>> make(std::size_t sources);

  // For the process. Whatever waits returns an error once the run cannot go on.
  void enter(Phase phase, Clock::duration limit, ProgressCounters counters = {});
  [[nodiscard]] Result<void> wait_joined();
  [[nodiscard]] Result<void> post(Kind kind, std::string_view text);
  // One text from each source, in their order.
  [[nodiscard]] Result<std::vector<std::string>> collect(Kind kind);
  // The sources that the process waits for in this moment.
  [[nodiscard]] std::vector<std::size_t> awaited();
  void go_on_without_the_lost();
  [[nodiscard]] std::vector<Trouble> losses();
  void give_up(GivingUp reason, Clock::duration patience);
  void leave();

  // For the thread.
  [[nodiscard]] int descriptor() const { return wake_.get(); }

  void woken();
  [[nodiscard]] std::vector<PackedMessage> take_posts();
  [[nodiscard]] Stage stage();
  // When to look at the stage again: at its deadline, or earlier where there are counters.
  [[nodiscard]] Clock::time_point next_look();
  [[nodiscard]] bool is_leaving();
  [[nodiscard]] std::optional<GivingUp> giving_up();
  // The thread is about to sleep until then. With `watches_deadlines`, it is woken when the process
  // enters a phase with an earlier deadline.
  void arm(Clock::time_point until, bool watches_deadlines);
  // False if the source has sent more than any rank may send ahead.
  [[nodiscard]] bool deliver(std::size_t source, Message message);
  void mark_left(std::size_t source);
  // The run goes on without the ranks of this loss, whose sources these are. False: it may not.
  [[nodiscard]] bool pass_over(const Trouble& loss, const std::vector<std::size_t>& sources);
  void mark_joined();
  void fail(std::string why);
  void mark_ended();  // the thread is about to end

 private:
  struct Inbox {
    std::deque<Message> messages;
    std::size_t bytes = 0;
    bool left = false;
    bool lost = false;  // and passed over
  };

  PhaseMonitor(std::size_t sources, Descriptor wake) : wake_(std::move(wake)), inboxes_(sources) {}

  void wake() const;
  // These are called with the mutex held.
  void note_progress();
  [[nodiscard]] Clock::time_point look() const;
  [[nodiscard]] bool can_collect() const;

  Descriptor wake_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Inbox> inboxes_;
  std::size_t filled_ = 0;  // inboxes that hold something
  std::size_t spent_ = 0;   // empty inboxes whose source has left
  std::size_t lost_ = 0;    // empty inboxes whose source is passed over
  bool goes_on_ = false;
  std::vector<Trouble> losses_;
  std::vector<PackedMessage> posts_;
  Stage stage_;
  ProgressCounters counters_;  // may be unset
  Clock::time_point armed_ = Clock::time_point::max();
  bool joined_ = false;
  bool leaving_ = false;
  bool ended_ = false;
  std::optional<GivingUp> giving_up_;
  std::optional<std::string> trouble_;
};

}  // namespace muster::bench
