// SPDX-License-Identifier: Apache-2.0
// Slurm's programs on this machine, each run directly and with a deadline, and what they report of
// Slurm's configuration and of one job.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/clock.hpp"
#include "lib/base/result.hpp"
#include "lib/process/startup.hpp"
#include "slurm/rules/rules.hpp"

namespace muster::slurm {

// Each call ends within `deadline`, and all calls by `end`.
struct CallLimits {
  Clock::duration deadline;
  Clock::time_point end;
};

// Slurm's programs and configuration on this machine.
struct Installation {
  std::filesystem::path scontrol, sinfo;
  std::filesystem::path sbatch, squeue;  // empty if they are not installed
  std::filesystem::path conf;            // exists; empty if the programs fetch it from a server
  std::map<std::string, std::string> environment;  // all that the programs get
  std::string memory;  // the node's field for its memory: Extra, Comment; or empty
};

// `variables` is the caller's environment. An error names what is missing and the key to set. If a
// slurm.conf is named, it must exist, because scontrol would hang without it. If none is named and
// there is none in the usual places, Slurm's programs look for a server themselves.
[[nodiscard]] Result<Installation> find_installation(const Rules& rules,
                                                     const Variables& variables);

// Returns its output, or an error with its own message. It runs with `environment` only.
[[nodiscard]] Result<std::string> call(const std::filesystem::path& program,
                                       std::vector<std::string> arguments,
                                       const std::map<std::string, std::string>& environment,
                                       const CallLimits& limits);
// Calls a program with the environment of the installation. The error is `missing` if Slurm has no
// configuration here.
[[nodiscard]] Result<std::string> call(const Installation& installation,
                                       const std::filesystem::path& program,
                                       std::vector<std::string> arguments,
                                       const CallLimits& limits);

// With a comma, a bracket or the word ALL in the name, Slurm would act on several nodes.
[[nodiscard]] Result<void> check_node_name(std::string_view node);

// Values by the names that scontrol uses; "(null)" becomes empty.
using Config = std::map<std::string, std::string>;

// The output of `scontrol show config`.
[[nodiscard]] Config parse_config(std::string_view text);
[[nodiscard]] Result<Config> ask_config(const Installation& installation, const CallLimits& limits);

// The output of `scontrol -a -o show WHAT...`: a partition or node a line.
[[nodiscard]] Result<std::vector<Config>> ask_records(const Installation& installation,
                                                      const std::vector<std::string>& what,
                                                      const CallLimits& limits);

// Each line for the user of a job begins with this.
inline constexpr std::string_view kForUser = "muster: node ";

struct Job {
  bool batch = false;        // from sbatch, not from srun or salloc
  bool requeue = false;      // it may go back into the queue
  bool has_comment = false;  // its AdminComment has other text than muster's

  bool operator==(const Job&) const = default;
};

// `text` is the output of `scontrol show job` for one job or for several.
[[nodiscard]] Result<Job> parse_job(std::string_view text, std::string_view id);

[[nodiscard]] Result<Job> ask_job(const Installation& installation, const std::string& id,
                                  const CallLimits& limits);

// Shows `line` to the job's user: on the standard error of the srun or salloc that waits for it, or
// in the AdminComment of a batch job, behind other text that it has.
[[nodiscard]] Result<void> tell_job(const Installation& installation, const std::string& id,
                                    const Job& job, const std::string& line,
                                    const CallLimits& limits);

}  // namespace muster::slurm
