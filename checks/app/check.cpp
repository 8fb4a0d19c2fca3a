// SPDX-License-Identifier: Apache-2.0
// `muster check`: inspect, report, remember.
#include <string>

#include "checks/app/commands.hpp"
#include "checks/app/inspect.hpp"
#include "checks/app/rendering.hpp"

namespace muster::app {
namespace {

// The verdict is what the run is for: a snapshot that cannot be kept costs a healthy one only.
int save(const CheckCommand& command, const Caller& caller, const Snapshot& snapshot, int status) {
  if (command.save_snapshot.empty()) return status;
  const auto text = to_json(snapshot);
  const int saved = deliver(caller, command.save_snapshot, text, kExitHealthy, kSnapshotMode);
  return status == kExitHealthy ? saved : status;
}

}  // namespace

int run_check(const CheckCommand& command, const Caller& caller, Deadline& deadline) {
  const auto inspected = inspect(command, caller, deadline);
  if (!inspected) return fail(caller, inspected.error());
  const auto& report = inspected->report;
  const auto text = render(report, command, caller.console, false);
  const int status = deliver(caller, command.output, text, exit_status(report.verdict));
  const int saved = save(command, caller, inspected->observed.snapshot, status);
  remember(inspected->observed, caller, deadline);
  return saved;
}

}  // namespace muster::app
