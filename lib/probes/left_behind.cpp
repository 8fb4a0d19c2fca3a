// SPDX-License-Identifier: Apache-2.0
#include "lib/probes/left_behind.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "lib/base/text.hpp"
#include "lib/probes/parse/processes.hpp"
#include "lib/state/left_behind.hpp"

namespace muster {
namespace {

constexpr std::string_view kDeleted = " (deleted)";
constexpr double kTicksPerSecond = 100;  // USER_HZ, the unit of start times on x86 and Arm

// A file of this name, which only the child itself can have opened, and which the kernel shows as
// long as the child is there.
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

bool is_ours(const Root& host, const std::string& folder) {
  const auto status = host.read(fmt::format("{}/status", folder));
  const auto user = status ? parse_user(*status) : Result<std::uint64_t>(0);
  return status && user && *user == ::getuid() && runs_muster(host, folder);
}

// The first thread of the process may have ended, and another hang.
std::optional<LeftBehind> left_behind_as(const Root& host, std::uint64_t pid, double uptime_s) {
  const auto tasks = host.list(fmt::format("/proc/{}/task", pid));
  if (!tasks) return std::nullopt;
  for (const auto& task : *tasks) {
    const auto folder = fmt::format("/proc/{}/task/{}", pid, task);
    const auto text = host.read(fmt::format("{}/stat", folder));
    const auto stat = text ? parse_process_stat(*text) : make_error("gone");
    if (!stat || stat->state != 'D' || !is_ours(host, folder)) continue;
    const double since_s = static_cast<double>(stat->start_ticks) / kTicksPerSecond;
    return LeftBehind{
        .pid = pid, .work = announced_by(host, folder), .for_s = std::max(0.0, uptime_s - since_s)};
  }
  return std::nullopt;
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
  const auto uptime = host.read_line("/proc/uptime");
  const auto uptime_s =
      uptime ? parse_number(uptime->substr(0, uptime->find(' '))) : make_error("no uptime");
  const auto names = host.list("/proc", kMostProcesses);
  if (!uptime_s || !names) return {};
  std::vector<LeftBehind> found;
  for (const auto& name : *names) {
    const auto pid = parse_unsigned(name);
    const auto command = pid ? host.read_line(fmt::format("/proc/{}/comm", *pid)) : make_error("");
    if (!command || !command->starts_with(kOwnName)) continue;
    auto left = left_behind_as(host, *pid, *uptime_s);
    if (left) found.push_back(*std::move(left));
  }
  return found;
}

}  // namespace muster
