// SPDX-License-Identifier: Apache-2.0
// host.load: nothing keeps the processors of an idle node busy.

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "checks/catalogue.hpp"
#include "checks/shared/support.hpp"
#include "lib/profile/limits/host.hpp"

namespace muster::checks::host_load {
namespace {

std::optional<Finding> judge_load(const Processes& processes, unsigned threads, double limit) {
  if (!processes.load5) return not_known(kNode, "the load average", processes.load5);
  const double per_core = *processes.load5 / threads;
  if (per_core <= limit) return std::nullopt;
  return warned(
      kNode,
      fmt::format("5-minute load average {:.1f} on {}, {:.2f} each; expected at most {:g}",
                  *processes.load5, counted(threads, "logical CPU"), per_core, limit),
      Remedy::watch, {per_core, limit, "load per CPU"});
}

std::optional<Finding> judge_running(const Processes& processes, unsigned threads, double limit) {
  if (!processes.running)
    return not_known(kNode, "the number of runnable tasks", processes.running);
  const double per_core = static_cast<double>(*processes.running) / threads;
  if (per_core <= limit) return std::nullopt;
  if (!processes.load1) return not_known(kNode, "the 1-minute load average", processes.load1);
  // Who runs at this moment may be muster's own probes; they are too short to move the load.
  if (*processes.load1 / threads <= limit) return std::nullopt;
  return warned(kNode,
                fmt::format("{} on {}, {:.2f} each, and a 1-minute load average of "
                            "{:.1f}; expected at most {:g} each",
                            counted(*processes.running, "runnable task"),
                            counted(threads, "logical CPU"), per_core, *processes.load1, limit),
                Remedy::watch, {per_core, limit, "tasks per CPU"});
}

// Empty when neither is known: then there is a finding.
std::string summary(const Processes& processes, unsigned threads) {
  const auto processors = counted(threads, "logical CPU");
  if (processes.load5) {
    return fmt::format("5-minute load average {:.1f} on {}", *processes.load5, processors);
  }
  if (!processes.running) return {};
  return fmt::format("{} on {}", counted(*processes.running, "runnable task"), processors);
}

std::optional<Finding> not_here(const Snapshot& /*snapshot*/, const Profile& profile) {
  const LoadLimits& limits = profile.host->load;
  if (!limits.warn_above_per_core && !limits.running_warn_above_per_core)
    return not_limited("the load");
  return std::nullopt;
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  const LoadLimits& limits = profile.host->load;
  const Processes& processes = *snapshot.processes;
  const Fact<unsigned>& threads = snapshot.cpu->threads;
  if (!threads) return {not_known(kNode, "the number of logical CPUs", threads)};
  if (*threads == 0) {
    return {not_known(kNode, "the number of logical CPUs",
                      Fact<unsigned>::unreadable("none is online"))};
  }

  Findings findings;
  if (limits.warn_above_per_core)
    append(findings, judge_load(processes, *threads, *limits.warn_above_per_core));
  // Many runnable tasks are what makes the load high: one finding is enough.
  if (findings.empty() && limits.running_warn_above_per_core) {
    append(findings, judge_running(processes, *threads, *limits.running_warn_above_per_core));
  }
  return or_pass(std::move(findings), summary(processes, *threads));
}

}  // namespace

constinit const Check check{
    .id = "host.load",
    .title = "Load and runnable tasks are below a limit per logical CPU",
    .why =
        "Compares the 5-minute load average and the number of runnable tasks, per online logical "
        "CPU, with the profile. Runnable tasks count only while the 1-minute load average is above "
        "their limit, too: at the moment of looking muster's own probes run. A node that is busy "
        "before a job starts has something running "
        "that should not: an orphan of an earlier job, a runaway daemon, tasks stuck on a disk.",
    .fix =
        "See who it is with top or ps -eo pid,user,stat,pcpu,etime,args --sort=-pcpu; end what no "
        "job owns. Tasks in state D are host.stuck_tasks' to explain.",
    .needs = Probe::processes | Probe::cpu,
    .not_here = not_here,
    .judge = judge,
};

}  // namespace muster::checks::host_load
