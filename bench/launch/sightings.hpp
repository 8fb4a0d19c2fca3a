// SPDX-License-Identifier: Apache-2.0
// What each launcher leaves in the environment, read as if it alone were there.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bench/launch/environment.hpp"
#include "bench/launch/place.hpp"
#include "lib/base/result.hpp"

namespace muster::bench {

struct Sighting {
  Launcher launcher = Launcher::alone;
  std::string seen;                       // "RANK=1 of WORLD_SIZE=2"; empty: nothing of it is set
  std::vector<std::string_view> missing;  // variables that it needs and that are not set
  std::string unsuited;                   // why this did not start the process though all is set
  Result<Place> place{Place{}};           // only where nothing is missing

  [[nodiscard]] bool suited() const { return !seen.empty() && missing.empty() && unsuited.empty(); }
};

[[nodiscard]] Sighting see_torchrun(const Environment& environment, const LaunchFlags& flags);
[[nodiscard]] Sighting see_open_mpi(const Environment& environment, const LaunchFlags& flags);
[[nodiscard]] Sighting see_hydra(const Environment& environment, const LaunchFlags& flags);
[[nodiscard]] Sighting see_pmix(const Environment& environment, const LaunchFlags& flags);
[[nodiscard]] Sighting see_slurm(const Environment& environment, const LaunchFlags& flags);
[[nodiscard]] Sighting see_tf_config(const Environment& environment, const LaunchFlags& flags);

// Tasks of each node as Slurm states them: "2(x3),1" gives 2, 2, 2, 1. At most 65536 nodes.
[[nodiscard]] Result<std::vector<int>> parse_tasks_per_node(std::string_view text);

}  // namespace muster::bench
