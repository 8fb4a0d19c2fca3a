// SPDX-License-Identifier: Apache-2.0
// Every GPU, NVSwitch and HCA that the profile expects is on the PCI bus and answers there.

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "checks/catalogue.hpp"
#include "checks/pci/bus.hpp"

namespace muster::checks {
namespace {

using pci::counted_kind;
using pci::devices_of;
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
                                           const Places& expected,
                                           std::size_t missing) {
  std::vector<std::string> absent;
  for (const auto& [address, node] : expected) {
    const bool there =
        std::any_of(found.begin(), found.end(), [&, &name = address](const auto* device) {
          return device->address == name;
        });
    if (!there) absent.push_back(address);
  }
  if (absent.size() != missing) absent.clear();
  return absent;
}

void judge_count(const Snapshot& snapshot,
                 PciKind kind,
                 const Limit<int>& expected,
                 const Places& places,
                 Findings& findings) {
  const auto found = devices_of(snapshot, kind);
  const auto wanted = static_cast<std::size_t>(std::max(0, expected.value_or(0)));
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
    findings.push_back(finding);
    return;
  }
  for (const auto& address : absent) {
    finding.device = address;
    finding.message = fmt::format("no {} at {}: {} on the PCI bus, expected {}",
                                  word_for(kind),
                                  address,
                                  counted_kind(found.size(), kind),
                                  wanted);
    findings.push_back(finding);
  }
}

void judge_answers(const PciDevice& device, Findings& findings) {
  const auto word = word_for(device.kind);
  if (!device.responding) {
    findings.push_back(not_known(device.address,
                                 fmt::format("whether the {} at {} answers", word, device.address),
                                 device.responding));
  } else if (!*device.responding) {
    findings.push_back(
        {.device = device.address,
         .outcome = Outcome::fail,
         .message = fmt::format("the {} at {} is on the PCI bus and does not answer: its "
                                "configuration space reads all ones",
                                word,
                                device.address),
         .observed = false,
         .limit = true,
         .remedy = Remedy::reboot,
         .code = fault_code(device.kind, true)});
  }
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  if (auto finding = pci::without_bus(snapshot, profile)) return {*finding};
  Findings findings;
  judge_count(snapshot, PciKind::gpu, profile.gpu.present.count, profile.topo.numa.gpu, findings);
  judge_count(snapshot, PciKind::nvswitch, profile.pci.devices.nvswitches, {}, findings);
  judge_count(snapshot, PciKind::hca, profile.ib.present.count, profile.topo.numa.hca, findings);

  std::vector<std::string> present;
  for (const auto kind : {PciKind::gpu, PciKind::nvswitch, PciKind::hca}) {
    const auto devices = devices_of(snapshot, kind);
    for (const auto* device : devices) judge_answers(*device, findings);
    if (!devices.empty()) present.push_back(counted_kind(devices.size(), kind));
  }
  if (findings.empty() && present.empty()) return {not_expected("GPU, NVSwitch or HCA is")};
  return or_pass(std::move(findings),
                 fmt::format("{} on the PCI bus, and all answer", fmt::join(present, ", ")));
}

}  // namespace

constinit const Check pci_devices{
    .id = "pci.devices",
    .title = "Every expected GPU, NVSwitch and HCA is on the PCI bus and answers",
    .why =
        "Looks at the functions that the kernel lists on the PCI bus, by class and vendor, and "
        "reads "
        "the start of each one's configuration space. A device that was not found at boot is "
        "missing from the list; one that fell off the bus later stays listed and reads all ones, "
        "and a driver that talks to it may hang.",
    .fix =
        "Reboot the node: a link that failed to train often comes back. If the device stays away, "
        "a virtual machine is redeployed to other hardware and the fault reported to the "
        "provider; on bare metal the device is reseated, then replaced.",
    .needs = Probe::pci | Probe::identity,
    .when_absent = WhenAbsent::judge,
    .judge = judge,
};

}  // namespace muster::checks
