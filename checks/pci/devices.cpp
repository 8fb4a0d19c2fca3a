// SPDX-License-Identifier: Apache-2.0
// Every GPU, NVSwitch and HCA that the profile expects is on the PCI bus and answers there, and
// NVML lists the GPUs that the bus has.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "checks/catalogue.hpp"
#include "checks/shared/nvml_view.hpp"
#include "checks/shared/pci_bus.hpp"
#include "lib/profile/limits/gpu.hpp"
#include "lib/profile/limits/ib.hpp"
#include "lib/profile/limits/pci.hpp"
#include "lib/profile/limits/topology.hpp"

namespace muster::checks::pci_devices {
namespace {

using pci::counted_kind;
using pci::devices_of;
using pci::NvmlView;
using pci::word_for;

using Places = std::map<std::string, int>;  // PCI address to NUMA node, as topo.numa has them

// Azure's codes: a missing GPU or HCA is what gpu.present and ib.present would have said; one that
// fell off the bus has a code of its own.
std::string fault_code(PciKind kind, bool listed) {
  if (kind == PciKind::hca) return "NHC2002";
  if (kind == PciKind::nvswitch) return "NHC2016";
  return listed ? "NHC2013" : "NHC2009";
}

// The addresses the profile knows and the bus does not have; empty unless they explain the count.
std::vector<std::string> missing_addresses(const std::vector<const PciDevice*>& found,
                                           const Places& expected, std::size_t missing) {
  std::vector<std::string> absent;
  for (const auto& [address, node] : expected) {
    if (std::ranges::count(found, address, &PciDevice::address) == 0) absent.push_back(address);
  }
  if (absent.size() != missing) absent.clear();
  return absent;
}

struct Expected {
  PciKind kind = PciKind::gpu;
  const Limit<int>& count;
  const Places& places;
};

void judge_count(const Snapshot& snapshot, const Expected& expected,
                 const NvmlView* nvml,  // of GPUs only
                 Findings& findings) {
  const PciKind kind = expected.kind;
  const auto found = devices_of(snapshot, kind);
  const auto wanted = static_cast<std::size_t>(std::max(0, expected.count.value_or(0)));
  if (found.size() >= wanted) return;
  Finding finding{.outcome = Outcome::fail,
                  .observed = count_value(found.size()),
                  .limit = count_value(wanted),
                  .remedy = hardware_remedy(snapshot),
                  .code = fault_code(kind, false)};
  const auto absent = missing_addresses(found, expected.places, wanted - found.size());
  if (absent.empty()) {
    finding.device = std::string(kNode);
    finding.message =
        fmt::format("{} on the PCI bus, expected {}", counted_kind(found.size(), kind), wanted);
    if (nvml != nullptr) nvml->leave_to_gpu_present(finding);
    findings.push_back(finding);
    return;
  }
  for (const auto& address : absent) {
    finding.device = address;
    finding.seen_by.clear();
    if (nvml != nullptr) nvml->leave_to_gpu_present(address, finding);
    finding.message = fmt::format("no {} at {}: {} on the PCI bus, expected {}", word_for(kind),
                                  address, counted_kind(found.size(), kind), wanted);
    findings.push_back(finding);
  }
}

std::optional<Finding> judge_answers(const PciDevice& device, const NvmlView& nvml) {
  const auto word = word_for(device.kind);
  if (!device.responding) {
    return not_known(device.address,
                     fmt::format("whether the {} at {} answers", word, device.address),
                     device.responding);
  }
  if (*device.responding) return std::nullopt;
  Finding finding = failed(device.address,
                           fmt::format("the {} at {} is on the PCI bus and does not answer: its "
                                       "configuration space reads all ones",
                                       word, device.address),
                           Remedy::reboot, {false, true});
  finding.code = fault_code(device.kind, true);
  if (device.kind == PciKind::gpu) nvml.leave_to_gpu_present(device.address, finding);
  return finding;
}

Finding fallen_off(const PciDevice& device, bool expected) {
  Finding finding = failed(
      device.address,
      fmt::format("the GPU at {} is on the PCI bus, and NVML does not list it", device.address),
      Remedy::reboot, {false, true});
  finding.code = fault_code(PciKind::gpu, true);
  if (!expected) {
    finding.outcome = Outcome::unknown;
    finding.message += ": it fell off, or is hidden here, as in a container";
  } else if (device.driver.empty()) {
    finding.message += ": no driver is bound to it";
    finding.code = "NHC2015";
  } else if (device.driver != "nvidia") {
    finding.message += fmt::format(": the driver {} is bound to it", device.driver);
    finding.remedy = Remedy::fix_config;
    finding.code = "NHC2015";
  }
  return finding;
}

void compare_with_nvml(const NvmlView& nvml, Findings& findings) {
  const auto unlisted = nvml.unlisted();
  if (nvml.refused() == 0) {
    for (const auto* device : unlisted) findings.push_back(fallen_off(*device, nvml.expected()));
  } else if (!unlisted.empty()) {
    findings.push_back(
        failed(kNode,
               fmt::format("{} on the PCI bus that NVML does not list, and {} that it refuses "
                           "(see gpu.present)",
                           counted_kind(unlisted.size(), PciKind::gpu), nvml.refused()),
               Remedy::reboot, {count_value(unlisted.size()), 0}));
    findings.back().code = fault_code(PciKind::gpu, true);
  }
  for (const Gpu* gpu : nvml.not_on_bus()) {
    findings.push_back(
        unknown(gpu->address, fmt::format("NVML lists {} at {}, and the PCI bus does not: one "
                                          "of them is wrong",
                                          gpu::name_of(*gpu), gpu->address)));
  }
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  if (auto finding = pci::without_bus(snapshot, profile)) return {*finding};
  const NvmlView nvml(snapshot, profile);
  const auto& topo = profile.topo->numa;
  const Places nowhere;
  Findings findings;
  judge_count(snapshot, {PciKind::gpu, profile.gpu->present.count, topo.gpu}, &nvml, findings);
  judge_count(snapshot, {PciKind::nvswitch, profile.pci->devices.nvswitches, nowhere}, nullptr,
              findings);
  judge_count(snapshot, {PciKind::hca, profile.ib->present.count, topo.hca}, nullptr, findings);

  std::vector<std::string> present;
  for (const auto kind : {PciKind::gpu, PciKind::nvswitch, PciKind::hca}) {
    const auto devices = devices_of(snapshot, kind);
    for (const auto* device : devices) append(findings, judge_answers(*device, nvml));
    if (!devices.empty()) present.push_back(counted_kind(devices.size(), kind));
  }
  compare_with_nvml(nvml, findings);
  if (findings.empty() && present.empty()) return {not_expected("GPU, NVSwitch or HCA is")};
  return or_pass(std::move(findings),
                 fmt::format("{} on the PCI bus, and all answer", fmt::join(present, ", ")));
}

}  // namespace

constinit const Check check{
    .id = "pci.devices",
    .title = "Every expected GPU, NVSwitch and HCA is on the PCI bus and answers",
    .why =
        "Looks at the functions that the kernel lists on the PCI bus, by class and vendor, and "
        "reads the start of each one's configuration space. A device that was not found at boot is "
        "missing from the list; one that fell off the bus later stays listed and reads all ones, "
        "and a driver that talks to it may hang. Where NVML was asked, the GPUs of the bus are "
        "compared with its list: one that the bus has and NVML has not was given up by the driver, "
        "or never taken. A GPU that NVML itself reports as lost is gpu.present's finding alone.",
    .fix =
        "Reboot the node: a link that failed to train often comes back. If the device stays away, "
        "a virtual machine is redeployed to other hardware and the fault reported to the "
        "provider; on bare metal the device is reseated, then replaced.",
    .code = "NHC2013",
    .needs = Probe::pci | Probe::identity,
    .looks_at = Probe::nvml,
    .when_absent = WhenAbsent::judge,
    .judge = judge,
};

}  // namespace muster::checks::pci_devices
