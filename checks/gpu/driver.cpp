// SPDX-License-Identifier: Apache-2.0
// gpu.driver: NVML can be used, agrees with the kernel's module, and is new enough.
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checks/catalogue.hpp"
#include "checks/shared/gpus.hpp"
#include "lib/base/text.hpp"
#include "lib/profile/limits/gpu.hpp"

namespace muster::checks::gpu_driver {
namespace {

constexpr int kOk = 0;
constexpr int kNotLoaded = 9;
constexpr int kNoLibrary = 12;
constexpr int kMismatch = 18;

// "535.161.08" as numbers; a part that is none counts as 0.
std::vector<std::uint64_t> parts_of(std::string_view version) {
  std::vector<std::uint64_t> parts;
  for (const auto part : split(version, '.')) parts.push_back(parse_unsigned(part).value_or(0));
  return parts;
}

Finding no_library(std::string_view why) {
  return failed(kNode, fmt::format("there is no NVML: {}", why), Remedy::fix_config);
}

Finding unusable(const Nvml& nvml) {
  // Neither the node's fault nor the driver's: nothing was judged.
  if (nvml.trouble_code == kOk) {
    return unknown(kNode, fmt::format("the GPUs are not known: {}", nvml.trouble));
  }
  if (nvml.trouble_code == kNoLibrary) return no_library(nvml.trouble);
  if (nvml.trouble_code == kMismatch) {
    return failed(
        kNode,
        fmt::format("NVML and the kernel's module ({}) are of different versions, as after "
                    "an upgrade of the driver: {}",
                    nvml.module.value_or("version not known"), nvml.trouble),
        Remedy::reboot);
  }
  if (nvml.trouble_code == kNotLoaded) {
    return failed(kNode, fmt::format("the driver is not loaded: {}", nvml.trouble), Remedy::reboot);
  }
  return failed(kNode, fmt::format("NVML cannot be used: {}", nvml.trouble), Remedy::reboot);
}

Findings judge_versions(const Nvml& nvml, const GpuDriverLimits& limits) {
  if (!nvml.driver) return {not_known(kNode, "the driver's version", nvml.driver)};
  const std::string& driver = *nvml.driver;
  Findings findings;
  const auto wrong = [&](std::string message, const std::string& limit, Remedy remedy) {
    findings.push_back(failed(kNode, std::move(message), remedy, {driver, limit}));
  };
  if (nvml.module && *nvml.module != driver) {
    wrong(fmt::format("NVML is of driver {}, the kernel's module of {}", driver, *nvml.module),
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
        kNode, "confidential computing is on, and the GPUs take no work: nobody has set them ready",
        Remedy::restart_service));
  }
  return or_pass(std::move(findings), fmt::format("driver {}", driver));
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  const auto& section = snapshot.nvml;
  if (section.status == Status::absent) {
    return {no_library(section.reason)};
  }
  if (!section->trouble.empty()) return {unusable(*section)};
  return judge_versions(*section, profile.gpu->driver);
}

std::optional<Finding> not_here(const Snapshot& snapshot, const Profile& profile) {
  const auto& section = snapshot.nvml;
  const bool foreign = snapshot.identity->foreign_root && section.status == Status::absent;
  if (gpu::expected(profile) && !foreign) return std::nullopt;
  const bool usable = section.ok() && section->trouble.empty() && !section->gpus.empty();
  return usable ? std::nullopt : gpu::none_to_judge(snapshot, profile);
}

}  // namespace

constinit const Check check{
    .id = "gpu.driver",
    .title = "NVIDIA's driver is there, whole and of an allowed version",
    .why =
        "Opens NVIDIA's management library as every GPU tool does. A node that should have GPUs "
        "and no library or no driver runs no GPU job. After an unattended upgrade the library is "
        "newer than the module that is still in the kernel: nothing is broken, and nothing works "
        "until the node is rebooted. With confidential computing GPUs take work only once they are "
        "attested and set ready.",
    .fix =
        "Different versions: reboot. Driver not loaded: look at the kernel log for the module "
        "nvidia, then reboot or reinstall the driver. A version that is not allowed: install the "
        "site's. GPUs that are not ready: look at the service that attests them, or "
        "nvidia-smi conf-compute -srs 1.",
    .code = "NHC2015",
    .needs = Probe::nvml | Probe::identity,
    .when_absent = WhenAbsent::judge,
    .not_here = not_here,
    .judge = judge,
};

}  // namespace muster::checks::gpu_driver
