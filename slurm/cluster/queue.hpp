// SPDX-License-Identifier: Apache-2.0
// Slurm's queue of jobs, as far as a sweep has to do with it: submitting a job, and what became of
// those of before.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.hpp"
#include "slurm/cluster/call.hpp"
#include "slurm/cluster/controller.hpp"
#include "slurm/cluster/node_state.hpp"

namespace muster::slurm {

struct QueuedJob {
  std::string job;
  std::string state;          // as squeue writes it: "PENDING"
  std::optional<Time> ended;  // or when it will have, by its time limit
  std::string comment;

  bool operator==(const QueuedJob&) const = default;
};

// A word that is not known is taken for a job that may still run.
[[nodiscard]] bool is_over(const QueuedJob& job);

// Whether sbatch said no, so that there is no job. Where it could not talk to slurmctld, or did not
// end, there may be one.
[[nodiscard]] bool is_refusal(const Error& error);

class Queue {
 public:
  Queue() = default;
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;
  virtual ~Queue() = default;

  // All jobs of this user and of these names that Slurm remembers, those that ended a few minutes
  // ago among them.
  [[nodiscard]] virtual Result<std::vector<QueuedJob>> jobs(
      const std::vector<std::string>& names) = 0;
  // The number of the job that sbatch submitted. After an error Slurm may have it all the same.
  [[nodiscard]] virtual Result<std::string> submit(
      const std::vector<std::string>& arguments,
      const std::map<std::string, std::string>& environment) = 0;
};

// What `squeue -h -o kSqueueFormat` writes.
inline constexpr std::string_view kSqueueFormat = "%A|%T|%e|%k";
[[nodiscard]] Result<std::vector<QueuedJob>> parse_squeue(std::string_view text);

// An error names a program that is not there.
[[nodiscard]] Result<std::unique_ptr<Queue>> make_queue(Installation installation,
                                                        const CallLimits& limits);

}  // namespace muster::slurm
