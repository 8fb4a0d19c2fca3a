// SPDX-License-Identifier: Apache-2.0
// Settings of the PCI bus that slow transfers down.

#include <set>

#include "checks/catalogue.hpp"
#include "checks/shared/pci_bus.hpp"

namespace muster::checks {
namespace {

// pci.acs: access control services are off on the PCI switches above GPUs. Otherwise traffic
// between neighbours goes through the root complex.

// Source validation, request redirect, completion redirect, upstream forwarding.
constexpr unsigned kHarmful = 0x1d;

// Returns the switch ports above a GPU, nearest last, without the root port, the first bridge.
std::vector<const PciDevice*> switch_ports(const Snapshot& snapshot, const PciDevice& gpu) {
  std::vector<const PciDevice*> ports;
  for (std::size_t i = 1; i < gpu.upstream.size(); ++i) {
    const PciDevice* bridge = pci::device_at(snapshot, gpu.upstream[i]);
    if (bridge != nullptr && bridge->kind == PciKind::bridge) ports.push_back(bridge);
  }
  return ports;
}

bool redirects(const PciDevice* port) { return (port->acs_control.value_or(0) & kHarmful) != 0; }

// Adds at most one finding per GPU, at the nearest port, because ports are configured together.
void judge_path(const PciDevice& gpu, const std::vector<const PciDevice*>& ports,
                std::set<std::string>& reported, Findings& findings) {
  const auto harmful = std::find_if(ports.rbegin(), ports.rend(), redirects);
  if (harmful != ports.rend()) {
    const auto& port = **harmful;
    if (!reported.insert(port.address).second) return;
    findings.push_back(
        warned(port.address,
               fmt::format("access control services are on (control {:#06x}) at the switch port "
                           "above the GPU at {}: traffic between devices goes through the root "
                           "complex",
                           *port.acs_control, gpu.address),
               Remedy::fix_config, {*port.acs_control, 0}));
    return;
  }
  for (const auto* port : ports) {
    if (port->acs_control.is_unreadable() && reported.insert(port->address).second) {
      findings.push_back(
          not_known(port->address, "the state of access control services", port->acs_control));
    }
  }
}

Findings judge_acs(const Snapshot& snapshot, const Profile& profile) {
  if (auto finding = pci::without_bus(snapshot, profile)) return {*finding};
  if (snapshot.identity->hypervisor) {
    return {skipped("the hypervisor hides the PCI switches above GPUs")};
  }
  Findings findings;
  std::set<std::string> reported;
  std::set<std::string> judged;
  for (const auto* gpu : pci::devices_of(snapshot, PciKind::gpu)) {
    const auto ports = switch_ports(snapshot, *gpu);
    for (const auto* port : ports) judged.insert(port->address);
    judge_path(*gpu, ports, reported, findings);
  }
  if (judged.empty()) return {skipped("no PCI switch above any GPU")};
  return or_pass(std::move(findings),
                 fmt::format("access control services are off on {} above GPUs",
                             counted(judged.size(), "switch port")));
}

// pci.payload: GPUs and HCAs use the largest payload that every hop of their path supports. If a
// hypervisor hides the path, devices of one kind are compared with each other.

struct PayloadFindings {
  Findings findings;
  std::vector<const PciDevice*> not_reported;
  std::vector<const PciDevice*> hidden;
  std::size_t judged = 0;
};

// The largest payload of another device of the same kind.
std::optional<unsigned> peers_payload(const Snapshot& snapshot, const PciDevice& device) {
  std::optional<unsigned> most;
  for (const auto* peer : pci::endpoints(snapshot)) {
    const bool same = peer->vendor == device.vendor && peer->device == device.device;
    if (!same || peer->address == device.address || !peer->payload_bytes) continue;
    most = std::max(most.value_or(0), std::min(*peer->payload_bytes, *device.payload_max_bytes));
  }
  return most;
}

// The largest payload that the device and each bridge above it support.
Fact<unsigned> path_payload(const Snapshot& snapshot, const PciDevice& device) {
  unsigned bytes = *device.payload_max_bytes;
  for (const auto* bridge : pci::devices_of(snapshot, PciKind::bridge)) {
    if (std::ranges::count(device.upstream, bridge->address) == 0) continue;
    if (bridge->payload_max_bytes.is_unreadable()) return bridge->payload_max_bytes;
    bytes = std::min(bytes, bridge->payload_max_bytes.value_or(bytes));
  }
  return bytes;
}

// `by`: why the device could use this payload.
void compare_payloads(const PciDevice& device, unsigned possible, std::string_view by,
                      PayloadFindings& payloads) {
  ++payloads.judged;
  if (*device.payload_bytes >= possible) return;
  payloads.findings.push_back(warned(
      device.address,
      fmt::format("maximum PCIe payload of the {} at {} is {} bytes, {} {}",
                  pci::word_for(device.kind), device.address, *device.payload_bytes, by, possible),
      Remedy::fix_config, {*device.payload_bytes, possible, "B"}));
}

void judge_device_payload(const Snapshot& snapshot, const PciDevice& device,
                          PayloadFindings& payloads) {
  for (const auto* fact : {&device.payload_bytes, &device.payload_max_bytes}) {
    if (fact->known()) continue;
    if (fact->is_absent()) {
      payloads.not_reported.push_back(&device);
    } else {
      payloads.findings.push_back(not_known(device.address, "the maximum PCIe payload", *fact));
    }
    return;
  }
  // A hypervisor hides the path.
  if (snapshot.identity->hypervisor && device.upstream.empty()) {
    if (const auto possible = peers_payload(snapshot, device)) {
      compare_payloads(device, *possible, "devices of the same kind use", payloads);
    } else {
      payloads.hidden.push_back(&device);
    }
  } else if (const auto possible = path_payload(snapshot, device)) {
    compare_payloads(device, *possible, "its path supports", payloads);
  } else {
    payloads.findings.push_back(
        not_known(device.address, "the payload of the path above it", possible));
  }
}

Findings judge_payload(const Snapshot& snapshot, const Profile& profile) {
  if (auto finding = pci::nothing_to_judge(snapshot, profile)) return {*finding};
  PayloadFindings payloads;
  for (const auto* device : pci::endpoints(snapshot))
    judge_device_payload(snapshot, *device, payloads);
  const bool healthy = payloads.findings.empty() && payloads.judged > 0;
  pci::add_for_all(payloads.findings, Outcome::skip, payloads.not_reported,
                   "configuration space has no maximum PCIe payload");
  pci::add_for_all(
      payloads.findings, Outcome::skip, payloads.hidden,
      "the hypervisor hides the path above it, and there is no other device of the same kind");
  if (healthy) {
    payloads.findings.push_back(
        passed(fmt::format("{} at the maximum PCIe payload", counted(payloads.judged, "device"))));
  }
  return payloads.findings;
}

}  // namespace

constinit const Check pci_acs::check{
    .id = "pci.acs",
    .title = "Access control services are off on PCI switches above GPUs",
    .why =
        "With access control services on, a PCI switch sends requests between two devices below it "
        "through the root complex instead of directly. Peer copies and GPUDirect RDMA are then "
        "several times slower, or fail. Kernels enable them if the IOMMU isolates devices. Below a "
        "hypervisor the switches are not visible.",
    .fix =
        "Disable access control services in the firmware, or with setpci on each switch port after "
        "boot; boot with the IOMMU off or in pass-through mode if no device is passed to a guest.",
    .needs = Probe::pci | Probe::identity,
    .when_absent = WhenAbsent::judge,
    .judge = judge_acs,
};

constinit const Check pci_payload::check{
    .id = "pci.payload",
    .title = "GPUs and HCAs use the maximum PCIe payload of their path",
    .why =
        "Firmware or kernel set the maximum payload at boot to the value that all hops of a path "
        "support. If it is lower, every transfer has more headers, which costs bandwidth. The "
        "current value of each GPU and HCA is compared with what it and the bridges above it "
        "support; below a hypervisor, which hides the bridges, with devices of the same kind.",
    .fix = "Set the maximum payload in the firmware, or boot with pci=pcie_bus_perf.",
    .needs = Probe::pci | Probe::identity,
    .when_absent = WhenAbsent::judge,
    .judge = judge_payload,
};

}  // namespace muster::checks
