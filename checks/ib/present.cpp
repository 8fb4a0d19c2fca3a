// SPDX-License-Identifier: Apache-2.0
// Every InfiniBand HCA that the profile promises works as an RDMA device under an expected name.
// What is missing from the PCI bus is pci.devices' to report.
#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "checks/catalogue.hpp"
#include "checks/ib/hcas.hpp"
#include "checks/shared/pci_bus.hpp"
#include "lib/profile/limits/ib.hpp"

namespace muster::checks::ib_present {
namespace {

// A device that no longer answers is as good as missing, and pci.devices says so.
std::vector<const PciDevice*> hcas_on_bus(const Snapshot& snapshot) {
  auto devices = pci::devices_of(snapshot, PciKind::hca);
  std::erase_if(devices, [](const PciDevice* device) { return pci::silent(*device); });
  return devices;
}

const Hca* at_address(const Snapshot& snapshot, const std::string& address) {
  for (const Hca& hca : snapshot.infiniband->hcas) {
    if (hca.address && *hca.address == address) return &hca;
  }
  return nullptr;
}

Finding no_rdma_stack(const Snapshot& snapshot, const Profile& profile) {
  const std::size_t on_bus = hcas_on_bus(snapshot).size();
  if (snapshot.pci.ok() && on_bus == 0) {
    return expects_hcas(profile) ? skipped("no HCA is on the PCI bus: pci.devices judges that")
                                 : not_expected("InfiniBand HCAs");
  }
  if (!expects_hcas(profile) && !snapshot.pci.ok()) return not_expected("InfiniBand HCAs");
  const std::string found = snapshot.pci.ok()
                                ? fmt::format("{} on the PCI bus", counted(on_bus, "HCA"))
                                : fmt::format("0 of {} HCAs", *profile.ib->present.count);
  const auto& count = profile.ib->present.count;
  // Where nobody asked for InfiniBand it may be left unused on purpose.
  return about(kNode, expects_hcas(profile) ? Outcome::fail : Outcome::warn,
               fmt::format("{}: {}", found, snapshot.infiniband.reason), Remedy::restart_service,
               {0, count ? Value(*count) : Value()});
}

std::string driver_of(const PciDevice& device) {
  return device.driver.empty() ? "no driver is bound" : fmt::format("driver {}", device.driver);
}

// An RDMA device whose place on the bus could not be read: any HCA may be the one.
const Hca* without_place(const Snapshot& snapshot, const Profile& profile) {
  for (const Hca* hca : ib::hcas_of(snapshot, profile)) {
    if (!hca->address) return hca;
  }
  return nullptr;
}

Finding not_an_rdma_device(const PciDevice& device, const Hca* placeless) {
  if (placeless == nullptr) {
    return failed(device.address,
                  fmt::format("on the PCI bus, but not an RDMA device ({})", driver_of(device)),
                  Remedy::restart_service);
  }
  return not_known(device.address, fmt::format("whether {} is its RDMA device", placeless->name),
                   placeless->address);
}

// HCAs that are on the bus and no InfiniBand device, one by one, or at once when it is all of them.
Findings unusable(const Snapshot& snapshot, const Profile& profile) {
  Findings findings;
  const auto on_bus = hcas_on_bus(snapshot);
  const Hca* placeless = without_place(snapshot, profile);
  for (const PciDevice* device : on_bus) {
    const Hca* hca = at_address(snapshot, device->address);
    if (hca == nullptr) {
      findings.push_back(not_an_rdma_device(*device, placeless));
    } else if (ib::is_ethernet(*hca)) {
      findings.push_back(
          failed(hca->name, "link layer is Ethernet, expected InfiniBand", Remedy::fix_config));
    }
  }
  if (findings.size() > 1 && snapshot.infiniband->hcas.empty()) {
    return {failed(kNode,
                   fmt::format("none of the {} on the PCI bus is an RDMA device ({})",
                               counted(on_bus.size(), "HCA"), driver_of(*on_bus.front())),
                   Remedy::restart_service)};
  }
  return findings;
}

// Whether most HCAs like this one are RDMA devices, and it is not, though no other driver was given
// it on purpose: nobody asked for InfiniBand, and seven of eight work.
bool alone_of_its_kind(const Snapshot& snapshot, const std::string& address) {
  constexpr std::size_t kFewest = 3;
  const PciDevice* odd = pci::device_at(snapshot, address);
  if (odd == nullptr || odd->virtual_function) return false;
  std::size_t like_it = 0;
  std::size_t working = 0;
  bool same_driver = odd->driver.empty();
  for (const PciDevice* device : hcas_on_bus(snapshot)) {
    if (device->vendor != odd->vendor || device->device != odd->device) continue;
    ++like_it;
    if (at_address(snapshot, device->address) == nullptr) continue;
    ++working;
    same_driver = same_driver || device->driver == odd->driver;
  }
  return working >= kFewest && working * 2 > like_it && same_driver;
}

// The InfiniBand devices that count: not a host's virtual functions, see hcas_on_bus().
std::vector<const Hca*> counted_hcas(const Snapshot& snapshot, const Profile& profile) {
  std::vector<const Hca*> hcas = ib::hcas_of(snapshot, profile);
  std::erase_if(hcas, [&](const Hca* hca) {
    const PciDevice* device = ib::on_bus(snapshot, *hca);
    return device != nullptr && device->virtual_function;
  });
  return hcas;
}

// Images name HCAs in their own ways. A job that chooses them by name may miss them, and the node
// is as good as any.
Findings wrong_names(const std::vector<const Hca*>& hcas, const std::string& pattern) {
  std::vector<std::string> others;
  for (const Hca* hca : hcas) {
    if (!matches_glob(pattern, hca->name)) others.push_back(hca->name);
  }
  if (others.empty()) return {};
  return {warned(kNode,
                 fmt::format("{} not named {}: {}", counted(others.size(), "HCA"), pattern,
                             fmt::join(others, ", ")),
                 Remedy::fix_config, {others.front(), pattern})};
}

Finding count_finding(const Snapshot& snapshot, std::size_t found, std::size_t expected) {
  const auto judged = [&](Outcome outcome, std::string message, Remedy remedy = Remedy::none) {
    return about(kNode, outcome, std::move(message), remedy,
                 {count_value(found), count_value(expected)});
  };
  const auto share = fmt::format("{} of {} InfiniBand HCAs", found, expected);
  if (found == expected) return judged(Outcome::pass, share);
  if (found < expected && snapshot.pci.ok() && hcas_on_bus(snapshot).size() < expected) {
    return judged(
        Outcome::skip,
        fmt::format("{}, all that answer on the PCI bus: pci.devices judges the rest", share));
  }
  return judged(Outcome::fail,
                fmt::format("{}, expected {}", counted(found, "InfiniBand HCA"), expected),
                found < expected ? hardware_remedy(snapshot) : Remedy::fix_config);
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  const Limit<int>& count = profile.ib->present.count;
  if (count && *count == 0) return {not_expected("InfiniBand HCAs")};
  if (!snapshot.infiniband.ok()) return {no_rdma_stack(snapshot, profile)};

  const auto hcas = counted_hcas(snapshot, profile);
  Findings findings = unusable(snapshot, profile);
  if (!count) {
    for (Finding& finding : findings) {
      const bool alone = alone_of_its_kind(snapshot, finding.device);
      if (finding.outcome == Outcome::fail && !alone) finding.outcome = Outcome::warn;
    }
    if (findings.empty() && hcas.empty()) return {not_expected("InfiniBand HCAs")};
    return or_pass(std::move(findings), fmt::format("{}; the profile expects no number",
                                                    counted(hcas.size(), "InfiniBand HCA")));
  }
  if (!findings.empty()) return findings;
  Finding total = count_finding(snapshot, hcas.size(), static_cast<std::size_t>(*count));
  if (total.outcome != Outcome::pass) return {std::move(total)};
  findings = wrong_names(hcas, profile.ib->present.name);
  if (findings.empty()) findings.push_back(std::move(total));
  return findings;
}

}  // namespace

constinit const Check check{
    .id = "ib.present",
    .title = "InfiniBand HCAs are there, by count and name",
    .why =
        "Jobs choose HCAs by number and name. An HCA on the PCI bus without an RDMA device (driver "
        "not loaded, or failed), with an Ethernet link layer, or under an unexpected name is lost "
        "to them. Devices with link layer Ethernet, such as Azure's accelerated networking, are "
        "not counted. An HCA that is missing from the PCI bus is reported by pci.devices.",
    .fix =
        "Load mlx5_core and mlx5_ib and look into the kernel log for why they refused the device; "
        "on Azure's HPC images check the service that names RDMA devices "
        "(azure_persistent_rdma_naming).",
    .code = "NHC2002",
    .needs = Probe::infiniband | Probe::pci | Probe::identity,
    .when_absent = WhenAbsent::judge,
    .judge = judge,
};

}  // namespace muster::checks::ib_present
