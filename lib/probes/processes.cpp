// SPDX-License-Identifier: Apache-2.0
// The load, and the processes that are stuck: in uninterruptible sleep, or dead and not waited for.

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>

#include "lib/base/text.hpp"
#include "lib/probes/attributes.hpp"
#include "lib/probes/parse/parse.hpp"
#include "lib/probes/probes.hpp"

namespace muster {
namespace {

constexpr std::string_view kFuse = "/sys/fs/fuse/connections";
constexpr std::size_t kLongestStat = 4096;  // 52 numbers and a name of at most 64 bytes

struct StuckTasks {
  std::vector<Task> uninterruptible;
  std::vector<Task> zombies;
  std::map<std::uint64_t, bool> is_muster;  // the parents of zombies
};

// Returns nothing if the process has ended: the file is gone, or reading it fails. A single read is
// enough for the whole line, and halves the cost for thousands of processes.
Result<std::optional<std::string_view>> read_stat(const Root& root, const std::string& pid,
                                                  std::array<char, kLongestStat>& buffer) {
  const auto path = fmt::format("/proc/{}/stat", pid);
  const auto file = root.open(path, O_RDONLY | O_NONBLOCK);
  if (!file && file.error().missing) return std::nullopt;
  if (!file) return tl::unexpected(file.error());
  const auto got = ::read(file->get(), buffer.data(), buffer.size());
  const int failure = got < 0 ? errno : 0;
  if (failure == ESRCH) return std::nullopt;
  if (failure != 0) return os_error("read", path, failure);
  return std::string_view(buffer.data(), static_cast<std::size_t>(got));
}

Fact<std::uint64_t> number_in(const std::string& path, const Result<std::string>& status,
                              Result<std::uint64_t> (*parse)(std::string_view)) {
  if (!status) return tl::unexpected(status.error());
  const auto number = parse(*status);
  if (number) return *number;
  return make_error(fmt::format("read {}: {}", path, number.error().message));
}

// The kernel writes "0" if it does not report the function.
Fact<std::string> read_wait(const Root& root, const std::string& pid) {
  const auto path = fmt::format("/proc/{}/wchan", pid);
  TRY_ASSIGN(const auto text, root.read_line(path));
  if (text == "0") return make_missing(fmt::format("{} does not tell", path));
  return printable(text, 64);
}

// Reads where a stuck task waits, and its user.
void add_wait(const Root& root, const std::string& pid, Task& task) {
  const auto path = fmt::format("/proc/{}/status", pid);
  const auto status = root.read(path);
  task.user = number_in(path, status, parse_user);
  task.switches = number_in(path, status, parse_context_switches);
  task.waits_in = read_wait(root, pid);
  task.of_muster = task.user && *task.user == 0 && task.name.starts_with(kOwnName) &&
                   runs_muster(root, fmt::format("/proc/{}", pid));
}

Result<void> add_if_stuck(const Root& root, const std::string& pid, std::string_view text,
                          StuckTasks& tasks) {
  const auto stat = parse_process_stat(text);
  if (!stat) {
    return make_error(fmt::format("read /proc/{}/stat: {}", pid, stat.error().message));
  }
  if (stat->state != 'D' && stat->state != 'Z') return {};
  if (stat->state == 'Z') {
    // muster is about to collect its own children.
    const auto [parent, is_first] = tasks.is_muster.try_emplace(stat->parent);
    if (is_first) parent->second = runs_muster(root, fmt::format("/proc/{}", stat->parent));
    if (parent->second) return {};
  }
  Task task;
  task.pid = stat->pid;
  task.name = printable(stat->name, 64);
  task.start_ticks = stat->start_ticks;
  task.parent = stat->parent;
  if (stat->state == 'D') add_wait(root, pid, task);
  auto& where = stat->state == 'D' ? tasks.uninterruptible : tasks.zombies;
  where.push_back(std::move(task));
  return {};
}

Result<StuckTasks> read_stuck_tasks(const Root& root) {
  TRY_ASSIGN(const auto names, root.list("/proc", kMaxProcesses));
  StuckTasks tasks;
  std::array<char, kLongestStat> buffer{};
  bool any = false;
  for (const auto& name : names) {
    if (!parse_unsigned(name)) continue;
    TRY_ASSIGN(const auto text, read_stat(root, name, buffer));
    if (!text) continue;
    any = true;
    TRY(add_if_stuck(root, name, *text, tasks));
  }
  if (!any) return make_missing("/proc lists no processes");
  std::ranges::sort(tasks.uninterruptible, {}, &Task::pid);
  std::ranges::sort(tasks.zombies, {}, &Task::pid);
  return tasks;
}

// Each connection is a folder of the user who mounted the file system. Skips those that have gone.
Fact<std::vector<FuseUser>> read_fuse(const Root& root) {
  TRY_ASSIGN(const auto names, root.list(kFuse));
  std::map<std::uint64_t, std::uint64_t> waiting;
  for (const auto& name : names) {
    const auto path = fmt::format("{}/{}", kFuse, name);
    const auto status = read_status(root, path, O_DIRECTORY);
    if (!status || status->st_uid == 0) continue;
    const auto requests = read_unsigned(root, fmt::format("{}/waiting", path));
    if (requests && *requests > 0) waiting[status->st_uid] += *requests;
  }
  std::vector<FuseUser> users;
  for (const auto& [user, requests] : waiting) users.push_back({.user = user, .waiting = requests});
  return users;
}

}  // namespace

Section<Processes> probe_processes(const Root& root) {
  Processes processes;
  const auto load = read_and_parse(root, "/proc/loadavg", parse_load_average);
  processes.load1 = required(load.map(&LoadAverage::load1));
  processes.load5 = required(load.map(&LoadAverage::load5));
  processes.load15 = required(load.map(&LoadAverage::load15));
  processes.running = required(load.map(&LoadAverage::running));
  processes.total = required(load.map(&LoadAverage::total));

  auto tasks = read_stuck_tasks(root);
  if (tasks) {
    processes.uninterruptible = std::move(tasks->uninterruptible);
    processes.zombies = std::move(tasks->zombies);
  } else {
    // A recorded node may lack its processes; a live one always has some.
    auto& error = tasks.error();
    error.missing = error.missing && root.foreign();
    processes.uninterruptible = Result<std::vector<Task>>(tl::unexpected(error));
    processes.zombies = processes.uninterruptible;
  }
  processes.fuse = read_fuse(root);
  if (!load && !tasks) return not_observed<Processes>(load.error().message);
  return observed(std::move(processes));
}

}  // namespace muster
