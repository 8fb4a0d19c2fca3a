// SPDX-License-Identifier: Apache-2.0
// The load, and tasks that are stuck.
#include <fmt/ranges.h>

#include "checks/catalogue.hpp"
#include "checks/shared/support.hpp"

namespace muster::checks {
namespace {

// host.load: no process keeps the CPUs of an idle node busy.

std::optional<Finding> judge_load(const Processes& processes, unsigned threads, double limit) {
  if (!processes.load5) return not_known(kNode, "the load average", processes.load5);
  const double per_core = *processes.load5 / threads;
  if (per_core <= limit) return std::nullopt;
  return warned(
      kNode,
      fmt::format("5-minute load average {:.1f} on {}, {:.2f} per CPU; expected at most {:g}",
                  *processes.load5, counted(threads, "logical CPU"), per_core, limit),
      Remedy::watch, {per_core, limit, "load per CPU"});
}

std::optional<Finding> judge_running(const Processes& processes, unsigned threads, double limit) {
  if (!processes.running)
    return not_known(kNode, "the number of runnable tasks", processes.running);
  const double per_core = static_cast<double>(*processes.running) / threads;
  if (per_core <= limit) return std::nullopt;
  if (!processes.load1) return not_known(kNode, "the 1-minute load average", processes.load1);
  // The tasks may be muster's own probes, which are too short to raise the load average.
  if (*processes.load1 / threads <= limit) return std::nullopt;
  return warned(kNode,
                fmt::format("{} on {}, {:.2f} per CPU, and a 1-minute load average of {:.1f}; "
                            "expected at most {:g} per CPU",
                            counted(*processes.running, "runnable task"),
                            counted(threads, "logical CPU"), per_core, *processes.load1, limit),
                Remedy::watch, {per_core, limit, "tasks per CPU"});
}

// Empty if neither is known: then there is a finding.
std::string load_summary(const Processes& processes, unsigned threads) {
  const auto processors = counted(threads, "logical CPU");
  if (processes.load5) {
    return fmt::format("5-minute load average {:.1f} on {}", *processes.load5, processors);
  }
  if (!processes.running) return {};
  return fmt::format("{} on {}", counted(*processes.running, "runnable task"), processors);
}

Findings judge_load(const Snapshot& snapshot, const Profile& profile) {
  const LoadLimits& limits = profile.host->load;
  const Processes& processes = *snapshot.processes;
  const Fact<unsigned>& threads = snapshot.cpu->threads;
  if (!threads) return {not_known(kNode, "the number of logical CPUs", threads)};
  if (*threads == 0) {
    return {unknown(kNode, "the number of logical CPUs is unknown: none is online")};
  }
  Findings findings;
  if (limits.warn_above_per_core)
    append(findings, judge_load(processes, *threads, *limits.warn_above_per_core));
  // Runnable tasks cause the load: one finding is enough.
  if (findings.empty() && limits.running_warn_above_per_core) {
    append(findings, judge_running(processes, *threads, *limits.running_warn_above_per_core));
  }
  return or_pass(std::move(findings), load_summary(processes, *threads));
}

void margins_of_load(const Snapshot& snapshot, const Profile& profile, Margins& margins) {
  const auto& threads = snapshot.cpu->threads;
  const auto& load1 = snapshot.processes->load1;
  const auto& load5 = snapshot.processes->load5;
  const auto& running = snapshot.processes->running;
  if (threads.value_or(0) == 0) return;
  const LoadLimits& limits = profile.host->load;
  if (load5) margins.at_most(kNode, "load", *load5 / *threads, limits.warn_above_per_core);
  if (!running || !load1) return;
  // The check warns if both are above the limit.
  margins.at_most(kNode, "running", std::min(static_cast<double>(*running), *load1) / *threads,
                  limits.running_warn_above_per_core);
}

// host.stuck_tasks: no task has been in uninterruptible sleep for long, and zombies are few.

constexpr std::size_t kMaxTasks = 20;    // findings about single tasks; the others are counted
constexpr std::size_t kMaxZombies = 5;   // names in the one finding about zombies
constexpr double kTicksPerSecond = 100;  // USER_HZ, the unit of start times on x86 and Arm

std::string name_of(const Task& task) {
  return fmt::format("{} (pid {})", printable(task.name, 32), task.pid);
}

// Returns for how many seconds the task of this process was blocked, if the line is about it.
// "INFO: task NAME:PID blocked for more than 120 seconds.", newer kernels also "… blocked in I/O
// wait for more than …". Users choose NAME, so the line is parsed from its end.
std::optional<double> seconds_in_hung_line(std::string_view text, std::uint64_t pid) {
  constexpr std::string_view kStart = "INFO: task ";
  constexpr std::string_view kMoreThan = " for more than ";
  constexpr std::string_view kBlocked = " blocked";
  if (!text.starts_with(kStart)) return std::nullopt;
  const auto more_than = text.rfind(kMoreThan);
  if (more_than == std::string_view::npos) return std::nullopt;
  const auto blocked = text.rfind(kBlocked, more_than);
  if (blocked == std::string_view::npos) return std::nullopt;
  const auto colon = text.rfind(':', blocked);
  if (colon == std::string_view::npos || colon < kStart.size()) return std::nullopt;
  const auto after = text.substr(more_than + kMoreThan.size());
  const auto seconds = parse_number(after.substr(0, after.find(' ')));
  if (parse_unsigned(text.substr(colon + 1, blocked - colon - 1)) != pid || !seconds)
    return std::nullopt;
  return *seconds;
}

// When the task was blocked, according to the kernel; empty if the kernel did not report this
// sleep. If a run after that line saw the tasks, but not this one asleep, it has woken up since.
std::optional<double> blocked_since(const Task& task, const Snapshot& snapshot) {
  const double awake_s = task.awake_at_s.value_or(snapshot.earlier.processes_seen_uptime_s);
  std::optional<double> since;
  for (const auto& record : snapshot.kernel_log->records) {
    const double said_s = static_cast<double>(record.time_us) / 1e6;
    if (record.facility != 0 || awake_s > said_s) continue;
    const auto seconds = seconds_in_hung_line(record.text, task.pid);
    if (!seconds || static_cast<double>(task.start_ticks) / kTicksPerSecond > said_s) continue;
    const double from = std::max(0.0, said_s - *seconds);
    since = std::min(since.value_or(from), from);
  }
  return since;
}

// Why a user may have caused the sleep, which is not a fault of the node; empty if that is
// impossible. Users can make their own tasks sleep forever (vfork), and tasks that touch their file
// systems or memory.
std::string user_cause(const Task& task, const Snapshot& snapshot, const Words& waits) {
  const auto waits_in = task.waits_in.value_or("");
  if (matches_any(waits, waits_in)) {
    return fmt::format("users can make a task wait in {}", printable(waits_in));
  }
  const auto& fuse = snapshot.processes->fuse;
  if (fuse && !fuse->empty()) {
    return fmt::format("a file system (FUSE) of user {} does not respond", fuse->front().user);
  }
  const bool of_system = task.user && !is_of_users(*task.user);
  return of_system || blocked_since(task, snapshot) ? "" : "the kernel does not report it as hung";
}

struct StuckTask {
  const Task* task = nullptr;
  double seconds = 0;
  std::string user_cause;  // why it only warns; empty if it fails
};

// A time just above the limit may round to the same text.
std::string longer_than(double limit, double seconds) {
  const auto words = in_time(seconds);
  return words == in_time(limit) ? fmt::format("more than {}", words) : words;
}

Finding describe(const StuckTask& stuck, double limit) {
  const Task& task = *stuck.task;
  const bool fails = stuck.user_cause.empty();
  return about(
      fmt::format("pid {}", task.pid), fails ? Outcome::fail : Outcome::warn,
      fmt::format(
          "{}{} in uninterruptible sleep for {}, expected at most {}{}", name_of(task),
          task.user && is_of_users(*task.user) ? fmt::format(" of user {}", *task.user) : "",
          longer_than(limit, stuck.seconds), in_time(limit),
          fails ? "" : fmt::format("; {}", stuck.user_cause)),
      fails ? Remedy::reboot : Remedy::watch, {stuck.seconds, limit, "s"});
}

// Tasks that fail come first.
std::vector<StuckTask> find_stuck(const Snapshot& snapshot, const StuckTaskLimits& limits,
                                  double uptime_s) {
  std::vector<StuckTask> found;
  for (const auto& task : *snapshot.processes->uninterruptible) {
    if (task.of_muster) continue;
    auto since = blocked_since(task, snapshot);
    if (task.stuck_since_s)
      since = std::min(since.value_or(*task.stuck_since_s), *task.stuck_since_s);
    if (!since || uptime_s - *since <= limits.uninterruptible_for->value) continue;
    found.push_back({.task = &task,
                     .seconds = uptime_s - *since,
                     .user_cause = user_cause(task, snapshot, limits.waits_of_users)});
  }
  // clang 14 does not compile std::ranges::stable_partition.
  std::stable_partition(found.begin(), found.end(),
                        [](const StuckTask& one) { return one.user_cause.empty(); });
  return found;
}

Findings judge_uninterruptible(const Snapshot& snapshot, const StuckTaskLimits& limits) {
  const Fact<std::vector<Task>>& tasks = snapshot.processes->uninterruptible;
  const Fact<double>& uptime = snapshot.identity->uptime_s;
  if (!tasks) return {not_known(kNode, "the list of tasks in uninterruptible sleep", tasks)};
  if (tasks->empty()) return {};
  if (!uptime) return {not_known(kNode, "the time since boot", uptime)};
  const double limit = limits.uninterruptible_for->value;
  const auto stuck = find_stuck(snapshot, limits, *uptime);
  Findings findings;
  for (const auto& one : stuck) {
    if (findings.size() == kMaxTasks) {
      const auto count = stuck.size() - kMaxTasks;
      const bool fails = one.user_cause.empty();
      findings.push_back(about(kNode, fails ? Outcome::fail : Outcome::warn,
                               fmt::format("{} more in uninterruptible sleep for longer than {}",
                                           counted(count, "task"), in_time(limit)),
                               fails ? Remedy::reboot : Remedy::watch,
                               {count_value(count), 0, "tasks"}));
      break;
    }
    findings.push_back(describe(one, limit));
  }
  return findings;
}

std::optional<Finding> judge_zombies(const Fact<std::vector<Task>>& zombies, int limit) {
  if (!zombies) return not_known("zombies", "the list of zombies", zombies);
  if (static_cast<std::int64_t>(zombies->size()) <= limit) return std::nullopt;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(zombies->size(), kMaxZombies); ++i) {
    names.push_back(
        fmt::format("{}, child of pid {}", name_of((*zombies)[i]), (*zombies)[i].parent));
  }
  if (zombies->size() > kMaxZombies)
    names.push_back(fmt::format("and {} more", zombies->size() - kMaxZombies));
  return warned("zombies",
                fmt::format("{}, expected at most {}: {}", counted(zombies->size(), "zombie"),
                            limit, fmt::join(names, "; ")),
                Remedy::restart_service, {count_value(zombies->size()), limit, "tasks"});
}

Findings judge_stuck_tasks(const Snapshot& snapshot, const Profile& profile) {
  const StuckTaskLimits& limits = profile.host->stuck_tasks;
  if (!snapshot.processes.ok() || !snapshot.identity.ok()) {
    const std::string& reason =
        snapshot.processes.ok() ? snapshot.identity.reason : snapshot.processes.reason;
    return {unknown(kNode, fmt::format("the list of tasks is unknown: {}", reason))};
  }
  Findings findings;
  if (limits.uninterruptible_for) append(findings, judge_uninterruptible(snapshot, limits));
  if (limits.zombies_warn_above)
    append(findings, judge_zombies(snapshot.processes->zombies, *limits.zombies_warn_above));
  const auto& asleep = snapshot.processes->uninterruptible;
  return or_pass(std::move(findings),
                 asleep && !asleep->empty()
                     ? fmt::format("{} in uninterruptible sleep, none known to be stuck",
                                   counted(asleep->size(), "task"))
                     : std::string("no stuck tasks"));
}

}  // namespace

