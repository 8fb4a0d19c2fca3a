// SPDX-License-Identifier: Apache-2.0
// `muster hostfile`: a host file for Open MPI, for a list, for this job, or for the nodes of a
// partition that are in service.
#include <fmt/format.h>

#include <algorithm>

#include "lib/hosts/hostlist.hpp"
#include "lib/process/startup.hpp"
#include "slurm/commands/slurm_commands.hpp"
#include "slurm/commands/slurm_site.hpp"

namespace muster::app {
namespace {

// A host file has hosts, not Slurm's names for them.
std::vector<std::string> hosts_of(const std::vector<std::string>& nodes,
                                  const std::vector<slurm::NodeName>& names) {
  std::vector<std::string> hosts;
  for (const auto& node : nodes) {
    const auto known = std::ranges::find(names, node, &slurm::NodeName::node);
    hosts.push_back(known == names.end() ? node : known->host);
  }
  return hosts;
}

Attempt<std::vector<std::string>> nodes_in_service(const HostfileCommand& command,
                                                   const Caller& caller) {
  TRY_ASSIGN(const auto site, reach_site(command.root, caller));
  const auto cluster = site.controller->nodes("");
  if (!cluster) return undecided(cluster.error());
  std::vector<std::string> nodes;
  bool known = false;
  for (const auto& node : *cluster) {
    if (std::ranges::count(node.partitions, command.partition) == 0) continue;
    known = true;
    if (slurm::standing_of(node) == slurm::Standing::in_service) nodes.push_back(node.name);
  }
  if (!known) return undecided(Error{fmt::format("Slurm has no partition {}", command.partition)});
  if (nodes.empty()) {
    return undecided(
        Error{fmt::format("no node of partition {} is in service", command.partition)});
  }
  const auto names = site.controller->names();
  if (!names) return undecided(names.error());
  return hosts_of(nodes, *names);
}

Attempt<std::vector<std::string>> nodes_of_job(const Caller& caller) {
  for (const auto* name : {"SLURM_JOB_NODELIST", "SLURM_NODELIST"}) {
    const auto list = value_of(caller.variables, name);
    if (list.empty()) continue;
    auto nodes = expand_hostlist(list);
    if (nodes) return *std::move(nodes);
    return undecided(Error{fmt::format("{}: {}", name, nodes.error().message)});
  }
  return tl::unexpected(Failure{
      kExitUsage, "hostfile: no list, no --partition, and no job: SLURM_JOB_NODELIST is not set"});
}

Attempt<std::vector<std::string>> wanted(const HostfileCommand& command, const Caller& caller) {
  if (!command.nodes.empty()) return command.nodes;
  if (!command.partition.empty()) return nodes_in_service(command, caller);
  return nodes_of_job(caller);
}

}  // namespace

int run_hostfile(const HostfileCommand& command, const Caller& caller) {
  const auto nodes = wanted(command, caller);
  if (!nodes) return fail(caller, nodes.error());
  std::string lines;
  for (const auto& node : *nodes) {
    lines.append(command.slots ? fmt::format("{} slots={}\n", node, *command.slots)
                               : fmt::format("{}\n", node));
  }
  return deliver(caller, command.output, lines, kExitHealthy);
}

}  // namespace muster::app
