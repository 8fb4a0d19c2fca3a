// SPDX-License-Identifier: Apache-2.0
// Verifies and times operations, one after the other and on all ranks alike. Rank 0 gathers what
// was measured, decides whether it is enough, and tells the others.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/backends/backend.hpp"
#include "bench/group/group.hpp"
#include "lib/base/quantity.hpp"
#include "lib/base/result.hpp"

namespace muster::bench {

// One operation, as rank 0 knows it; elsewhere it stays empty.
struct Measured {
  Operation operation;
  std::vector<Samples> samples;  // of every rank, all batches
  std::vector<Wrong> wrong;      // the first of every rank that received something wrong
  std::size_t look_at = 0;       // the number of iterations at which to look at the precision again
  bool cut_short = false;        // time was up before the median was known as precisely as asked
};

struct TimerPlan {
  Pace pace;
  std::optional<Percent> precision;  // go on until the median is known this well
  std::size_t shared = 1;            // so many iterations in a row are one mean
  Seconds operation_deadline{60};    // of one iteration, and of one verification
  Seconds join_deadline{60};         // more for the first, which makes the connections
};

// An operation ends after this many operation deadlines, however noisy the machine is.
inline constexpr double kMostDeadlines = 10;

class OperationTimer {
 public:
  OperationTimer(Group& group, Backend& backend, const TimerPlan& plan)
      : group_(group), backend_(backend), plan_(plan) {}

  // The next operation makes the connections.
  void reconnect() { connected_ = false; }

  // How far the operation is that runs now.
  [[nodiscard]] std::shared_ptr<const Progress> progress() const { return progress_; }

  // Verifies and times one operation. An error is this process' own: the others wait for it.
  [[nodiscard]] Result<Measured> run(const Operation& operation);

 private:
  [[nodiscard]] Result<void> add_batch(const Operation& operation, const std::vector<Wrong>& wrong,
                                       Measured& measured);
  [[nodiscard]] Result<std::vector<Wrong>> verify(const Operation& operation);
  // Measures batch after batch, until there is enough.
  [[nodiscard]] Result<void> add_batches(const Operation& operation, std::vector<Wrong> wrong,
                                         Measured& measured);

  // Only rank 0's answer counts.
  [[nodiscard]] bool enough(Measured& measured, Clock::time_point end) const;
  [[nodiscard]] bool precise(const Measured& measured) const;

  Group& group_;
  Backend& backend_;
  TimerPlan plan_;
  std::shared_ptr<Progress> progress_ = std::make_shared<Progress>();
  bool connected_ = false;
};

// Verifies an operation and measures it once, on this rank. Where something was wrong before it was
// timed, the batch has that, and not what was wrong after it.
[[nodiscard]] Result<Batch> verified_batch(Backend& backend, const Operation& operation,
                                           const Pace& pace, Progress& progress);

// For the thread that watches this process.
[[nodiscard]] ProgressCounters counters_of(const std::shared_ptr<const Progress>& progress);

// "all_reduce of 8 MiB, in place".
[[nodiscard]] std::string describe(const Operation& operation);

}  // namespace muster::bench
