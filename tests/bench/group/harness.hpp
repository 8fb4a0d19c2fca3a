// SPDX-License-Identifier: Apache-2.0
// Groups of this process' threads or of forked processes, and what they report.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "bench/group/group.hpp"

namespace muster::bench {

// Against a hang of the test, and nothing else.
inline constexpr auto kLong = std::chrono::seconds(60);

// One that listens on loopback, for rank 0 of a test.
[[nodiscard]] Listener listen_here();

// A rank on a thread of its own: joins, does `work`, leaves.
struct Rank {
  int rank = 0;
  std::string error;               // of join
  std::optional<Trouble> trouble;  // what on_trouble was told
  int troubles = 0;                // how often
  std::vector<std::string> notes;
};

// Ranks 0 and on.
[[nodiscard]] std::vector<Rank> first_ranks(int count);

struct Setting {
  int world = 2;
  std::string secret;
  Clock::duration patience = kLong;
  Clock::duration grace = std::chrono::milliseconds(300);
  Clock::duration hello_limit = kLong;
};

// What rank `rank` of `setting` joins with; reports into `into`.
[[nodiscard]] JoinOptions options_for(const Setting& setting, Listener& listener, Rank& into);

using RankWork = std::function<void(Group& group)>;

// Joins and works on the calling thread.
void live(JoinOptions options, Rank& into, const RankWork& work);

// All ranks of `setting` as threads, each doing `work`.
[[nodiscard]] std::vector<Rank> run_threads(const Setting& setting, const RankWork& work);

// A rank in a process of its own, which ends with kTold once it is told of trouble, and with 0 when
// its work is done.
class Process {
 public:
  static constexpr int kTold = 40;

  Process(const Setting& setting, Listener& listener, int rank, const RankWork& work);
  // Any work; ends with 0.
  explicit Process(const std::function<void()>& work);
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process();

  void signal(int number) const;
  [[nodiscard]] bool has_ended() const;
  // The status it ended with; 128 and the signal where one killed it.
  [[nodiscard]] int wait();

 private:
  pid_t pid_ = -1;
};

}  // namespace muster::bench
