// SPDX-License-Identifier: Apache-2.0
// Waits for child processes, passes signals on to them, and lets none go on alone.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <csignal>
#include <optional>
#include <string>
#include <vector>

#include "bench/launch/local.hpp"
#include "lib/base/clock.hpp"
#include "lib/process/process.hpp"

namespace muster::bench {

class Supervisor {
 public:
  Supervisor(const HeldSignals& signals, const LocalOptions& options)
      : signals_(signals), grace_(options.grace), stopped_(options.stopped) {}

  void add(int rank, pid_t pid) { children_.push_back({.rank = rank, .pid = pid}); }

  // Until the last child has ended.
  [[nodiscard]] LocalEnd wait();
  void kill_all();

 private:
  struct Child {
    int rank = 0;
    pid_t pid = -1;
    std::optional<int> status{};  // as wait(2) has it
    // Where it is stopped: when it is killed for that.
    Clock::time_point stopped_until = Clock::time_point::max();
  };

  void reap();
  void note_end(const Child& child);
  // Kills those that have been stopped for too long.
  void end_stopped();
  // When something is to be done though no signal comes.
  [[nodiscard]] Clock::time_point next_deadline() const;
  void pass_on(const siginfo_t& signal);
  void send_all(int number) const;
  // To those who wait for a rank that will not come: nothing but this process knows.
  void tell_of_loss();
  [[nodiscard]] bool all_ended() const;
  [[nodiscard]] int status() const;

  const HeldSignals& signals_;
  std::chrono::milliseconds grace_, stopped_;
  std::vector<Child> children_;
  std::vector<std::string> notes_;
  Clock::time_point kill_at_ = Clock::time_point::max();
  Clock::time_point tell_at_ = Clock::time_point::max();
  int lost_ = 0;  // the rank to tell of then
  bool killed_ = false;
};

}  // namespace muster::bench
