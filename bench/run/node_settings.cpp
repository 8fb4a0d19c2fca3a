// SPDX-License-Identifier: Apache-2.0
#include "bench/run/node_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <set>

#include "lib/base/text.hpp"
#include "lib/probes/observe.hpp"
#include "lib/probes/parse/parse.hpp"
#include "lib/process/startup.hpp"

namespace muster::bench {
namespace {

constexpr std::array<const char*, 8> kLimitingSettings{
    "NCCL_P2P_DISABLE",   "NCCL_P2P_LEVEL", "NCCL_SHM_DISABLE", "NCCL_PROTO",
    "NCCL_MAX_NCHANNELS", "NCCL_MAX_CTAS",  "NCCL_NTHREADS",    "NCCL_BUFFSIZE"};

bool limits_domains(const BenchLimits& limits) {
  return std::ranges::any_of(std::array{&limits.job_all_reduce, &limits.job_all_gather,
                                        &limits.job_reduce_scatter, &limits.job_alltoall},
                             [](const auto* of_collective) {
                               return std::ranges::count(*of_collective, BenchOver::nvlink,
                                                         &BenchLimit<BytesPerSecond>::over) > 0;
                             });
}

// "eth0", "mlx5_ib0:1".
bool has_device(const Root& root, std::string_view name) {
  const auto device = name.substr(0, name.find(':'));
  return root.exists(fmt::format("/sys/class/net/{}", device)) ||
         root.exists(fmt::format("/sys/class/infiniband/{}", device));
}

// NCCL matches the beginning of a name; "=eth0" matches exactly.
bool has_interface(const Root& root, std::string_view name) {
  if (name.starts_with('=')) return has_device(root, name.substr(1));
  const auto names = root.list("/sys/class/net");
  return names && std::ranges::any_of(
                      *names, [&](const std::string& each) { return each.starts_with(name); });
}

// Returns the kind of object that a setting names and this node lacks: "file", "interface" or "".
std::string_view missing_object(std::string_view name, std::string_view value, const Root& root) {
  // A container often lacks the host's files, and NCCL would use an empty topology.
  if (name.ends_with("_FILE")) return root.exists(value) ? "" : "file";
  const bool of_nccl = name == "NCCL_SOCKET_IFNAME";
  const bool of_ucx = name == "UCX_NET_DEVICES" || name == "SHARP_SMX_UCX_INTERFACE";
  if (of_nccl ? value.starts_with('^') : !of_ucx || value == "all") return {};
  const auto names = split(value, ',');
  const bool found = std::ranges::any_of(names, [&](std::string_view each) {
    return of_nccl ? has_interface(root, each) : has_device(root, each);
  });
  return found ? "" : "interface";
}

// The devices of PSM, PSM2 and libfabric: Omni-Path, InfiniPath and EFA are of class `infiniband`,
// Slingshot is `cxi`. False if /sys is missing.
bool has_no_fabric(const Root& root) {
  return root.exists("/sys/class") &&
         std::ranges::all_of(std::array{"infiniband", "cxi", "gni"}, [&](const char* name) {
           const auto devices = root.list(fmt::format("/sys/class/{}", name));
           return devices ? devices->empty() : devices.error().missing;
         });
}

// Reads the variables that NCCL takes from files: the user's file first, then the node's.
Variables read_nccl_conf(const Root& root, const Variables& variables) {
  Variables settings;
  for (const auto& path : nccl_conf_files(muster::value_of(variables, "NCCL_CONF_FILE"),
                                          muster::value_of(variables, "HOME"))) {
    for (const auto& each : parse_nccl_conf(root.read(path).value_or(""), path)) {
      settings.try_emplace(each.name, each.value);
    }
  }
  return settings;
}

}  // namespace

Attempt<Choice> choose_profile(const std::string& name, const std::vector<std::string>& settings,
                               const Variables& variables) {
  // These probes read local files. A node that takes longer is judged as `generic`.
  constexpr auto kPatience = std::chrono::seconds(5);
  constexpr ProbeSet kDevices = Probe::pci | Probe::infiniband;
  constexpr ProbeSet kAll =
      Probe::identity | Probe::cpu | Probe::memory | Probe::pci | Probe::infiniband;
  const auto sources = sources_of(variables, "/", settings);
  TRY_ASSIGN(const auto named, profile_name(sources, name));
  Result<Candidates> candidates;
  const ObserveOptions options{.recognise = true,
                               .probes = named ? kDevices : kAll,
                               .deadline = std::chrono::steady_clock::now() + kPatience,
                               .nvml = {},
                               .state_file = std::nullopt,
                               .variables = variables,
                               .meanwhile = [&] {
                                 if (!named) candidates = read_candidates(sources);
                               }};
  Attempt<Choice> choice;
  if (named) choice = named_profile(sources, *named, load_profile);
  (void)observe(Root(), options, [&](const Snapshot& snapshot) -> std::optional<Plan> {
    if (!named) choice = recognised_profile(sources, candidates, snapshot, load_profile);
    if (choice) choice->bare = is_bare(hardware_of(snapshot));
    return std::nullopt;
  });
  return choice;
}

Attempt<SimCluster> choose_cluster(const std::string& sim, const Profile& judging,
                                   const Variables& variables) {
  auto hardware = sim_cluster_of(judging);
  if (const auto name = profile_of_sim(sim); !name.empty()) {
    TRY_ASSIGN(const auto choice, choose_profile(name, {}, variables));
    hardware = sim_cluster_of(choice.profile);
  }
  return parse_sim(sim, hardware).map_error([](const Error& error) {
    return Failure{.status = kExitUsage, .message = error.message};
  });
}

Section<Nvml> ask_nvml(const NvmlOptions& nvml, const Variables& variables) {
  constexpr auto kPatience = std::chrono::seconds(15);
  const auto deadline = Clock::now() + kPatience;
  const ObserveOptions options{.probes = Probe::nvml,
                               .deadline = deadline,
                               .nvml = nvml,
                               .state_file = std::nullopt,
                               .variables = variables};
  return observe(Root(), options,
                 [&](const Snapshot& /*seen*/) -> std::optional<Plan> {
                   return Plan{.probes = Probe::nvml, .deadline = deadline, .wanted = {}};
                 })
      .nvml;
}

std::string domain_of(const std::vector<muster::Gpu>& gpus) {
  constexpr unsigned kCompleted = 3;
  std::set<std::string> domains;
  for (const auto& gpu : gpus) {
    const bool registered = gpu.fabric && gpu.fabric->state == kCompleted &&
                            gpu.fabric->status == 0 && !gpu.fabric->cluster.empty();
    domains.insert(registered ? fmt::format("{}:{}", gpu.fabric->cluster, gpu.fabric->clique)
                              : std::string());
  }
  return domains.size() == 1 ? *domains.begin() : std::string();
}

std::string read_nvlink_domain(const Profile& profile, const Variables& variables) {
  if (!limits_domains(*profile.bench)) return {};
  return domain_of(ask_nvml({.library = {}, .parts = {}}, variables)->gpus);
}

Settings apply_settings(const Profile& profile, BackendKind kind, Variables& variables,
                        const Root& root) {
  Settings settings;
  const auto conf = read_nccl_conf(root, variables);
  for (const auto& [name, value] : profile.bench->environment) {
    const bool other_backends = name.starts_with("UCX_") && kind != BackendKind::nccl;
    if (other_backends || variables.contains(name)) continue;
    if (const auto own = conf.find(name); own != conf.end()) {
      if (own->second == value) continue;
      settings.left_out.push_back(
          fmt::format("{}={}: nccl.conf sets {}", name, value, printable(own->second, 200)));
      continue;
    }
    if (const auto missing = missing_object(name, value, root); !missing.empty()) {
      settings.left_out.push_back(fmt::format("{}={}: no such {}", name, value, missing));
      continue;
    }
    if (::setenv(name.c_str(), value.c_str(), 0) != 0) continue;
    variables[name] = value;
    settings.applied.push_back(fmt::format("{}={}", name, value));
  }
  return settings;
}

std::string limiting_setting(const Profile& profile, const Variables& variables) {
  const auto& own = profile.bench->environment;
  for (const auto* const name : kLimitingSettings) {
    const auto value = muster::value_of(variables, name);
    const auto expected = own.find(name);
    const bool as_expected = expected != own.end() && expected->second == value;
    if (value.empty() || value == "0" || as_expected) continue;
    return fmt::format("{}={}", name, printable(value, 80));
  }
  return {};
}

Variables without_limiting_settings(Variables variables) {
  for (const auto* const name : kLimitingSettings) variables.erase(name);
  return variables;
}

std::string sentence_of(const Settings& settings, std::string_view profile) {
  if (settings.applied.empty()) return "environment: the job's own";
  return fmt::format("environment: set for {}: {}", profile, fmt::join(settings.applied, " "));
}

std::string spare_fabric_search(const Variables& variables, const Root& root) {
  constexpr const char* kName = "OMPI_MCA_mtl";
  constexpr const char* kValue = "^psm,psm2,ofi";
  const bool users = std::ranges::any_of(variables, [](const auto& variable) {
    return variable.first.starts_with(kName) || variable.first == "OMPI_MCA_pml";
  });
  if (users || !has_no_fabric(root) || ::setenv(kName, kValue, 0) != 0) return {};
  return fmt::format("{}={}: this node has no fabric device", kName, kValue);
}

}  // namespace muster::bench
