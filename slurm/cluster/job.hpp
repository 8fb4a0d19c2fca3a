// SPDX-License-Identifier: Apache-2.0
// One job in Slurm, and a message to its user.
#pragma once

#include <string>
#include <string_view>

#include "slurm/cluster/call.hpp"
#include "slurm/cluster/controller.hpp"

namespace muster::slurm {

struct Job {
  bool batch = false;    // from sbatch, not from srun or salloc
  bool requeue = false;  // it may go back into the queue

  bool operator==(const Job&) const = default;
};

// `text` is the output of `scontrol show job` for one job or for several.
[[nodiscard]] Result<Job> parse_job(std::string_view text, std::string_view id);

[[nodiscard]] Result<Job> ask_job(const Installation& installation, const std::string& id,
                                  const CallLimits& limits);

// Writes `line` to the standard error of the srun or salloc that waits for the job.
[[nodiscard]] Result<void> notify_job(const Installation& installation, const std::string& id,
                                      const std::string& line, const CallLimits& limits);

// Puts `line` into the job's AdminComment, which its user sees in `scontrol show job`.
[[nodiscard]] Result<void> comment_job(const Installation& installation, const std::string& id,
                                       const std::string& line, const CallLimits& limits);

}  // namespace muster::slurm
