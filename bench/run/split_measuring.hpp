// SPDX-License-Identifier: Apache-2.0
// The middle of a run with --split: the parts of the job measure, all at once or one after the
// other, and rank 0 gathers what each of them reached.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "bench/backends/backend.hpp"
#include "bench/group/group.hpp"
#include "bench/results/split_results.hpp"
#include "bench/run/rank_context.hpp"
#include "bench/run/split.hpp"

namespace muster::bench {

class SplitMeasuring {
 public:
  // A part whose ranks this process does: one, or all of them in a model.
  struct Own {
    std::size_t part = 0;
    std::unique_ptr<Backend> backend;
  };

  // All must live longer.
  SplitMeasuring(RankContext& self,
                 Group& group,
                 const std::vector<RankPart>& parts,
                 const std::vector<Own>& own)
      : self_(self), group_(group), parts_(parts), own_(own) {}

  // Settles which sizes are run. Returns the exit status of a run that cannot be, for all ranks;
  // rank 0 has said why. kExitHealthy if the run may go on.
  [[nodiscard]] Result<int> prepare();
  // Runs all sizes. What was measured is with rank 0's reporter afterwards.
  [[nodiscard]] Result<void> run();

 private:
  [[nodiscard]] Result<void> run_size(std::uint64_t size);
  // Those of these parts measure; the others wait. A batch of each own part.
  [[nodiscard]] Result<std::vector<Batch>> measure(const Operation& operation,
                                                   const std::vector<std::size_t>& active);
  [[nodiscard]] Result<void> gather_into(const Operation& operation,
                                         const std::vector<Batch>& batches,
                                         std::vector<Row>& rows);

  RankContext& self_;
  Group& group_;
  const std::vector<RankPart>& parts_;
  const std::vector<Own>& own_;
  std::vector<std::uint64_t> sizes_;
  std::vector<Operation> largest_;  // every placement of the largest size
  std::shared_ptr<Progress> progress_ = std::make_shared<Progress>();
};

}  // namespace muster::bench
