// SPDX-License-Identifier: Apache-2.0
// Observes this node or a tree below --root, chooses its profile, and judges it for `muster check`
// and the hooks: by the checks of the context, or by a configuration of NHC. Reads snapshots.
#pragma once

#include "checks/app/commands.hpp"
#include "checks/nhc_conf/judge.hpp"
#include "checks/run.hpp"
#include "lib/base/root.hpp"
#include "lib/node/snapshot.hpp"
#include "lib/probes/probes.hpp"
#include "lib/profile/choice.hpp"
#include "slurm/commands/hook.hpp"

namespace muster::app {

struct ObservationRequest {
  std::string profile;  // empty: the site's, or by hardware
  std::vector<std::string> settings;
  std::string root = "/";
  bool host = false;  // the host of this container
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

// Returns the named files, and the *.json of named directories in order.
[[nodiscard]] Result<std::vector<std::string>> snapshot_files(
    const std::vector<std::string>& named);
// Like parse_snapshot(), but errors name the file.
[[nodiscard]] Result<Snapshot> parse_saved(std::string_view text, std::string_view file);

// The deadline until the profile is known.
inline constexpr std::chrono::seconds kDefaultDeadline{20};

// Whether --nhc-conf names a folder with a file for each size of instance.
[[nodiscard]] bool nhc_conf_by_size(const CheckCommand& command);

// Reads the file of --nhc-conf, or the one for this size in a folder; nothing without the option.
// An unreadable file is bad configuration.
[[nodiscard]] Attempt<std::optional<nhc::Config>> nhc_conf_of(const CheckCommand& command,
                                                              const Fact<std::string>& size = {});

// Judges by the configuration of NHC if there is one, else by the checks of the context.
[[nodiscard]] Report judge_as_asked(const CheckCommand& command,
                                    const std::optional<nhc::Config>& config,
                                    const Snapshot& snapshot, const Profile& profile,
                                    const nhc::Measured& measured = {});

struct Inspected {
  Report report;
  ObservedNode observed;
  std::optional<nhc::Config> lines;  // of NHC, if they replace the checks of the context
};

[[nodiscard]] Attempt<Inspected> inspect(const CheckCommand& command, const Caller& caller,
                                         Deadline& deadline);

// Judges a node that was drained for `check`: runs that check even if the context skips it, and is
// as strict as after a job, because no job is on the node.
[[nodiscard]] Report judge_drained(const Inspected& inspected, const std::string& context,
                                   const std::string& check);

// Renders the report as the command line asks. In a `stream` of reports, a JSON document takes one
// line.
[[nodiscard]] std::string render(const Report& report, const CheckCommand& command,
                                 const Console& console, bool stream);

// Writes the state file. Gives up with a warning after two seconds or just before the deadline.
void remember(const ObservedNode& observed, const Caller& caller, Deadline& deadline);

// Observes and judges this node for a hook. See CheckNode.
[[nodiscard]] Attempt<CheckedNode> check_node(const HookCommand& command,
                                              const std::string& drained_for, const Caller& caller,
                                              Deadline& deadline);

// Measures this node for a sweep. See SweepNode. An error below --root.
[[nodiscard]] Result<Report> sweep_node(const HookCommand& command, const std::string& level,
                                        const Caller& caller, Clock::time_point until);

}  // namespace muster::app
