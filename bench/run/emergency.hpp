// SPDX-License-Identifier: Apache-2.0
// The end of a run that cannot go on: somebody is gone or hangs. The thread that notices reports
// for everybody and ends this process, since the main thread may never come back.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>

#include "bench/backends/backend.hpp"
#include "bench/group/group.hpp"

namespace muster::bench {

// How this process tells of a trouble.
struct Voice {
  std::function<void(const Trouble&)> report;  // for the run; at most once
  std::function<void(const Trouble&)> note;    // for this process alone
  std::function<void()> last = nullptr;        // what else there is to write before the end
};

class Emergency {
 public:
  // `rank` is this process'. So long a main thread may write, and an abort of a back end or the
  // last words take.
  explicit Emergency(int rank, Clock::duration patience = std::chrono::seconds(2))
      : rank_(rank), patience_(patience) {}

  void tell_by(Voice voice);
  // Whose calls may hang; null when it is gone.
  void watch(Backend* backend);
  // Who is told when this process stops by itself; null when it is gone.
  void watch(Group* group);
  // Where rank 0 is gone, this process reports if `needed` then says so: rank 1 is gone, too.
  void stand_in(std::function<bool()> needed);
  // Where rank 0 is gone, this process stays so long after it has told of it: who stands in for
  // rank 1 sees that it is there, and no launcher ends that one before it has reported.
  void stay(Clock::duration time);
  // A signal has asked this process to end. What others do about theirs is no news from now on.
  void begin_stop();

  // The main thread's own trouble: reports, unless that was done.
  void report(const Trouble& trouble);

  // With hold() held: the run's report is written, and stays the only one.
  void mark_reported() { reported_ = true; }

  // Reports, gives up the back end's work, and ends the process. Does not return; the first call
  // counts, whichever thread it comes from.
  [[noreturn]] void end(const Trouble& trouble);

  // Held while the main thread writes, or changes what would be reported.
  [[nodiscard]] std::unique_lock<std::mutex> hold() { return std::unique_lock(guard_); }

 private:
  void tell(const Trouble& trouble);
  // It comes of the signal that this process has got, as others have.
  [[nodiscard]] bool is_echo(const Trouble& trouble) const;

  int rank_;
  Clock::duration patience_;
  std::atomic<bool> ending_{false};
  std::atomic<Clock::time_point> stopping_since_{Clock::time_point::max()};
  std::mutex guard_;
  Voice voice_;
  std::function<bool()> needed_;  // may be empty
  Clock::duration stay_{};
  bool reported_ = false;
  Backend* backend_ = nullptr;
  Group* group_ = nullptr;
};

// One of the ranks reports for all: rank 0, or rank 1 where that is gone. Where their node is gone
// the one that stands in does.
[[nodiscard]] bool reports(const Trouble& trouble, int rank);

}  // namespace muster::bench
