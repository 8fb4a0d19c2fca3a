// SPDX-License-Identifier: Apache-2.0
// host.cpu: the processors the profile promises are there, and none of them is offline.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "checks/catalogue.hpp"
#include "checks/shared/support.hpp"
#include "lib/base/text.hpp"
#include "lib/profile/limits/host.hpp"

namespace muster::checks::host_cpu {
namespace {

struct Count {
  std::string_view noun;
  Fact<unsigned> seen;
  Limit<int> expected;

  [[nodiscard]] bool differs() const {
    return expected && seen && static_cast<std::int64_t>(*seen) != *expected;
  }
};

// GPU memory can appear as NUMA nodes without a CPU (GB200), which are not counted.
Fact<unsigned> nodes_with_cpus(const Fact<std::vector<NumaNode>>& nodes) {
  if (!nodes) {
    return nodes.is_absent() ? Fact<unsigned>::absent(nodes.why())
                             : Fact<unsigned>::unreadable(nodes.why());
  }
  unsigned count = 0;
  for (const auto& node : *nodes) {
    if (!node.cpus) return Fact<unsigned>::unreadable(node.cpus.why());
    if (!node.cpus->empty()) ++count;
  }
  return count;
}

// With SMT switched off the second thread of every core is present and offline: as many threads as
// cores are online, and the others are a multiple of that.
bool looks_like_smt_off(const Cpu& cpu, std::size_t offline) {
  if (!cpu.cores || !cpu.threads || *cpu.cores == 0) return false;
  return *cpu.cores == *cpu.threads && offline % *cpu.cores == 0;
}

Finding judge_offline(const Cpu& cpu, const std::vector<unsigned>& offline) {
  Finding finding =
      failed(kNode, fmt::format("{} offline: {}", counted(offline.size(), "CPU"), *cpu.offline),
             Remedy::reboot, {count_value(offline.size()), 0, "CPUs"});
  if (looks_like_smt_off(cpu, offline.size())) {
    finding.outcome = Outcome::warn;
    finding.remedy = Remedy::fix_config;
    finding.message += ", as when SMT is switched off; set host.cpu.threads if that is meant";
  }
  return finding;
}

// Wrong counts have one cause, so they are one finding; its value is the first that is wrong.
Finding judge_counts(const Snapshot& snapshot, const std::vector<Count>& counts) {
  const auto first = std::ranges::find_if(counts, &Count::differs);
  std::vector<std::string> parts;
  for (const auto& count : counts) {
    if (count.differs()) {
      parts.push_back(
          fmt::format("{}, expected {}", counted(*count.seen, count.noun), *count.expected));
    }
  }
  const Fact<std::string>& offline = snapshot.cpu->offline;
  if (offline && !offline->empty()) parts.push_back(fmt::format("offline: CPUs {}", *offline));
  return failed(kNode, fmt::format("{}", fmt::join(parts, "; ")), hardware_remedy(snapshot),
                {*first->seen, *first->expected, fmt::format("{}s", first->noun)});
}

std::string describe(const std::vector<Count>& counts) {
  std::vector<std::string> parts;
  for (const auto& count : counts) {
    if (count.seen) parts.push_back(counted(*count.seen, count.noun));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  const Cpu& cpu = *snapshot.cpu;
  const CpuLimits& limits = profile.host->cpu;
  const std::vector<Count> counts{
      {"socket", cpu.sockets, limits.sockets},
      {"core", cpu.cores, limits.cores},
      {"thread", cpu.threads, limits.threads},
      {"NUMA node", nodes_with_cpus(cpu.numa_nodes), limits.numa_nodes}};
  Findings findings;
  for (const auto& count : counts) {
    if (count.expected && !count.seen) {
      findings.push_back(
          not_known(kNode, fmt::format("the number of {}s", count.noun), count.seen));
    }
  }
  if (std::ranges::any_of(counts, &Count::differs)) {
    findings.push_back(judge_counts(snapshot, counts));
    return findings;
  }

  const auto offline = cpu.offline ? parse_cpu_list(*cpu.offline) : make_error(cpu.offline.why());
  // The expected number of threads is online: what is offline is so on purpose.
  const bool threads_judged = limits.threads && cpu.threads;
  if (!offline) {
    findings.push_back(not_known(kNode, "the list of offline CPUs",
                                 Fact<std::string>::unreadable(offline.error().message)));
  } else if (!offline->empty() && !threads_judged) {
    findings.push_back(judge_offline(cpu, *offline));
  }
  return or_pass(std::move(findings), describe(counts));
}

}  // namespace

constinit const Check check{
    .id = "host.cpu",
    .title = "Sockets, cores, threads and NUMA nodes are as expected, and no core is offline",
    .why =
        "Counts the sockets, cores, threads and NUMA nodes that are online. A missing core makes "
        "every job that pins ranks to cores fail or run slow; a wrong number of NUMA nodes means "
        "a firmware setting or another machine than the profile thinks. NUMA nodes without CPUs "
        "(GPU memory) are not counted.",
    .fix =
        "Bring offline CPUs back (echo 1 > /sys/devices/system/cpu/cpuN/online) or reboot. If "
        "whole sockets or NUMA nodes are missing, look at the firmware's settings (NUMA per "
        "socket, SMT) and at the machine's event log; a virtual machine of the wrong shape goes "
        "back to its provider.",
    .code = "NHC2022",
    .needs = Probe::cpu,
    .judge = judge,
};

}  // namespace muster::checks::host_cpu
