// SPDX-License-Identifier: Apache-2.0
// The end of a run that cannot go on, because a rank is gone or hangs. The thread that notices it
// reports for all ranks and ends this process, since the main thread may never come back.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>

#include "bench/backends/backend.hpp"
#include "bench/group/group.hpp"

namespace muster::bench {

// How this process reports that the run cannot go on.
struct TroubleReporter {
  std::function<void(const Trouble&)> report;   // writes the run's report; called at most once
  std::function<void(const Trouble&)> note;     // writes a line about this process
  std::function<void()> before_exit = nullptr;  // writes what else there is; may be null
};

class Emergency {
 public:
  // `rank` is that of this process. `patience`: how long the main thread may keep writing, and how
  // long aborting a back end or writing the last lines may take.
  explicit Emergency(int rank, Clock::duration patience = std::chrono::seconds(2))
      : rank_(rank), patience_(patience) {}

  void report_through(TroubleReporter reporter);
  // The back end whose calls may hang, to be aborted before the end; null when there is none.
  void watch(Backend* backend);
  // The group to tell when a signal ends this process; null when there is none.
  void watch(Group* group);
  // A signal has asked this process to end. From now on, that other ranks end is not reported.
  void begin_stop();

  // Reports the main thread's own trouble, unless there is a report already.
  void report(const Trouble& trouble);

  // To be called with hold() held: the run's report is written, and there will be no other.
  void mark_reported() { reported_ = true; }

  // Reports, aborts the back end's work, and ends the process. Only the first call counts,
  // whichever thread it comes from.
  [[noreturn]] void end(const Trouble& trouble);

  // Held while the main thread writes, or changes what would be reported.
  [[nodiscard]] std::unique_lock<std::mutex> hold() { return std::unique_lock(guard_); }

 private:
  void tell(const Trouble& trouble);
  // Whether the trouble is a consequence of the signal that this process has got, as others have.
  [[nodiscard]] bool is_echo(const Trouble& trouble) const;

  int rank_;
  Clock::duration patience_;
  std::atomic<bool> ending_{false};
  std::atomic<Clock::time_point> stopping_since_{Clock::time_point::max()};
  std::mutex guard_;
  TroubleReporter reporter_;
  bool reported_ = false;
  Backend* backend_ = nullptr;
  Group* group_ = nullptr;
};

// Whether this rank reports for all: rank 0 does, or rank 1 if rank 0 is gone.
[[nodiscard]] bool reports(const Trouble& trouble, int rank);

}  // namespace muster::bench
