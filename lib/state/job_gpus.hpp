// SPDX-License-Identifier: Apache-2.0
// Which GPUs the Slurm job of a prolog or an epilog holds. What happens on the others of a node
// that jobs share is not this job's affair.
#pragma once

#include <map>
#include <string>

#include "lib/node/snapshot.hpp"

namespace muster {

enum class Held {
  yes,
  no,
  perhaps,  // Slurm does not say for sure, which is no reason to take a node out
};

struct JobGpus {
  std::string job;                // "4242"; empty where no job is concerned: all GPUs are judged
  std::string doubt;              // what Slurm did say, for those that are held perhaps
  std::map<unsigned, Held> held;  // by Gpu::index

  [[nodiscard]] Held of(const Gpu& gpu) const {
    const auto found = held.find(gpu.index);
    return found == held.end() ? Held::perhaps : found->second;
  }
};

[[nodiscard]] JobGpus find_job_gpus(const Snapshot& snapshot);

}  // namespace muster
