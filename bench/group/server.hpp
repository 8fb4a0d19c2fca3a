// SPDX-License-Identifier: Apache-2.0
// Rank 0's thread: lets the other ranks in, passes texts, and decides what has gone wrong.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/group/group.hpp"
#include "bench/group/listener.hpp"
#include "bench/group/message_socket.hpp"
#include "bench/group/phase_monitor.hpp"
#include "bench/group/poller.hpp"

namespace muster::bench {

class Server {
 public:
  // With a single rank the listener is closed at once.
  Server(const JoinOptions& options, PhaseMonitor& monitor, Descriptor listener);

  void run();

 private:
  struct Peer {
    std::optional<MessageSocket> socket{};
    std::string name{};
    std::size_t slot = 0;
    bool left = false;  // said goodbye
    bool lost = false;
    bool told = false;  // as lost
    std::optional<Stage> answer{};

    [[nodiscard]] bool is_here() const { return socket && !left && !lost; }
  };

  void wait();
  void handle_process();
  void admit_arrivals();
  void admit(Arrival arrival);
  void start();
  void tell_missing() const;
  void hear(int rank);
  void take(int rank, const Message& message);
  void lose(int rank);
  void watch_times();
  void ask_where(const Stage& overdue);
  void declare_late();
  void declare_absent();
  void declare_lost();
  void give_up(int rank, Trouble trouble);
  // Tells everybody, and this process unless it is its own doing.
  void end(const Trouble& trouble, bool own_doing = false);
  void say_goodbye();
  void send_all(const PackedMessage& message);
  void flush_all(Clock::duration limit);
  [[nodiscard]] std::string name_of(int rank) const;

  const JoinOptions& options_;
  PhaseMonitor& monitor_;
  Poller poller_;
  std::optional<RankListener> listener_;  // until all are here
  std::vector<Peer> peers_;               // by rank; 0 is this process
  int missing_ = 0;
  bool ended_ = false;
  Clock::time_point patience_ends_ = Clock::time_point::max();
  Clock::time_point losses_end_ = Clock::time_point::max();   // then those lost are declared
  Clock::time_point answers_end_ = Clock::time_point::max();  // then those late are declared
  std::optional<Stage> overdue_;
  std::size_t unanswered_ = 0;
};

}  // namespace muster::bench
