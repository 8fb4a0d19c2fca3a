// SPDX-License-Identifier: Apache-2.0
// gpu.fabric: GPUs behind NVSwitches are registered in one healthy fabric.
#include <fmt/ranges.h>

#include <array>

#include "checks/catalogue.hpp"
#include "checks/shared/nvlinks.hpp"
#include "checks/shared/peers.hpp"

namespace muster::checks::gpu_fabric {
namespace {

constexpr unsigned kNotSupported = 0;
constexpr unsigned kNotStarted = 1;
constexpr unsigned kInProgress = 2;
constexpr unsigned kCompleted = 3;

// The service that registers GPUs.
const SeenBy kFabricManager{.check = "host.services", .device = "nvidia-fabricmanager*"};

bool is_in_fabric(const Gpu& gpu) { return gpu.fabric && gpu.fabric->state != kNotSupported; }

bool is_waiting(const Gpu& gpu) {
  return gpu.fabric && (gpu.fabric->state == kNotStarted || gpu.fabric->state == kInProgress);
}

bool is_registered(const Gpu& gpu) {
  return gpu.fabric && gpu.fabric->state == kCompleted && gpu.fabric->status == 0;
}

std::string_view word_for(unsigned state) {
  return state == kNotStarted ? "not started" : "still in progress";
}

// A field of NVML's health mask: 0 not offered, 1 bad, 2 good.
struct HealthFlag {
  unsigned shift;
  std::string_view bad;
};

constexpr std::array kHealthFlags{
    HealthFlag{0, "its bandwidth is degraded"}, HealthFlag{2, "its routes are being recovered"},
    HealthFlag{4, "a route is unhealthy"}, HealthFlag{6, "it recovers from an access time-out"}};

// Texts of the configuration field, by value: 0 not offered, 1 correct.
constexpr std::array<std::string_view, 9> kConfigurations{"",
                                                          "",
                                                          "a wrong system GUID",
                                                          "a wrong chassis serial number",
                                                          "no partition",
                                                          "too few NVLinks",
                                                          "incompatible GPU firmware",
                                                          "an invalid location",
                                                          "an invalid state of the GPU"};

std::string configuration_fault(unsigned mask) {
  const unsigned value = (mask >> 8U) & 0xfU;
  if (value >= kConfigurations.size()) return fmt::format("configuration fault {}", value);
  const auto words = kConfigurations.at(value);
  return words.empty() ? "" : fmt::format("its configuration has {}", words);
}

// Seconds left for registration after the boot or the load of the driver.
double time_left(const Snapshot& snapshot, const GpuFabricLimits& limits) {
  const auto& uptime = snapshot.identity->uptime_s;
  if (!uptime || !limits.register_within) return 0;
  const auto loaded_us = static_cast<double>(snapshot.xids.of_kernel.loaded_us());
  const double begun_s =
      std::max(snapshot.earlier.driver_loaded_s, loaded_us / kMicrosecondsPerSecond);
  return std::max(0.0, begun_s + limits.register_within->value - *uptime);
}

// NVLink switches of the rack register its GPUs, not a service of the node.
bool is_of_rack(const Gpu& gpu, const GpuFabricLimits& limits) {
  const std::string model = gpu.model.value_or("");
  return limits.cluster.value_or(false) || model.find("GB200") != std::string::npos ||
         model.find("GB300") != std::string::npos;
}

// Sets the remedy for a GPU that is not registered yet.
void set_waiting_remedy(const Snapshot& snapshot, const Gpu& gpu, const GpuFabricLimits& limits,
                        Finding& finding) {
  if (const double left_s = time_left(snapshot, limits); left_s > 0) {
    finding.outcome = Outcome::warn;
    finding.remedy = Remedy::watch;
    finding.message += fmt::format("; {} left", in_time(left_s));
  } else if (is_of_rack(gpu, limits)) {
    finding.remedy =
        snapshot.identity->hypervisor ? Remedy::report_to_provider : Remedy::fix_config;
  } else {
    finding.remedy = Remedy::restart_service;
    finding.seen_by.push_back(kFabricManager);
  }
}

// One finding if all GPUs wait for registration.
std::optional<Finding> none_ready(const Snapshot& snapshot, const std::vector<const Gpu*>& gpus,
                                  const GpuFabricLimits& limits) {
  std::vector<const Gpu*> members;
  std::ranges::copy_if(gpus, std::back_inserter(members),
                       [](const Gpu* gpu) { return is_in_fabric(*gpu); });
  const auto waiting = [](const Gpu* gpu) { return is_waiting(*gpu); };
  if (members.size() < 2 || !std::ranges::all_of(members, waiting)) return std::nullopt;
  const unsigned least = (*std::ranges::min_element(members, {}, [](const Gpu* gpu) {
                           return gpu->fabric->state;
                         }))->fabric->state;
  Finding finding = failed(kNode,
                           fmt::format("registration of all {} GPUs in the NVSwitch fabric is {}",
                                       members.size(), word_for(least)),
                           Remedy::none, {std::string(word_for(least)), "completed"});
  set_waiting_remedy(snapshot, *members.front(), limits, finding);
  return finding;
}

Finding unfit(const Gpu& gpu, std::string message, std::string observed, Remedy remedy,
              std::string limit = "completed") {
  Finding finding =
      gpu::failed(gpu, std::move(message), remedy, {std::move(observed), std::move(limit)});
  // A lost link can be the reason.
  finding.seen_by = {{.check = "gpu.nvlink_state", .device = finding.device}};
  return finding;
}

std::optional<Finding> judge_health(const Snapshot& snapshot, const Gpu& gpu) {
  const auto& fabric = *gpu.fabric;
  for (const auto* fact : {&fabric.health_mask, &fabric.health_summary}) {
    if (fact->is_unreadable()) return gpu::not_reported(gpu, "the health of the fabric", *fact);
  }
  constexpr unsigned kBad = 1;
  constexpr unsigned kUnhealthy = 2;
  constexpr unsigned kLimited = 3;
  const unsigned mask = fabric.health_mask.value_or(0);
  const unsigned summary = fabric.health_summary.value_or(0);
  std::vector<std::string> faults;
  for (const auto& [shift, bad] : kHealthFlags) {
    if (((mask >> shift) & 3U) == kBad) faults.emplace_back(bad);
  }
  Remedy remedy = gpu::reset_remedy(snapshot);
  if (auto fault = configuration_fault(mask); !fault.empty()) {
    if (faults.empty()) remedy = Remedy::fix_config;
    faults.push_back(std::move(fault));
  }
  if (faults.empty() && summary == kUnhealthy) faults = {"NVML calls it unhealthy"};
  if (faults.empty() && summary > kLimited) {
    return unknown(gpu::name_of(gpu), fmt::format("unknown health of the fabric: {}", summary));
  }
  const bool limited = faults.empty() && summary == kLimited;
  if (limited) faults = {"it has limited capacity"};
  if (faults.empty()) return std::nullopt;
  const auto text = fmt::format("{}", fmt::join(faults, ", "));
  Finding finding =
      unfit(gpu, fmt::format("fabric is not healthy: {}", text), text, remedy, "healthy");
  if (!limited) return finding;
  finding.outcome = Outcome::warn;
  finding.remedy = Remedy::watch;
  return finding;
}

// Clusters are those of a rack.
std::optional<Finding> judge_cluster(const Snapshot& snapshot, const Gpu& gpu,
                                     const GpuFabricLimits& limits) {
  if (!limits.cluster.value_or(false)) return std::nullopt;
  const auto outside = [&](std::string_view what, std::string observed, std::string limit) {
    return unfit(gpu, fmt::format("{}: it cannot reach GPUs of other nodes in the rack", what),
                 std::move(observed),
                 snapshot.identity->hypervisor ? Remedy::report_to_provider : Remedy::fix_config,
                 std::move(limit));
  };
  const auto& fabric = *gpu.fabric;
  if (fabric.state == kNotSupported) {
    return outside("not in an NVSwitch fabric", "not supported", "a cluster");
  }
  if (fabric.cluster.empty()) {
    return outside("registered without a cluster", "no cluster", "a cluster");
  }
  if (fabric.clique == 0) return outside("registered without a clique", "clique 0", "a clique");
  return std::nullopt;
}

// `others`: other GPUs of this node are in a fabric.
std::optional<Finding> judge_one(const Snapshot& snapshot, const Gpu& gpu,
                                 const GpuFabricLimits& limits, bool others) {
  const bool left_out = gpu.fabric
                            ? gpu.fabric->state == kNotSupported
                            : gpu::has_nvml_code(gpu.fabric.why(), gpu::NvmlCode::not_supported);
  if (left_out && others && gpu::hides_links(gpu).empty()) {
    return unfit(gpu, "not in the NVSwitch fabric, unlike other GPUs of this node", "not supported",
                 gpu::reset_remedy(snapshot));
  }
  const bool required = limits.cluster.value_or(false) && gpu::hides_links(gpu).empty();
  if (!gpu.fabric) {
    Finding finding = gpu::not_reported(gpu, "the state of the fabric", gpu.fabric);
    if (required) finding.outcome = Outcome::unknown;
    return finding;
  }
  const auto& fabric = *gpu.fabric;
  if (fabric.state == kNotSupported) {
    return required ? judge_cluster(snapshot, gpu, limits)
                    : skipped("not in an NVSwitch fabric", gpu::name_of(gpu));
  }
  if (is_waiting(gpu)) {
    const std::string word(word_for(fabric.state));
    Finding finding = unfit(gpu, fmt::format("registration in the NVSwitch fabric is {}", word),
                            word, Remedy::restart_service);
    set_waiting_remedy(snapshot, gpu, limits, finding);
    return finding;
  }
  if (fabric.state != kCompleted) {
    return unknown(gpu::name_of(gpu), fmt::format("unknown fabric state {}", fabric.state));
  }
  if (fabric.status != 0) {
    return unfit(
        gpu,
        fmt::format("registration in the NVSwitch fabric failed with NVML code {}", fabric.status),
        fmt::format("code {}", fabric.status), gpu::reset_remedy(snapshot));
  }
  if (auto finding = judge_health(snapshot, gpu)) return finding;
  return judge_cluster(snapshot, gpu, limits);
}

// GPUs in another cluster or clique than the others, as one finding. On a single board with
// NVSwitches the cluster is always empty.
std::optional<Finding> apart(const std::vector<const Gpu*>& gpus) {
  std::vector<DeviceValue> said;
  for (const Gpu* each : gpus) {
    if (!is_registered(*each)) continue;
    const auto& cluster = each->fabric->cluster;
    said.push_back({gpu::name_of(*each),
                    fmt::format("cluster {} clique {}", cluster.empty() ? "none" : cluster,
                                each->fabric->clique)});
  }
  constexpr Comparison kFabric{.what = "fabric", .devices = "GPUs"};
  const auto odd =
      disagreements(said, kFabric, {.outcome = Outcome::fail, .remedy = Remedy::fix_config});
  if (odd.empty()) return std::nullopt;
  if (odd.size() == 1) return odd.front();
  return failed(kNode, differs(said, kFabric), Remedy::fix_config);
}

// Nodes of a rack reach each other's GPUs through nvidia-imex.
std::optional<Finding> judge_imex(const Snapshot& snapshot) {
  static constexpr std::string_view kService = "nvidia-imex.service";
  const auto failure = [](std::string message, Remedy remedy) {
    Finding finding = failed(kService, std::move(message), remedy);
    finding.seen_by = {{.check = "host.services", .device = finding.device}};
    return finding;
  };
  const auto& services = snapshot.services;
  if (services.ok() && services->active && std::ranges::count(*services->active, kService) == 0) {
    return failure("nvidia-imex is not running: programs cannot share GPU memory with other nodes",
                   Remedy::restart_service);
  }
  const auto& nodes = snapshot.nvml->imex_nodes;
  if (!nodes || nodes->empty()) {
    return failure(fmt::format("nvidia-imex has no domain: {}",
                               nodes ? "its list of nodes is empty" : nodes.why()),
                   Remedy::fix_config);
  }
  if (snapshot.nvml->imex_channel.value_or(false)) return std::nullopt;
  return failure("no IMEX channel in /dev/nvidia-caps-imex-channels", Remedy::fix_config);
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  const auto& limits = profile.gpu->fabric;
  const auto gpus = gpu::answering(snapshot);
  const bool any = std::ranges::any_of(gpus, [](const Gpu* each) { return is_in_fabric(*each); });
  const bool none_to_ask =
      std::ranges::none_of(gpus, [](const Gpu* each) { return each->fabric.is_unreadable(); });
  if (!any && none_to_ask && !limits.cluster.value_or(false)) {
    return {skipped("no GPU is in an NVSwitch fabric")};
  }
  if (auto finding = none_ready(snapshot, gpus, limits)) return {*std::move(finding)};
  auto findings = gpu::each(
      snapshot, [&](const Gpu& gpu) { return judge_one(snapshot, gpu, limits, any); },
      "registered in one healthy fabric");
  if (auto finding = apart(gpus)) {
    drop_passes(findings);
    findings.push_back(*std::move(finding));
  }
  if (limits.imex.value_or(false)) append(findings, judge_imex(snapshot));
  return findings;
}

}  // namespace

constinit const Check check = gpu::check_of_gpus({
    .id = "gpu.fabric",
    .title = "GPUs behind NVSwitches are registered in one healthy fabric",
    .why =
        "On nodes with NVSwitches, a GPU reaches its peers only after the Fabric Manager "
        "registered it in the fabric; until then programs that use several GPUs fail at start. "
        "Registration must be completed, all GPUs must be in one cluster and clique, and the "
        "health that newer drivers report must be clean: bandwidth, routes, time-outs, "
        "configuration. On racks whose nodes share one NVLink domain the cluster has a name and "
        "the clique is not 0 (both required by gpu.fabric.cluster; there a GPU without a fabric "
        "fails, or is unknown if the driver does not report it); on a single board neither "
        "applies. "
        "For some time after a boot or a load of the driver (gpu.fabric.register_within) a missing "
        "registration only warns. If gpu.fabric.imex is set, nvidia-imex must run, with a domain "
        "and a channel. GPUs of other nodes without such a fabric are skipped, and so is A100, "
        "whose driver does not report it. gpu.nvlink_state reports lost NVLinks.",
    .fix =
        "Not started or in progress: look at nvidia-fabricmanager and its log, restart it, then "
        "restart the jobs; in a rack (GB200, GB300) look at its NVLink switches. Failed or "
        "unhealthy: drain the node and reset the GPUs, or reboot it. Another cluster or clique, or "
        "a wrong configuration: look at the partitions in the NVLink configuration of the Fabric "
        "Manager or the rack.",
    .code = "NHC2016",
    .looks_at = Probe::kernel_log | Probe::services,
    .nvml_parts = {.links = true},
    .judge = judge,
});

}  // namespace muster::checks::gpu_fabric
