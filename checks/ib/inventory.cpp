// SPDX-License-Identifier: Apache-2.0
// The HCAs of the node: their number, their firmware, and whether libibverbs opens them.
#include <map>

#include "checks/catalogue.hpp"
#include "checks/ib/hcas.hpp"
#include "checks/shared/peers.hpp"

namespace muster::checks {
namespace {

// ib.present: every expected InfiniBand HCA is an RDMA device with an expected name. pci.devices
// reports HCAs that are missing from the PCI bus.

// Without devices that no longer respond, which pci.devices reports.
std::vector<const PciDevice*> hcas_on_bus(const Snapshot& snapshot) {
  auto devices = pci::devices_of(snapshot, PciKind::hca);
  std::erase_if(devices, [](const PciDevice* device) { return pci::is_silent(*device); });
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
    return expects_hcas(profile) ? skipped("no HCA on the PCI bus: see pci.devices")
                                 : not_expected("InfiniBand HCAs");
  }
  if (!expects_hcas(profile) && !snapshot.pci.ok()) return not_expected("InfiniBand HCAs");
  const std::string found = snapshot.pci.ok()
                                ? fmt::format("{} on the PCI bus", counted(on_bus, "HCA"))
                                : fmt::format("0 of {} HCAs", *profile.ib->present.count);
  const auto& count = profile.ib->present.count;
  // Without an expectation, InfiniBand may be unused on purpose.
  return about(kNode, expects_hcas(profile) ? Outcome::fail : Outcome::warn,
               fmt::format("{}: {}", found, snapshot.infiniband.reason), Remedy::restart_service,
               {0, count ? Value(*count) : Value()});
}

std::string driver_of(const PciDevice& device) {
  return device.driver.empty() ? "no driver is bound" : fmt::format("driver {}", device.driver);
}

// HCAs on the bus that are not InfiniBand devices; one finding for the node if all are.
Findings unusable(const Snapshot& snapshot, const Profile& profile) {
  Findings findings;
  const auto on_bus = hcas_on_bus(snapshot);
  // An RDMA device whose PCI address could not be read: it may be any HCA on the bus.
  const auto hcas = ib::hcas_of(snapshot, profile);
  const auto unplaced = std::ranges::find_if(hcas, [](const Hca* hca) { return !hca->address; });
  const Hca* without_address = unplaced == hcas.end() ? nullptr : *unplaced;
  for (const PciDevice* device : on_bus) {
    const Hca* hca = at_address(snapshot, device->address);
    if (hca == nullptr && without_address != nullptr) {
      findings.push_back(not_known(
          device->address, fmt::format("whether {} is its RDMA device", without_address->name),
          without_address->address));
    } else if (hca == nullptr) {
      findings.push_back(
          failed(device->address,
                 fmt::format("on the PCI bus, but not an RDMA device ({})", driver_of(*device)),
                 Remedy::restart_service));
    } else if (ib::is_other_network(*hca)) {
      findings.push_back(
          failed(hca->name,
                 fmt::format("link layer is {}, expected InfiniBand",
                             hca->ports->empty() ? "unknown" : hca->ports->front().link_layer),
                 Remedy::fix_config));
    }
  }
  if (findings.size() > 1 && snapshot.infiniband->hcas.empty()) {
    return {failed(kNode,
                   fmt::format("none of {} on the PCI bus is an RDMA device ({})",
                               counted(on_bus.size(), "HCA"), driver_of(*on_bus.front())),
                   Remedy::restart_service)};
  }
  return findings;
}

// True if most HCAs like this one are RDMA devices, and no other driver was bound to it on purpose.
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

// The InfiniBand devices except virtual functions of a host.
std::vector<const Hca*> counted_hcas(const Snapshot& snapshot, const Profile& profile) {
  auto hcas = ib::hcas_of(snapshot, profile);
  std::erase_if(hcas, [&](const Hca* hca) {
    const PciDevice* device = ib::on_bus(snapshot, *hca);
    return device != nullptr && device->virtual_function;
  });
  return hcas;
}

// Images name HCAs differently. Jobs that select HCAs by name may miss them, but the node is
// healthy.
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
    return judged(Outcome::skip,
                  fmt::format("{}, all that respond on the PCI bus: see pci.devices", share));
  }
  return judged(Outcome::fail,
                fmt::format("{}, expected {}", counted(found, "InfiniBand HCA"), expected),
                found < expected ? hardware_remedy(snapshot) : Remedy::fix_config);
}

Findings judge_hcas(const Snapshot& snapshot, const Profile& profile) {
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
    return or_pass(std::move(findings), fmt::format("{}; this profile expects no number",
                                                    counted(hcas.size(), "InfiniBand HCA")));
  }
  if (!findings.empty()) return findings;
  Finding total = count_finding(snapshot, hcas.size(), static_cast<std::size_t>(*count));
  if (total.outcome != Outcome::pass) return {std::move(total)};
  findings = wrong_names(hcas, profile.ib->present.name);
  if (findings.empty()) findings.push_back(std::move(total));
  return findings;
}

