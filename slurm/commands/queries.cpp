// SPDX-License-Identifier: Apache-2.0
// The commands that only read: `muster status`, `muster history`, `muster events`, and `muster
// hostfile`, which writes a host file for Open MPI.

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "lib/base/clock.hpp"
#include "lib/base/text.hpp"
#include "lib/hosts/hostlist.hpp"
#include "lib/process/startup.hpp"
#include "slurm/commands/slurm_commands.hpp"
#include "slurm/commands/slurm_site.hpp"
#include "slurm/status/status.hpp"

namespace muster::app {
namespace {

constexpr std::chrono::seconds kPollInterval{1};

template <class Command>
slurm::EventFilter filter_of(const Command& command) {
  slurm::EventFilter filter{.nodes = command.nodes};
  if (command.since) {
    filter.since =
        wall_time() - std::chrono::seconds(static_cast<std::int64_t>(command.since->value));
  }
  return filter;
}

// Prints the events of the filter, and moves the filter past them.
int print(const slurm::History& history, slurm::EventFilter& filter, EventForm form,
          const Caller& caller) {
  const auto events = history.events(filter);
  if (!events) return fail(caller, undecided(events.error()).value());
  std::string lines;
  for (const auto& event : *events) {
    lines.append(form == EventForm::json ? to_json_line(event) : to_line(event));
    filter.after_id = event.id;
  }
  return lines.empty() ? kExitHealthy : deliver(caller, "", lines, kExitHealthy);
}

Attempt<slurm::History> open(const std::string& state) {
  const auto folder = state_folder(state, "/").value();
  auto history = slurm::History::read(history_file(folder));
  if (history) return *std::move(history);
  if (!history.error().missing) return undecided(history.error());
  // It is not an error if muster has done nothing on this node yet.
  return tl::unexpected<Failure>(
      Failure{.status = kExitHealthy,
              .message = fmt::format("no events yet in {}", printable(folder.string()))});
}

// A host file lists host names, which may differ from Slurm's node names.
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

int run_status(const StatusCommand& command, const Caller& caller) {
  const auto site = reach_site(command.root, caller);
  if (!site) return fail(caller, site.error());
  const auto& [rules, controller] = *site;
  const auto cluster = slurm::all_nodes(*controller);
  if (!cluster) return fail(caller, undecided(cluster.error()).value());
  const auto folder = state_folder(command.state, command.root);
  const auto history = folder.map(history_file).and_then([](const auto& file) {
    return slurm::History::read(file);
  });
  auto status = slurm::status_of(cluster->nodes, command.nodes, rules, wall_time(),
                                 history ? &*history : nullptr);
  status.hidden = cluster->hidden.size();
  if (!history && !history.error().missing) status.history = history.error().message;
  for (const auto& name : command.nodes) {
    if (find_node(cluster->nodes, name) != nullptr) continue;
    caller.console.note(
        fmt::format("muster: no Slurm partition has a node {}", printable(name, 100)));
  }
  const auto text =
      command.form == EventForm::json ? slurm::to_json(status) : slurm::to_text(status, rules);
  return deliver(caller, "", text, kExitHealthy);
}

int run_history(const HistoryCommand& command, const Caller& caller) {
  const auto history = open(command.state);
  if (!history) return fail(caller, history.error());
  auto filter = filter_of(command);
  filter.kinds = {"drained", "resumed",  "undone",    "released", "worsened",
                  "stopped", "accepted", "confirmed", "cleared",  "repair"};
  return print(*history, filter, command.form, caller);
}

int run_events(const EventsCommand& command, const Caller& caller) {
  auto history = open(command.state);
  if (!history) {
    const int status = fail(caller, history.error());
    if (!command.follow || status != kExitHealthy) return status;
    while (!history && history.error().status == kExitHealthy) {
      std::this_thread::sleep_for(kPollInterval);
      history = open(command.state);
    }
    if (!history) return fail(caller, history.error());
  }
  auto filter = filter_of(command);
  for (;;) {
    const int status = print(*history, filter, command.form, caller);
    if (!command.follow || status != kExitHealthy) return status;
    std::this_thread::sleep_for(kPollInterval);
  }
}

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
