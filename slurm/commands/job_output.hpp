// SPDX-License-Identifier: Apache-2.0
// A message to the user whose job a prolog holds back, in that job's own output.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lib/base/clock.hpp"
#include "lib/base/result.hpp"
#include "lib/process/startup.hpp"
#include "slurm/cluster/job.hpp"

namespace muster::app {

struct OutputFile {
  std::string path;         // empty: the job has none
  bool may_create = false;  // Slurm would make it on this node, too
};

// The file that a batch job's output goes to, which SLURM_JOB_STDOUT or else Slurm's default names:
// patterns of sbatch are filled in. `job` is what Slurm says of it, if it was asked and answered;
// `node` is this one. An error where a pattern stands for what is not known.
[[nodiscard]] Result<OutputFile> output_file(const Variables& variables,
                                             const std::optional<slurm::Job>& job,
                                             std::string_view node);

// Appends `text` to `file` as the job's user and group (SLURM_JOB_UID, SLURM_JOB_GID), so that
// nothing is touched that the user may not write, and through no link. Does nothing where the file
// is none or no regular one. An error says what could not be done.
[[nodiscard]] Result<void> append_to_job_output(const OutputFile& file, const Variables& variables,
                                                std::string_view text, Clock::time_point deadline);

}  // namespace muster::app
