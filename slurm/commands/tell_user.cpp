// SPDX-License-Identifier: Apache-2.0
#include "slurm/commands/tell_user.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "slurm/cluster/job.hpp"

namespace muster::app {
namespace {

// The end of the sentence: the fate of the job.
std::string_view outcome(const HeldJob& held, const slurm::Job& job) {
  if (held.starts) return "the node stays in service, and the job starts on it";
  if (!job.batch) return "the job ends here: start it again";
  if (job.requeue) return "the job goes back into the queue";
  return "the job ends here, because it may not be requeued (sbatch --requeue)";
}

}  // namespace

Result<void> tell_user(const HeldJob& held, const slurm::Rules& rules, const Variables& variables,
                       Clock::time_point end) {
  const auto id = value_of(variables, "SLURM_JOB_ID");
  if (id.empty()) return {};
  TRY_ASSIGN(const auto installation, slurm::find_installation(rules, variables));
  // Half of the time is for each of the two calls.
  const slurm::CallLimits limits{.deadline = std::max(Clock::duration(0), (end - Clock::now()) / 2),
                                 .end = end};
  TRY_ASSIGN(const auto job, slurm::ask_job(installation, id, limits));
  const auto line = fmt::format("muster: node {} is not fit for this job: {}; {}", held.node,
                                held.what, outcome(held, job));
  return job.batch ? slurm::comment_job(installation, id, line, limits)
                   : slurm::notify_job(installation, id, line, limits);
}

}  // namespace muster::app
