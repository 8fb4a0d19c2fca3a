// SPDX-License-Identifier: Apache-2.0
// Access control services are off on the PCI switches above GPUs: on, they send traffic between
// neighbours up through the root.

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "checks/catalogue.hpp"
#include "checks/shared/pci_bus.hpp"

namespace muster::checks::pci_acs {
namespace {

// Source validation, request redirect, completion redirect, upstream forwarding.
constexpr unsigned kHarmful = 0x1d;

// The ports of switches above a GPU, nearest last. The first bridge is the root port itself, beyond
// which there is nowhere else to go.
std::vector<const PciDevice*> switch_ports(const Snapshot& snapshot, const PciDevice& gpu) {
  std::vector<const PciDevice*> ports;
  for (std::size_t i = 1; i < gpu.upstream.size(); ++i) {
    const PciDevice* bridge = pci::device_at(snapshot, gpu.upstream[i]);
    if (bridge != nullptr && bridge->kind == PciKind::bridge) ports.push_back(bridge);
  }
  return ports;
}

bool redirects(const PciDevice* port) { return (port->acs_control.value_or(0) & kHarmful) != 0; }

// One finding for one GPU's way up, at its nearest port: they are switched on together.
void judge_path(const PciDevice& gpu, const std::vector<const PciDevice*>& ports,
                std::set<std::string>& said, Findings& findings) {
  const auto harmful = std::find_if(ports.rbegin(), ports.rend(), redirects);
  if (harmful != ports.rend()) {
    const auto& port = **harmful;
    if (!said.insert(port.address).second) return;
    findings.push_back(
        warned(port.address,
               fmt::format("access control services are on (control {:#06x}) at the switch port {} "
                           "above the GPU at {}: traffic between devices goes through the root",
                           *port.acs_control, port.address, gpu.address),
               Remedy::fix_config, {*port.acs_control, 0}));
    return;
  }
  for (const auto* port : ports) {
    if (port->acs_control.is_unreadable() && said.insert(port->address).second) {
      findings.push_back(
          not_known(port->address, "the state of access control services", port->acs_control));
    }
  }
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  if (auto finding = pci::without_bus(snapshot, profile)) return {*finding};
  if (snapshot.identity->hypervisor) {
    return {skipped("the hypervisor hides the PCI switches above GPUs")};
  }
  Findings findings;
  std::set<std::string> said;
  std::set<std::string> looked_at;
  for (const auto* gpu : pci::devices_of(snapshot, PciKind::gpu)) {
    const auto ports = switch_ports(snapshot, *gpu);
    for (const auto* port : ports) looked_at.insert(port->address);
    judge_path(*gpu, ports, said, findings);
  }
  if (looked_at.empty()) return {skipped("no PCI switch above any GPU")};
  return or_pass(std::move(findings),
                 fmt::format("access control services are off on {} above GPUs",
                             counted(looked_at.size(), "switch port")));
}

}  // namespace

constinit const Check check{
    .id = "pci.acs",
    .title = "Access control services are off on PCI switches above GPUs",
    .why =
        "With access control services on, a PCI switch sends requests between two devices below it "
        "up to the root complex instead of straight across. Peer copies and GPUDirect RDMA then "
        "run at a fraction of their bandwidth, or fail. Kernels switch them on when the IOMMU "
        "isolates devices. Under a hypervisor the switches are not visible.",
    .fix =
        "Switch access control services off in the firmware, or with setpci on each switch port "
        "after boot; "
        "boot with the IOMMU off or in pass-through mode where no device is handed to a guest.",
    .needs = Probe::pci | Probe::identity,
    .when_absent = WhenAbsent::judge,
    .judge = judge,
};

}  // namespace muster::checks::pci_acs
