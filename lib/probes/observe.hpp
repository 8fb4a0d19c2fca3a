// SPDX-License-Identifier: Apache-2.0
// Runs probes side by side, each in a child with a deadline, and puts their sections together.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "lib/base/child.hpp"
#include "lib/base/root.hpp"
#include "lib/node/snapshot.hpp"
#include "lib/probes/probes.hpp"

namespace muster {

struct ObserveOptions {
  ProbeSet probes = ProbeSet::all();
  Clock::time_point deadline;                       // nothing is waited for beyond it
  std::optional<std::filesystem::path> state_file;  // earlier runs; none: rates start afresh
  std::map<std::string, std::string> variables;     // the environment
};

// `wanted` is called once, as soon as the sections that recognition needs (identity, cpu, memory,
// pci, infiniband) are there; the probes that depend on its answer start then.
[[nodiscard]] Snapshot observe(const Root& root,
                               const ObserveOptions& options,
                               const std::function<Wanted(const Snapshot&)>& wanted);

}  // namespace muster
