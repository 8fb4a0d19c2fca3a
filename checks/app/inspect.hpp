// SPDX-License-Identifier: Apache-2.0
// This node observed and judged: what `muster check` prints and what hooks act upon; and which
// rules it is judged by, the context's checks or the lines of NHC's configuration.
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

// Whether --nhc-conf names a folder with one file for each size of a cloud.
[[nodiscard]] bool nhc_conf_by_size(const CheckCommand& command);

// The file that --nhc-conf names, or in a folder the one for this size; nothing without that
// option. One that cannot be read is bad configuration.
[[nodiscard]] Attempt<std::optional<nhc::Config>> nhc_conf_of(const CheckCommand& command,
                                                              const Fact<std::string>& size = {});

// Judges by the lines of NHC's configuration where there are any, else by the context's checks.
[[nodiscard]] Report judge_as_asked(const CheckCommand& command,
                                    const std::optional<nhc::Config>& config,
                                    const Snapshot& snapshot, const Profile& profile,
                                    const nhc::Measured& measured = {});

struct Inspected {
  Report report;
  ObservedNode observed;
  std::optional<nhc::Config> lines;  // in place of the context's checks
};

[[nodiscard]] Attempt<Inspected> inspect(const CheckCommand& command, const Caller& caller,
                                         Deadline& deadline);

// Judges the node as one that was drained for `check`: that check runs whatever the context leaves
// out, and since nobody works on the node, it is judged as strictly as after a job.
[[nodiscard]] Report judge_drained(const Inspected& inspected, const std::string& context,
                                   const std::string& check);

// The report as the command line asks for it. In a `stream` of reports each JSON document takes one
// line.
[[nodiscard]] std::string render(const Report& report, const CheckCommand& command,
                                 const Console& console, bool stream);

// Writes the state file. Gives up, with a warning, after two seconds or just before the deadline.
void remember(const ObservedNode& observed, const Caller& caller, Deadline& deadline);

}  // namespace muster::app
