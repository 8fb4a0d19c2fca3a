// SPDX-License-Identifier: Apache-2.0
// The driver, what it requests, and the firmware of GPUs.
#include <fmt/ranges.h>

#include <array>
#include <map>

#include "checks/catalogue.hpp"
#include "checks/shared/gpus.hpp"
#include "checks/shared/peers.hpp"

namespace muster::checks {
namespace {

// gpu.driver: NVML is usable, matches the kernel module, and has an allowed version.

constexpr int kOk = 0;
constexpr int kNoPermission = 4;
constexpr int kNotLoaded = 9;
constexpr int kNoLibrary = 12;
constexpr int kOperatingSystem = 17;
constexpr int kMismatch = 18;
constexpr int kNoMemory = 20;

// "535.161.08" as numbers; an invalid part is 0.
std::vector<std::uint64_t> parts_of(std::string_view version) {
  std::vector<std::uint64_t> parts;
  for (const auto part : split(version, '.')) parts.push_back(parse_unsigned(part).value_or(0));
  return parts;
}

Finding no_library(std::string_view why) {
  return failed(kNode, fmt::format("NVML is missing: {}", why), Remedy::fix_config);
}

Finding unusable(const Nvml& nvml) {
  // Not a fault of the node or the driver, but of muster or its environment.
  constexpr std::array kOwn{kOk, kNoPermission, kNoMemory};
  if (std::ranges::count(kOwn, nvml.trouble_code) > 0) {
    return unknown(kNode, fmt::format("the GPUs are unknown: {}", nvml.trouble));
  }
  if (nvml.trouble_code == kNoLibrary) return no_library(nvml.trouble);
  if (nvml.trouble_code == kMismatch) {
    return failed(
        kNode,
        fmt::format("NVML and the kernel module ({}) have different versions, as after a driver "
                    "upgrade: {}",
                    nvml.module.value_or("version unknown"), nvml.trouble),
        Remedy::reboot);
  }
  if (nvml.trouble_code == kNotLoaded) {
    return failed(kNode, fmt::format("the driver is not loaded: {}", nvml.trouble), Remedy::reboot);
  }
  return failed(kNode, fmt::format("NVML is not usable: {}", nvml.trouble), Remedy::reboot);
}

Findings judge_versions(const Nvml& nvml, const GpuDriverLimits& limits) {
  if (!nvml.driver) return {not_known(kNode, "the driver's version", nvml.driver)};
  const std::string& driver = *nvml.driver;
  Findings findings;
  const auto wrong = [&](std::string message, const std::string& limit, Remedy remedy) {
    findings.push_back(failed(kNode, std::move(message), remedy, {driver, limit}));
  };
  if (nvml.module && *nvml.module != driver) {
    wrong(fmt::format("NVML has version {}, the kernel module {}", driver, *nvml.module),
          *nvml.module, Remedy::reboot);
  }
  if (limits.minimum && parts_of(driver) < parts_of(*limits.minimum)) {
    wrong(fmt::format("driver {}, expected at least {}", driver, *limits.minimum), *limits.minimum,
          Remedy::fix_config);
  }
  if (!limits.allowed.empty() && !matches_any(limits.allowed, driver)) {
    const auto allowed = fmt::format("{}", fmt::join(limits.allowed, " or "));
    wrong(fmt::format("driver {}, expected {}", driver, allowed), allowed, Remedy::fix_config);
  }
  if (nvml.confidential.value_or(false) && nvml.confidential_ready.known() &&
      !*nvml.confidential_ready) {
    findings.push_back(failed(
        kNode, "confidential computing is on, but the GPUs are not set ready and accept no work",
        Remedy::restart_service));
  }
  return or_pass(std::move(findings), fmt::format("driver {}", driver));
}

// True if the driver is bound to GPUs, but NVML reports that it is broken.
bool breaks_gpus(const Snapshot& snapshot) {
  constexpr std::array kBroken{kNotLoaded, kNoLibrary, kOperatingSystem, kMismatch};
  const auto& section = snapshot.nvml;
  return section.ok() && !section->trouble.empty() && gpu::driver_is_bound(snapshot) &&
         std::ranges::count(kBroken, section->trouble_code) > 0;
}

Findings judge_driver(const Snapshot& snapshot, const Profile& profile, const Context& context) {
  const auto& section = snapshot.nvml;
  if (!gpu::expected(profile) && breaks_gpus(snapshot) && !gpu::sees_all(snapshot, context)) {
    return {*gpu::none_to_judge(snapshot, profile)};
  }
  if (section.status == Status::absent) return {no_library(section.reason)};
  if (!section->trouble.empty()) return {unusable(*section)};
  return judge_versions(*section, profile.gpu->driver);
}

std::optional<Finding> driver_not_applicable(const Snapshot& snapshot, const Profile& profile) {
  const auto& section = snapshot.nvml;
  const bool foreign = snapshot.identity->foreign_root && section.status == Status::absent;
  if (gpu::expected(profile) && !foreign) return std::nullopt;
  const bool usable = section.ok() && section->trouble.empty() && !section->gpus.empty();
  return usable || breaks_gpus(snapshot) ? std::nullopt : gpu::none_to_judge(snapshot, profile);
}

// gpu.firmware: the InfoROM of each GPU is valid, and GPUs of one model have the same firmware, or
// one that the profile allows.

// A version that GPUs of one model share.
struct FirmwarePart {
  std::string_view name;
  Fact<std::string> GpuFirmware::*version;
  const Words* allowed;  // null if a profile has no such list
};

using FirmwareParts = std::array<FirmwarePart, 3>;

FirmwareParts parts_of(const GpuFirmwareLimits& limits) {
  return {{{"VBIOS", &GpuFirmware::vbios, &limits.vbios},
           {"InfoROM", &GpuFirmware::inforom, &limits.inforom},
           {"GSP firmware", &GpuFirmware::gsp, nullptr}}};
}

// Differences by the name of the GPU; those of no particular GPU under "node".
using Oddities = std::map<std::string, Findings>;

bool lacks_gsp(const Gpu& gpu) {
  const auto& firmware = gpu.firmware;
  return firmware.gsp_default.value_or(false) && !firmware.gsp_enabled.value_or(true);
}

void add_without_gsp(const std::vector<const Gpu*>& gpus, Oddities& oddities) {
  const auto without = static_cast<std::size_t>(
      std::ranges::count_if(gpus, [](const Gpu* each) { return lacks_gsp(*each); }));
  // Off on all GPUs is a driver option.
  if (without > 1 && without == gpus.size()) {
    oddities[std::string(kNode)].push_back(
        {.message = fmt::format("the GSP is off on all {} GPUs, but on by default", without),
         .observed = false,
         .limit = true});
    return;
  }
  for (const Gpu* each : gpus) {
    if (lacks_gsp(*each)) {
      oddities[gpu::name_of(*each)].push_back(
          {.message = "the GSP is off, but on by default", .observed = false, .limit = true});
    }
  }
}

// Compares GPUs of one model with each other if the profile has no list.
Oddities oddities_of(const std::vector<const Gpu*>& gpus, const FirmwareParts& parts) {
  Oddities oddities;
  for (const auto& [name, member, allowed] : parts) {
    const bool limited = allowed != nullptr && !allowed->empty();
    std::map<std::string, std::vector<DeviceValue>> by_model;
    for (const Gpu* each : gpus) {
      const auto& version = each->firmware.*member;
      if (!version || (limited && matches_any(*allowed, *version))) continue;
      if (!limited) {
        by_model[each->model.value_or("")].push_back({gpu::name_of(*each), *version});
        continue;
      }
      const auto limit = fmt::format("{}", fmt::join(*allowed, ", "));
      oddities[gpu::name_of(*each)].push_back(
          {.message = fmt::format("{} {}, allowed {}", name, *version, limit),
           .observed = *version,
           .limit = limit});
    }
    for (const auto& [model, said] : by_model) {
      for (auto& odd : disagreements(said, {.what = name, .devices = "GPUs"}, {})) {
        oddities[odd.device].push_back(std::move(odd));
      }
    }
  }
  add_without_gsp(gpus, oddities);
  return oddities;
}

bool reports_corrupt_inforom(const std::string& trouble) {
  return gpu::has_nvml_code(trouble, gpu::NvmlCode::corrupt_inforom);
}

bool is_corrupt(const Gpu& gpu) {
  return !gpu.firmware.inforom_valid.value_or(true) ||
         std::ranges::any_of(gpu.troubles, reports_corrupt_inforom);
}

std::optional<Finding> unreadable(const Gpu& gpu, const FirmwareParts& parts) {
  const auto& firmware = gpu.firmware;
  if (firmware.inforom_valid.is_unreadable()) {
    return gpu::not_reported(gpu, "whether the InfoROM is valid", firmware.inforom_valid);
  }
  for (const FirmwarePart& part : parts) {
    const auto& version = firmware.*part.version;
    if (version.is_unreadable()) {
      return gpu::not_reported(gpu, fmt::format("the version of the {}", part.name), version);
    }
  }
  if (firmware.gsp_enabled.is_unreadable()) {
    return gpu::not_reported(gpu, "whether the GSP runs", firmware.gsp_enabled);
  }
  return std::nullopt;
}

std::optional<Finding> judge_gpu_firmware_of(const Snapshot& snapshot, const Gpu& gpu,
                                             const FirmwareParts& parts, const Oddities& oddities) {
  if (is_corrupt(gpu)) {
    Finding finding =
        gpu::failed(gpu, "the InfoROM is corrupt", hardware_remedy(snapshot), {false, true});
    finding.code = "NHC2008";
    return finding;
  }
  if (auto finding = unreadable(gpu, parts)) return finding;
  if (const auto found = oddities.find(gpu::name_of(gpu)); found != oddities.end()) {
    // One finding, because a replaced board differs in several parts.
    std::vector<std::string_view> messages;
    for (const auto& each : found->second) messages.emplace_back(each.message);
    const auto& first = found->second.front();
    return gpu::warned(gpu, fmt::format("{}", fmt::join(messages, "; ")), Remedy::fix_config,
                       {first.observed, first.limit});
  }
  const bool known =
      gpu.firmware.inforom_valid || std::ranges::any_of(parts, [&](const FirmwarePart& part) {
        return (gpu.firmware.*part.version).known();
      });
  if (known) return std::nullopt;
  return gpu::not_reported(gpu, "the version of the VBIOS", gpu.firmware.vbios);
}

Findings judge_gpu_firmware(const Snapshot& snapshot, const Profile& profile) {
  const auto gpus = gpu::answering(snapshot);
  const FirmwareParts parts = parts_of(profile.gpu->firmware);
  const Oddities oddities = oddities_of(gpus, parts);
  const bool validated = std::ranges::all_of(
      gpus, [](const Gpu* each) { return each->firmware.inforom_valid.known(); });
  auto findings = gpu::each(
      snapshot,
      [&](const Gpu& gpu) { return judge_gpu_firmware_of(snapshot, gpu, parts, oddities); },
      validated ? "with valid InfoROM and the expected firmware"
                : "with the expected firmware; the InfoROM was not read");
  if (const auto node = oddities.find(std::string(kNode)); node != oddities.end()) {
    drop_passes(findings);
    for (const Finding& each : node->second) {
      findings.push_back(
          warned(kNode, each.message, Remedy::fix_config, {each.observed, each.limit}));
    }
  }
  return findings;
}

// gpu.recovery_action: the driver requests no recovery of a GPU.

constexpr std::string_view kReset = "Resource.Hpc.Reset";

struct Action {
  std::string_view words;
  Remedy remedy;
  std::string_view category{};  // Azure's, if it has one
};

// Indexed by NVML's number.
constexpr std::array<Action, 8> kActions{{
    {"none", Remedy::none},
    {"a GPU reset", Remedy::reset_gpu, kReset},
    {"a reboot", Remedy::reboot, "Resource.Hpc.Reboot"},
    {"a drain of its peer-to-peer traffic", Remedy::reset_gpu, kReset},
    {"a drain and a GPU reset", Remedy::reset_gpu, kReset},
    {"a recovery of the IMEX domain", Remedy::restart_service},
    {"a bus reset", Remedy::reboot},
    {"a reboot of the system", Remedy::reboot},
}};
constexpr Action kUnknownAction{"an unknown action", Remedy::reboot};

// The recovery that the driver requests; null for none, or if it does not report it.
const Action* requested_action(const Gpu& gpu) {
  const unsigned number = gpu.recovery_action.value_or(0);
  if (number == 0) return nullptr;
  return number < kActions.size() ? &kActions.at(number) : &kUnknownAction;
}

Remedy remedy_of(const Snapshot& snapshot, const Action& action) {
  return action.remedy == Remedy::reset_gpu ? gpu::reset_remedy(snapshot) : action.remedy;
}

Finding troubled(const Snapshot& snapshot, const Gpu& gpu) {
  Finding finding = gpu::failed(gpu, fmt::format("NVML reports {}", fmt::join(gpu.troubles, "; ")),
                                gpu::reset_remedy(snapshot));
  if (const Action* action = requested_action(gpu)) {
    const Remedy remedy = stronger(finding.remedy, remedy_of(snapshot, *action));
    if (remedy != finding.remedy) {
      finding.message += fmt::format("; the driver requests {}", action->words);
      finding.remedy = remedy;
      finding.category = action->category;
    }
  }
  if (std::ranges::all_of(gpu.troubles, reports_corrupt_inforom)) {
    finding.seen_by = {{.check = "gpu.firmware", .device = finding.device}};
  }
  return finding;
}

Findings judge_recovery_action(const Snapshot& snapshot, const Profile& /*profile*/) {
  const auto judge_one = [&](const Gpu& gpu) -> std::optional<Finding> {
    if (!gpu.troubles.empty()) return troubled(snapshot, gpu);
    if (!gpu.recovery_action) {
      return gpu::not_reported(gpu, "the recovery action", gpu.recovery_action);
    }
    const Action* action = requested_action(gpu);
    if (action == nullptr) return std::nullopt;
    const unsigned number = *gpu.recovery_action;
    Finding finding =
        gpu::failed(gpu, fmt::format("the driver requests {} ({})", action->words, number),
                    remedy_of(snapshot, *action), {number, 0});
    finding.category = action->category;
    // The request is the driver's reaction, not a second fault.
    for (const auto* check :
         {"gpu.ecc_uncorrectable", "gpu.ecc_sram", "gpu.ecc_remapped_rows", "gpu.ecc_retired_pages",
          "gpu.xid", "gpu.nvlink_state", "gpu.fabric"}) {
      finding.seen_by.push_back({.check = check, .device = finding.device});
    }
    return finding;
  };
  return gpu::each(snapshot, judge_one, "not in need of recovery");
}

}  // namespace

constinit const Check gpu_driver::check = gpu::check_of_gpus({
    .id = "gpu.driver",
    .title = "NVIDIA's driver is installed, consistent and of an allowed version",
    .why =
        "Opens NVIDIA's management library as every GPU tool does. Without the library or the "
        "driver a node runs no GPU jobs. After an unattended upgrade the library is newer than "
        "the loaded kernel module, and nothing works until the node is rebooted. A broken driver "
        "of GPUs on the bus fails even if no GPUs are expected, except in containers and in the "
        "context manual, which may run inside a job. With confidential computing, GPUs accept "
        "work only after they are attested and set ready.",
    .fix = "Different versions: reboot. Driver not loaded: look at the kernel log for the module "
           "nvidia, then reboot or reinstall the driver. Version not allowed: install the site's "
           "version. GPUs not ready: look at the service that attests them, or run nvidia-smi "
           "conf-compute -srs 1.",
    .code = "NHC2015",
    .looks_at = Probe::pci,
    .when_absent = WhenAbsent::judge,
    .not_applicable = driver_not_applicable,
    .judge_in = judge_driver,
});

constinit const Check gpu_firmware::check = gpu::check_of_gpus({
    .id = "gpu.firmware",
    .title = "GPUs have a valid InfoROM and the same firmware",
    .why =
        "The InfoROM stores a GPU's settings and fault records, including remapped rows of memory. "
        "A GPU whose InfoROM has a wrong checksum is replaced. Checking it takes long, so only the "
        "contexts manual and boot do it. VBIOS, InfoROM and GSP versions are compared among GPUs "
        "of one model, or with the profile's list: a GPU that was replaced and not updated differs "
        "from its neighbours in clocks, power and error reports. The GSP is a processor on the GPU "
        "that runs most of the driver; if it is off although it is on by default, it was disabled "
        "by a setting.",
    .fix =
        "Corrupt InfoROM: replace the GPU, or report its serial number to the provider. Another "
        "version: update the odd GPU with the vendor's tool, or add the version to the profile's "
        "list. GSP off: look for NVreg_EnableGpuFirmware=0 in /etc/modprobe.d.",
    .nvml_parts = {.inforom = true},
    .judge = judge_gpu_firmware,
});

constinit const Check gpu_recovery_action::check = gpu::check_of_gpus({
    .id = "gpu.recovery_action",
    .title = "The driver requests no recovery of a GPU",
    .why =
        "From driver 570 on, NVML reports what a GPU needs after a fault: nothing, a reset, a "
        "reboot, or to be drained first. Errors such as \"GPU requires reset\" from any other call "
        "count as well; the more drastic remedy of the two applies.",
    .fix = "Drain the node and do what the driver requests.",
    .judge = judge_recovery_action,
});

}  // namespace muster::checks
