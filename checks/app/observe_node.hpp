// SPDX-License-Identifier: Apache-2.0
// One observation of this node, or of the tree that stands in for it, with the profile found on the
// way; and recorded ones.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/quantity.hpp"
#include "lib/base/root.hpp"
#include "lib/choice/choice.hpp"
#include "lib/command/supervise.hpp"
#include "lib/node/snapshot.hpp"
#include "lib/probes/probes.hpp"

namespace muster::app {

struct ObservationRequest {
  std::string profile;  // empty: the site or the hardware tells
  std::vector<std::string> settings;
  std::string root = "/";
  std::string nvml;   // a library; empty for the driver's
  std::string state;  // folder; empty for the usual one
  std::string context = "manual";
  std::optional<Seconds> deadline;
  // Which probes to run by the profile, or, with null while it is not known yet, all that it may
  // want.
  std::function<ProbeSet(const Profile*)> probes;
  NvmlParts parts = NvmlParts::all();  // what to ask GPUs for, if they are observed at all
};

// The host's own root for "/", else the tree below `path`.
[[nodiscard]] Result<Root> open_root(const std::string& path);

struct ObservedNode {
  Snapshot snapshot;
  Choice choice;
  std::optional<std::filesystem::path> state_file;
};

// What a profile asks the probes to look for.
[[nodiscard]] Wanted wanted_of(const Profile& profile);

// `deadline` is moved to the context's, where the command line does not say one.
[[nodiscard]] Attempt<ObservedNode> observe_node(
    const ObservationRequest& request, const std::map<std::string, std::string>& variables,
    Clock::time_point started, Deadline& deadline);

inline constexpr std::string_view kStandardInput = "-";  // in place of a recorded node's file

// The files that were named, and the *.json of directories, which are sorted.
[[nodiscard]] Result<std::vector<std::string>> snapshot_files(
    const std::vector<std::string>& named);
[[nodiscard]] Result<Snapshot> read_snapshot(const std::string& file);
// Reads a snapshot from an open file; `name` is for errors.
[[nodiscard]] Result<Snapshot> read_snapshot(int descriptor, std::string_view name);

// How long a run may take before a profile has said so.
inline constexpr std::chrono::seconds kDefaultDeadline{20};

}  // namespace muster::app
