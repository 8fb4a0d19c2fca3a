// SPDX-License-Identifier: Apache-2.0
// What the process and the thread that speaks for it tell each other.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
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

// Which phase a process is in: the how-manieth of its life, and its name.
struct Stage {
  std::uint64_t number = 0;
  bool waits = false;    // for the texts of others, and for nothing else
  bool counted = false;  // the limit is that of one iteration
  std::string phase = "start";
  Clock::duration limit{};
  Clock::time_point deadline = Clock::time_point::max();
};

class Board {
 public:
  // From `sources` others come texts: all ranks but 0, or rank 0.
  [[nodiscard]] static Result<std::unique_ptr<Board>> make(std::size_t sources);

  // The process' side. What waits ends with an error once there is trouble.
  void enter(std::string_view phase, Clock::duration limit, Headway headway = nullptr);
  [[nodiscard]] Result<void> wait_joined();
  [[nodiscard]] Result<void> post(Kind kind, std::string_view text);
  // One text from each source, in their order.
  [[nodiscard]] Result<std::vector<std::string>> collect(Kind kind);
  void give_up(std::string_view why, Clock::duration patience);
  void leave();

  // The thread's side.
  [[nodiscard]] int descriptor() const { return wake_.get(); }

  void woken();
  [[nodiscard]] std::vector<Parcel> take_posts();
  [[nodiscard]] Stage stage();
  // When the stage is to be looked at again: its deadline, or earlier where there is a headway.
  [[nodiscard]] Clock::time_point next_look();
  [[nodiscard]] bool is_leaving();
  [[nodiscard]] std::optional<std::string> giving_up();
  // The thread will sleep until then. Where it heeds the deadlines of the process, an earlier one
  // wakes it.
  void arm(Clock::time_point until, bool heeds_deadlines);
  // False where more lies here than anybody may send ahead.
  [[nodiscard]] bool deliver(std::size_t source, Message message);
  void mark_left(std::size_t source);
  void mark_joined();
  void fail(std::string why);
  void mark_ended();  // the thread does nothing any more

 private:
  struct Inbox {
    std::deque<Message> messages;
    std::size_t bytes = 0;
    bool left = false;
  };

  Board(std::size_t sources, Descriptor wake) : wake_(std::move(wake)), inboxes_(sources) {}

  void wake() const;
  // With the mutex held.
  void heed_headway();
  [[nodiscard]] Clock::time_point look() const;
  [[nodiscard]] bool can_collect() const;

  Descriptor wake_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Inbox> inboxes_;
  std::size_t filled_ = 0;  // inboxes that hold something
  std::size_t spent_ = 0;   // empty ones whose source has left
  std::vector<Parcel> posts_;
  Stage stage_;
  Headway headway_;  // may be null
  std::uint64_t seen_ = 0;
  Clock::time_point armed_ = Clock::time_point::max();
  bool joined_ = false;
  bool leaving_ = false;
  bool ended_ = false;
  std::optional<std::string> giving_up_;
  std::optional<std::string> trouble_;
};

}  // namespace muster::bench
