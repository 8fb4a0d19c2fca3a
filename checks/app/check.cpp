// SPDX-License-Identifier: Apache-2.0
// `muster check`: observe, judge, report, remember.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "checks/app/commands.hpp"
#include "checks/app/examine.hpp"
#include "checks/app/inspect.hpp"
#include "checks/app/judging.hpp"
#include "checks/app/measure.hpp"
#include "checks/app/rendering.hpp"
#include "checks/nhc_conf/judge.hpp"
#include "checks/run.hpp"
#include "lib/command/version.hpp"
#include "lib/process/child.hpp"
#include "lib/profile/limits/gpu.hpp"
#include "lib/state/state.hpp"

namespace muster::app {
namespace {

using Lines = std::optional<nhc::Config>;

Selection observed_for(const CheckCommand& command) {
  auto selection = selection_of(command);
  selection.also = command.also;
  return selection;
}

// Before the profile is known, whatever it may run is observed; a snapshot that is kept is whole.
ProbeSet probes_for(const CheckCommand& command, const Lines& lines, const Profile* profile) {
  if (!command.save_snapshot.empty()) return ProbeSet::all();
  if (lines) return nhc::needs_of(*lines, command.active).probes;
  if (profile != nullptr) {
    return probes_needed(select_checks(*profile, observed_for(command)));
  }
  if (command.only.empty()) return ProbeSet::all();
  return probes_needed(select_checks(Profile{}, observed_for(command)));
}

// A profile may select less, and is not known yet when the GPUs are asked.
NvmlParts parts_for(const CheckCommand& command, const Lines& lines) {
  if (!command.save_snapshot.empty()) return NvmlParts::all();
  if (lines) return nhc::needs_of(*lines).parts;
  return parts_asked(select_checks(Profile{}, observed_for(command)));
}

double milliseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

// The verdict is what the run is for: a snapshot that cannot be kept costs a healthy one only.
int save(const CheckCommand& command, const Caller& caller, const Snapshot& snapshot, int status) {
  if (command.save_snapshot.empty()) return status;
  const auto text = to_json(snapshot);
  const int saved = deliver(caller, command.save_snapshot, text, kExitHealthy, kSnapshotMode);
  return status == kExitHealthy ? saved : status;
}

}  // namespace

Attempt<Inspected> inspect(const CheckCommand& command, const Caller& caller, Deadline& deadline) {
  const auto lines = nhc_conf_of(command);
  if (!lines) return tl::unexpected(lines.error());
  const Errand errand{
      .profile = command.profile,
      .settings = command.settings,
      .root = command.root,
      .nvml = command.nvml,
      .state = command.state,
      .context = command.context,
      .deadline = command.deadline,
      .probes = [&](const Profile* known) { return probes_for(command, *lines, known); },
      .files = *lines ? nhc::needs_of(**lines).files : std::vector<std::string>(),
      .parts = parts_for(command, *lines)};
  auto examined = examine(errand, caller.variables, caller.started, deadline);
  if (!examined) return tl::unexpected(examined.error());

  nhc::Measured measured;
  if (command.active && *lines) {
    measured = measure(**lines, examined->snapshot, bench_for(command, caller), deadline);
  }
  auto report =
      judge_as_asked(command, *lines, examined->snapshot, examined->choice.profile, measured);
  report.profile_evidence = examined->choice.evidence;
  report.muster = kVersion;
  report.duration_ms = milliseconds_since(caller.started);
  return Inspected{.report = std::move(report), .examined = *std::move(examined), .lines = *lines};
}

Report judge_drained(const Inspected& inspected,
                     const std::string& context,
                     const std::string& check) {
  const auto& snapshot = inspected.examined.snapshot;
  auto profile = inspected.examined.choice.profile;
  profile.contexts[context].gpus_idle = true;
  profile.contexts[context].resets_wait = false;
  if (inspected.lines) return nhc::judge(snapshot, profile, *inspected.lines, context);
  return judge(snapshot, profile, {.context = context, .also = check});
}

void remember(const Examined& examined, const Caller& caller, Deadline& deadline) {
  if (!examined.state_file) return;
  constexpr auto kLongest = std::chrono::seconds(2);
  constexpr auto kReserve = std::chrono::milliseconds(50);
  Children children;  // a file system that does not answer costs the memory of this run only
  children.start("state", std::min(Clock::now() + kLongest, deadline.when() - kReserve), [&] {
    const auto written = write_state(
        *examined.state_file, examined.snapshot, examined.choice.profile.gpu->xid.of_programs);
    return written ? std::string() : written.error().message;
  });
  const auto answer = children.next().second;
  const auto& trouble = answer.end == ChildAnswer::End::answered ? answer.bytes : answer.reason;
  if (trouble.empty()) return;
  caller.console.note(fmt::format("muster: warning: this run is not remembered: {}", trouble));
}

int run_check(const CheckCommand& command, const Caller& caller, Deadline& deadline) {
  const auto inspected = inspect(command, caller, deadline);
  if (!inspected) return fail(caller, inspected.error());
  const auto& report = inspected->report;
  const auto text = render(report, command, caller.console, false);
  const int status = deliver(caller, command.output, text, exit_status(report.verdict));
  const int saved = save(command, caller, inspected->examined.snapshot, status);
  remember(inspected->examined, caller, deadline);
  return saved;
}

}  // namespace muster::app
