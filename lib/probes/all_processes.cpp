// SPDX-License-Identifier: Apache-2.0
#include "lib/probes/all_processes.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "lib/base/text.hpp"
#include "lib/probes/attributes.hpp"
#include "lib/probes/parse/processes.hpp"

namespace muster {
namespace {

constexpr std::size_t kLongestCommand = 256;

double in_seconds(std::uint64_t ticks) {
  static const auto per_second = static_cast<double>(::sysconf(_SC_CLK_TCK));
  return static_cast<double>(ticks) / per_second;
}

// The numbers behind the name; the state is the first of these fields.
std::optional<std::uint64_t> number_at(const std::vector<std::string_view>& fields,
                                       std::size_t index) {
  if (index >= fields.size()) return std::nullopt;
  const auto number = parse_unsigned(fields[index]);
  return number ? std::optional(*number) : std::nullopt;
}

std::string command_of(const Root& root, const std::string& pid, const std::string& name) {
  auto command = root.read(fmt::format("/proc/{}/cmdline", pid));
  if (!command || command->empty()) return fmt::format("[{}]", name);
  while (!command->empty() && command->back() == '\0') command->pop_back();
  std::ranges::replace(*command, '\0', ' ');
  return printable(*command, kLongestCommand);
}

Fact<std::uint64_t> user_of(const Root& root, const std::string& pid) {
  const auto status = root.read(fmt::format("/proc/{}/status", pid));
  if (!status) return Fact<std::uint64_t>::failed(status.error());
  return Fact<std::uint64_t>(parse_user(*status));
}

// Nothing where the process has ended meanwhile.
std::optional<RunningProcess> read_process(const Root& root,
                                           const std::string& pid,
                                           const std::optional<double>& uptime_s) {
  const auto text = root.read(fmt::format("/proc/{}/stat", pid));
  if (!text) return std::nullopt;
  const auto stat = parse_process_stat(*text);
  if (!stat) return std::nullopt;
  const auto fields = split(std::string_view(*text).substr(text->rfind(')') + 2), ' ');
  const auto user_ticks = number_at(fields, 11);
  const auto system_ticks = number_at(fields, 12);
  const auto virtual_bytes = number_at(fields, 20);
  const auto pages = number_at(fields, 21);
  if (!user_ticks || !system_ticks || !virtual_bytes || !pages) return std::nullopt;
  RunningProcess process{
      .pid = stat->pid,
      .parent = stat->parent,
      .user = user_of(root, pid),
      .name = printable(stat->name, 64),
      .cpu_s = in_seconds(*user_ticks + *system_ticks),
      .resident_bytes = *pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)),
      .virtual_bytes = *virtual_bytes};
  if (uptime_s) process.age_s = std::max(0.0, *uptime_s - in_seconds(stat->start_ticks));
  process.command = command_of(root, pid, process.name);
  return process;
}

}  // namespace

Fact<std::vector<RunningProcess>> read_all_processes(const Root& root) {
  const auto names = root.list("/proc", kMostProcesses);
  if (!names) return Fact<std::vector<RunningProcess>>::failed(names.error());
  const auto uptime = read_uptime(root);
  const auto uptime_s = uptime ? std::optional(*uptime) : std::nullopt;
  std::vector<RunningProcess> processes;
  for (const auto& name : *names) {
    if (!parse_unsigned(name)) continue;
    auto process = read_process(root, name, uptime_s);
    if (process) processes.push_back(*std::move(process));
  }
  std::ranges::sort(processes, {}, &RunningProcess::pid);
  return processes;
}

Fact<std::map<std::string, std::uint64_t>> read_users(const Root& root) {
  constexpr std::size_t kLargestFile = 8UL * 1024 * 1024;
  const auto text = root.read("/etc/passwd", kLargestFile);
  if (!text) return Fact<std::map<std::string, std::uint64_t>>::failed(text.error());
  std::map<std::string, std::uint64_t> users;
  for (const auto line : split_lines(*text)) {
    const auto fields = split(line, ':');
    if (fields.size() < 3 || fields[0].empty()) continue;
    if (const auto id = parse_unsigned(fields[2])) users.emplace(printable(fields[0], 64), *id);
  }
  return users;
}

}  // namespace muster
