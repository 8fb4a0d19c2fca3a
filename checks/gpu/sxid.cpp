// SPDX-License-Identifier: Apache-2.0
// gpu.sxid: errors that the NVIDIA driver wrote to the kernel's log about NVSwitches.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "checks/catalogue.hpp"
#include "checks/shared/kernel_window.hpp"
#include "checks/shared/pci_bus.hpp"
#include "checks/xid/incidents.hpp"
#include "lib/profile/limits/gpu.hpp"
#include "lib/state/xids.hpp"

namespace muster::checks::gpu_sxid {
namespace {

constexpr unsigned kLinkFault = 20034;
constexpr unsigned kNvlinkXid = 74;

// Where the switches belong to the host, their errors do not reach a guest's log.
std::optional<Finding> not_here(const Snapshot& snapshot, const Profile& profile) {
  if (!snapshot.kernel_log.ok() || !snapshot.pci.ok()) return std::nullopt;
  if (!pci::devices_of(snapshot, PciKind::nvswitch).empty()) return std::nullopt;
  const XidLog& log = snapshot.xids.believed(profile.gpu->xid.of_programs);
  if (std::ranges::any_of(log.events, &XidEvent::nvswitch)) return std::nullopt;
  return skipped("no NVSwitch on this node's PCI bus: its errors would not be told here");
}

// "nvswitch2", by place on the bus; the address of one that has left it.
std::string device_at(const Snapshot& snapshot, const std::string& address) {
  const auto switches = pci::devices_of(snapshot, PciKind::nvswitch);
  const auto found = std::ranges::find(switches, address, &PciDevice::address);
  return found == switches.end() ? address : fmt::format("nvswitch{}", found - switches.begin());
}

bool any_link_down(const Snapshot& snapshot) {
  return std::ranges::any_of(snapshot.nvml->gpus, [](const Gpu& gpu) {
    return gpu.nvlinks && std::ranges::any_of(*gpu.nvlinks, [](const NvLink& link) {
             return link.state && *link.state == 0;
           });
  });
}

// Beside one of these incidents, since the driver was last loaded.
bool any_nvlink_error(const XidLog& log, const xid::XidGroup& group, Seconds coalesce) {
  return std::ranges::any_of(log.events, [&](const auto& event) {
    return !event.nvswitch && event.code == kNvlinkXid && event.last_us >= log.loaded_us() &&
           xid::is_beside(group, event, coalesce);
  });
}

// A reset of a GPU or an unload of the driver takes its links down, too: of a fault that left
// nothing behind the driver's "Fatal" is too much.
bool is_over(const Snapshot& snapshot, const XidLog& log, const xid::XidGroup& group,
             Seconds coalesce) {
  return group.cause == kLinkFault && !any_link_down(snapshot) &&
         !any_nvlink_error(log, group, coalesce);
}

void call_degraded(xid::XidGroup& group) {
  xid::XidMeaning& meaning = group.incidents.back().parts.at(group.cause).meaning;
  if (meaning.kind != xid::kFatal) return;
  meaning.kind = xid::kDegraded;
  meaning.remedy = Remedy::watch;
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  const SxidLimits& limits = profile.gpu->sxid;
  const Fact<double>& uptime = snapshot.identity->uptime_s;
  if (!uptime) return {not_known(kNode, "the time since boot", uptime)};
  const LogWindow window = window_of(*uptime, limits.window);
  XidLog log = snapshot.xids.believed(profile.gpu->xid.of_programs);
  add_remembered(snapshot, log, profile.gpu->xid.of_programs);

  Findings findings;
  for (auto& group :
       xid::group_xids(log, xid::XidRules(limits), true, limits.coalesce, window.from_us)) {
    const bool over = is_over(snapshot, log, group, limits.coalesce);
    if (over) call_degraded(group);
    Finding finding = xid::describe(snapshot, limits.kinds, group,
                                    {.name = "SXID",
                                     .device = device_at(snapshot, group.address),
                                     .whose = group.address,
                                     .now_us = window.now_us});
    if (over) finding.message += "; no link is down and no GPU reported an NVLink error";
    finding.seen_by.push_back({.check = "gpu.nvlink_state", .device = "*"});
    findings.push_back(std::move(finding));
  }
  judge_gaps(*snapshot.kernel_log, "whether there were more SXIDs", findings);
  return or_pass(std::move(findings), fmt::format("no SXID of an NVSwitch {} ({} read)",
                                                  what_was_read(*snapshot.kernel_log, window),
                                                  counted(snapshot.kernel_log->seen, "line")));
}

}  // namespace

constinit const Check check{
    .id = "gpu.sxid",
    .title = "The driver reported no error of an NVSwitch (SXID) that makes the node unfit",
    .why =
        "SXIDs are the NVSwitches' errors in the kernel's log. A fatal one ends every program that "
        "uses the switch, and the fabric stays unfit until GPUs and switches were reset. The line "
        "itself says whether it is fatal; xids.yaml knows the numbers where it does not. Only a "
        "node that owns its switches is told: in a virtual machine whose host keeps them, "
        "gpu.nvlink_state and gpu.fabric see what becomes of their faults.",
    .fix =
        "Drain the node, stop the Fabric Manager, reset all GPUs and switches together or reboot, "
        "and have the board replaced when it comes back.",
    .code = "NHC2016",
    .needs = Probe::kernel_log | Probe::identity | Probe::pci,
    .looks_at = Probe::nvml,
    .asks = {.links = true},
    .not_here = not_here,
    .judge = judge,
};

}  // namespace muster::checks::gpu_sxid
