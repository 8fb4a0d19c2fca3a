// SPDX-License-Identifier: Apache-2.0
// The middle of a rank's run: the ranks agree on what is run, and run it size by size.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/backends/backend.hpp"
#include "bench/group/group.hpp"
#include "bench/results/row.hpp"
#include "bench/run/operation_timer.hpp"
#include "bench/run/rank_context.hpp"

namespace muster::bench {

// The sizes to run among so many ranks, of which rank 0 may know more than this one: nodes may be
// of several kinds, and rank 0's limits name the sizes. `backend` says how much memory is free
// here.
[[nodiscard]] Result<std::vector<std::uint64_t>> agree_on_sizes(RankContext& self,
                                                                const BenchCommand& command,
                                                                Group& group,
                                                                const Backend& backend,
                                                                int ranks);

// Every rank does the same; rank 0 gathers what was measured, and reports it.
class Measuring {
 public:
  // All must live longer. `command` is of one collective.
  Measuring(RankContext& self, const BenchCommand& command, Group& group, Backend& backend)
      : self_(self), command_(command), group_(group), backend_(backend) {}

  // Settles which sizes are run. Returns the exit status of a run that cannot be, for all ranks;
  // rank 0 has said why. kExitHealthy if the run may go on.
  [[nodiscard]] Result<int> prepare();
  // Runs all sizes. What was measured is with rank 0's reporter afterwards.
  [[nodiscard]] Result<void> run();

 private:
  [[nodiscard]] Failure first_refusal(const std::vector<std::string>& refusals) const;
  // How many iterations in a row are one mean.
  [[nodiscard]] std::size_t shared() const;
  // How long the sizes from this place on will take, judged by the one before, as "about 40 s
  // left"; empty where that cannot be told.
  [[nodiscard]] std::string time_left(std::size_t next) const;
  [[nodiscard]] Result<void> run_sizes(OperationTimer& timer);
  // Rank 0's word, for all.
  [[nodiscard]] Result<bool> goes_on(int cycles, Clock::time_point begin);
  // A row for each variant of the command, or of the first one alone.
  [[nodiscard]] Result<void> run_size(OperationTimer& timer,
                                      std::uint64_t size,
                                      bool first = false);
  [[nodiscard]] Result<void> run_variant(OperationTimer& timer,
                                         std::vector<Operation> operations,
                                         std::uint64_t size);
  [[nodiscard]] Result<void> time_into(OperationTimer& timer, const Operation& operation, Row& row);
  // For somebody at a terminal a line says every second how far it is.
  [[nodiscard]] Result<Measured> run_shown(OperationTimer& timer, const Operation& operation);
  [[nodiscard]] Result<void> gather_transport();
  [[nodiscard]] Result<void> repeat(OperationTimer& timer);

  RankContext& self_;
  const BenchCommand& command_;
  Group& group_;
  Backend& backend_;
  std::vector<std::uint64_t> sizes_;
  // Every placement of the largest size, of each type and reduction; the judged one first.
  std::vector<std::vector<Operation>> largest_;
  Clock::duration last_{};  // what the size before this one took
  std::string left_;        // as time_left tells it
};

}  // namespace muster::bench
