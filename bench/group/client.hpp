// SPDX-License-Identifier: Apache-2.0
// The thread of every rank but 0: keeps the connection to rank 0, answers it, and decides by itself
// when rank 0 is gone.
#pragma once

#include <optional>

#include "bench/group/connector.hpp"
#include "bench/group/group.hpp"
#include "bench/group/message_socket.hpp"
#include "bench/group/phase_monitor.hpp"
#include "bench/group/poller.hpp"

namespace muster::bench {

class Client {
 public:
  Client(const JoinOptions& options, PhaseMonitor& monitor)
      : options_(options), monitor_(monitor) {}

  void run();

 private:
  // False where the thread has nothing more to do.
  [[nodiscard]] bool arrive();
  void wait();
  void handle_process();
  void hear();
  void take(const Message& message);
  void closed();
  void watch_times();
  void give_up(const GivingUp& reason);
  void end(const Trouble& trouble);
  void end_quietly(std::string why);
  void say_goodbye();
  void flush(Clock::duration limit);

  const JoinOptions& options_;
  PhaseMonitor& monitor_;
  Poller poller_;
  std::optional<MessageSocket> socket_;  // nothing once rank 0 has left
  bool joined_ = false;
  bool ended_ = false;
  Clock::time_point start_ends_ = Clock::time_point::max();    // then rank 0 is taken for lost
  Clock::time_point verdict_ends_ = Clock::time_point::max();  // the same, once we are overdue
  Clock::time_point report_ends_ = Clock::time_point::max();   // then we no longer wait for rank 0
  std::optional<Stage> overdue_;
  std::optional<Trouble> trouble_;        // rank 0's word
  std::optional<std::string> giving_up_;  // our own
};

}  // namespace muster::bench
