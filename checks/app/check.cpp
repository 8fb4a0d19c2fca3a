// SPDX-License-Identifier: Apache-2.0
// `muster check`: observes and judges this node, prints the report and keeps the state.
#include <fmt/format.h>
#include <unistd.h>

#include <string>

#include "checks/app/commands.hpp"
#include "checks/app/inspect.hpp"

namespace muster::app {
namespace {

// A snapshot that cannot be saved changes only a healthy status.
int save(const CheckCommand& command, const Caller& caller, const Snapshot& snapshot, int status) {
  if (command.save_snapshot.empty()) return status;
  const auto text = to_json(snapshot);
  const int saved = deliver(caller, command.save_snapshot, text, kExitHealthy, kSnapshotMode);
  return status == kExitHealthy ? saved : status;
}

// The first probe or check without permission; empty if all had it.
std::string not_allowed(const Report& report) {
  const auto denied = [](const std::string& reason) {
    return reason.find("Permission denied") != std::string::npos ||
           reason.find("Operation not permitted") != std::string::npos;
  };
  for (const auto& probe : report.probes) {
    if (denied(probe.reason)) return probe.name;
  }
  for (const auto& finding : report.findings) {
    if (finding.outcome != Outcome::pass && denied(finding.message)) return finding.check;
  }
  return "";
}

// An ordinary user sees less of the node.
void suggest_root(const CheckCommand& command, const Caller& caller, const Report& report) {
  if (::geteuid() == 0 || command.root != "/") return;
  const auto which = not_allowed(report);
  if (which.empty()) return;
  caller.console.note(
      fmt::format("muster: run as root: an ordinary user cannot read everything (see {})", which));
}

}  // namespace

int run_check(const CheckCommand& command, const Caller& caller, Deadline& deadline) {
  const auto inspected = inspect(command, caller, deadline);
  if (!inspected) return fail(caller, inspected.error());
  const auto& report = inspected->report;
  suggest_root(command, caller, report);
  const auto text = render(report, command, caller.console, false);
  const int status = deliver(caller, command.output, text, exit_status(report.verdict));
  const int saved = save(command, caller, inspected->observed.snapshot, status);
  remember(inspected->observed, caller, deadline);
  return saved;
}

}  // namespace muster::app
