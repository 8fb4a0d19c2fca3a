// SPDX-License-Identifier: Apache-2.0
// Which processes on GPUs are the system's own: monitors, and what shares GPUs between programs.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "checks/shared/support.hpp"
#include "lib/base/text.hpp"
#include "lib/node/gpu.hpp"

namespace muster::checks::gpu {

// Whether the process is allowed, by its command, of which the kernel keeps 15 characters. A user
// can give his process any name, so those of jobs are not allowed, nor those of users outside the
// system's units. The server of MPS runs in such a unit, as its user.
[[nodiscard]] inline bool is_allowed(const std::vector<std::string>& allowed,
                                     const GpuProcess& process) {
  constexpr std::size_t kLongest = 15;
  const std::string& name = process.name;
  if (!process.job.empty()) return false;
  // A unit that root started. Slurm's own may hold what a job started.
  const bool of_system_unit = !process.unit.empty() && !process.unit.starts_with("slurm");
  if (process.user && is_of_users(*process.user) && !of_system_unit) return false;
  return std::ranges::any_of(allowed, [&](const std::string& glob) {
    return matches_glob(glob, name) ||
           (name.size() == kLongest && matches_glob(glob.substr(0, kLongest), name));
  });
}

}  // namespace muster::checks::gpu
