// SPDX-License-Identifier: Apache-2.0
// `muster snapshot`: observe everything and judge nothing.
#include "lib/node/snapshot.hpp"

#include <fmt/format.h>

#include "checks/app/commands.hpp"
#include "checks/app/observe_node.hpp"
#include "lib/report/report.hpp"

namespace muster::app {

int run_snapshot(const SnapshotCommand& command, const Caller& caller, Deadline& deadline) {
  if (command.describe) return deliver(caller, command.output, describe_snapshot(), 0);
  const ObservationRequest request{
      .profile = command.profile,
      .settings = {},
      .root = command.root,
      .nvml = command.nvml,
      .state = command.state,
      .context = command.context,
      .deadline = command.deadline,
      .probes = [](const Profile* /*known*/) { return ProbeSet::all(); }};
  const auto observed = observe_node(request, caller.variables, caller.started, deadline);
  if (!observed) return fail(caller, observed.error());
  const auto text = fmt::format("{}\n", to_json(observed->snapshot));
  return deliver(caller, command.output, text, kExitHealthy, kSnapshotMode);
}

}  // namespace muster::app
