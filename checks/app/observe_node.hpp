// SPDX-License-Identifier: Apache-2.0
// One observation of this node, or of the tree that stands in for it, with the profile found on the
// way.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "checks/app/checked_profile.hpp"
#include "lib/base/quantity.hpp"
#include "lib/base/root.hpp"
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
  // What to observe, once the profile is known, and before that.
  std::function<ProbeSet(const Profile*)> probes;
  std::vector<std::string> files = {};     // to look for, beside those of the profile
  std::vector<std::string> contents = {};  // those of them to read
  OnRequest on_request = {};
  NvmlParts parts = NvmlParts::all();  // what to ask GPUs for, if they are observed at all
};

// The host's own root for "/", else the tree below `path`.
[[nodiscard]] Result<Root> open_root(const std::string& path);

struct ObservedNode {
  Snapshot snapshot;
  Choice choice;
  std::optional<std::filesystem::path> state_file;
};

// `deadline` is moved to the context's, where the command line does not say one.
[[nodiscard]] Attempt<ObservedNode> observe_node(
    const ObservationRequest& request,
    const std::map<std::string, std::string>& variables,
    Clock::time_point started,
    Deadline& deadline);

// How long a run may take before a profile has said so.
inline constexpr std::chrono::seconds kDefaultDeadline{20};

}  // namespace muster::app
