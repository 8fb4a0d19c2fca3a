// SPDX-License-Identifier: Apache-2.0
// The group over TCP: the state that a process shares with its communication thread, which answers
// even while the process hangs.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "bench/group/group.hpp"
#include "bench/group/message_socket.hpp"
#include "lib/base/descriptor.hpp"
#include "lib/base/result.hpp"

namespace muster::bench {

class TcpGroup final : public Group {
 public:
  // `wake` is an eventfd.
  TcpGroup(JoinOptions options, Descriptor wake);
  ~TcpGroup() override;

  // Starts the thread, and waits until all ranks have met.
  [[nodiscard]] Result<void> begin();

  // For the process. A call that waits returns an error once the run cannot continue.
  [[nodiscard]] int rank() const override { return options_.rank; }
  [[nodiscard]] int size() const override { return options_.world; }
  [[nodiscard]] Result<std::vector<std::string>> gather(std::string_view mine) override;
  [[nodiscard]] Result<std::string> broadcast(std::string_view text) override;
  [[nodiscard]] Result<void> barrier() override;
  void enter(Phase phase, Clock::duration limit, ProgressCounters counters) override;
  [[nodiscard]] std::vector<int> awaited() override;
  void go_on_without_the_lost() override;
  [[nodiscard]] std::vector<Trouble> losses() override;
  void give_up(Trouble reason) override;

  // For the thread. A source is a rank that sends texts: on rank 0 source i is rank i + 1,
  // elsewhere the only one is rank 0.
  [[nodiscard]] int wake_descriptor() const { return wake_.get(); }

  // The process's requests to the thread.
  struct Orders {
    std::vector<PackedMessage> posts;
    std::optional<Trouble> giving_up;
    bool leaving = false;
  };

  // Takes the posts since the last call.
  [[nodiscard]] Orders take_orders();
  [[nodiscard]] Stage stage();
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

 private:
  struct Inbox {
    std::deque<Message> messages;
    std::size_t bytes = 0;
    bool left = false;
    bool lost = false;  // and passed over
  };

  [[nodiscard]] Result<void> post(Kind kind, std::string_view text);
  // One text from each source, in order.
  [[nodiscard]] Result<std::vector<std::string>> collect(Kind kind);
  void work();
  void wake() const;
  // Sets a flag that a call may wait for.
  void mark(bool& flag);
  // Call these with the mutex held.
  void update_progress();
  [[nodiscard]] bool can_collect() const;

  JoinOptions options_;
  Descriptor wake_;
  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Inbox> inboxes_;
  bool goes_on_ = false;
  std::vector<Trouble> losses_;
  Orders orders_;
  Stage stage_;
  ProgressCounters counters_;  // may be unset
  Clock::time_point armed_ = Clock::time_point::max();
  bool joined_ = false;
  bool ended_ = false;
  std::optional<std::string> trouble_;
};

// The communication thread. On rank 0 it admits the other ranks, passes their texts, and detects
// those that are lost or late.
void serve_ranks(const JoinOptions& options, TcpGroup& group, Descriptor listener);

// Elsewhere it keeps the connection to rank 0, answers it, and detects when rank 0 is gone.
void follow_rank_0(const JoinOptions& options, TcpGroup& group);

}  // namespace muster::bench
