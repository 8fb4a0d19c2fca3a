// SPDX-License-Identifier: Apache-2.0
// Slurm's own record of nodes and jobs, from slurmdbd: sacctmgr and sacct.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fleet/importer.hpp"
#include "lib/base/result.hpp"

namespace muster::fleet {

// Runs one of Slurm's programs and returns its output; times are printed as Unix times.
using CallSlurm =
    std::function<Result<std::string>(std::string_view program, std::vector<std::string> words)>;

// A period in which a node was out of service.
struct SlurmOutage {
  std::string node;
  std::int64_t started = 0;
  std::optional<std::int64_t> ended;
  std::string state, who, reason;

  bool operator==(const SlurmOutage&) const = default;
};

struct SlurmJob {
  std::string job;
  std::vector<std::string> nodes;
  std::int64_t started = 0;
  std::optional<std::int64_t> ended;
  std::string state, exit_code;

  bool operator==(const SlurmJob&) const = default;
};

inline constexpr std::string_view kOutageFormat = "NodeName,Start,End,State,User,Reason";
inline constexpr std::string_view kJobFormat = "JobIDRaw,Start,End,State,ExitCode,NodeList";

// Parse the outputs of `sacctmgr -nP show event` and `sacct -nPX` in these formats.
[[nodiscard]] Result<std::vector<SlurmOutage>> parse_outages(std::string_view text);
[[nodiscard]] Result<std::vector<SlurmJob>> parse_jobs(std::string_view text);

struct SlurmCounts {
  std::uint64_t outages = 0, jobs = 0;
};

// Imports outages and jobs since `since`. Returns an error if Slurm has no accounting.
[[nodiscard]] Result<SlurmCounts> import_slurm(Database& database, Importer& importer,
                                               std::int64_t since, const CallSlurm& call);

}  // namespace muster::fleet