constinit const Check host_load::check{
    .id = "host.load",
    .title = "Load and runnable tasks are below a limit per logical CPU",
    .why =
        "Compares the 5-minute load average and the number of runnable tasks, per online logical "
        "CPU, with the profile. Because muster's own probes are runnable as well, tasks count only "
        "if the 1-minute load average also exceeds their limit. If a node is busy before a job "
        "starts, something runs that should not: a leftover of an earlier job, a runaway daemon, "
        "tasks stuck on a disk.",
    .fix =
        "Find the processes with top or ps -eo pid,user,stat,pcpu,etime,args --sort=-pcpu, and "
        "kill those without a job. host.stuck_tasks explains tasks in state D.",
    .needs = Probe::processes | Probe::cpu,
    .is_limited = sets<&HostLimits::load>,
    .unlimited = "this profile sets no limit for the load",
    .judge = judge_load,
    .margins = margins_of_load,
};

constinit const Check host_stuck_tasks::check{
    .id = "host.stuck_tasks",
    .title = "No task is stuck in uninterruptible sleep, and zombies are few",
    .why =
        "Looks at tasks in state D: they wait in the kernel for a disk, a file server or a driver "
        "and cannot be killed. How long they have waited is known from earlier runs of muster or "
        "from the kernel's hung-task lines, so a task seen for the first time does not fail. Users "
        "can make their own tasks sleep like this (vfork), and tasks that touch their file "
        "systems: such a task only warns. Children of muster that hang are reported by the check "
        "that needed them. Zombies are tasks that ended but whose parent did not collect them.",
    .fix =
        "cat /proc/PID/stack shows what a stuck task waits for: often a dead file server (see "
        "host.mounts), a disk (host.nvme) or the GPU driver. Repair that; otherwise only a reboot "
        "removes the task. Restart the parent of zombies.",
    .needs = Probe::processes | Probe::identity,
    .looks_at = Probe::kernel_log,
    .when_absent = WhenAbsent::judge,
    .is_limited =
        [](const Profile& profile) {
          const StuckTaskLimits& limits = profile.host->stuck_tasks;
          return limits.uninterruptible_for || limits.zombies_warn_above;
        },
    .unlimited = "this profile sets no limit for stuck tasks and zombies",
    .judge = judge_stuck_tasks,
};

}  // namespace muster::checks
