// SPDX-License-Identifier: Apache-2.0
// Runs operations one after the other on all ranks alike. Rank 0 gathers what was measured and
// decides what comes next; the others are told.
#pragma once

#include <functional>
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
  std::vector<Wrong> wrong;      // of every rank that received something wrong
};

struct SweepPlan {
  Pace pace;
  std::optional<Percent> precision;  // go on until the median is known this well
  std::size_t shared = 1;            // so many iterations in a row are one mean
  Seconds operation_deadline{60};
};

class Sweep {
 public:
  Sweep(Group& group, Backend& backend, SweepPlan plan)
      : group_(group), backend_(backend), plan_(plan) {}

  // Verifies and times one operation. An error is this process' own: the others wait for it.
  [[nodiscard]] Result<Measured> run(const Operation& operation);

 private:
  [[nodiscard]] Result<void> add_batch(const Operation& operation,
                                       const std::vector<Wrong>& wrong,
                                       Measured& measured);
  [[nodiscard]] bool enough(const Measured& measured) const;

  Group& group_;
  Backend& backend_;
  SweepPlan plan_;
  Progress progress_;
};

// "all_reduce of 8 MiB, in place".
[[nodiscard]] std::string describe(const Operation& operation);

}  // namespace muster::bench
