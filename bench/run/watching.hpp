// SPDX-License-Identifier: Apache-2.0
// Ends a run that cannot continue, because a rank is gone or hangs, a signal came, or time is up.
// The thread that notices reports for all ranks and ends this process, since the main thread may
// never return.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "bench/backends/backend.hpp"
#include "bench/group/group.hpp"
#include "lib/base/clock.hpp"

namespace muster::bench {

// How this process reports that the run cannot continue.
struct TroubleReporter {
  std::function<void(const Trouble&)> report;   // writes the run's report; called at most once
  std::function<void(const Trouble&)> note;     // prints a line about this process
  std::function<void()> before_exit = nullptr;  // prints any remaining lines; may be null
};

class Emergency {
 public:
  // `rank`: of this process. `patience`: how long the main thread may keep writing, and how long
  // aborting a back end or printing the last lines may take.
  explicit Emergency(int rank, Clock::duration patience = std::chrono::seconds(2))
      : rank_(rank), patience_(patience) {}

  void report_through(TroubleReporter reporter);
  // The back end whose calls may hang, to be aborted before the end; null for none.
  void watch(Backend* backend);
  // The group to inform when a signal ends this process; null for none.
  void watch(Group* group);
  // A signal asked this process to end. From now on, the end of other ranks is not reported.
  void begin_stop();

  // Reports the main thread's own trouble, unless there is a report already.
  void report(const Trouble& trouble);

  // Marks the run's report as written. The caller holds hold().
  void mark_reported() { reported_ = true; }
  // Reports, aborts the back end's work, and ends the process. Only the first call counts,
  // whichever thread it comes from.
  [[noreturn]] void end(const Trouble& trouble);

  // Held while the main thread writes, or changes the contents of a report.
  [[nodiscard]] std::unique_lock<std::mutex> hold() { return std::unique_lock(guard_); }

 private:
  void report_or_note(const Trouble& trouble);
  // Whether the trouble follows from the signal that this process and others received.
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

// A deadline for work outside the group's own deadlines: before the group meets, and after it is
// gone. Ends the process through `emergency` if this object still exists at the deadline.
class PhaseDeadline {
 public:
  // Ranks other than 0 end a moment later, so that rank 0 reports if it can. `emergency` must
  // outlive this object.
  PhaseDeadline(Emergency& emergency, int rank, Phase phase, Clock::duration limit);

 private:
  std::jthread thread_;
};

struct RankContext;

// Starts a thread that handles SIGTERM, SIGINT and SIGHUP, and ends this process with a report even
// if the main thread hangs. Call it before any other thread starts.
void end_on_signals(RankContext& self);

// The progress of an operation.
struct OperationProgress {
  std::string what;        // "all_reduce of 8 GiB"
  std::string left;        // of the whole run, as "; about 40 s left"; may be empty
  std::uint64_t done = 0;  // iterations
  std::uint64_t all = 0;   // including warm-up
  Clock::duration since{};
  std::vector<int> awaited;  // ranks
};

// "; about 40 s left"; empty if it is short or over.
[[nodiscard]] std::string left_in_words(Clock::duration left);

// "all_reduce of 8 GiB: 12 of 25 iterations; about 9 s left", "...; waiting for rank 5".
[[nodiscard]] std::string progress_line(const OperationProgress& progress);

// Shows a line at once and then every second, on its own thread.
class Ticker {
 public:
  Ticker(std::function<std::string(Clock::duration since)> line,
         std::function<void(std::string_view)> show);

 private:
  std::jthread thread_;
};

}  // namespace muster::bench
