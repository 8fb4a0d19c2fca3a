// SPDX-License-Identifier: Apache-2.0
// srun: its variables, and the node of its first task.
#include <fmt/format.h>

#include <cstdint>
#include <numeric>
#include <utility>

#include "bench/launch/detection.hpp"
#include "lib/base/text.hpp"
#include "lib/hosts/hostlist.hpp"

namespace muster::bench {
namespace {

constexpr std::string_view kRank = "SLURM_PROCID";
constexpr std::string_view kTasks = "SLURM_NTASKS";
constexpr std::string_view kStepTasks = "SLURM_STEP_NUM_TASKS";
constexpr std::string_view kPerNode = "SLURM_STEP_TASKS_PER_NODE";
constexpr std::string_view kNodes = "SLURM_STEP_NODELIST";

// Inside an allocation SLURM_NTASKS may be the allocation's; a step has its own.
std::string_view world_name(const Environment& environment) {
  return environment.has(kStepTasks) ? kStepTasks : kTasks;
}

// The batch script itself has SLURM_PROCID=0 and no variables of a step.
bool is_batch_script(const Environment& environment) {
  return environment.text(kRank) == "0" &&
         environment.missing({kNodes, kStepTasks, kPerNode}).size() == 3;
}

Result<void> add_local_world(const Environment& environment, Place& place) {
  if (!environment.has(kPerNode)) return {};
  const auto counts = parse_tasks_per_node(environment.text(kPerNode));
  if (!counts) return make_error(fmt::format("{}: {}", kPerNode, counts.error().message));
  const auto sum = std::accumulate(counts->begin(), counts->end(), std::int64_t{0});
  if (sum != place.world) {
    return make_error(fmt::format(
        "{} has {} tasks, which contradicts {}: give --rank, --world and "
        "--rendezvous, or name the launcher with --launch",
        setting(environment, kPerNode), sum, setting(environment, world_name(environment))));
  }
  TRY_ASSIGN(const auto node, environment.number("SLURM_NODEID"));
  const auto index = static_cast<std::size_t>(node.value_or(0));
  if (index >= counts->size()) {
    return make_error(fmt::format("{} contradicts {}, which has {} nodes",
                                  setting(environment, "SLURM_NODEID"),
                                  setting(environment, kPerNode), counts->size()));
  }
  if (node || counts->size() == 1) place.local_world = counts->at(index);
  return {};
}

// Derives a port from the job and the step, so that two jobs on a node do not meet.
Result<void> add_rendezvous(const Environment& environment, Place& place) {
  std::string host(environment.text("MASTER_ADDR"));
  std::string_view source = "MASTER_ADDR";
  if (host.empty()) {
    if (!environment.has(kNodes)) return {};
    auto first = first_of_hostlist(environment.text(kNodes));
    if (!first) {
      return make_error(fmt::format("{}: {}", setting(environment, kNodes), first.error().message));
    }
    host = *std::move(first);
    source = kNodes;
  }
  const auto job =
      fmt::format("{}.{}", environment.text("SLURM_JOB_ID"), environment.text("SLURM_STEP_ID"));
  TRY_ASSIGN(const auto port, environment.port("MASTER_PORT", port_of_job(job)));
  place.evidence.push_back(fmt::format(
      "rank 0 listens on {} port {}: {} and {}", printable(host, 100), port, source,
      environment.has("MASTER_PORT") ? "MASTER_PORT" : "a port that follows from job and step"));
  place.rendezvous = Rendezvous{.host = std::move(host), .port = port};
  return {};
}

Result<Place> read_slurm_place(const Environment& environment) {
  SizeNames names{.rank = kRank, .world = world_name(environment), .local_rank = "SLURM_LOCALID"};
  auto place = read_place(environment, names);
  if (!place) return place;
  place->launcher = Launcher::slurm;
  place->evidence.push_back(fmt::format("started by srun: {} of {}",
                                        setting(environment, names.rank),
                                        setting(environment, names.world)));
  place->evidence.emplace_back(
      "MPI_Init is not called: under srun it works with --mpi=pmix only, which sets PMIX_RANK");
  names.local_world = kPerNode;  // only for messages: it is not a number
  TRY(add_local_world(environment, *place));
  TRY(add_rendezvous(environment, *place));
  TRY(check_place(*place, names));
  return place;
}

constexpr std::uint64_t kMostNodes = 65536;

struct TaskGroup {
  std::uint64_t tasks = 0;
  std::uint64_t nodes = 1;
};

// "2(x4)" or "3".
Result<TaskGroup> parse_group(std::string_view text) {
  const auto wrong = make_error(fmt::format(
      "invalid count of tasks \"{}\": expected one such as 2 or 2(x4)", printable(text, 60)));
  const auto bracket = text.find('(');
  const auto tasks = parse_unsigned(text.substr(0, bracket));
  if (!tasks || *tasks > UINT16_MAX) return wrong;
  if (bracket == std::string_view::npos) return TaskGroup{.tasks = *tasks};
  const auto rest = text.substr(bracket);
  if (rest.size() < 4 || !rest.starts_with("(x") || !rest.ends_with(")")) return wrong;
  const auto nodes = parse_unsigned(rest.substr(2, rest.size() - 3));
  if (!nodes || *nodes > kMostNodes) return wrong;
  return TaskGroup{.tasks = *tasks, .nodes = *nodes};
}

}  // namespace

Result<std::vector<int>> parse_tasks_per_node(std::string_view text) {
  std::vector<int> result;
  for (const auto part : split(text, ',')) {
    TRY_ASSIGN(const auto group, parse_group(part));
    if (result.size() + group.nodes > kMostNodes) {
      return make_error(fmt::format("more than {} nodes", kMostNodes));
    }
    result.insert(result.end(), group.nodes, static_cast<int>(group.tasks));
  }
  return result;
}

Detection detect_slurm(const Environment& environment, const LaunchFlags& /*flags*/) {
  const auto world = world_name(environment);
  Detection result{.launcher = Launcher::slurm, .missing = environment.missing({kRank, world})};
  if (!environment.has(kRank)) return result;
  result.seen = setting(environment, kRank);
  if (!result.missing.empty()) return result;
  result.seen = fmt::format("{} of {}", result.seen, setting(environment, world));
  if (is_batch_script(environment)) {
    result.unsuited = "this is the batch script, not a step; start with srun";
  }
  result.place = read_slurm_place(environment);
  return result;
}

}  // namespace muster::bench
