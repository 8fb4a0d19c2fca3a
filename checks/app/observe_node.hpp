// SPDX-License-Identifier: Apache-2.0
// Observes this node, or a tree below --root, and chooses its profile; and reads snapshots.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/quantity.hpp"
#include "lib/base/root.hpp"
#include "lib/command/supervise.hpp"
#include "lib/node/snapshot.hpp"
#include "lib/probes/probes.hpp"
#include "lib/profile/choice.hpp"

namespace muster::app {

struct ObservationRequest {
  std::string profile;  // empty: the site's, or by hardware
  std::vector<std::string> settings;
  std::string root = "/";
  std::string nvml;   // a library; empty for the driver's
  std::string state;  // folder; empty for the usual one
  std::string context = "manual";
  std::optional<Seconds> deadline;
  // Returns the probes to run for a profile; for null, those that any profile may need.
  std::function<ProbeSet(const Profile*)> probes;
  NvmlParts parts = NvmlParts::all();  // what to query of GPUs
};

// Opens the host's own root for "/", else the tree below `path`.
[[nodiscard]] Result<Root> open_root(const std::string& path);

struct ObservedNode {
  Snapshot snapshot;
  Choice choice;
  std::optional<std::filesystem::path> state_file;
};

// Returns what the probes look for under this profile.
[[nodiscard]] Wanted wanted_of(const Profile& profile);

// Moves `deadline` to the one of the context, unless the command line sets one.
[[nodiscard]] Attempt<ObservedNode> observe_node(
    const ObservationRequest& request, const std::map<std::string, std::string>& variables,
    Clock::time_point started, Deadline& deadline);

inline constexpr std::string_view kStandardInput = "-";  // instead of the file of a snapshot

// Returns the named files, and the *.json of named directories in order.
[[nodiscard]] Result<std::vector<std::string>> snapshot_files(
    const std::vector<std::string>& named);
[[nodiscard]] Result<Snapshot> read_snapshot(const std::string& file);
// Reads a snapshot from an open file; `name` is for errors.
[[nodiscard]] Result<Snapshot> read_snapshot(int descriptor, std::string_view name);

// The deadline until the profile is known.
inline constexpr std::chrono::seconds kDefaultDeadline{20};

}  // namespace muster::app
