// SPDX-License-Identifier: Apache-2.0
// The load, the processes that are stuck (in uninterruptible sleep, or dead and not waited for),
// and those that earlier runs of muster left behind.

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <thread>

#include "lib/base/text.hpp"
#include "lib/probes/attributes.hpp"
#include "lib/probes/parse/parse.hpp"
#include "lib/probes/probes.hpp"
#include "lib/state/state.hpp"

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
  return make_error("read {}: {}", path, number.error().message);
}

// The kernel writes "0" if it does not report the function.
Fact<std::string> read_wait(const Root& root, const std::string& pid) {
  const auto path = fmt::format("/proc/{}/wchan", pid);
  TRY_ASSIGN(const auto text, root.read_line(path));
  if (text == "0") return make_missing("{} does not show it", path);
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
    return make_error("read /proc/{}/stat: {}", pid, stat.error().message);
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

// Each connection is a folder that belongs to the user who mounted the file system. Skips those
// that are gone.
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

constexpr std::string_view kDeleted = " (deleted)";
constexpr std::chrono::seconds kLongestWait{1};  // for all processes that are being killed
constexpr double kTicksPerSecond = 100;          // USER_HZ, the unit of start times on x86 and Arm

// Only the child can have opened a file "/memfd:muster:probe cpu (deleted)", which is visible for
// as long as the child exists.
std::string announced_by(const Root& host, const std::string& folder) {
  const auto start = fmt::format("/memfd:{}", kOwnName);
  const auto files = host.list(fmt::format("{}/fd", folder));
  if (!files) return {};
  for (const auto& file : *files) {
    const auto name = host.read_link(fmt::format("{}/fd/{}", folder, file));
    if (!name || !name->starts_with(start) || !name->ends_with(kDeleted)) continue;
    return name->substr(start.size(), name->size() - start.size() - kDeleted.size());
  }
  return {};
}

bool is_ours(const Root& host, const std::string& folder, std::string_view status) {
  const auto user = parse_user(status);
  return user && *user == ::getuid() && runs_muster(host, folder);
}

struct OwnThread {
  bool hangs = false;  // in uninterruptible sleep
  std::uint64_t start_ticks = 0;
};

// A thread of ours that hangs, or is being killed and will hang or end. Empty for others.
std::optional<OwnThread> own_thread(const Root& host, const std::string& folder) {
  const auto text = host.read(fmt::format("{}/stat", folder));
  const auto stat = text ? parse_process_stat(*text) : make_error("gone");
  const auto status = host.read(fmt::format("{}/status", folder));
  if (!stat || !status) return std::nullopt;
  const bool hangs = stat->state == 'D';
  if ((!hangs && !is_being_killed(*status)) || !is_ours(host, folder, *status)) return std::nullopt;
  return OwnThread{.hangs = hangs, .start_ticks = stat->start_ticks};
}

// Examines all threads: the first may have ended while another hangs. Appends the process to
// `found` if it hangs. Returns whether it is about to hang or end.
bool is_undecided(const Root& host, std::uint64_t pid, std::vector<LeftBehind>& found) {
  const auto tasks = host.list(fmt::format("/proc/{}/task", pid));
  bool undecided = false;
  for (const auto& task : tasks.value_or(std::vector<std::string>())) {
    const auto folder = fmt::format("/proc/{}/task/{}", pid, task);
    const auto thread = own_thread(host, folder);
    if (!thread) continue;
    undecided = true;
    if (!thread->hangs) continue;
    const double since_s = static_cast<double>(thread->start_ticks) / kTicksPerSecond;
    LeftBehind left{.pid = pid, .work = announced_by(host, folder)};
    if (const auto uptime_s = read_uptime(host)) left.for_s = std::max(0.0, *uptime_s - since_s);
    found.push_back(std::move(left));
    return false;
  }
  return undecided;
}

}  // namespace

void announce_work(std::string_view work) {
  constexpr std::size_t kLongest = 249;  // of such a name
  const auto name = fmt::format("{}{}", kOwnName, work);
  if (name.size() > kLongest) return;
  static_cast<void>(::memfd_create(name.c_str(), MFD_CLOEXEC));  // open until the child's end
}

bool runs_muster(const Root& root, const std::string& folder) {
  const auto program = root.read_link(fmt::format("{}/exe", folder));
  if (!program) return false;
  std::string_view name(*program);
  if (name.ends_with(kDeleted)) name.remove_suffix(kDeleted.size());  // it was updated
  return name.substr(name.rfind('/') + 1) == "muster";
}

std::vector<LeftBehind> find_left_behind(const std::optional<std::filesystem::path>& state_file) {
  if (!state_file || nothing_left_behind(*state_file)) return {};
  const Root host;
  const auto names = host.list("/proc", kMaxProcesses);
  if (!names) return {};
  std::vector<std::uint64_t> pids;
  for (const auto& name : *names) {
    const auto pid = parse_unsigned(name);
    const auto command = pid ? host.read_line(fmt::format("/proc/{}/comm", *pid)) : make_error("");
    if (command && command->starts_with(kOwnName)) pids.push_back(*pid);
  }
  // A killed process must run once more before it hangs or ends, which may take a while on a busy
  // machine.
  constexpr std::chrono::milliseconds kBetween{2};
  std::vector<LeftBehind> found;
  for (const auto until = Clock::now() + kLongestWait;;) {
    std::erase_if(pids, [&](std::uint64_t pid) { return !is_undecided(host, pid, found); });
    if (pids.empty() || Clock::now() >= until) break;
    std::this_thread::sleep_for(kBetween);
  }
  return found;
}

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