// ib.firmware: all HCAs have the same board and firmware, or firmware that the profile allows.

// If no HCA has a board id, the driver does not report it; then all count as one board.
Findings missing_facts(const std::vector<const Hca*>& hcas) {
  const bool has_boards =
      std::ranges::any_of(hcas, [](const Hca* hca) { return hca->board.known(); });
  Findings findings;
  for (const Hca* hca : hcas) {
    if (!hca->firmware) {
      findings.push_back(not_known(hca->name, "the firmware version", hca->firmware));
    }
    if (hca->board.is_unreadable() || (has_boards && !hca->board)) {
      findings.push_back(not_known(hca->name, "the board id", hca->board));
    }
  }
  return findings;
}

Findings compare_hcas(const std::vector<const Hca*>& hcas) {
  std::vector<DeviceValue> boards;
  std::map<std::string, std::vector<DeviceValue>> firmware;  // by board
  for (const Hca* hca : hcas) {
    if (hca->board) boards.push_back({hca->name, *hca->board});
    if (hca->firmware) firmware[hca->board.value_or("")].push_back({hca->name, *hca->firmware});
  }
  const Finding like{.outcome = Outcome::warn, .remedy = Remedy::fix_config};
  Findings findings = disagreements(boards, {.what = "board", .devices = "HCAs"}, like);
  for (const auto& [board, said] : firmware) {
    append(findings, disagreements(said, {.what = "firmware", .devices = "HCAs"}, like));
  }
  return findings;
}

Findings not_allowed(const std::vector<const Hca*>& hcas,
                     const std::map<std::string, Words>& allowed) {
  Findings findings;
  if (allowed.empty()) return findings;
  for (const Hca* hca : hcas) {
    if (!hca->board || !hca->firmware) continue;
    const auto entry = allowed.find(*hca->board);
    if (entry == allowed.end()) {
      findings.push_back(warned(hca->name,
                                fmt::format("board {} is not in this profile", *hca->board),
                                Remedy::fix_config, {*hca->board}));
      continue;
    }
    const Words& versions = entry->second;
    if (versions.empty() || matches_any(versions, *hca->firmware)) continue;
    const auto good_ones = fmt::format("{}", fmt::join(versions, ", "));
    findings.push_back(warned(
        hca->name,
        fmt::format("firmware {} on board {}, allowed {}", *hca->firmware, *hca->board, good_ones),
        Remedy::fix_config, {*hca->firmware, good_ones}));
  }
  return findings;
}

Findings judge_hca_firmware(const Snapshot& snapshot, const Profile& profile) {
  const auto hcas = ib::hcas_of(snapshot, profile);
  const IbFirmwareLimits& limits = profile.ib->firmware;
  Findings findings = missing_facts(hcas);
  if (limits.same) append(findings, compare_hcas(hcas));
  append(findings, not_allowed(hcas, limits.allowed));
  return or_pass(std::move(findings),
                 fmt::format("{} with firmware {}", counted(hcas.size(), "HCA"),
                             hcas.front()->firmware.value_or("")));
}

// ib.verbs: libibverbs, which MPI and NCCL use, opens every HCA, agrees with sysfs about its ports,
// and can register memory.

void compare_with_sysfs(std::vector<std::string>& differences, std::string_view what,
                        unsigned verbs, const Fact<unsigned>& sysfs) {
  if (!sysfs || *sysfs == verbs) return;
  differences.push_back(fmt::format("{} is {} in verbs but {} in sysfs", what, verbs, *sysfs));
}

// Only a speed that both can name: old kernels write SDR for a speed they do not know, which
// ib.rate judges, and libibverbs has no room for XDR.
void compare_speed_with_sysfs(std::vector<std::string>& differences, unsigned verbs,
                              const Fact<std::string>& sysfs) {
  constexpr unsigned kMostOfVerbs = 0xff;
  const auto* const seen = std::ranges::find(kIbSpeeds, verbs, &IbSpeed::verbs);
  const auto* const written = ib_speed_named(sysfs.value_or(""));
  const bool known = seen != kIbSpeeds.end() && verbs <= kMostOfVerbs &&
                     written != kIbSpeeds.end() && written != kIbSpeeds.begin();
  if (!known || seen == written) return;
  differences.push_back(
      fmt::format("lane speed is {} in verbs but {} in sysfs", seen->name, written->name));
}

Findings judge_ports(const Hca& hca, const std::vector<VerbsPort>& verbs) {
  Findings findings;
  for (const IbPort& port : *hca.ports) {
    if (!port.state || *port.state != ib::kActive) continue;
    const auto found = std::ranges::find(verbs, port.number, &VerbsPort::number);
    const ib::PortOf at{&hca, &port};
    if (found == verbs.end()) {
      findings.push_back(ib::about(at, Outcome::fail, "verbs do not list the port"));
      continue;
    }
    std::vector<std::string> differences;
    compare_with_sysfs(differences, "state", found->state, port.state);
    compare_with_sysfs(differences, "physical state", found->physical_state, port.physical_state);
    compare_with_sysfs(differences, "width", found->width, port.width);
    compare_speed_with_sysfs(differences, found->active_speed, port.speed);
    compare_with_sysfs(differences, "LID", found->lid, port.lid);
    compare_with_sysfs(differences, "SM LID", found->sm_lid, port.sm_lid);
    if (differences.empty()) continue;
    findings.push_back(ib::about(at, Outcome::fail, fmt::format("{}", fmt::join(differences, "; ")),
                                 Remedy::reboot));
  }
  return findings;
}

