// SPDX-License-Identifier: Apache-2.0
// gpu.present: the expected number of GPUs responds, each with the expected model and memory, a
// UUID and a serial number.
#include <cmath>
#include <map>

#include "checks/catalogue.hpp"
#include "checks/shared/gpus.hpp"
#include "checks/shared/pci_bus.hpp"
#include "checks/shared/peers.hpp"

namespace muster::checks::gpu_present {
namespace {

// True if the GPU is missing from the bus, too. This check reports it, not pci.devices.
bool fell_off(const Snapshot& snapshot, const Gpu& gpu) {
  if (!snapshot.pci.ok() || gpu.address.empty()) return false;
  const PciDevice* device = pci::device_at(snapshot, gpu.address);
  return device == nullptr || pci::is_silent(*device);
}

// A GPU that NVML refuses or that does not respond. Only this check reports it.
Finding missing(const Snapshot& snapshot, const Gpu& gpu) {
  Finding finding = gpu::failed(
      gpu,
      fmt::format("GPU{} does not respond: {}",
                  gpu.address.empty() ? "" : fmt::format(" at {}", gpu.address),
                  gpu.stuck.empty() ? gpu.lost : fmt::format("{} did not return", gpu.stuck)),
      snapshot.identity->hypervisor ? Remedy::report_to_provider : Remedy::reboot);
  if (fell_off(snapshot, gpu)) {
    finding.code = "NHC2013";
  } else if (!gpu.stuck.empty()) {
    finding.code = "NHC2015";
  }
  // Several GPUs that fell off the bus together are one incident of the node.
  finding.seen_by = {{.check = "gpu.xid", .device = std::string(kNode)}};
  return finding;
}

// The call in which all GPUs hang at once, if any. Then the driver is at fault, which holds one
// lock for all of them.
std::string hanging_together(const std::vector<Gpu>& gpus) {
  if (gpus.size() < 2 || gpus.front().stuck.empty()) return {};
  const bool all = std::ranges::all_of(
      gpus, [&](const Gpu& each) { return each.lost.empty() && each.stuck == gpus.front().stuck; });
  return all ? gpus.front().stuck : std::string();
}

Finding driver_hangs(const Snapshot& snapshot, const std::string& call) {
  Finding finding = failed(kNode,
                           fmt::format("the driver hangs: {1} did not return for any of {0} GPUs",
                                       snapshot.nvml->gpus.size(), call),
                           Remedy::reboot, {call});
  finding.code = "NHC2015";
  finding.seen_by.push_back({.check = "gpu.xid", .device = std::string(kNode)});
  leave_undecided(snapshot, finding);
  return finding;
}

std::optional<Finding> wrong_model(const Gpu& gpu, const GpuPresentLimits& limits) {
  if (!limits.model) return std::nullopt;
  if (!gpu.model) return gpu::not_reported(gpu, "the model", gpu.model);
  if (*gpu.model == *limits.model) return std::nullopt;
  return gpu::failed(gpu, fmt::format("model is {}, expected {}", *gpu.model, *limits.model),
                     Remedy::fix_config, {*gpu.model, *limits.model});
}

std::optional<Finding> wrong_memory(const Snapshot& snapshot, const Gpu& gpu,
                                    const Profile& profile) {
  const auto& expected = profile.gpu->present.memory;
  if (!expected) return std::nullopt;
  if (!gpu.memory) return gpu::not_reported(gpu, "the size of the memory", gpu.memory);
  if (gpu::has_expected_memory(profile, gpu.memory->total)) return std::nullopt;
  const auto total = static_cast<double>(gpu.memory->total);
  return gpu::failed(
      gpu, fmt::format("{} of memory, expected {}", in_gib(total), in_gib(expected->value)),
      hardware_remedy(snapshot), {total, expected->value, "B"});
}

std::optional<Finding> nameless(const Snapshot& snapshot, const Gpu& gpu, const Profile& profile) {
  if (!gpu.no_address.empty()) {
    return gpu::not_reported(gpu, "the PCI address", Fact<std::string>::unreadable(gpu.no_address));
  }
  const bool is_empty = gpu.uuid && gpu.uuid->empty();
  const auto uuid = is_empty ? Fact<std::string>::absent("it is empty") : gpu.uuid;
  if (uuid.is_absent() && gpu::expected(profile)) {
    return gpu::failed(gpu, "the GPU has no UUID", hardware_remedy(snapshot));
  }
  if (!uuid) return gpu::not_reported(gpu, "the UUID", uuid);
  // Boards without a serial number report that; a failed read is different.
  if (!gpu.serial && gpu.serial.is_unreadable()) {
    return gpu::not_reported(gpu, "the serial number", gpu.serial);
  }
  return std::nullopt;
}

// Serial numbers are those of boards, which may have several GPUs.
void add_same_uuids(const Snapshot& snapshot, Findings& findings) {
  std::map<std::string, const Gpu*> first;
  for (const Gpu* gpu : gpu::answering(snapshot)) {
    if (gpu->uuid.value_or("").empty()) continue;
    const auto [earlier, added] = first.try_emplace(*gpu->uuid, gpu);
    if (added) continue;
    findings.push_back(
        gpu::failed(*gpu,
                    fmt::format("the UUID {} is also that of {}", printable(*gpu->uuid),
                                gpu::name_of(*earlier->second)),
                    hardware_remedy(snapshot), {*gpu->uuid}));
  }
}

// Without an expected model, all GPUs of a node must have the same one, if any are expected.
void add_other_models(const std::vector<const Gpu*>& gpus, const Profile& profile,
                      Findings& findings) {
  if (profile.gpu->present.model) return;
  std::vector<DeviceValue> said;
  for (const Gpu* each : gpus) {
    if (each->model) said.push_back({gpu::name_of(*each), *each->model});
    if (!each->model) findings.push_back(gpu::not_reported(*each, "the model", each->model));
  }
  if (!gpu::expected(profile)) return;
  const Finding like{.outcome = Outcome::fail, .remedy = Remedy::fix_config};
  append(findings, disagreements(said, {.what = "model", .devices = "GPUs"}, like));
}

std::optional<Finding> wrong_count(const Snapshot& snapshot, const Profile& profile) {
  const std::size_t listed = snapshot.nvml->gpus.size();
  const auto& count = profile.gpu->present.count;
  const auto wanted = static_cast<std::size_t>(std::max(0, count.value_or(0)));
  const bool too_many = count && listed > wanted;
  if (listed >= wanted && !too_many) return std::nullopt;
  Finding finding =
      failed(kNode, fmt::format("NVML lists {}, expected {}", counted(listed, "GPU"), wanted),
             too_many ? Remedy::fix_config : hardware_remedy(snapshot),
             {count_value(listed), count_value(wanted)});
  // pci.devices reports which one is missing from the bus.
  if (!too_many) finding.seen_by = {{.check = "pci.devices", .device = "*"}};
  return finding;
}

// Without an expected size, GPUs of one model and mode must have the same memory.
void add_other_sizes(const Snapshot& snapshot, const Profile& profile, Findings& findings) {
  constexpr double kGibi = 1024.0 * 1024 * 1024;
  if (profile.gpu->present.memory) return;
  Peers sizes;
  for (const Gpu* each : gpu::answering(snapshot)) {
    if (each->memory.is_unreadable()) {
      findings.push_back(gpu::not_reported(*each, "the size of the memory", each->memory));
    }
    if (!each->memory || !each->model) continue;
    sizes.add(fmt::format("{} {} {}", *each->model, each->modes.ecc.value_or(false),
                          each->modes.mig.value_or(false)),
              gpu::name_of(*each), std::round(static_cast<double>(each->memory->total) / kGibi));
  }
  const Finding like{.outcome = Outcome::fail, .remedy = hardware_remedy(snapshot)};
  append(findings, sizes.differences({.what = "memory", .devices = "GPUs"}, " GiB", like));
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  const auto& limits = profile.gpu->present;
  const auto& gpus = snapshot.nvml->gpus;
  Findings findings;
  append(findings, wrong_count(snapshot, profile));
  if (const auto call = hanging_together(gpus); !call.empty()) {
    findings.push_back(driver_hangs(snapshot, call));
    return findings;
  }
  for (const auto& gpu : gpus) {
    if (!gpu::answers(gpu)) {
      findings.push_back(missing(snapshot, gpu));
      if (gpu.lost.empty()) leave_undecided(snapshot, findings.back());
      continue;
    }
    append(findings, wrong_model(gpu, limits));
    append(findings, wrong_memory(snapshot, gpu, profile));
    append(findings, nameless(snapshot, gpu, profile));
  }
  add_same_uuids(snapshot, findings);
  add_other_models(gpu::answering(snapshot), profile, findings);
  add_other_sizes(snapshot, profile, findings);
  return or_pass(std::move(findings), fmt::format("{} present", counted(gpus.size(), "GPU")));
}

// gpu.driver reports an unusable driver.
std::optional<Finding> not_applicable(const Snapshot& snapshot, const Profile& profile) {
  const bool listed = snapshot.nvml.ok() && snapshot.nvml->trouble.empty();
  if (listed && (gpu::expected(profile) || !snapshot.nvml->gpus.empty())) return std::nullopt;
  return gpu::none_to_judge(snapshot, profile);
}

}  // namespace

constinit const Check check = gpu::check_of_gpus({
    .id = "gpu.present",
    .title = "The expected number of GPUs responds, each of the right model",
    .why =
        "Compares the GPUs that NVML lists with the profile: their number, model and memory. "
        "Each must respond and have a unique UUID and a serial number. If the profile names no "
        "model, all must have the same. Only this check reports a GPU that NVML refuses or reports "
        "as lost, or whose calls never return; if one call returns for no GPU, the driver hangs. "
        "pci.devices reports a GPU that is on the PCI bus but not in NVML.",
    .fix = "A lost GPU: reboot a bare-metal node, and reseat or replace the GPU if it stays lost; "
           "in a virtual machine, report its serial number to the provider. A wrong model means "
           "the wrong profile or the wrong node.",
    .code = "NHC2009",
    .looks_at = Probe::pci,
    .not_applicable = not_applicable,
    .judge = judge,
});

}  // namespace muster::checks::gpu_present
