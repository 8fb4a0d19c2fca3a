// SPDX-License-Identifier: Apache-2.0
// The maximum payload in force at each GPU and HCA is what every hop of its path can do. Where the
// path is hidden by a hypervisor, devices of one kind are compared with each other.

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "checks/catalogue.hpp"
#include "checks/shared/pci_bus.hpp"

namespace muster::checks::pci_payload {
namespace {

struct Payloads {
  Findings findings;
  std::vector<const PciDevice*> not_told;
  std::vector<const PciDevice*> hidden;
  std::size_t judged = 0;
};

// What a device could have in force, and who says so.
struct Possible {
  unsigned bytes = 0;
  std::string_view by;
};

bool path_hidden(const Snapshot& snapshot, const PciDevice& device) {
  return snapshot.identity->hypervisor && device.upstream.empty();
}

// The largest in force at another device of the same make; nothing without one.
std::optional<Possible> of_peers(const Snapshot& snapshot, const PciDevice& device) {
  std::optional<Possible> possible;
  for (const auto* peer : pci::endpoints(snapshot)) {
    const bool same = peer->vendor == device.vendor && peer->device == device.device;
    if (!same || peer->address == device.address || !peer->payload_bytes) continue;
    const unsigned bytes = std::min(*peer->payload_bytes, *device.payload_max_bytes);
    possible = Possible{.bytes = std::max(bytes, possible ? possible->bytes : 0),
                        .by = "devices of the same make use"};
  }
  return possible;
}

// The least that the device and each bridge above it can do.
Fact<unsigned> of_path(const Snapshot& snapshot, const PciDevice& device) {
  unsigned bytes = *device.payload_max_bytes;
  for (const auto* bridge : pci::devices_of(snapshot, PciKind::bridge)) {
    if (std::ranges::count(device.upstream, bridge->address) == 0) continue;
    if (bridge->payload_max_bytes.is_unreadable()) return bridge->payload_max_bytes;
    bytes = std::min(bytes, bridge->payload_max_bytes.value_or(bytes));
  }
  return bytes;
}

void compare(const PciDevice& device, Possible possible, Payloads& payloads) {
  ++payloads.judged;
  if (*device.payload_bytes >= possible.bytes) return;
  payloads.findings.push_back(
      warned(device.address,
             fmt::format("the maximum PCIe payload of the {} at {} is {} bytes, {} {}",
                         pci::word_for(device.kind), device.address, *device.payload_bytes,
                         possible.by, possible.bytes),
             Remedy::fix_config, {*device.payload_bytes, possible.bytes, "B"}));
}

void judge_device(const Snapshot& snapshot, const PciDevice& device, Payloads& payloads) {
  for (const auto* fact : {&device.payload_bytes, &device.payload_max_bytes}) {
    if (fact->known()) continue;
    if (fact->is_absent()) {
      payloads.not_told.push_back(&device);
    } else {
      payloads.findings.push_back(not_known(device.address, "the maximum PCIe payload", *fact));
    }
    return;
  }
  if (path_hidden(snapshot, device)) {
    if (const auto possible = of_peers(snapshot, device)) {
      compare(device, *possible, payloads);
    } else {
      payloads.hidden.push_back(&device);
    }
    return;
  }
  const auto possible = of_path(snapshot, device);
  if (!possible) {
    payloads.findings.push_back(
        not_known(device.address, "what the path above it can do", possible));
    return;
  }
  compare(device, {.bytes = *possible, .by = "its path can do"}, payloads);
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  if (auto finding = pci::nothing_to_judge(snapshot, profile)) return {*finding};
  Payloads payloads;
  for (const auto* device : pci::endpoints(snapshot)) judge_device(snapshot, *device, payloads);
  const bool all_well = payloads.findings.empty() && payloads.judged > 0;
  pci::add_for_all(payloads.findings, Outcome::skip, payloads.not_told,
                   "configuration space tells no maximum PCIe payload");
  pci::add_for_all(
      payloads.findings, Outcome::skip, payloads.hidden,
      "the hypervisor hides the path above it, and no other device is of the same make");
  if (all_well) {
    payloads.findings.push_back(
        passed(fmt::format("{} at the maximum PCIe payload", counted(payloads.judged, "device"))));
  }
  return payloads.findings;
}

}  // namespace

constinit const Check check{
    .id = "pci.payload",
    .title = "GPUs and HCAs use the maximum PCIe payload that their path can do",
    .why =
        "The maximum payload is set at boot to what firmware or kernel find that all hops of a "
        "path can do. Set lower, every transfer carries more headers and bandwidth is lost on each "
        "copy. The value in force at each GPU and HCA is compared with the least of what it and "
        "the bridges above it can do; under a hypervisor, which hides the bridges, with devices of "
        "the same make.",
    .fix = "Set the maximum payload in the firmware, or boot with pci=pcie_bus_perf.",
    .needs = Probe::pci | Probe::identity,
    .when_absent = WhenAbsent::judge,
    .judge = judge,
};

}  // namespace muster::checks::pci_payload
