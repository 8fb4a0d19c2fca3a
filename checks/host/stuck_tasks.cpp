// SPDX-License-Identifier: Apache-2.0
// host.stuck_tasks: no task has been in uninterruptible sleep for long, and zombies are few.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "checks/catalogue.hpp"
#include "checks/shared/support.hpp"
#include "lib/base/text.hpp"
#include "lib/profile/limits/host.hpp"

namespace muster::checks::host_stuck_tasks {
namespace {

constexpr std::size_t kMostTasks = 20;   // findings for single tasks; the rest is counted
constexpr std::size_t kMostZombies = 5;  // names in the one finding about zombies
constexpr double kTicksPerSecond = 100;  // USER_HZ, the unit of start times on x86 and Arm

std::string name_of(const Task& task) {
  return fmt::format("{} (pid {})", printable(task.name, 32), task.pid);
}

struct HungLine {
  std::uint64_t pid = 0;
  double seconds = 0;  // how long the task had been blocked when the kernel said so
};

// "INFO: task NAME:PID blocked for more than 120 seconds.", newer kernels also "… blocked in I/O
// wait for more than …". NAME is the user's choice, at most 15 bytes: the kernel's own words are
// looked for from the end, where no name can stand in for them.
std::optional<HungLine> parse_hung_line(std::string_view text) {
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
  const auto pid = parse_unsigned(text.substr(colon + 1, blocked - colon - 1));
  const auto seconds = parse_number(after.substr(0, after.find(' ')));
  if (!pid || !seconds) return std::nullopt;
  return HungLine{.pid = *pid, .seconds = *seconds};
}

// Since when the kernel says the task is blocked; empty when it does not say so of this task in
// this sleep. A run after that line that saw the tasks, and not this one in this sleep, proves that
// it woke up.
std::optional<double> blocked_since(const Task& task, const Snapshot& snapshot) {
  const double awake_s = task.awake_at_s.value_or(snapshot.earlier.processes_seen_uptime_s);
  std::optional<double> since;
  for (const auto& record : snapshot.kernel_log->records) {
    const double said_s = static_cast<double>(record.time_us) / 1e6;
    if (record.facility != 0 || awake_s > said_s) continue;
    const auto line = parse_hung_line(record.text);
    if (!line || line->pid != task.pid) continue;
    if (static_cast<double>(task.start_ticks) / kTicksPerSecond > said_s) continue;
    const double from = std::max(0.0, said_s - line->seconds);
    since = since ? std::min(*since, from) : from;
  }
  return since;
}

std::optional<double> stuck_since(const Task& task, const Snapshot& snapshot) {
  const auto kernel = blocked_since(task, snapshot);
  if (!task.stuck_since_s) return kernel;
  return kernel ? std::min(*kernel, *task.stuck_since_s) : *task.stuck_since_s;
}

// Why a task's sleep may be its user's doing, and no fault of the node: a user can make his own
// sleep for ever (vfork), and whoever touches his file systems or his memory. The kernel's word
// that a task hangs counts against the node where nothing of that can be.
std::string users_doing(const Task& task, const Snapshot& snapshot, const Words& waits) {
  const auto waits_in = task.waits_in.value_or("");
  if (matches_any(waits, waits_in)) {
    return fmt::format("a user can make it wait in {}", printable(waits_in));
  }
  const auto& fuse = snapshot.processes->fuse;
  if (fuse && !fuse->empty()) {
    return fmt::format("a file system (FUSE) of user {} does not answer", fuse->front().user);
  }
  if (task.user && !is_of_users(*task.user)) return {};
  if (!blocked_since(task, snapshot)) return "the kernel does not call it hung";
  return {};
}

struct Stuck {
  const Task* task = nullptr;
  double seconds = 0;
  std::string users_doing;  // why it only warns; empty where it fails
};

// A little more than the limit may have the same words.
std::string longer_than(double limit, double seconds) {
  const auto words = in_time(seconds);
  return words == in_time(limit) ? fmt::format("more than {}", words) : words;
}

Finding describe(const Stuck& stuck, double limit) {
  const Task& task = *stuck.task;
  const bool fails = stuck.users_doing.empty();
  return about(
      fmt::format("pid {}", task.pid), fails ? Outcome::fail : Outcome::warn,
      fmt::format(
          "{}{} has been in uninterruptible sleep for {}, expected at most {}{}", name_of(task),
          task.user && is_of_users(*task.user) ? fmt::format(" of user {}", *task.user) : "",
          longer_than(limit, stuck.seconds), in_time(limit),
          fails ? "" : fmt::format("; {}", stuck.users_doing)),
      fails ? Remedy::reboot : Remedy::watch, {stuck.seconds, limit, "s"});
}

Finding more(std::size_t count, bool fails, double limit) {
  return about(kNode, fails ? Outcome::fail : Outcome::warn,
               fmt::format("{} more in uninterruptible sleep for longer than {}",
                           counted(count, "task"), in_time(limit)),
               fails ? Remedy::reboot : Remedy::watch, {count_value(count), 0, "tasks"});
}

// Those that fail come first, whatever users add to them.
std::vector<Stuck> find_stuck(const Snapshot& snapshot, const StuckTaskLimits& limits,
                              double uptime_s) {
  std::vector<Stuck> found;
  for (const auto& task : *snapshot.processes->uninterruptible) {
    const auto since = task.of_muster ? std::nullopt : stuck_since(task, snapshot);
    if (!since || uptime_s - *since <= limits.uninterruptible_for->value) continue;
    found.push_back({.task = &task,
                     .seconds = uptime_s - *since,
                     .users_doing = users_doing(task, snapshot, limits.waits_of_users)});
  }
  // Not that of std::ranges, whose result clang 14 does not compile.
  std::stable_partition(found.begin(), found.end(),
                        [](const Stuck& one) { return one.users_doing.empty(); });
  return found;
}

Findings judge_uninterruptible(const Snapshot& snapshot, const StuckTaskLimits& limits) {
  const Fact<std::vector<Task>>& tasks = snapshot.processes->uninterruptible;
  const Fact<double>& uptime = snapshot.identity->uptime_s;
  if (!tasks) return {not_known(kNode, "the list of tasks in uninterruptible sleep", tasks)};
  if (tasks->empty()) return {};
  if (!uptime) return {not_known(kNode, "the time since boot", uptime)};
  const auto stuck = find_stuck(snapshot, limits, *uptime);
  const std::span<const Stuck> all(stuck);
  Findings findings;
  for (const auto& one : all.first(std::min(all.size(), kMostTasks))) {
    findings.push_back(describe(one, limits.uninterruptible_for->value));
  }
  if (all.size() > kMostTasks) {
    findings.push_back(more(all.size() - kMostTasks, all[kMostTasks].users_doing.empty(),
                            limits.uninterruptible_for->value));
  }
  return findings;
}

std::optional<Finding> judge_zombies(const Fact<std::vector<Task>>& zombies, int limit) {
  if (!zombies) return not_known("zombies", "the list of zombies", zombies);
  if (static_cast<std::int64_t>(zombies->size()) <= limit) return std::nullopt;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(zombies->size(), kMostZombies); ++i) {
    names.push_back(
        fmt::format("{}, child of pid {}", name_of((*zombies)[i]), (*zombies)[i].parent));
  }
  if (zombies->size() > kMostZombies)
    names.push_back(fmt::format("and {} more", zombies->size() - kMostZombies));
  return warned("zombies",
                fmt::format("{}, expected at most {}: {}", counted(zombies->size(), "zombie"),
                            limit, fmt::join(names, "; ")),
                Remedy::restart_service, {count_value(zombies->size()), limit, "tasks"});
}

std::string describe(const Processes& processes) {
  if (processes.uninterruptible && !processes.uninterruptible->empty()) {
    return fmt::format("{} in uninterruptible sleep, none known to be there for long",
                       counted(processes.uninterruptible->size(), "task"));
  }
  return "no stuck tasks";
}

std::optional<Finding> not_here(const Snapshot& /*snapshot*/, const Profile& profile) {
  const StuckTaskLimits& limits = profile.host->stuck_tasks;
  if (!limits.uninterruptible_for && !limits.zombies_warn_above)
    return not_limited("stuck tasks and zombies");
  return std::nullopt;
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  const StuckTaskLimits& limits = profile.host->stuck_tasks;
  if (!snapshot.processes.ok() || !snapshot.identity.ok()) {
    const std::string& reason =
        snapshot.processes.ok() ? snapshot.identity.reason : snapshot.processes.reason;
    return {not_known(kNode, "the list of tasks", Fact<int>::unreadable(reason))};
  }

  Findings findings;
  if (limits.uninterruptible_for) append(findings, judge_uninterruptible(snapshot, limits));
  if (limits.zombies_warn_above)
    append(findings, judge_zombies(snapshot.processes->zombies, *limits.zombies_warn_above));
  return or_pass(std::move(findings), describe(*snapshot.processes));
}

}  // namespace

constinit const Check check{
    .id = "host.stuck_tasks",
    .title = "No task is stuck in uninterruptible sleep, and zombies are few",
    .why =
        "Looks at tasks in state D: they wait inside the kernel for a disk, a file server or a "
        "driver and cannot be killed. How long they have waited is known from earlier runs of "
        "muster or from the kernel's own hung-task lines, so a task seen for the first time fails "
        "nothing. A user can make his own tasks sleep so (vfork), and those that touch his file "
        "systems: such a task only warns, and names him. What a child of muster hangs in is the "
        "finding of the check that asked. Zombies have ended, and their parent never asked how.",
    .fix =
        "cat /proc/PID/stack says what a stuck task waits for: often a dead file server (see "
        "host.mounts), a disk (host.nvme) or the GPU driver. Bring that back; otherwise only a "
        "reboot removes the task. Zombies go when their parent is restarted.",
    .needs = Probe::processes | Probe::identity,
    .looks_at = Probe::kernel_log,  // it adds to what earlier runs know
    .when_absent = WhenAbsent::judge,
    .not_here = not_here,
    .judge = judge,
};

}  // namespace muster::checks::host_stuck_tasks
