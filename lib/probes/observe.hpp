// SPDX-License-Identifier: Apache-2.0
// Runs probes side by side, each in a child with a deadline, and puts their sections together.
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

// What a run wants to see, once its profile is known.
struct Plan {
  ProbeSet probes;             // whichever of them does not run yet is started
  Clock::time_point deadline;  // nothing is waited for beyond it
  Wanted wanted;
};

// Asked once. It returns nothing where the run cannot go on: then no more is observed.
using Planner = std::function<std::optional<Plan>(const Snapshot&)>;

struct ObserveOptions {
  bool recognise = false;             // whether the plan needs to see the hardware
  ProbeSet probes = ProbeSet::all();  // what may be wanted, before there is a plan
  Clock::time_point deadline;         // until the plan names another
  NvmlOptions nvml;
  OnRequest on_request = {};
  std::optional<std::filesystem::path> state_file;  // earlier runs; none: rates start afresh
  std::map<std::string, std::string> variables;     // the environment
  std::function<void()> meanwhile = {};             // done while the first probes run
};

// Where the hardware has to tell the profile, everything that may be wanted and needs no profile
// starts at once, and `planner` is asked as soon as identity, cpu, memory, pci and infiniband have
// answered; `meanwhile` is the time to prepare for that. Else `planner` is asked at once, while the
// first probes already run.
[[nodiscard]] Snapshot observe(const Root& root, const ObserveOptions& options,
                               const Planner& planner);

}  // namespace muster
