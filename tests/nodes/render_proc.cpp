// SPDX-License-Identifier: Apache-2.0
// Processes with their limits and cgroups, their services, and the load.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "tests/nodes/parts.hpp"

namespace muster::nodes {
namespace {

std::string stat_line(const ProcessDescription& process) {
  return fmt::format(
      "{} ({}) {} {} {} {} 0 -1 4194560 1204 0 0 0 12 7 0 0 20 0 1 0 {} 180224000 2048 "
      "18446744073709551615 1 1 0 0 0 0 0 4096 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
      process.pid, process.name, process.state, process.parent, process.pid, process.pid,
      process.start_ticks);
}

std::string state_word(char state) {
  static const std::map<char, std::string> words{
      {'R', "R (running)"}, {'S', "S (sleeping)"}, {'D', "D (disk sleep)"}, {'Z', "Z (zombie)"}};
  const auto found = words.find(state);
  return found == words.end() ? fmt::format("{} (unknown)", state) : found->second;
}

std::string limits(const ProcessDescription& process) {
  const auto line = [](std::string_view name, std::string_view value, std::string_view unit) {
    return fmt::format("{:<25} {:<20} {:<20} {:<10}\n", name, value, value, unit);
  };
  std::string text =
      fmt::format("{:<25} {:<20} {:<20} {:<10}\n", "Limit", "Soft Limit", "Hard Limit", "Units");
  text.append(line("Max cpu time", "unlimited", "seconds"));
  text.append(line("Max file size", "unlimited", "bytes"));
  text.append(line("Max stack size", "unlimited", "bytes"));
  text.append(line("Max processes", "7412000", "processes"));
  text.append(line("Max open files", process.open_files, "files"));
  text.append(line("Max locked memory", process.memlock, "bytes"));
  text.append(line("Max address space", "unlimited", "bytes"));
  return text;
}

void add_process(const ProcessDescription& process, Tree& tree) {
  const auto folder = fmt::format("proc/{}", process.pid);
  tree.file(fmt::format("{}/stat", folder), stat_line(process));
  attribute(tree, folder, "comm", process.name);
  tree.file(fmt::format("{}/status", folder),
            fmt::format("Name:\t{}\nUmask:\t0022\nState:\t{}\nTgid:\t{}\nPid:\t{}\nPPid:\t{}\n"
                        "Uid:\t{}\t{}\t{}\t{}\nGid:\t0\t0\t0\t0\nThreads:\t1\n"
                        "voluntary_ctxt_switches:\t{}\nnonvoluntary_ctxt_switches:\t7\n",
                        process.name, state_word(process.state), process.pid, process.pid,
                        process.parent, process.user, process.user, process.user, process.user,
                        process.voluntary_switches));
  if (!process.waits_in.empty()) tree.file(fmt::format("{}/wchan", folder), process.waits_in);
  tree.file(fmt::format("{}/limits", folder), limits(process));
  tree.file(fmt::format("{}/cmdline", folder), std::string(process.name).append(1, '\0'));
  attribute(tree, folder, "cgroup",
            process.unit.empty() ? std::string("0::/")
                                 : fmt::format("0::/system.slice/{}", process.unit));
}

void add_services(const NodeDescription& node, Tree& tree) {
  std::map<std::string, std::string> units;
  for (const auto& process : node.processes) {
    if (!process.unit.empty()) units[process.unit].append(fmt::format("{}\n", process.pid));
  }
  for (const auto& [unit, pids] : units) {
    const auto folder = fmt::format("sys/fs/cgroup/system.slice/{}", unit);
    tree.file(fmt::format("{}/cgroup.procs", folder), pids);
    attribute(tree, folder, "cgroup.events", "populated 1\nfrozen 0");
  }
  for (const auto& unit : node.oneshot_services) units.emplace(unit, "");
  tree.directory("run/systemd/system");
  tree.directory("sys/fs/cgroup/system.slice");
  tree.file("sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory hugetlb pids rdma misc\n");
  // systemd keeps the invocation of every active unit as a dangling link.
  for (const auto& [unit, pids] : units) {
    tree.link(fmt::format("run/systemd/units/invocation:{}", unit),
              fmt::format("run/systemd/units/{:032x}", std::hash<std::string>{}(unit)));
  }
}

}  // namespace

void render_processes(const NodeDescription& node, Tree& tree) {
  unsigned last = 0;
  for (const auto& process : node.processes) {
    add_process(process, tree);
    last = std::max(last, process.pid);
  }
  add_services(node, tree);
  tree.file("proc/loadavg",
            fmt::format("{:.2f} {:.2f} {:.2f} {}/{} {}\n", node.load1, node.load5, node.load15,
                        node.running, node.processes.size() * 4, last));
}

}  // namespace muster::nodes
