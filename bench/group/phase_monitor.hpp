// SPDX-License-Identifier: Apache-2.0
// The state that a process shares with its communication thread: the phase that the process is in,
// and the texts between it and the other ranks.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/group/group.hpp"
#include "bench/group/message_socket.hpp"
#include "lib/base/descriptor.hpp"
#include "lib/base/result.hpp"

namespace muster::bench {

class PhaseMonitor {
 public:
  // `sources` is the number of ranks that send texts: on rank 0 all others, elsewhere only rank 0.
  [[nodiscard]] static Result<std::unique_ptr<PhaseMonitor>> make(std::size_t sources);

  // For the process. A call that waits returns an error once the run cannot go on.
  void enter(Phase phase, Clock::duration limit, ProgressCounters counters = {});
  [[nodiscard]] Result<void> wait_joined();
  [[nodiscard]] Result<void> post(Kind kind, std::string_view text);
  // One text from each source, in order.
  [[nodiscard]] Result<std::vector<std::string>> collect(Kind kind);
  // The sources that the process is waiting for.
  [[nodiscard]] std::vector<std::size_t> awaited();
  void go_on_without_the_lost();
  [[nodiscard]] std::vector<Trouble> losses();
  void give_up(GivingUp reason, Clock::duration patience);
  void leave();

  // For the thread.
  [[nodiscard]] int wake_descriptor() const { return wake_.get(); }

  void clear_wake();
  [[nodiscard]] std::vector<PackedMessage> take_posts();
  [[nodiscard]] Stage stage();
  // When to check the stage again: at its deadline, or earlier if it has counters.
  [[nodiscard]] Clock::time_point next_check();
  [[nodiscard]] bool is_leaving();
  [[nodiscard]] std::optional<GivingUp> giving_up();
  // Announces that the thread sleeps until then. With `watches_deadlines`, entering a phase with an
  // earlier deadline wakes it.
  void arm(Clock::time_point until, bool watches_deadlines);
  // Returns false if the source has sent more than a rank may send ahead.
  [[nodiscard]] bool deliver(std::size_t source, Message message);
  void mark_left(std::size_t source);
  // Continues without the sources of this loss. Returns false if the run may not.
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
  // Call these with the mutex held.
  void update_progress();
  [[nodiscard]] Clock::time_point check_time() const;
  [[nodiscard]] bool can_collect() const;

  Descriptor wake_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Inbox> inboxes_;
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
