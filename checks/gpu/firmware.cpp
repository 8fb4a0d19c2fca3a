// SPDX-License-Identifier: Apache-2.0
// gpu.firmware: the InfoROM of each GPU is sound, and GPUs of one model have the same firmware, or
// what the profile allows.
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>

#include "checks/catalogue.hpp"
#include "checks/shared/agreement.hpp"
#include "checks/shared/gpus.hpp"
#include "lib/base/text.hpp"
#include "lib/profile/limits/gpu.hpp"

namespace muster::checks::gpu_firmware {
namespace {

// A version that GPUs of one model share.
struct Part {
  std::string_view name;
  Fact<std::string> GpuFirmware::*version;
  const Words* allowed;  // null where a profile cannot say
};

using Parts = std::array<Part, 3>;

Parts parts_of(const GpuFirmwareLimits& limits) {
  return {{{"VBIOS", &GpuFirmware::vbios, &limits.vbios},
           {"InfoROM", &GpuFirmware::inforom, &limits.inforom},
           {"GSP firmware", &GpuFirmware::gsp, nullptr}}};
}

bool is_limited(const Part& part) { return part.allowed != nullptr && !part.allowed->empty(); }

// What is odd about each GPU, by its name; what is no single GPU's fault is under "node".
using Oddities = std::map<std::string, Findings>;

// A profile's list goes before the comparison.
void add_differences(const std::vector<const Gpu*>& gpus, const Part& part, Oddities& oddities) {
  if (is_limited(part)) return;
  std::map<std::string, std::vector<Said>> by_model;
  for (const Gpu* each : gpus) {
    const auto& version = each->firmware.*part.version;
    if (version) by_model[each->model.value_or("")].push_back({gpu::name_of(*each), *version});
  }
  for (const auto& [model, said] : by_model) {
    for (const auto& odd : disagreements(said, {.what = part.name, .devices = "GPUs"}, {})) {
      oddities[odd.device].push_back(odd);
    }
  }
}

void add_not_allowed(const std::vector<const Gpu*>& gpus, const Part& part, Oddities& oddities) {
  if (!is_limited(part)) return;
  for (const Gpu* each : gpus) {
    const auto& version = each->firmware.*part.version;
    if (!version || matches_any(*part.allowed, *version)) continue;
    const auto allowed = fmt::format("{}", fmt::join(*part.allowed, ", "));
    oddities[gpu::name_of(*each)].push_back(
        {.message = fmt::format("{} {}, allowed {}", part.name, *version, allowed),
         .observed = *version,
         .limit = allowed});
  }
}

bool lacks_gsp(const Gpu& gpu) {
  const auto& firmware = gpu.firmware;
  return firmware.gsp_default.value_or(false) && !firmware.gsp_enabled.value_or(true);
}

void add_without_gsp(const std::vector<const Gpu*>& gpus, Oddities& oddities) {
  const auto without = static_cast<std::size_t>(
      std::ranges::count_if(gpus, [](const Gpu* each) { return lacks_gsp(*each); }));
  // An option of the driver, and no GPU's fault.
  if (without > 1 && without == gpus.size()) {
    oddities[std::string(kNode)].push_back(
        {.message = fmt::format("the GSP is off on all {} GPUs, by default it is on", without),
         .observed = false,
         .limit = true});
    return;
  }
  for (const Gpu* each : gpus) {
    if (lacks_gsp(*each)) {
      oddities[gpu::name_of(*each)].push_back(
          {.message = "the GSP is off, by default it is on", .observed = false, .limit = true});
    }
  }
}

Oddities oddities_of(const std::vector<const Gpu*>& gpus, const Parts& parts) {
  Oddities oddities;
  for (const Part& part : parts) {
    add_differences(gpus, part, oddities);
    add_not_allowed(gpus, part, oddities);
  }
  add_without_gsp(gpus, oddities);
  return oddities;
}

bool is_corrupt(const Gpu& gpu) {
  return !gpu.firmware.inforom_valid.value_or(true) ||
         std::ranges::any_of(gpu.troubles, [](const std::string& trouble) {
           return gpu::says(trouble, gpu::NvmlCode::corrupt_inforom);
         });
}

Finding corrupt(const Snapshot& snapshot, const Gpu& gpu) {
  Finding finding =
      gpu::failed(gpu, "the InfoROM is corrupt", hardware_remedy(snapshot), {false, true});
  finding.code = "NHC2008";
  return finding;
}

std::optional<Finding> unreadable(const Gpu& gpu, const Parts& parts) {
  const auto& firmware = gpu.firmware;
  if (firmware.inforom_valid.is_unreadable()) {
    return gpu::not_told(gpu, "whether the InfoROM is valid", firmware.inforom_valid);
  }
  for (const Part& part : parts) {
    const auto& version = firmware.*part.version;
    if (version.is_unreadable()) {
      return gpu::not_told(gpu, fmt::format("the version of the {}", part.name), version);
    }
  }
  if (firmware.gsp_enabled.is_unreadable()) {
    return gpu::not_told(gpu, "whether the GSP runs", firmware.gsp_enabled);
  }
  return std::nullopt;
}

// A board that was replaced differs in several parts: one finding, with the values of the first.
Finding odd(const Gpu& gpu, const Findings& oddities) {
  std::vector<std::string_view> messages;
  messages.reserve(oddities.size());
  for (const auto& each : oddities) messages.emplace_back(each.message);
  return gpu::warned(gpu, fmt::format("{}", fmt::join(messages, "; ")), Remedy::fix_config,
                     {oddities.front().observed, oddities.front().limit});
}

std::optional<Finding> judge_one(const Snapshot& snapshot, const Gpu& gpu, const Parts& parts,
                                 const Oddities& oddities) {
  if (is_corrupt(gpu)) return corrupt(snapshot, gpu);
  if (auto finding = unreadable(gpu, parts)) return finding;
  if (const auto found = oddities.find(gpu::name_of(gpu)); found != oddities.end()) {
    return odd(gpu, found->second);
  }
  const bool told = gpu.firmware.inforom_valid || std::ranges::any_of(parts, [&](const Part& part) {
                      return (gpu.firmware.*part.version).known();
                    });
  if (told) return std::nullopt;
  return gpu::not_told(gpu, "the version of the VBIOS", gpu.firmware.vbios);
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  const auto gpus = gpu::answering(snapshot);
  const Parts parts = parts_of(profile.gpu->firmware);
  const Oddities oddities = oddities_of(gpus, parts);
  const bool validated = std::ranges::all_of(
      gpus, [](const Gpu* each) { return each->firmware.inforom_valid.known(); });
  auto findings = gpu::each(
      snapshot, [&](const Gpu& gpu) { return judge_one(snapshot, gpu, parts, oddities); },
      validated ? "with valid InfoROM and the firmware they should have"
                : "with the firmware they should have; whether the InfoROM is valid was not read");
  if (const auto node = oddities.find(std::string(kNode)); node != oddities.end()) {
    drop_passes(findings);
    for (const Finding& each : node->second) {
      findings.push_back(
          warned(kNode, each.message, Remedy::fix_config, {each.observed, each.limit}));
    }
  }
  return findings;
}

}  // namespace

constinit const Check check{
    .id = "gpu.firmware",
    .title = "GPUs have a valid InfoROM and the same firmware",
    .why =
        "The InfoROM keeps a GPU's own settings and its record of faults, remapped rows of memory "
        "among them; one with a wrong checksum is no longer to be trusted, and the GPU is "
        "replaced. Reading it takes long, and is done in the contexts manual and boot only. VBIOS, "
        "InfoROM and GSP versions are compared among the GPUs of one model, or with the profile's "
        "list: a GPU that was replaced and not updated behaves differently from its neighbours, "
        "in clocks, in power and in how it reports errors. The GSP is a processor on the GPU that "
        "runs most of the driver; where it is off although it is on by default, somebody chose "
        "that.",
    .fix =
        "Corrupt InfoROM: replace the GPU, or report its serial number to the provider. Another "
        "version: update the odd GPU with the vendor's tool, or put the version on the profile's "
        "list. GSP off: look for NVreg_EnableGpuFirmware=0 in /etc/modprobe.d.",
    .needs = Probe::nvml | Probe::identity,
    .asks = {.inforom = true},
    .not_here = gpu::none_to_judge,
    .judge = judge,
};

}  // namespace muster::checks::gpu_firmware
