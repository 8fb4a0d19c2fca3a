// SPDX-License-Identifier: Apache-2.0
// `muster snapshot`: observe everything and judge nothing.
#include "lib/node/snapshot.hpp"

#include <fmt/format.h>

#include "checks/app/commands.hpp"
#include "checks/app/describe.hpp"
#include "checks/app/examine.hpp"
#include "lib/report/report.hpp"

namespace muster::app {

int run_snapshot(const SnapshotCommand& command, const Caller& caller, Deadline& deadline) {
  if (command.describe) return deliver(caller, command.output, describe_snapshot(), 0);
  const Errand errand{.profile = command.profile,
                      .settings = {},
                      .root = command.root,
                      .nvml = command.nvml,
                      .state = command.state,
                      .context = command.context,
                      .deadline = command.deadline,
                      .probes = [](const Profile* /*known*/) { return ProbeSet::all(); }};
  const auto examined = examine(errand, caller.variables, caller.started, deadline);
  if (!examined) return fail(caller, examined.error());
  const auto text = fmt::format("{}\n", to_json(examined->snapshot));
  return deliver(caller, command.output, text, kExitHealthy, kSnapshotMode);
}

}  // namespace muster::app
