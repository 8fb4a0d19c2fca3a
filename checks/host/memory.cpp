// SPDX-License-Identifier: Apache-2.0
// The memory of the node: its size, what is available, swap and huge pages.
#include <cmath>

#include "checks/catalogue.hpp"
#include "checks/shared/support.hpp"

namespace muster::checks {
namespace {

// NUMA nodes without CPUs may be GPU memory that the kernel uses (GH200, GB200).
double memory_without_cpus(const Snapshot& snapshot) {
  double bytes = 0;
  if (!snapshot.cpu.ok() || !snapshot.cpu->numa_nodes) return bytes;
  for (const auto& node : *snapshot.cpu->numa_nodes) {
    const bool without_cpus = node.cpus && node.cpus->empty();
    if (without_cpus) bytes += static_cast<double>(node.memory_bytes.value_or(0));
  }
  return bytes;
}

std::optional<Finding> judge_memory_size(const Snapshot& snapshot, const MemoryLimits& limits) {
  const Fact<std::uint64_t>& total = snapshot.memory->total_bytes;
  if (!total) return not_known(kNode, "the memory size", total);
  const double expected = limits.total->value;
  auto seen = static_cast<double>(*total);
  const double band = expected * limits.tolerance.value / 100.0;
  if (seen > expected + band) seen -= memory_without_cpus(snapshot);
  if (std::abs(seen - expected) <= band) return std::nullopt;
  return failed(kNode,
                fmt::format("{} of memory, expected {} within {:g}%", in_gib(seen),
                            in_gib(expected), limits.tolerance.value),
                seen < expected ? hardware_remedy(snapshot) : Remedy::fix_config,
                {count_value(static_cast<std::uint64_t>(seen)),
                 count_value(static_cast<std::uint64_t>(expected)), "B"});
}

// NUMA nodes without CPUs may have no memory.
std::optional<Finding> judge_numa_memory(const Snapshot& snapshot, const NumaNode& node) {
  const std::string device = fmt::format("numa{}", node.id);
  if (!node.cpus) return not_known(device, "the CPUs of the NUMA node", node.cpus);
  if (node.cpus->empty()) return std::nullopt;
  if (!node.memory_bytes) {
    return not_known(device, "the memory of the NUMA node", node.memory_bytes);
  }
  if (*node.memory_bytes != 0) return std::nullopt;
  return failed(device, fmt::format("NUMA node {} has CPUs {} but no memory", node.id, *node.cpus),
                hardware_remedy(snapshot), {0, {}, "B"});
}

Findings judge_memory(const Snapshot& snapshot, const Profile& profile) {
  const MemoryLimits& limits = profile.host->memory;
  const Fact<std::vector<NumaNode>>& nodes = snapshot.cpu->numa_nodes;
  const Fact<std::uint64_t>& total = snapshot.memory->total_bytes;

  Findings findings;
  if (limits.total) append(findings, judge_memory_size(snapshot, limits));
  if (nodes) {
    for (const auto& node : *nodes) append(findings, judge_numa_memory(snapshot, node));
  } else if (nodes.is_unreadable() || !limits.total) {
    findings.push_back(not_known(kNode, "the list of NUMA nodes", nodes));
  }
  return or_pass(
      std::move(findings),
      fmt::format("{}{}",
                  total ? fmt::format("{} of memory, ", in_gib(static_cast<double>(*total))) : "",
                  nodes ? "every NUMA node with CPUs has memory" : "no NUMA nodes"));
}

// Both sizes must be known.
double available_percent(const Memory& memory) {
  return 100.0 * static_cast<double>(*memory.available_bytes) /
         static_cast<double>(*memory.total_bytes);
}

Findings judge_memory_available(const Snapshot& snapshot, const Profile& profile) {
  const double limit = profile.host->memory_available.warn_below->value;
  const Memory& memory = *snapshot.memory;
  if (!memory.total_bytes) return {not_known(kNode, "the memory size", memory.total_bytes)};
  if (!memory.available_bytes) {
    return {not_known(kNode, "the available memory", memory.available_bytes)};
  }
  if (*memory.total_bytes == 0) return {unknown(kNode, "MemTotal is 0")};
  const double percent = available_percent(memory);
  const auto seen = fmt::format("{} ({:.1f}%) of memory available",
                                in_gib(static_cast<double>(*memory.available_bytes)), percent);
  if (percent >= limit) return {passed(seen)};
  return {warned(kNode, fmt::format("{}, expected at least {:g}%", seen, limit), Remedy::watch,
                 {percent, limit, "%"})};
}

void margins_of_memory_available(const Snapshot& snapshot, const Profile& profile,
                                 Margins& margins) {
  const Memory& memory = *snapshot.memory;
  if (memory.total_bytes.value_or(0) == 0 || !memory.available_bytes) return;
  margins.at_least(kNode, "", available_percent(memory), profile.host->memory_available.warn_below);
}

std::string swap_text(double bytes) {
  return bytes > 0 ? fmt::format("{} of swap", in_gib(bytes)) : std::string("no swap");
}

Findings judge_swap(const Snapshot& snapshot, const Profile& profile) {
  // Each swap area loses one page to its header, so the total is less than the size of the files.
  constexpr double kHeaderBytes = 1024.0 * 1024.0;
  const double limit = profile.host->swap.total->value;
  const Fact<std::uint64_t>& total = snapshot.memory->swap_total_bytes;
  if (!total) return {not_known(kNode, "the swap size", total)};
  const auto seen = static_cast<double>(*total);
  if (std::abs(seen - limit) <= (limit > 0 ? kHeaderBytes : 0)) return {passed(swap_text(seen))};
  return {warned(kNode, fmt::format("{}, expected {}", swap_text(seen), swap_text(limit)),
                 Remedy::fix_config,
                 {count_value(*total), count_value(static_cast<std::uint64_t>(limit)), "B"})};
}

// Warns about huge pages of one size; the device is the kernel's name in
// /sys/kernel/mm/hugepages.
std::optional<Finding> judge_huge_page_count(std::uint64_t size_kib, std::string_view state,
                                             const Fact<std::uint64_t>& pages,
                                             const Limit<int>& limit, bool exact) {
  if (!limit) return std::nullopt;
  const auto device = fmt::format("hugepages-{}kB", size_kib);
  if (!pages) return not_known(device, fmt::format("the number of {} huge pages", state), pages);
  const auto seen = static_cast<std::int64_t>(*pages);
  if (exact ? seen == *limit : seen >= *limit) return std::nullopt;
  return warned(device,
                fmt::format("{} of {} KiB {}, expected {}{}", counted(*pages, "huge page"),
                            size_kib, state, exact ? "" : "at least ", *limit),
                Remedy::fix_config, {count_value(*pages), *limit, "pages"});
}

std::optional<Finding> judge_huge_pages_of(const std::vector<HugePages>& pages,
                                           const HugePageLimit& limit) {
  const auto size_kib = static_cast<std::uint64_t>(limit.size.value / 1024.0);
  const auto found = std::ranges::find(pages, size_kib, &HugePages::size_kib);
  if (found == pages.end()) {
    const Limit<int> expected = std::max(limit.count.value_or(0), limit.free.value_or(0));
    return judge_huge_page_count(size_kib, "supported", std::uint64_t{0}, expected, false);
  }
  // Missing pages cannot be free either: one finding is enough.
  auto finding = judge_huge_page_count(size_kib, "configured", found->total, limit.count, true);
  return finding ? finding
                 : judge_huge_page_count(size_kib, "free", found->free, limit.free, false);
}

Findings judge_huge_pages(const Snapshot& snapshot, const Profile& profile) {
  const auto& limits = profile.host->hugepages.pages;
  const auto& pages = snapshot.memory->huge_pages;
  if (!pages) return {not_known(kNode, "the configuration of huge pages", pages)};
  Findings findings;
  for (const auto& limit : limits) append(findings, judge_huge_pages_of(*pages, limit));
  return or_pass(std::move(findings),
                 fmt::format("huge pages of {} as expected", counted(limits.size(), "size")));
}

}  // namespace

constinit const Check host_memory::check{
    .id = "host.memory",
    .title = "The node has the expected memory, on every NUMA node",
    .why =
        "Compares MemTotal with the profile's size, within a tolerance, and looks for NUMA nodes "
        "that have CPUs but no memory. A lost DIMM shows as less memory and lower bandwidth; too "
        "much memory means that the node does not match the profile.",
    .fix =
        "Look for failed DIMMs in the machine's event log (ipmitool sel list) and in host.edac; "
        "reseat or replace them. Return a virtual machine to its provider. If the node is of "
        "another kind, choose its profile.",
    .code = "NHC2022",
    .needs = Probe::memory | Probe::cpu,
    .judge = judge_memory,
};

constinit const Check host_memory_available::check{
    .id = "host.memory_available",
    .title = "Enough memory is available for the next job",
    .why =
        "Compares MemAvailable (free memory and reclaimable caches) with a share of all memory. "
        "If an idle node is short of it, something holds memory: a leftover process, files in "
        "tmpfs or /dev/shm, huge pages, or a leak in the kernel.",
    .fix =
        "Find the cause: ps aux --sort=-rss, du -sh /dev/shm /tmp, slabtop. Remove what a job left "
        "behind; reboot if you cannot find the cause.",
    .needs = Probe::memory,
    .is_limited = sets<&HostLimits::memory_available>,
    .unlimited = "this profile sets no limit for the available memory",
    .judge = judge_memory_available,
    .margins = margins_of_memory_available,
};

constinit const Check host_swap::check{
    .id = "host.swap",
    .title = "Swap is configured as expected",
    .why =
        "Compares SwapTotal with the profile. A job that outgrows its memory should fail at once; "
        "swap silently slows the whole parallel job down instead.",
    .fix =
        "swapoff -a, and remove the line from /etc/fstab or the setting of the agent that enables "
        "it (on Azure: ResourceDisk.EnableSwap in /etc/waagent.conf).",
    .needs = Probe::memory,
    .is_limited = sets<&HostLimits::swap>,
    .unlimited = "no amount of swap expected by this profile",
    .judge = judge_swap,
};

constinit const Check host_hugepages::check{
    .id = "host.hugepages",
    .title = "Huge pages are configured and free as expected",
    .why =
        "Compares the number of huge pages, and of free ones, with the profile, size by size. With "
        "too few, programs that rely on them fail or run slowly; too many take memory from all "
        "other programs; pages that are not free on an idle node were left behind.",
    .fix =
        "Set vm.nr_hugepages (or hugepagesz= and hugepages= on the kernel command line, because "
        "memory is fragmented later). Pages in use on an idle node: look in /dev/hugepages and for "
        "shared memory segments (ipcs -m).",
    .needs = Probe::memory,
    .is_limited = sets<&HostLimits::hugepages>,
    .unlimited = "no huge pages expected by this profile",
    .judge = judge_huge_pages,
};

}  // namespace muster::checks
