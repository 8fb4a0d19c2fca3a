// SPDX-License-Identifier: Apache-2.0
// host.memory: the node has the memory the profile promises, and every NUMA node with CPUs has
// some.

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>

#include "checks/catalogue.hpp"
#include "checks/shared/support.hpp"
#include "lib/profile/limits/host.hpp"

namespace muster::checks::host_memory {
namespace {

// The memory of NUMA nodes without CPUs: that of GPUs may be the kernel's, too (GH200, GB200).
double memory_without_cpus(const Snapshot& snapshot) {
  double bytes = 0;
  if (!snapshot.cpu.ok() || !snapshot.cpu->numa_nodes) return bytes;
  for (const auto& node : *snapshot.cpu->numa_nodes) {
    const bool alone = node.cpus && node.cpus->empty();
    if (alone) bytes += static_cast<double>(node.memory_bytes.value_or(0));
  }
  return bytes;
}

std::optional<Finding> judge_total(const Snapshot& snapshot, const MemoryLimits& limits) {
  const Fact<std::uint64_t>& total = snapshot.memory->total_bytes;
  if (!total) return not_known(kNode, "the memory size", total);
  const double expected = limits.total->value;
  auto seen = static_cast<double>(*total);
  const double band = expected * limits.tolerance.value / 100.0;
  if (seen > expected + band) seen -= memory_without_cpus(snapshot);
  if (seen >= expected - band && seen <= expected + band) return std::nullopt;
  const bool short_of = seen < expected;
  return failed(kNode,
                fmt::format("{} of memory, {} than the expected {} within {:g}%", in_gib(seen),
                            short_of ? "less" : "more", in_gib(expected), limits.tolerance.value),
                short_of ? hardware_remedy(snapshot) : Remedy::fix_config,
                {count_value(static_cast<std::uint64_t>(seen)),
                 count_value(static_cast<std::uint64_t>(expected)), "B"});
}

// Nodes without CPUs are left alone: they may be empty, and they may be GPU memory.
std::optional<Finding> judge_node(const Snapshot& snapshot, const NumaNode& node) {
  const std::string device = fmt::format("numa{}", node.id);
  if (!node.cpus) return not_known(device, "which CPUs belong to the NUMA node", node.cpus);
  if (node.cpus->empty()) return std::nullopt;
  if (!node.memory_bytes)
    return not_known(device, "the memory of the NUMA node", node.memory_bytes);
  if (*node.memory_bytes != 0) return std::nullopt;
  return failed(device, fmt::format("NUMA node {} has CPUs {} and no memory", node.id, *node.cpus),
                hardware_remedy(snapshot), {0, {}, "B"});
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  const MemoryLimits& limits = profile.host->memory;
  const Fact<std::vector<NumaNode>>& nodes = snapshot.cpu->numa_nodes;
  const Fact<std::uint64_t>& total = snapshot.memory->total_bytes;

  Findings findings;
  if (limits.total) append(findings, judge_total(snapshot, limits));
  if (nodes) {
    for (const auto& node : *nodes) append(findings, judge_node(snapshot, node));
  } else if (nodes.is_unreadable() || !limits.total) {
    findings.push_back(not_known(kNode, "the list of NUMA nodes", nodes));
  }
  return or_pass(
      std::move(findings),
      fmt::format("{}{}",
                  total ? fmt::format("{} of memory, ", in_gib(static_cast<double>(*total))) : "",
                  nodes ? "every NUMA node with CPUs has memory" : "no NUMA nodes"));
}

}  // namespace

constinit const Check check{
    .id = "host.memory",
    .title = "The node has the expected memory, on every NUMA node",
    .why =
        "Compares MemTotal with the profile's size, within a band both ways, and looks for NUMA "
        "nodes that have CPUs and no memory. A lost DIMM shows as less memory and as lost "
        "bandwidth; too much memory means that the node is not of the kind the profile describes.",
    .fix =
        "Look for failed DIMMs in the machine's event log (ipmitool sel list) and in host.edac; "
        "reseat or replace them. A virtual machine goes back to its provider. If the node is of "
        "another kind, choose its profile.",
    .code = "NHC2022",
    .needs = Probe::memory | Probe::cpu,
    .judge = judge,
};

}  // namespace muster::checks::host_memory
