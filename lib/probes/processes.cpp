// SPDX-License-Identifier: Apache-2.0
// The load, and the processes that are stuck: in uninterruptible sleep, or dead and not waited for.

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "lib/base/text.hpp"
#include "lib/probes/attributes.hpp"
#include "lib/probes/probes.hpp"
#include "lib/probes/stat_parse.hpp"

namespace muster {
namespace {

struct StuckTasks {
  std::vector<Task> uninterruptible;
  std::vector<Task> zombies;
};

Result<LoadAverage> read_load_average(const Root& root) {
  const auto line = root.read_line("/proc/loadavg");
  if (!line) return tl::unexpected(line.error());
  auto load = parse_load_average(*line);
  if (!load) return make_error(fmt::format("read /proc/loadavg: {}", load.error().message));
  return load;
}

// Nothing when the process ended meanwhile: the file is gone then, or reading it fails.
Result<std::optional<std::string>> read_stat(const Root& root, const std::string& pid) {
  const auto path = fmt::format("/proc/{}/stat", pid);
  auto text = root.read(path);
  if (text) return *std::move(text);
  if (text.error().missing || !root.exists(path)) return std::nullopt;
  return tl::unexpected(std::move(text.error()));
}

Result<void> add_if_stuck(const std::string& pid, const std::string& text, StuckTasks& tasks) {
  const auto stat = parse_process_stat(text);
  if (!stat) {
    return make_error(fmt::format("read /proc/{}/stat: {}", pid, stat.error().message));
  }
  if (stat->state != 'D' && stat->state != 'Z') return {};
  Task task;
  task.pid = stat->pid;
  task.name = printable(stat->name, 64);
  task.start_ticks = stat->start_ticks;
  task.parent = stat->parent;
  auto& where = stat->state == 'D' ? tasks.uninterruptible : tasks.zombies;
  where.push_back(std::move(task));
  return {};
}

Result<StuckTasks> read_stuck_tasks(const Root& root) {
  const auto names = root.list("/proc");
  if (!names) return tl::unexpected(names.error());
  StuckTasks tasks;
  bool any = false;
  for (const auto& name : *names) {
    if (!parse_unsigned(name)) continue;
    const auto text = read_stat(root, name);
    if (!text) return tl::unexpected(text.error());
    if (!*text) continue;
    any = true;
    const auto added = add_if_stuck(name, **text, tasks);
    if (!added) return tl::unexpected(added.error());
  }
  if (!any) return make_missing("/proc lists no processes");
  std::ranges::sort(tasks.uninterruptible, {}, &Task::pid);
  std::ranges::sort(tasks.zombies, {}, &Task::pid);
  return tasks;
}

void fill_load(const Result<LoadAverage>& load, Processes& processes) {
  if (load) {
    processes.load1 = load->load1;
    processes.load5 = load->load5;
    processes.load15 = load->load15;
    processes.running = load->running;
    processes.total = load->total;
    return;
  }
  processes.load1 = Fact<double>::unreadable(load.error().message);
  processes.load5 = processes.load1;
  processes.load15 = processes.load1;
  processes.running = Fact<std::uint64_t>::unreadable(load.error().message);
  processes.total = processes.running;
}

}  // namespace

Section<Processes> probe_processes(const Root& root) {
  Processes processes;
  const auto load = read_load_average(root);
  fill_load(load, processes);

  auto tasks = read_stuck_tasks(root);
  if (tasks) {
    processes.uninterruptible = std::move(tasks->uninterruptible);
    processes.zombies = std::move(tasks->zombies);
  } else {
    // A recorded node may come without its processes; a live one always has some.
    auto& error = tasks.error();
    error.missing = error.missing && root.foreign();
    processes.uninterruptible = Result<std::vector<Task>>(tl::unexpected(error));
    processes.zombies = processes.uninterruptible;
  }
  if (!load && !tasks) return not_observed<Processes>(load.error().message);
  return observed(std::move(processes));
}

}  // namespace muster
