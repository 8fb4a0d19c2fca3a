// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "lib/base/text.hpp"
#include "lib/probes/attributes.hpp"
#include "lib/probes/parse/parse.hpp"
#include "lib/probes/probes.hpp"
#include "lib/state/state.hpp"

namespace muster {
namespace {

constexpr std::string_view kDeleted = " (deleted)";
constexpr std::chrono::seconds kLongestWait{1};  // for all processes that are being killed
constexpr double kTicksPerSecond = 100;          // USER_HZ, the unit of start times on x86 and Arm

// The name of a file that only the child can have opened, visible as long as the child exists.
std::string shown_name(std::string_view work) {
  return fmt::format("/memfd:{}{}{}", kOwnName, work, kDeleted);
}

std::string announced_by(const Root& host, const std::string& folder) {
  const std::string start = shown_name({}).substr(0, shown_name({}).size() - kDeleted.size());
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

}  // namespace muster
