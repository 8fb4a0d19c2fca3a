// SPDX-License-Identifier: Apache-2.0
// The sizes and operations of a command, and their timing: each operation is verified and timed on
// all ranks alike. Rank 0 gathers the times, decides whether they are enough, and informs the
// others.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/backends/backend.hpp"
#include "bench/command/bench_command.hpp"
#include "bench/group/group.hpp"
#include "bench/results/bandwidth.hpp"
#include "lib/base/quantity.hpp"
#include "lib/base/result.hpp"
#include "lib/profile/profile.hpp"

namespace muster::bench {

struct RankContext;

[[nodiscard]] Pace pace_of(const BenchCommand& command);

// The rank with the least memory for buffers.
struct LeastMemory {
  int rank = 0;
  std::uint64_t bytes = 0;
};

// `free`: of each rank in order, in bytes. Returns nothing if no rank reports any.
[[nodiscard]] std::optional<LeastMemory> least_memory(
    const std::vector<std::optional<std::uint64_t>>& free);

struct Sizes {
  std::vector<std::uint64_t> bytes;
  std::string remark;  // why there are fewer than expected; else empty
};

// The sizes to run. They begin where each rank has an element; sizes that the command does not name
// end where memory does.
[[nodiscard]] Sizes sizes_of(const BenchCommand& command, const Profile& profile,
                             const RunFacts& facts, const std::optional<LeastMemory>& memory = {});

// Returns a command for each type with each reduction, the judged one first. Combinations that
// cannot be verified are left out if there are several.
[[nodiscard]] std::vector<BenchCommand> variants_of(const BenchCommand& command);

// Returns the placements of the largest size, out of place first. An error if the smallest size has
// no element for each rank, or if the command names a placement that the back end lacks.
[[nodiscard]] Result<std::vector<Operation>> operations_of(const BenchCommand& command,
                                                           const std::vector<std::uint64_t>& sizes,
                                                           const Backend& backend);

// One measured operation on rank 0; empty elsewhere.
struct Measured {
  Operation operation;
  Batch batch;                      // of every rank; the first wrong data of each
  std::size_t next_precision_at{};  // the number of iterations at which to check the precision
  bool cut_short = false;           // time was up before the median was precise enough
};

// An operation ends after this many operation deadlines, however noisy the machine is.
inline constexpr double kMaxDeadlines = 10;

class OperationTimer {
 public:
  // All three must outlive this object. `shared`: the number of consecutive iterations that share
  // one mean.
  OperationTimer(Group& group, Backend& backend, const BenchCommand& command,
                 std::size_t shared = 1)
      : group_(group), backend_(backend), command_(command), shared_(shared) {}

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
  const BenchCommand& command_;
  std::size_t shared_;
  std::shared_ptr<Progress> progress_ = std::make_shared<Progress>();
  bool connected_ = false;
};

// Verifies an operation and measures it once, on this rank. The batch has the wrong elements found
// before timing, or else those found after it.
[[nodiscard]] Result<Batch> verified_batch(Backend& backend, const Operation& operation,
                                           const Pace& pace, Progress& progress);

// Read by the thread that watches this process.
[[nodiscard]] ProgressCounters counters_of(const std::shared_ptr<const Progress>& progress);

// "all_reduce of 8 MiB, in place"
[[nodiscard]] std::string describe(const Operation& operation);

// Agrees on the sizes and measures all of them, with --split in every part; rank 0's reporter
// collects the results. `command` is for one collective. Returns the exit status of a run that
// cannot start, else kExitHealthy.
[[nodiscard]] Result<int> measure(RankContext& self, const BenchCommand& command);

}  // namespace muster::bench
