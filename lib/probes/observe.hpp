// SPDX-License-Identifier: Apache-2.0
// Runs probes concurrently, each in a child with a deadline, and collects their sections.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "lib/base/clock.hpp"
#include "lib/base/root.hpp"
#include "lib/node/snapshot.hpp"
#include "lib/probes/probes.hpp"

namespace muster {

// The facts that a run needs, once its profile is known.
struct Plan {
  ProbeSet probes;             // those that do not run yet are started
  Clock::time_point deadline;  // of the whole observation
  Wanted wanted;
};

// Called once. If it returns nothing, the observation ends.
using Planner = std::function<std::optional<Plan>(const Snapshot&)>;

struct ObserveOptions {
  bool recognise = false;             // whether the plan depends on the hardware
  ProbeSet probes = ProbeSet::all();  // those that the plan may want
  Clock::time_point deadline;         // until there is a plan
  NvmlOptions nvml;
  bool link_errors = false;  // query the firmware of each HCA for them
  std::optional<std::filesystem::path>
      state_file;                                // of earlier runs; without it there are no rates
  std::map<std::string, std::string> variables;  // the environment
  std::function<void()> meanwhile = {};          // called while the first probes run
  // Called in the child of each probe, which then observes the root directory of its process.
  std::function<Result<void>()> enter = {};
};

// With `recognise`, all probes that do not depend on the profile start at once, and `planner` is
// called when identity, cpu, memory, pci and infiniband have answered. Otherwise it is called at
// once, while the first probes already run.
[[nodiscard]] Snapshot observe(const Root& root, const ObserveOptions& options,
                               const Planner& planner);

}  // namespace muster
