// SPDX-License-Identifier: Apache-2.0
// Selects the limit of a profile that applies to a job over several nodes.
#pragma once

#include <span>
#include <string_view>

#include "lib/profile/limits/bench.hpp"

namespace muster {

// The properties of a job that decide which limit applies.
struct JobConditions {
  int nodes = 2;
  BenchMemory memory = BenchMemory::gpu;
  bool one_domain = false;       // the nodes are in one NVLink domain that NCCL may use
  std::string_view over{};       // the network that NCCL used: nvlink, infiniband; empty if unknown
  std::string_view algorithm{};  // a profile's word for NCCL's algorithm; empty if unknown
};

// Whether the limit is for this number of nodes and this memory; GPU memory if it names none.
[[nodiscard]] bool may_hold(const JobLimit& limit, const JobConditions& job);

// Whether the limit is for this algorithm, or for any.
[[nodiscard]] bool fits_algorithm(const JobLimit& limit, std::string_view algorithm);

// Returns the limit that holds for the job; null if none does. In one NVLink domain only a limit
// over NVLink holds, if there is one; if the network is unknown, no limit over NVLink does.
// Prefers a limit for the job's algorithm, then one for any, then the one for the most nodes, then
// the lowest. If all are for other algorithms, returns the lowest. `failing`: ignores limits that
// fail no job.
[[nodiscard]] const JobLimit* limit_of_job(std::span<const JobLimit> limits,
                                           const JobConditions& job, bool failing = false);

}  // namespace muster
