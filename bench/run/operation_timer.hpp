// SPDX-License-Identifier: Apache-2.0
// Verifies and times operations, one after the other and on all ranks alike. Rank 0 gathers the
// times, decides whether they are enough, and informs the others.
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

// One measured operation on rank 0; empty elsewhere.
struct Measured {
  Operation operation;
  std::vector<Samples> samples;     // of every rank, all batches
  std::vector<Wrong> wrong;         // the first of every rank with wrong data
  std::size_t next_precision_at{};  // the number of iterations at which to check the precision
  bool cut_short = false;           // time was up before the median was precise enough
};

struct TimerPlan {
  Pace pace;
  std::optional<Percent> precision;  // continue until the median is this precise
  std::size_t shared = 1;            // the number of consecutive iterations that share one mean
  Seconds operation_deadline{60};    // of one iteration, and of one verification
  Seconds join_deadline{60};         // added for the first operation, which connects the ranks
};

// An operation ends after this many operation deadlines, however noisy the machine is.
inline constexpr double kMostDeadlines = 10;

class OperationTimer {
 public:
  OperationTimer(Group& group, Backend& backend, const TimerPlan& plan)
      : group_(group), backend_(backend), plan_(plan) {}

  // The next operation connects the ranks again.
  void reconnect() { connected_ = false; }
  // The progress of the current operation.
  [[nodiscard]] std::shared_ptr<const Progress> progress() const { return progress_; }
  // Verifies and times one operation. An error is this process's own: the others wait for it.
  [[nodiscard]] Result<Measured> run(const Operation& operation);

 private:
  [[nodiscard]] Result<std::vector<Wrong>> verify(const Operation& operation);
  [[nodiscard]] Result<void> add_batch(const std::vector<Wrong>& wrong, Measured& measured);
  // Only rank 0's answer counts.
  [[nodiscard]] bool is_enough(Measured& measured, Clock::time_point end) const;
  [[nodiscard]] bool is_precise(const Measured& measured) const;

  Group& group_;
  Backend& backend_;
  TimerPlan plan_;
  std::shared_ptr<Progress> progress_ = std::make_shared<Progress>();
  bool connected_ = false;
};

// Verifies an operation and measures it once, on this rank. The batch has the wrong elements found
// before timing, or else those found after it.
[[nodiscard]] Result<Batch> verified_batch(Backend& backend, const Operation& operation,
                                           const Pace& pace, Progress& progress);

// For the thread that watches this process.
[[nodiscard]] ProgressCounters counters_of(const std::shared_ptr<const Progress>& progress);

// "all_reduce of 8 MiB, in place"
[[nodiscard]] std::string describe(const Operation& operation);

}  // namespace muster::bench
