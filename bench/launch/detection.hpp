// SPDX-License-Identifier: Apache-2.0
// Detects each launcher by its environment variables, independently of the others.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bench/launch/environment.hpp"
#include "bench/launch/place.hpp"
#include "lib/base/result.hpp"

namespace muster::bench {

struct Detection {
  Launcher launcher = Launcher::alone;
  std::string seen;                       // "RANK=1 of WORLD_SIZE=2"; empty if nothing is set
  std::vector<std::string_view> missing;  // required variables that are not set
  std::string unsuited;                   // why it is not the launcher although all are set
  Result<Place> place{Place{}};           // valid if nothing is missing

  [[nodiscard]] bool suited() const { return !seen.empty() && missing.empty() && unsuited.empty(); }
};

[[nodiscard]] Detection detect_torchrun(const Environment& environment, const LaunchFlags& flags);
[[nodiscard]] Detection detect_open_mpi(const Environment& environment, const LaunchFlags& flags);
[[nodiscard]] Detection detect_hydra(const Environment& environment, const LaunchFlags& flags);
[[nodiscard]] Detection detect_pmix(const Environment& environment, const LaunchFlags& flags);
[[nodiscard]] Detection detect_slurm(const Environment& environment, const LaunchFlags& flags);
[[nodiscard]] Detection detect_tf_config(const Environment& environment, const LaunchFlags& flags);

// The tasks of each node in Slurm's notation: "2(x3),1" is 2, 2, 2, 1. At most 65536 nodes.
[[nodiscard]] Result<std::vector<int>> parse_tasks_per_node(std::string_view text);

}  // namespace muster::bench
