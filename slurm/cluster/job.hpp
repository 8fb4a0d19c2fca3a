// SPDX-License-Identifier: Apache-2.0
// What Slurm knows about one job, and a word to whoever waits for it.
#pragma once

#include <string>
#include <string_view>

#include "slurm/cluster/call.hpp"
#include "slurm/cluster/controller.hpp"

namespace muster::slurm {

struct Job {
  bool batch = false;    // of sbatch, and not of srun or salloc
  bool requeue = false;  // it may be put back into the queue
  std::string name;
  std::string array_job, array_task;  // empty: none of an array
  std::string host;                   // the node on which the batch script runs

  bool operator==(const Job&) const = default;
};

// `text` is what `scontrol show job` says of one job or of several.
[[nodiscard]] Result<Job> parse_job(std::string_view text, std::string_view id);

[[nodiscard]] Result<Job> ask_job(const Installation& installation, const std::string& id,
                                  const CallLimits& limits);

// Writes `line` to standard error of the srun or salloc that waits for the job.
[[nodiscard]] Result<void> notify_job(const Installation& installation, const std::string& id,
                                      const std::string& line, const CallLimits& limits);

}  // namespace muster::slurm
