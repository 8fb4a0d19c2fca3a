// SPDX-License-Identifier: Apache-2.0
// host.nvme: local NVMe devices are present and live, and RAID arrays are complete.
#include <array>
#include <map>
#include <set>

#include "checks/catalogue.hpp"
#include "checks/shared/peers.hpp"
#include "checks/shared/support.hpp"

namespace muster::checks::host_nvme {
namespace {

std::optional<Finding> judge_size(const Snapshot& snapshot, const Nvme& nvme,
                                  const NvmeLimits& limits) {
  if (!nvme.size_bytes) return not_known(nvme.name, "the size of the device", nvme.size_bytes);
  const auto seen = static_cast<double>(*nvme.size_bytes);
  const double expected = limits.size->value;
  const double band = expected * limits.tolerance.value / 100.0;
  if (seen >= expected - band && seen <= expected + band) return std::nullopt;
  return failed(
      nvme.name,
      fmt::format("{}, expected {} within {:g}%", in_gib(seen), in_gib(expected),
                  limits.tolerance.value),
      hardware_remedy(snapshot),
      {count_value(*nvme.size_bytes), count_value(static_cast<std::uint64_t>(expected)), "B"});
}

// Reports only the first fault of a device: it causes the others.
void judge_device(const Snapshot& snapshot, const Nvme& nvme, const NvmeLimits& limits,
                  Findings& findings) {
  if (nvme.state && *nvme.state != "live") return;  // reported for the controller
  if (nvme.read_only && *nvme.read_only) {
    findings.push_back(failed(nvme.name, "device is read-only, expected writable",
                              hardware_remedy(snapshot), {"read-only", "writable"}));
    return;
  }
  if (nvme.read_only.is_unreadable()) {
    findings.push_back(not_known(nvme.name, "whether the device can be written", nvme.read_only));
  }
  if (limits.size) append(findings, judge_size(snapshot, nvme, limits));
}

void judge_controllers(const Snapshot& snapshot, Findings& findings) {
  std::set<std::string> judged;  // namespaces share the state of their controller
  for (const auto& nvme : snapshot.disks->nvme) {
    if (!judged.insert(nvme.controller).second) continue;
    if (nvme.state && *nvme.state != "live") {
      const std::string state = printable(*nvme.state);
      findings.push_back(
          failed(nvme.controller,
                 fmt::format("NVMe controller {} is {}, expected live", nvme.controller, state),
                 hardware_remedy(snapshot), {state, "live"}));
    } else if (nvme.state.is_unreadable()) {
      findings.push_back(not_known(nvme.controller, "the state of the controller", nvme.state));
    }
  }
}

void judge_raid(const Snapshot& snapshot, const Raid& raid, Findings& findings) {
  constexpr std::array<std::string_view, 5> kGood{"clean", "active", "active-idle", "write-pending",
                                                  "read-auto"};
  // A clear array is a name without devices.
  constexpr std::array<std::string_view, 5> kBad{"clear", "inactive", "broken", "readonly",
                                                 "suspended"};
  if (raid.degraded && *raid.degraded > 0) {
    findings.push_back(failed(raid.name,
                              fmt::format("array without {}{}", counted(*raid.degraded, "member"),
                                          raid.disks ? fmt::format(" of {}", *raid.disks) : ""),
                              hardware_remedy(snapshot),
                              {count_value(*raid.degraded), 0, "members"}));
    return;
  }
  if (raid.degraded.is_unreadable())
    findings.push_back(not_known(raid.name, "the number of missing members", raid.degraded));
  if (!raid.state) {
    findings.push_back(not_known(raid.name, "the state of the array", raid.state));
  } else if (std::ranges::find(kBad, *raid.state) != kBad.end()) {
    findings.push_back(failed(raid.name,
                              fmt::format("array is {}, expected clean or active", *raid.state),
                              hardware_remedy(snapshot), {*raid.state, "clean"}));
  } else if (std::ranges::find(kGood, *raid.state) == kGood.end()) {
    findings.push_back(
        unknown(raid.name, fmt::format("unknown array state \"{}\"", printable(*raid.state))));
  }
}

// Counts controllers, because a device may have several namespaces.
std::size_t count_devices(const Disks& disks) {
  std::set<std::string> controllers;
  for (const auto& nvme : disks.nvme) controllers.insert(nvme.controller);
  return controllers.size();
}

std::optional<Finding> judge_count(const Snapshot& snapshot, int expected) {
  const auto seen = static_cast<std::int64_t>(count_devices(*snapshot.disks));
  const auto dead = static_cast<std::int64_t>(snapshot.disks->dead_controllers.size());
  // Dead controllers have their own findings.
  if (seen == expected || seen + dead == expected) return std::nullopt;
  return failed(
      kNode,
      fmt::format("{}, expected {}", counted(static_cast<std::uint64_t>(seen), "local NVMe device"),
                  expected),
      seen < expected ? hardware_remedy(snapshot) : Remedy::fix_config,
      {seen, expected, "devices"});
}

// Leaves out drives that the site split into namespaces.
std::vector<const Nvme*> comparable_drives(const Disks& disks) {
  std::vector<const Nvme*> drives;
  for (const auto& nvme : disks.nvme) {
    const bool live = !nvme.state || *nvme.state == "live";
    const bool of_one_kind = nvme.model && !nvme.model->starts_with("QEMU");
    const bool split = std::ranges::count(disks.nvme, nvme.controller, &Nvme::controller) > 1;
    if (live && of_one_kind && !split) drives.push_back(&nvme);
  }
  return drives;
}

// Compares drives of one model by size, link and firmware, and drives of one size by model.
// `by_size`: the size has no limit.
Findings compare_drives(const Snapshot& snapshot, bool by_size) {
  constexpr std::string_view kDrives = "NVMe drives like it";
  Peers size, lanes, speed;
  std::map<std::string, std::vector<DeviceValue>> firmware;
  std::map<std::uint64_t, std::vector<DeviceValue>> models;
  for (const Nvme* drive : comparable_drives(*snapshot.disks)) {
    const std::string& name = drive->name;
    const std::string& model = *drive->model;
    if (drive->link_width) lanes.add(model, name, *drive->link_width);
    if (drive->link_speed_gts) speed.add(model, name, *drive->link_speed_gts);
    if (drive->firmware) firmware[model].push_back({name, printable(*drive->firmware)});
    if (!drive->size_bytes) continue;
    if (by_size) size.add(model, name, static_cast<double>(*drive->size_bytes) / 1e9);
    models[*drive->size_bytes].push_back({name, printable(model)});
  }
  const Finding broken{.outcome = Outcome::fail, .remedy = hardware_remedy(snapshot)};
  // A hypervisor may give its guests disks of any size.
  const Finding other_size{.outcome = snapshot.identity->hypervisor ? Outcome::warn : Outcome::fail,
                           .remedy = broken.remedy};
  Findings findings = size.differences({"size", kDrives}, " GB", other_size);
  append(findings, lanes.differences({"lanes", kDrives}, "", broken));
  append(findings, speed.differences({"link speed", kDrives}, " GT/s", broken));
  const Finding odd{.outcome = Outcome::warn, .remedy = Remedy::fix_config};
  const auto compare = [&](const std::vector<DeviceValue>& values, std::string_view what) {
    if (usual(values, &DeviceValue::value))
      append(findings, disagreements(values, {what, kDrives}, odd));
  };
  for (const auto& [model, values] : firmware) compare(values, "firmware");
  for (const auto& [bytes, values] : models) compare(values, "model");
  // Without a clear majority no drive stands out.
  std::erase_if(findings, [](const Finding& finding) { return finding.device == kNode; });
  return findings;
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  const NvmeLimits& limits = profile.host->nvme;
  const Disks& disks = *snapshot.disks;
  if (!limits.count && disks.nvme.empty() && disks.dead_controllers.empty() && disks.raid.empty()) {
    return {skipped("no local NVMe devices or RAID arrays, and none expected by this profile")};
  }

  Findings findings;
  for (const auto& controller : disks.dead_controllers) {
    findings.push_back(failed(controller, fmt::format("NVMe controller {} has no disk", controller),
                              hardware_remedy(snapshot), {"no namespace"}));
  }
  if (limits.count) append(findings, judge_count(snapshot, *limits.count));
  judge_controllers(snapshot, findings);
  for (const auto& nvme : disks.nvme) judge_device(snapshot, nvme, limits, findings);
  append(findings, compare_drives(snapshot, !limits.size));
  for (const auto& raid : disks.raid) judge_raid(snapshot, raid, findings);
  return or_pass(
      std::move(findings),
      fmt::format("{} and {} healthy", counted(count_devices(disks), "local NVMe device"),
                  counted(disks.raid.size(), "RAID array")));
}

}  // namespace

constinit const Check check{
    .id = "host.nvme",
    .title = "Local NVMe devices are present and writable, and RAID arrays are complete",
    .why =
        "Counts local NVMe devices and checks their size, the state of their controllers, whether "
        "they are writable, and the state of md arrays. Drives of one model are compared by size, "
        "PCIe link and firmware, and drives of one size by model, if three or more agree. If a "
        "device dropped off the bus or an array lost a member, jobs have no scratch space or are "
        "about to lose data.",
    .fix =
        "See nvme list, nvme smart-log and the kernel log for the device; mdadm --detail for an "
        "array. Some controllers recover after a reboot; replace a device that fails again. Then "
        "rebuild the array and its file system.",
    .code = "NHC2023",
    .needs = Probe::disks | Probe::identity,
    .judge = judge,
};

}  // namespace muster::checks::host_nvme
