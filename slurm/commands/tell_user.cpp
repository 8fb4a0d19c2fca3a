// SPDX-License-Identifier: Apache-2.0
#include "slurm/commands/tell_user.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "slurm/cluster/job.hpp"
#include "slurm/commands/job_output.hpp"

namespace muster::app {
namespace {

// What is true of a job whose prolog fails.
std::string_view outcome(const HeldJob& held, const std::optional<slurm::Job>& job) {
  if (held.starts) return "the node stays in service all the same";
  if (!job) {
    return "it starts again elsewhere where requeueing is allowed (sbatch --requeue), else it ends";
  }
  if (!job->batch) return "the job ends here: start it again";
  if (job->requeue) return "the job goes back into the queue";
  return "the job ends here, since it may not be requeued (sbatch --requeue)";
}

}  // namespace

Result<void> tell_user(const HeldJob& held, const slurm::Rules& rules, const Variables& variables,
                       Clock::time_point end) {
  const auto id = variables.find("SLURM_JOB_ID");
  if (id == variables.end()) return {};
  const auto installation = slurm::find_installation(rules, variables);
  // Half of the time is for writing.
  const auto now = Clock::now();
  const slurm::CallLimits limits{.deadline = std::max(Clock::duration(0), (end - now) / 2),
                                 .end = end};
  std::optional<slurm::Job> job;
  if (installation) {
    if (auto asked = slurm::ask_job(*installation, id->second, limits)) job = *std::move(asked);
  }
  const auto line = fmt::format("muster: node {} is not fit for this job: {}; {}", held.node,
                                held.what, outcome(held, job));
  if (job && !job->batch) return slurm::notify_job(*installation, id->second, line, limits);
  TRY_ASSIGN(const auto file, output_file(variables, job, held.node));
  return append_to_job_output(file, variables, line + "\n", end);
}

}  // namespace muster::app
