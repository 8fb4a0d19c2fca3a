// SPDX-License-Identifier: Apache-2.0
// Slurm's queue: submits the jobs of sweeps, and lists earlier ones.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.hpp"
#include "slurm/cluster/controller.hpp"
#include "slurm/cluster/node_state.hpp"
#include "slurm/cluster/programs.hpp"

namespace muster::slurm {

struct QueuedJob {
  std::string job;
  std::string state;          // as squeue writes it: "PENDING"
  std::optional<Time> ended;  // or when it will end, by its time limit
  std::string comment;

  bool operator==(const QueuedJob&) const = default;
};

// A job in an unknown state may still run.
[[nodiscard]] bool is_over(const QueuedJob& job);

// Whether sbatch, or another of Slurm's programs, refused the request, which then has no effect.
// After a failed connection or a timeout it may still take effect.
[[nodiscard]] bool is_refusal(const Error& error, std::string_view program = "sbatch");

// The number of jobs of all users that hold the node now.
[[nodiscard]] Result<std::size_t> jobs_on(const Installation& installation, std::string_view node,
                                          const CallLimits& limits);

class Queue {
 public:
  Queue() = default;
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;
  virtual ~Queue() = default;

  // All jobs of this user and with these names, including those that ended a few minutes ago.
  [[nodiscard]] virtual Result<std::vector<QueuedJob>> jobs(
      const std::vector<std::string>& names) = 0;
  // The number of the submitted job. Even after an error, Slurm may have it.
  [[nodiscard]] virtual Result<std::string> submit(
      const std::vector<std::string>& arguments,
      const std::map<std::string, std::string>& environment) = 0;
};

// The format for `squeue -h -o`.
inline constexpr std::string_view kSqueueFormat = "%A|%T|%e|%k";
[[nodiscard]] Result<std::vector<QueuedJob>> parse_squeue(std::string_view text);

// An error names a program that is missing.
[[nodiscard]] Result<std::unique_ptr<Queue>> make_queue(Installation installation,
                                                        const CallLimits& limits);

}  // namespace muster::slurm
