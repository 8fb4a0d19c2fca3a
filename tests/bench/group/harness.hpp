// SPDX-License-Identifier: Apache-2.0
// Groups of threads or of forked processes, and what they report.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/group/group.hpp"

namespace muster::bench {

// Only keeps the test from hanging.
inline constexpr auto kLong = std::chrono::seconds(60);

// A listener on loopback for rank 0.
[[nodiscard]] Listener listen_here();

// The results of a rank.
struct Rank {
  int rank = 0;
  std::string error;               // of join
  std::optional<Trouble> trouble;  // the argument of on_trouble
  int troubles = 0;                // the number of its calls
  std::vector<std::string> notes;
};

[[nodiscard]] std::vector<Rank> first_ranks(int count);

struct Setting {
  int world = 2;
  std::string secret;
  Clock::duration patience = kLong;
  Clock::duration grace = std::chrono::milliseconds(300);
  Clock::duration hello_limit = kLong;
};

// The options of rank `into.rank`, whose results go to `into`.
[[nodiscard]] JoinOptions options_for(const Setting& setting, Listener& listener, Rank& into);

using RankWork = std::function<void(Group& group)>;

// Joins and calls `work` on this thread.
void join_and_work(JoinOptions options, Rank& into, const RankWork& work);

// Runs all ranks as threads.
[[nodiscard]] std::vector<Rank> run_threads(const Setting& setting, const RankWork& work);

// A rank in a separate process, which exits with kReported on trouble, else with 0.
class Process {
 public:
  static constexpr int kReported = 40;

  Process(const Setting& setting, Listener& listener, int rank, const RankWork& work);
  // Exits with 0.
  explicit Process(const std::function<void()>& work);
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process();

  void signal(int number) const;
  [[nodiscard]] bool has_ended() const;
  // The exit status, or 128 plus the signal.
  [[nodiscard]] int wait();

 private:
  pid_t pid_ = -1;
};

}  // namespace muster::bench
