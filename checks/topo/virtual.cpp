// SPDX-License-Identifier: Apache-2.0
// Says when a hypervisor hides the PCIe switches, so that places are judged by what the profile
// expects and not by what can be seen.
#include <fmt/format.h>

#include <cstddef>

#include "checks/catalogue.hpp"
#include "checks/topo/places.hpp"
#include "lib/profile/limits/topology.hpp"

namespace muster::checks::topo_virtual {
namespace {

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  if (!snapshot.identity->hypervisor) {
    return {skipped("no hypervisor: PCIe switches are judged as they are seen")};
  }
  if (!snapshot.pci.ok()) {
    return {skipped(fmt::format("the PCI bus is not known: {}", snapshot.pci.reason))};
  }
  std::size_t devices = 0;
  std::size_t behind_bridges = 0;
  for (const PciDevice& device : snapshot.pci->devices) {
    if (device.kind != PciKind::gpu && device.kind != PciKind::hca) continue;
    ++devices;
    if (!device.upstream.empty()) ++behind_bridges;
  }
  if (devices == 0) return {skipped("no GPU and no HCA whose place matters")};
  if (behind_bridges > 0)
    return {skipped("the hypervisor shows PCIe bridges: they are judged as they are seen")};
  const std::size_t pairs = profile.topo->pairing.pairs.size();
  if (pairs == 0) {
    return {
        skipped("the hypervisor hides PCIe switches and this profile expects no tree: pairs "
                "are not judged")};
  }
  return {passed(fmt::format(
      "the hypervisor hides PCIe switches: the profile's tree is used ({} of GPU and HCA)",
      counted(pairs, "pair")))};
}

}  // namespace

constinit const Check check{
    .id = "topo.virtual",
    .title = "Whether PCIe switches can be seen, or the profile's tree is used",
    .why =
        "Hypervisors give each device a PCI domain of its own and hide the switches, so the "
        "distance of GPU and HCA cannot be observed. The profile's expected tree is used then, and "
        "the report says so.",
    .fix = "Nothing is wrong; for a size without a tree in its profile, add topo.pairing.pairs.",
    .needs = Probe::pci | Probe::identity,
    .when_absent = WhenAbsent::judge,
    .judge = judge,
};

}  // namespace muster::checks::topo_virtual