// host.limits reports a low limit of locked memory.
bool memlock_is_limited(const Snapshot& snapshot) {
  const auto& limit = snapshot.kernel->limits.memlock_bytes;
  return limit && *limit != "unlimited";
}

Findings judge_verbs_device(const Snapshot& snapshot, const Hca& hca, const VerbsDevice& device) {
  if (device.ports.is_absent()) return {skipped(device.ports.why(), hca.name)};
  if (!device.ports) return {failed(hca.name, device.ports.why(), Remedy::fix_config)};
  Findings findings;
  if (hca.ports) findings = judge_ports(hca, *device.ports);
  const bool refused = device.registers && !*device.registers;
  if ((refused || device.registers.is_unreadable()) && !memlock_is_limited(snapshot)) {
    findings.push_back(failed(hca.name,
                              refused ? "no memory can be registered" : device.registers.why(),
                              Remedy::fix_config));
  }
  return findings;
}

Findings judge_verbs(const Snapshot& snapshot, const Profile& profile) {
  const auto hcas = ib::hcas_of(snapshot, profile);
  if (!snapshot.verbs.ok()) {
    if (snapshot.identity->foreign_root) return {skipped(snapshot.verbs.reason)};
    return {failed(kNode, snapshot.verbs.reason, Remedy::restart_service)};
  }
  const bool none = std::ranges::none_of(
      hcas, [&](const Hca* hca) { return ib::verbs_device(snapshot, *hca) != nullptr; });
  if (none) {
    return {failed(kNode, fmt::format("libibverbs lists none of {}", counted(hcas.size(), "HCA")),
                   Remedy::fix_config)};
  }
  Findings findings;
  for (const Hca* hca : hcas) {
    const VerbsDevice* device = ib::verbs_device(snapshot, *hca);
    if (device == nullptr) {
      findings.push_back(
          failed(hca->name,
                 "libibverbs does not list it: its provider library or its character device below "
                 "/dev/infiniband is missing",
                 Remedy::fix_config));
    } else {
      append(findings, judge_verbs_device(snapshot, *hca, *device));
    }
  }
  return or_pass(std::move(findings),
                 fmt::format("{} opened, consistent with sysfs", counted(hcas.size(), "HCA")));
}

}  // namespace

constinit const Check ib_present::check{
    .id = "ib.present",
    .title = "InfiniBand HCAs have the expected number and names",
    .why =
        "Jobs select HCAs by number and name. They cannot use an HCA that is on the PCI bus but "
        "has no RDMA device (driver not loaded or failed), an Ethernet link layer, or an "
        "unexpected name. Devices with link layer Ethernet, such as Azure's accelerated "
        "networking, are not counted. pci.devices reports an HCA that is missing from the PCI bus.",
    .fix =
        "Load mlx5_core and mlx5_ib, and look in the kernel log for why they refused the device; "
        "on Azure's HPC images check the service that names RDMA devices "
        "(azure_persistent_rdma_naming).",
    .code = "NHC2002",
    .needs = Probe::infiniband | Probe::pci | Probe::identity,
    .when_absent = WhenAbsent::judge,
    .judge = judge_hcas,
};

constinit const Check ib_firmware::check = ib::check_of_hcas({
    .id = "ib.firmware",
    .title = "HCAs have one board id and one firmware, or allowed ones",
    .why =
        "An HCA that was replaced but not updated has different firmware from its neighbours, "
        "which causes rare hangs and uneven bandwidth. Versions are compared per board id (PSID), "
        "because other boards have other firmware.",
    .fix =
        "Update the odd HCA's firmware (mlxfwmanager), or add the version to the profile's list. "
        "In a cloud, report it to the provider.",
    .not_applicable = ib::no_hcas,
    .judge = judge_hca_firmware,
});

constinit const Check ib_verbs::check = ib::check_of_hcas({
    .id = "ib.verbs",
    .title = "libibverbs opens every HCA and agrees with sysfs",
    .why = "Jobs use an HCA through libibverbs. A missing provider library or character device "
           "silently hides the HCA, wrong permissions prevent opening it, and without memory "
           "registration every transfer fails.",
    .fix =
        "Load ib_uverbs, install the provider libraries (ibverbs-providers, rdma-core), check the "
        "permissions of /dev/infiniband and the limit of locked memory.",
    .needs = Probe::verbs,
    .looks_at = Probe::kernel,  // the limit of locked memory
    .not_applicable = ib::no_hcas,
    .judge = judge_verbs,
});

}  // namespace muster::checks
