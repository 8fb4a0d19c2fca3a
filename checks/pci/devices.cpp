// SPDX-License-Identifier: Apache-2.0
// pci.devices: every expected GPU, NVSwitch and HCA is on the PCI bus and responds, and NVML lists
// the GPUs of the bus.

#include <map>

#include "checks/catalogue.hpp"
#include "checks/shared/nvml_view.hpp"

namespace muster::checks::pci_devices {
namespace {

using pci::counted_kind;
using pci::devices_of;
using pci::NvmlView;
using pci::word_for;

using Places = std::map<std::string, int>;  // PCI address to NUMA node, as in topo.numa

// Azure's codes: those of gpu.present and ib.present for a missing GPU or HCA, and one for a GPU
// that fell off the bus.
std::string fault_code(PciKind kind, bool listed) {
  if (kind == PciKind::hca) return "NHC2002";
  if (kind == PciKind::nvswitch) return "NHC2016";
  return listed ? "NHC2013" : "NHC2009";
}

// Expected addresses that are not on the bus; empty unless they explain the count.
std::vector<std::string> missing_addresses(const std::vector<const PciDevice*>& found,
                                           const Places& expected, std::size_t missing) {
  std::vector<std::string> absent;
  for (const auto& [address, node] : expected) {
    if (std::ranges::count(found, address, &PciDevice::address) == 0) absent.push_back(address);
  }
  if (absent.size() != missing) absent.clear();
  return absent;
}

// `nvml`: for GPUs only.
void judge_count(const Snapshot& snapshot, PciKind kind, const Limit<int>& count,
                 const Places& places, const NvmlView* nvml, Findings& findings) {
  const auto found = devices_of(snapshot, kind);
  const auto wanted = static_cast<std::size_t>(std::max(0, count.value_or(0)));
  if (found.size() >= wanted) return;
  Finding finding{.outcome = Outcome::fail,
                  .observed = count_value(found.size()),
                  .limit = count_value(wanted),
                  .remedy = hardware_remedy(snapshot),
                  .code = fault_code(kind, false)};
  const auto absent = missing_addresses(found, places, wanted - found.size());
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

std::optional<Finding> judge_response(const PciDevice& device, const NvmlView& nvml) {
  const auto word = word_for(device.kind);
  if (!device.responding) {
    return not_known(device.address,
                     fmt::format("whether the {} at {} responds", word, device.address),
                     device.responding);
  }
  if (*device.responding) return std::nullopt;
  Finding finding = failed(device.address,
                           fmt::format("the {} at {} is on the PCI bus but does not respond: its "
                                       "configuration space reads all ones",
                                       word, device.address),
                           Remedy::reboot, {false, true});
  finding.code = fault_code(device.kind, true);
  if (device.kind == PciKind::gpu) nvml.leave_to_gpu_present(device.address, finding);
  return finding;
}

// `certain`: a GPU that the driver has is not hidden from muster.
Finding fallen_off(const PciDevice& device, bool certain) {
  Finding finding =
      failed(device.address,
             fmt::format("the GPU at {} is on the PCI bus but not in NVML", device.address),
             Remedy::reboot, {false, true});
  finding.code = fault_code(PciKind::gpu, true);
  if (device.driver.empty()) {
    finding.message += ": no driver is bound";
    finding.code = "NHC2015";
  } else if (!certain) {
    finding.outcome = Outcome::unknown;
    finding.message += ": it fell off the bus, or is hidden as in a container";
  } else if (device.driver != "nvidia") {
    finding.message += fmt::format(": driver {} is bound", device.driver);
    finding.remedy = Remedy::fix_config;
    finding.code = "NHC2015";
  }
  return finding;
}

// GPUs without any driver on a node whose driver runs none, as if it were not installed.
Findings without_driver(const Snapshot& snapshot, const NvmlView& nvml) {
  const bool observed = snapshot.nvml.ok() || snapshot.nvml.status == Status::absent;
  Findings findings;
  if (!observed || nvml.runs_gpus()) return findings;
  for (const auto* device : devices_of(snapshot, PciKind::gpu)) {
    if (!is_nvidia_gpu(*device) || !device->driver.empty() || pci::is_silent(*device)) continue;
    findings.push_back(unknown(
        device->address, fmt::format("no driver is bound to the GPU at {}", device->address)));
  }
  return findings;
}

void compare_with_nvml(const NvmlView& nvml, bool sees_all, Findings& findings) {
  const auto unlisted = nvml.unlisted();
  if (nvml.refused() == 0) {
    const bool certain = nvml.expected() || sees_all;
    for (const auto* device : unlisted) findings.push_back(fallen_off(*device, certain));
  } else if (!unlisted.empty()) {
    findings.push_back(
        failed(kNode,
               fmt::format("{} on the PCI bus but not in NVML, and {} that NVML refuses (see "
                           "gpu.present)",
                           counted_kind(unlisted.size(), PciKind::gpu), nvml.refused()),
               Remedy::reboot, {count_value(unlisted.size()), 0}));
    findings.back().code = fault_code(PciKind::gpu, true);
  }
  for (const Gpu* gpu : nvml.not_on_bus()) {
    findings.push_back(unknown(
        gpu->address, fmt::format("NVML lists {} at {}, which is not on the PCI bus: one of "
                                  "them is wrong",
                                  gpu::name_of(*gpu), gpu->address)));
  }
}

Findings judge(const Snapshot& snapshot, const Profile& profile, const Context& context) {
  if (auto finding = pci::without_bus(snapshot, profile)) return {*finding};
  const NvmlView nvml(snapshot, profile);
  const auto& topo = profile.topo->numa;
  Findings findings;
  judge_count(snapshot, PciKind::gpu, profile.gpu->present.count, topo.gpu, &nvml, findings);
  judge_count(snapshot, PciKind::nvswitch, profile.pci->devices.nvswitches, {}, nullptr, findings);
  judge_count(snapshot, PciKind::hca, profile.ib->present.count, topo.hca, nullptr, findings);

  std::vector<std::string> present;
  for (const auto kind : {PciKind::gpu, PciKind::nvswitch, PciKind::hca}) {
    const auto devices = devices_of(snapshot, kind);
    for (const auto* device : devices) append(findings, judge_response(*device, nvml));
    if (!devices.empty()) present.push_back(counted_kind(devices.size(), kind));
  }
  compare_with_nvml(nvml, gpu::sees_all(snapshot, context), findings);
  if (!gpu::expected(profile)) append(findings, without_driver(snapshot, nvml));
  if (findings.empty() && present.empty()) return {not_expected("GPU, NVSwitch or HCA")};
  return or_pass(std::move(findings),
                 fmt::format("{} on the PCI bus, all responding", fmt::join(present, ", ")));
}

}  // namespace

constinit const Check check{
    .id = "pci.devices",
    .title = "Every expected GPU, NVSwitch and HCA is on the PCI bus and responds",
    .why =
        "Looks at the functions on the PCI bus, by class and vendor, and reads the start of "
        "their configuration space. A device that was not found at boot is missing from the "
        "list; one that fell off the bus later is still listed but reads all ones, and its "
        "driver may hang. The GPUs of the bus are compared with NVML's list: a GPU missing there "
        "was given up by the driver, or never bound. If no GPUs are expected, those of another "
        "driver (vfio-pci, nouveau) are left out, GPUs without any driver are unknown if "
        "NVIDIA's driver runs none, and one that NVML hides is unknown in containers and in the "
        "context manual, which may run inside a job. Only gpu.present reports a GPU that NVML "
        "itself reports as lost.",
    .fix =
        "Reboot the node: a link that failed to train often recovers. If the device stays missing, "
        "redeploy a virtual machine to other hardware and report the fault to the provider; on "
        "bare metal reseat the device, then replace it.",
    .code = "NHC2013",
    .needs = Probe::pci | Probe::identity,
    .looks_at = Probe::nvml,
    .when_absent = WhenAbsent::judge,
    .judge_in = judge,
};

}  // namespace muster::checks::pci_devices
