// SPDX-License-Identifier: Apache-2.0
// The GPUs of the Slurm job of a prolog or epilog. On a shared node the others do not concern it.
#pragma once

#include <map>
#include <string>

#include "lib/node/snapshot.hpp"

namespace muster {

enum class Held {
  yes,
  no,
  perhaps,  // not certain, so that the node must not be drained for it
};

struct JobGpus {
  std::string job;                // "4242"; empty without a job: then all GPUs are judged
  std::string doubt;              // Slurm's variables, to explain `perhaps`
  std::map<unsigned, Held> held;  // by Gpu::index

  [[nodiscard]] Held of(const Gpu& gpu) const {
    const auto found = held.find(gpu.index);
    return found == held.end() ? Held::perhaps : found->second;
  }
};

[[nodiscard]] JobGpus find_job_gpus(const Snapshot& snapshot);

}  // namespace muster
