// SPDX-License-Identifier: Apache-2.0
// The launchers: torchrun and jobs that set the same variables, Open MPI's mpirun, hydra (MPICH and
// Intel MPI), PMIx, srun, and TensorFlow's TF_CONFIG.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>

#include "bench/launch/environment.hpp"
#include "lib/base/fields.hpp"
#include "lib/base/json_read.hpp"
#include "lib/base/text.hpp"
#include "lib/hosts/hostlist.hpp"

namespace muster::bench {
namespace {

constexpr SizeNames kTorchrun{.rank = "RANK",
                              .world = "WORLD_SIZE",
                              .local_rank = "LOCAL_RANK",
                              .local_world = "LOCAL_WORLD_SIZE"};
constexpr SizeNames kOpenMpi{.rank = "OMPI_COMM_WORLD_RANK",
                             .world = "OMPI_COMM_WORLD_SIZE",
                             .local_rank = "OMPI_COMM_WORLD_LOCAL_RANK",
                             .local_world = "OMPI_COMM_WORLD_LOCAL_SIZE"};
constexpr SizeNames kHydra{.rank = "PMI_RANK",
                           .world = "PMI_SIZE",
                           .local_rank = "MPI_LOCALRANKID",
                           .local_world = "MPI_LOCALNRANKS"};
constexpr std::string_view kProcId = "SLURM_PROCID";
constexpr std::string_view kStepTasks = "SLURM_STEP_NUM_TASKS";
constexpr std::string_view kPerNode = "SLURM_STEP_TASKS_PER_NODE";
constexpr std::string_view kNodes = "SLURM_STEP_NODELIST";
constexpr std::string_view kTfConfig = "TF_CONFIG";

// Inside an allocation SLURM_NTASKS may be the allocation's; a step has its own.
SizeNames slurm_names(const Environment& environment) {
  return {.rank = kProcId,
          .world = environment.has(kStepTasks) ? kStepTasks : "SLURM_NTASKS",
          .local_rank = "SLURM_LOCALID"};
}

std::string rank_of_world(const Environment& environment, const SizeNames& names) {
  return fmt::format("{} of {}", setting(environment, names.rank),
                     setting(environment, names.world));
}

// Detects a launcher that sets both the rank and the number of ranks.
template <class Read>
Detection detect(const Environment& environment, Launcher launcher, const SizeNames& names,
                 const Read& read) {
  Detection result{.launcher = launcher, .missing = environment.missing({names.rank, names.world})};
  if (!environment.has(names.rank)) return result;
  result.seen = setting(environment, names.rank);
  if (!result.missing.empty()) return result;
  result.seen = rank_of_world(environment, names);
  result.place = read();
  if (result.place) result.place->launcher = launcher;
  return result;
}

void add_listening(Place& place, std::string_view when, std::string_view why) {
  const auto& [host, port] = *place.rendezvous;
  place.evidence.push_back(fmt::format("{}rank 0 {} on {} port {}: {}", when,
                                       when.empty() ? "listens" : "would listen",
                                       printable(host, 100), port, why));
}

// The customary port of jobs on Azure.
constexpr std::uint16_t kAzurePort = 6105;

// Drops Azure Batch's own port: "10.0.0.4:6000".
std::string without_port(std::string_view text) {
  const auto address = parse_endpoint(text);
  return address ? address->host : std::string(text);
}

// Sets where the ranks of an MPI launcher meet without MPI: at MASTER_ADDR, Azure Batch's master
// node, or on loopback if all are on this node.
Result<void> add_mpi_rendezvous(const Environment& environment, Place& place) {
  for (const std::string_view master :
       {"MASTER_ADDR", "AZ_BATCH_MASTER_NODE", "AZ_BATCHAI_MPI_MASTER_NODE"}) {
    if (!environment.has(master)) continue;
    TRY_ASSIGN(const auto port, environment.port("MASTER_PORT", kAzurePort));
    place.rendezvous = Rendezvous{.host = without_port(environment.text(master)), .port = port};
    add_listening(
        place, "without MPI ",
        fmt::format("{} and {}", master,
                    environment.has("MASTER_PORT") ? "MASTER_PORT" : "the customary port"));
    return {};
  }
  if (place.local_world != place.world) return {};
  const auto job = environment.text("PMIX_NAMESPACE");
  place.rendezvous =
      Rendezvous{.host = "127.0.0.1", .port = job.empty() ? kAzurePort : port_of_job(job)};
  add_listening(place, "without MPI ", "all ranks are on this node");
  return {};
}

Detection detect_mpi(const Environment& environment, Launcher launcher, const SizeNames& names,
                     std::string_view program) {
  return detect(environment, launcher, names, [&]() -> Result<Place> {
    TRY_ASSIGN(auto place, read_place(environment, names));
    place.mpi = true;
    place.evidence.push_back(
        fmt::format("started by {}: {}", program, rank_of_world(environment, names)));
    TRY(add_mpi_rendezvous(environment, place));
    return place;
  });
}

// srun --mpi=pmi2 sets these too, but not hydra's local ranks.
bool is_of_srun(const Environment& environment) {
  return !environment.has(kHydra.local_rank) && environment.has(kHydra.rank) &&
         environment.text(kHydra.rank) == environment.text(kProcId) &&
         environment.text(kHydra.world) == environment.text("SLURM_NTASKS");
}

// torchrun's own store listens on MASTER_PORT already.
bool agent_has_port(const Environment& environment) {
  const auto agent = environment.text("TORCHELASTIC_USE_AGENT_STORE");
  return agent == "True" || agent == "true" || agent == "1";
}

Result<void> add_torchrun_rendezvous(const Environment& environment, Place& place) {
  constexpr std::uint16_t kTorchPort = 29500;
  TRY_ASSIGN(const auto master_port, environment.port("MASTER_PORT", kTorchPort));
  const bool taken = agent_has_port(environment);
  place.rendezvous = Rendezvous{.host = std::string(environment.text("MASTER_ADDR")),
                                .port = taken ? shifted_port(master_port) : master_port};
  std::string why = environment.has("MASTER_PORT")
                        ? "MASTER_ADDR and MASTER_PORT"
                        : "MASTER_ADDR and PyTorch's own port, as MASTER_PORT is unset";
  if (taken) {
    why += fmt::format(" {} moved by {}, as torchrun's own store has that port", master_port,
                       kPortOffset);
  }
  add_listening(place, "", why);
  return {};
}

Result<Place> read_torchrun_place(const Environment& environment) {
  TRY_ASSIGN(auto place, read_place(environment, kTorchrun));
  place.launcher = Launcher::torchrun;
  place.evidence.push_back(
      fmt::format("started as by torchrun: {}", rank_of_world(environment, kTorchrun)));
  if (!place.local_rank) {
    place.evidence.emplace_back(
        "LOCAL_RANK is not set: this may be the only process of a pod or node");
  }
  // Azure ML's. torchrun renumbers the nodes, so it need not match the ranks.
  if (environment.has("NODE_RANK")) {
    place.evidence.push_back(
        fmt::format("the job's own number of this node: {}", setting(environment, "NODE_RANK")));
  }
  if (environment.has("MASTER_ADDR")) TRY(add_torchrun_rendezvous(environment, place));
  return place;
}

// The batch script itself has SLURM_PROCID=0 and no variables of a step.
bool is_batch_script(const Environment& environment) {
  return environment.text(kProcId) == "0" &&
         environment.missing({kNodes, kStepTasks, kPerNode}).size() == 3;
}

Result<void> add_local_world(const Environment& environment, std::string_view world, Place& place) {
  if (!environment.has(kPerNode)) return {};
  const auto counts = parse_tasks_per_node(environment.text(kPerNode));
  if (!counts) return make_error("{}: {}", kPerNode, counts.error().message);
  const auto sum = std::accumulate(counts->begin(), counts->end(), std::int64_t{0});
  if (sum != place.world) {
    return make_error(
        "{} has {} tasks, which contradicts {}: give --rank, --world and "
        "--rendezvous, or name the launcher with --launch",
        setting(environment, kPerNode), sum, setting(environment, world));
  }
  TRY_ASSIGN(const auto node, environment.number("SLURM_NODEID"));
  const auto index = static_cast<std::size_t>(node.value_or(0));
  if (index >= counts->size()) {
    return make_error("{} contradicts {}, which has {} nodes", setting(environment, "SLURM_NODEID"),
                      setting(environment, kPerNode), counts->size());
  }
  if (node || counts->size() == 1) place.local_world = counts->at(index);
  return {};
}

// Derives a port from the job and the step, so that two jobs on a node do not meet.
Result<void> add_slurm_rendezvous(const Environment& environment, Place& place) {
  std::string host(environment.text("MASTER_ADDR"));
  std::string_view source = "MASTER_ADDR";
  if (host.empty()) {
    if (!environment.has(kNodes)) return {};
    auto first = first_of_hostlist(environment.text(kNodes));
    if (!first) {
      return make_error("{}: {}", setting(environment, kNodes), first.error().message);
    }
    host = *std::move(first);
    source = kNodes;
  }
  const auto job =
      fmt::format("{}.{}", environment.text("SLURM_JOB_ID"), environment.text("SLURM_STEP_ID"));
  TRY_ASSIGN(const auto port, environment.port("MASTER_PORT", port_of_job(job)));
  place.rendezvous = Rendezvous{.host = std::move(host), .port = port};
  add_listening(place, "",
                fmt::format("{} and {}", source,
                            environment.has("MASTER_PORT") ? "MASTER_PORT"
                                                           : "a port derived from job and step"));
  return {};
}

Result<Place> read_slurm_place(const Environment& environment) {
  auto names = slurm_names(environment);
  TRY_ASSIGN(auto place, read_place(environment, names));
  place.evidence.push_back(fmt::format("started by srun: {}", rank_of_world(environment, names)));
  place.evidence.emplace_back(
      "MPI_Init is not called: under srun it works with --mpi=pmix only, which sets PMIX_RANK");
  names.local_world = kPerNode;  // only for messages: it is not a number
  TRY(add_local_world(environment, names.world, place));
  TRY(add_slurm_rendezvous(environment, place));
  TRY(check_place(place, names));
  return place;
}

// Reads PMIx's rank, and everything else from srun's variables: PMIx has none for the number of
// ranks.
Result<Place> read_pmix_place(const Environment& environment, const SizeNames& names) {
  if (!environment.has(names.world)) {
    return make_error(
        "{} is set, but the number of ranks is unknown: give --rank, --world and "
        "--rendezvous, or start with mpirun or srun --mpi=pmix",
        setting(environment, names.rank));
  }
  TRY_ASSIGN(auto place, read_place(environment, names));
  const auto slurm = detect_slurm(environment, {});
  TRY(slurm.place);
  if (slurm.missing.empty()) {
    if (slurm.place->rank != place.rank) {
      return make_error("{} contradicts {}: unset one of them, or name the launcher with --launch",
                        setting(environment, names.rank), setting(environment, kProcId));
    }
    place = *slurm.place;
  }
  place.launcher = Launcher::pmix;
  place.mpi = true;
  place.evidence = {fmt::format("started with PMIx: {}", rank_of_world(environment, names))};
  return place;
}

struct TfTask {
  MUSTER_DESCRIBED(TfTask);
  MUSTER_FIELD(std::string, type, "chief, master or worker");
  MUSTER_FIELD(std::uint64_t, index, "among the tasks of its type") = 0;
};

struct TfConfig {
  MUSTER_DESCRIBED(TfConfig);
  MUSTER_FIELD(ByName<std::vector<std::string>>, cluster, "the addresses of each type's tasks");
  MUSTER_FIELD(TfTask, task, "this process");
};

tl::unexpected<Error> bad_tf_config(std::string_view why) {
  return make_error("{}: {}; {}", kTfConfig, why, kLaunchRemedy);
}

// The ranks are the chief, then the workers.
Result<Place> read_tf_place(const TfConfig& config) {
  const auto& [type, index] = config.task;
  std::vector<std::string> addresses;
  std::optional<std::size_t> rank;
  for (const auto* each : {"chief", "master", "worker"}) {
    const auto found = config.cluster.find(each);
    if (found == config.cluster.end()) continue;
    if (each == type && index < found->second.size()) rank = addresses.size() + index;
    addresses.insert(addresses.end(), found->second.begin(), found->second.end());
  }
  if (!rank) {
    return bad_tf_config(fmt::format("the task is {} {}, expected a chief or worker of the cluster",
                                     type.empty() ? "of no type," : printable(type, 40), index));
  }
  auto first = parse_endpoint(addresses.front());
  if (!first) return bad_tf_config(first.error().message);
  first->port = shifted_port(first->port);
  Place place{.launcher = Launcher::tf_config,
              .rank = static_cast<int>(*rank),
              .world = static_cast<int>(addresses.size()),
              .rendezvous = *std::move(first)};
  place.evidence.push_back(
      fmt::format("TF_CONFIG names {} {} as rank {} of {}", type, index, place.rank, place.world));
  add_listening(place, "",
                fmt::format("the first address of TF_CONFIG, its port moved by {}", kPortOffset));
  return place;
}

}  // namespace

Result<std::vector<int>> parse_tasks_per_node(std::string_view text) {
  constexpr std::uint64_t kMaxNodes = 65536;
  std::vector<int> result;
  for (const auto part : split(text, ',')) {
    // "2(x4)" or "3".
    const auto bracket = std::min(part.find("(x"), part.size());
    const auto times = part.substr(bracket);
    const auto tasks = parse_unsigned(part.substr(0, bracket));
    const auto nodes = times.empty()         ? Result<std::uint64_t>(1)
                       : times.back() == ')' ? parse_unsigned(times.substr(2, times.size() - 3))
                                             : make_error("no closing bracket");
    if (!tasks || *tasks > UINT16_MAX || !nodes || *nodes > kMaxNodes) {
      return make_error("invalid count of tasks \"{}\": expected one such as 2 or 2(x4)",
                        printable(part, 60));
    }
    if (result.size() + *nodes > kMaxNodes) {
      return make_error("more than {} nodes", kMaxNodes);
    }
    result.insert(result.end(), *nodes, static_cast<int>(*tasks));
  }
  return result;
}

Detection detect_torchrun(const Environment& environment, const LaunchFlags& flags) {
  Detection result{.launcher = Launcher::torchrun,
                   .missing = environment.missing({"RANK", "WORLD_SIZE", "MASTER_ADDR"})};
  if (flags.rendezvous) std::erase(result.missing, "MASTER_ADDR");
  for (const std::string_view name : {"RANK", "WORLD_SIZE"}) {
    if (!environment.has(name)) continue;
    result.seen.append(result.seen.empty() ? "" : " of ").append(setting(environment, name));
  }
  if (!result.seen.empty() && result.missing.empty()) {
    result.place = read_torchrun_place(environment);
  }
  return result;
}

Detection detect_open_mpi(const Environment& environment, const LaunchFlags& /*flags*/) {
  return detect_mpi(environment, Launcher::open_mpi, kOpenMpi, "Open MPI's mpirun");
}

Detection detect_hydra(const Environment& environment, const LaunchFlags& /*flags*/) {
  auto result = detect_mpi(environment, Launcher::hydra, kHydra, "mpiexec of MPICH or Intel MPI");
  if (is_of_srun(environment)) result.unsuited = "srun has set it";
  return result;
}

Detection detect_pmix(const Environment& environment, const LaunchFlags& /*flags*/) {
  const SizeNames names{.rank = "PMIX_RANK", .world = slurm_names(environment).world};
  Detection result{.launcher = Launcher::pmix, .missing = environment.missing({names.rank})};
  const bool own = environment.has(names.rank) &&
                   environment.text(names.rank) != environment.text(kOpenMpi.rank);
  if (!own) return result;
  result.seen = environment.has(names.world) ? rank_of_world(environment, names)
                                             : setting(environment, names.rank);
  result.place = read_pmix_place(environment, names);
  return result;
}

Detection detect_slurm(const Environment& environment, const LaunchFlags& /*flags*/) {
  auto result = detect(environment, Launcher::slurm, slurm_names(environment),
                       [&] { return read_slurm_place(environment); });
  if (result.suited() && is_batch_script(environment)) {
    result.unsuited = "this is the batch script, not a step; start with srun";
  }
  return result;
}

Detection detect_tf_config(const Environment& environment, const LaunchFlags& /*flags*/) {
  Detection result{.launcher = Launcher::tf_config, .missing = environment.missing({kTfConfig})};
  if (!environment.has(kTfConfig)) return result;
  result.seen = kTfConfig;
  const auto config = from_json<TfConfig>(environment.text(kTfConfig));
  if (config && config->cluster.empty()) result.unsuited = "it has no cluster";
  result.place = config ? read_tf_place(*config) : bad_tf_config(config.error().message);
  return result;
}

}  // namespace muster::bench
