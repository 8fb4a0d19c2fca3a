// SPDX-License-Identifier: Apache-2.0
// Observes and judges this node for `muster check` and the hooks, by the checks of the context or
// by a configuration of NHC.
#pragma once

#include <optional>
#include <string>

#include "checks/app/commands.hpp"
#include "checks/app/observe_node.hpp"
#include "checks/nhc_conf/benchmark.hpp"
#include "checks/nhc_conf/config.hpp"
#include "checks/run.hpp"
#include "lib/command/output.hpp"
#include "lib/report/report.hpp"

namespace muster::app {

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

}  // namespace muster::app
