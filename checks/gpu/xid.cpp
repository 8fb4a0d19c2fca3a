// SPDX-License-Identifier: Apache-2.0
// Errors that the NVIDIA driver wrote to the kernel log: XIDs of GPUs and SXIDs of NVSwitches.
#include <fmt/ranges.h>

#include <cmath>
#include <map>
#include <set>

#include "checks/catalogue.hpp"
#include "checks/shared/kernel_log.hpp"
#include "checks/shared/nvlinks.hpp"
#include "checks/shared/nvml_view.hpp"
#include "checks/xid/xids.hpp"
#include "lib/state/xids.hpp"

namespace muster::checks {
namespace {

// gpu.xid: errors of GPUs that the NVIDIA driver wrote to the kernel log.

constexpr unsigned kFallenOffTheBus = 79;
constexpr unsigned kCleanUp = 45;
constexpr unsigned kNvlink = 74;
constexpr std::size_t kRepeated = 3;  // clean-ups without another error, errors of one link

// NVML's name for the GPU at an address; the address itself if NVML does not list it.
std::string gpu_name_at(const Snapshot& snapshot, const std::string& address) {
  const Gpu* gpu = gpu_at(snapshot, address);
  return gpu == nullptr ? address : gpu::name_of(*gpu);
}

// GPUs whose driver reports that no recovery is needed.
std::set<std::string> without_call(const Snapshot& snapshot) {
  std::set<std::string> addresses;
  if (!snapshot.nvml.ok()) return addresses;
  for (const auto& gpu : snapshot.nvml->gpus) {
    if (gpu.lost.empty() && gpu.recovery_action && *gpu.recovery_action == 0) {
      addresses.insert(gpu.address);
    }
  }
  return addresses;
}

// Every name of a GPU, even of one that has left the bus.
std::string names_of(const Snapshot& snapshot, const XidLog& log, const std::string& address) {
  std::vector<std::string> names{address};
  if (auto uuid = uuid_of(snapshot, log, address); !uuid.empty()) names.push_back(std::move(uuid));
  const Gpu* gpu = gpu_at(snapshot, address);
  const auto subject = log.subjects.find(address);
  std::string serial = subject == log.subjects.end() ? "" : subject->second.serial;
  if (gpu != nullptr && gpu->serial) serial = *gpu->serial;
  if (!serial.empty()) names.push_back(fmt::format("serial {}", serial));
  return fmt::format("{}", fmt::join(names, ", "));
}

// The same XID on the same GPU in earlier runs, across reboots.
std::vector<RememberedXid> remembered(const Snapshot& snapshot, const XidLog& log,
                                      const xid::XidGroup& group, const XidLimits& limits) {
  std::vector<RememberedXid> xids;
  const std::string uuid = uuid_of(snapshot, log, group.address);
  for (const auto& xid : snapshot.earlier.xids) {
    const bool same_gpu =
        uuid.empty() || xid.uuid.empty() ? xid.address == group.address : xid.uuid == uuid;
    const bool believed = limits.of_programs || !xid.of_program;
    if (!xid.nvswitch && believed && same_gpu && xid.code == group.cause) xids.push_back(xid);
  }
  return xids;
}

// The jobs that had this XID on this GPU recently.
std::set<std::string> jobs_hit(const Snapshot& snapshot, const XidLog& log,
                               const xid::XidGroup& group, const XidLimits& limits) {
  std::set<std::string> jobs;
  for (const auto& xid : remembered(snapshot, log, group, limits)) {
    const bool lately = xid.wall_s >= snapshot.earlier.wall_s - limits.jobs_window.value;
    if (lately) jobs.insert(xid.job);
  }
  for (const auto& incident : group.incidents) {
    jobs.insert(job_of(snapshot, *incident.lead().event));
  }
  jobs.erase("");
  return jobs;
}

// An application error that several jobs had on one GPU points to the GPU. `alone`: the GPU had no
// other error.
void judge_repeats(const Snapshot& snapshot, const XidLog& log, const XidLimits& limits,
                   const xid::XidGroup& group, bool alone, Finding& finding) {
  if (group.newest().lead().meaning.kind != xid::kApplication) return;
  const auto degraded = outcome_of(limits.kinds, std::string(xid::kDegraded));
  const auto jobs = jobs_hit(snapshot, log, group, limits);
  if (limits.jobs > 0 && jobs.size() >= static_cast<std::size_t>(limits.jobs)) {
    finding.outcome = degraded;
    finding.remedy = Remedy::watch;
    finding.message +=
        fmt::format("; also in {} jobs on this GPU: {}", jobs.size(), fmt::join(jobs, ", "));
  } else if (alone && group.cause == kCleanUp && group.incidents.size() >= kRepeated) {
    finding.outcome = degraded;
    finding.remedy = Remedy::restart_service;
    finding.message += "; repeated without another error: check the Fabric Manager";
  }
}

// How often an NVLink of this GPU had an XID 74, across resets and reboots. Lines within seconds
// count once.
std::size_t times_on_link(const Snapshot& snapshot, const XidLog& log, const XidLimits& limits,
                          const xid::XidGroup& group) {
  const std::string& link = group.newest().lead().meaning.link;
  const auto on_link = [&](const std::string& text) {
    return xid::decode_registers(limits, text).link == link;
  };
  std::size_t times = 0;
  std::uint64_t last_us = 0;
  for (const auto& event : log.events) {
    if (event.nvswitch || event.address != group.address || event.code != kNvlink) continue;
    if (!on_link(event.text)) continue;
    const auto apart_us = static_cast<double>(event.first_us) - static_cast<double>(last_us);
    if (times == 0 || apart_us > limits.coalesce.value * kMicrosecondsPerSecond) ++times;
    last_us = event.last_us;
  }
  const auto earlier = remembered(snapshot, log, group, limits);
  const auto in_other_boots = std::ranges::count_if(earlier, [&](const auto& xid) {
    return xid.boot_id != snapshot.identity->boot_id.value_or("") && on_link(xid.text);
  });
  return times + static_cast<std::size_t>(in_other_boots);
}

// A reset clears the error but not a bad link.
void judge_bad_link(const Snapshot& snapshot, const XidLog& log, const XidLimits& limits,
                    const xid::XidGroup& group, Finding& finding) {
  const auto& meaning = group.newest().lead().meaning;
  if (group.cause != kNvlink || !meaning.hardware || meaning.kind != xid::kFatal) return;
  const auto times = times_on_link(snapshot, log, limits, group);
  if (meaning.link.empty() || times < kRepeated) return;
  finding.remedy = hardware_remedy(snapshot);
  finding.message += fmt::format("; {} times on link {}", times, meaning.link);
}

bool is_withdrawn(const xid::XidGroup& group) {
  return group.newest().lead().meaning.kind == xid::kWithdrawn;
}

bool is_lost(const xid::XidGroup& group) {
  return group.cause == kFallenOffTheBus && group.newest().lead().meaning.kind == xid::kFatal;
}

// GPUs that fall off the bus together share a cause.
std::optional<Finding> judge_shared_loss(const Snapshot& snapshot, const XidLimits& limits,
                                         std::vector<xid::XidGroup>& groups) {
  const auto first = std::ranges::find_if(groups, is_lost);
  if (first == groups.end()) return std::nullopt;
  const auto from_us = static_cast<double>(first->newest().first_us);
  const auto together = [&](const xid::XidGroup& group) {
    const double apart = static_cast<double>(group.newest().first_us) - from_us;
    return is_lost(group) && std::abs(apart) <= limits.coalesce.value * kMicrosecondsPerSecond;
  };
  if (std::ranges::count_if(groups, together) < 2) return std::nullopt;
  std::vector<std::string> devices;
  Finding finding;
  for (const auto& group : groups) {
    if (!together(group)) continue;
    devices.push_back(gpu_name_at(snapshot, group.address));
    finding = xid::describe(snapshot, limits.kinds, group, {.name = "XID"});
  }
  std::erase_if(groups, together);
  finding.device = kNode;
  finding.message = fmt::format(
      "XID {} on {} at once: {} fell off the bus within {}; check the PCIe switch or power supply "
      "that they share",
      kFallenOffTheBus, counted(devices.size(), "GPU"), fmt::join(devices, ", "),
      in_time(limits.coalesce.value));
  finding.seen_by.clear();
  return finding;
}

// Errors after a GPU fell off the bus only repeat that it is gone, unless they ask for more.
void drop_what_followed_a_loss(const Snapshot& snapshot, std::vector<xid::XidGroup>& groups) {
  struct Loss {
    std::uint64_t first_us = 0;
    Remedy remedy = Remedy::none;
  };

  std::map<std::string, Loss> losses;
  for (const auto& group : groups) {
    if (!is_lost(group)) continue;
    losses[group.address] = {group.incidents.front().first_us, xid::remedy_of(snapshot, group)};
  }
  std::erase_if(groups, [&](const xid::XidGroup& group) {
    const auto loss = losses.find(group.address);
    if (loss == losses.end() || is_lost(group)) return false;
    const auto& [first_us, remedy] = loss->second;
    return group.incidents.front().first_us >= first_us &&
           (is_withdrawn(group) || stronger(remedy, xid::remedy_of(snapshot, group)) == remedy);
  });
}

// Other checks that may report the same fault: gpu.present for a GPU that NVML refused and that may
// have this address, and gpu.sxid for an NVSwitch error at the same time.
void add_same_fault_checks(const Snapshot& snapshot, const Profile& profile, const XidLog& log,
                           const xid::XidGroup& group, Finding& finding) {
  if (is_lost(group) && gpu_at(snapshot, group.address) == nullptr) {
    pci::NvmlView(snapshot, profile).leave_to_gpu_present(group.address, finding);
  }
  const auto* rule = group.newest().lead().meaning.rule;
  const bool of_links =
      rule != nullptr && std::ranges::count(rule->seen_by, "gpu.nvlink_state") > 0;
  const bool with_switch = std::ranges::any_of(log.events, [&](const XidEvent& event) {
    return event.nvswitch && xid::is_near(group, event, profile.gpu->xid.coalesce);
  });
  if (of_links && with_switch) finding.seen_by.push_back({.check = "gpu.sxid", .device = "*"});
}

std::string healthy_text(const XidLog& xids, const KernelLog& log, const LogWindow& window) {
  const auto others = std::ranges::count(xids.events, false, &XidEvent::nvswitch);
  if (others == 0) {
    return fmt::format("no XID {} ({} read)", what_was_read(log, window),
                       counted(log.seen, "line"));
  }
  return fmt::format("no disqualifying XID {} ({} read, {} ignored or resolved)",
                     what_was_read(log, window), counted(log.seen, "line"),
                     counted(static_cast<std::uint64_t>(others), "XID"));
}

std::optional<Finding> xid_not_applicable(const Snapshot& snapshot, const Profile& profile) {
  if (gpu::expected(profile) || !snapshot.nvml->gpus.empty()) return std::nullopt;
  if (!snapshot.kernel_log.ok()) return std::nullopt;
  const auto& log = snapshot.xids.believed(profile.gpu->xid.of_programs);
  return unless(std::ranges::count(log.events, false, &XidEvent::nvswitch) > 0,
                not_expected("GPU"));
}

Findings judge_xids(const Snapshot& snapshot, const Profile& profile) {
  const XidLimits& limits = profile.gpu->xid;
  const Fact<double>& uptime = snapshot.identity->uptime_s;
  if (!uptime) return {not_known(kNode, "the time since boot", uptime)};
  const LogWindow window = window_of(*uptime, limits.window);
  XidLog log = snapshot.xids.believed(limits.of_programs);
  add_remembered(snapshot, log, limits.of_programs);

  Findings findings;
  auto groups = xid::group_xids(log, xid::XidRules(limits), false, limits.coalesce, window.from_us,
                                without_call(snapshot));
  drop_what_followed_a_loss(snapshot, groups);
  append(findings, judge_shared_loss(snapshot, limits, groups));
  for (const auto& group : groups) {
    Finding finding = xid::describe(snapshot, limits.kinds, group,
                                    {.name = "XID",
                                     .device = gpu_name_at(snapshot, group.address),
                                     .whose = names_of(snapshot, log, group.address),
                                     .job = job_of(snapshot, *group.newest().lead().event),
                                     .now_us = window.now_us});
    if (!is_withdrawn(group)) {
      const bool alone = std::ranges::count_if(groups, [&](const xid::XidGroup& each) {
                           return each.address == group.address && !is_withdrawn(each);
                         }) == 1;
      judge_repeats(snapshot, log, limits, group, alone, finding);
      judge_bad_link(snapshot, log, limits, group, finding);
      add_same_fault_checks(snapshot, profile, log, group, finding);
    }
    findings.push_back(std::move(finding));
  }
  if (!log.unparsed.empty()) {
    findings.push_back(
        unknown(kNode, fmt::format("cannot parse {} about XIDs: \"{}\"",
                                   counted(log.unparsed.size(), "line"), log.unparsed.front())));
  }
  judge_gaps(*snapshot.kernel_log, "whether there were more XIDs", findings);
  return or_pass(std::move(findings), healthy_text(log, *snapshot.kernel_log, window));
}

// gpu.sxid: errors of NVSwitches that the NVIDIA driver wrote to the kernel log.

constexpr unsigned kLinkFault = 20034;

// If the host owns the switches, their errors do not reach a guest's log.
std::optional<Finding> sxid_not_applicable(const Snapshot& snapshot, const Profile& profile) {
  if (!snapshot.kernel_log.ok() || !snapshot.pci.ok()) return std::nullopt;
  if (!pci::devices_of(snapshot, PciKind::nvswitch).empty()) return std::nullopt;
  const XidLog& log = snapshot.xids.believed(profile.gpu->xid.of_programs);
  if (std::ranges::any_of(log.events, &XidEvent::nvswitch)) return std::nullopt;
  return skipped("no NVSwitch on this node's PCI bus, so its log has no NVSwitch errors");
}

// "nvswitch2" by position on the bus, or the address of a switch that has left it.
std::string switch_name_at(const Snapshot& snapshot, const std::string& address) {
  const auto switches = pci::devices_of(snapshot, PciKind::nvswitch);
  const auto found = std::ranges::find(switches, address, &PciDevice::address);
  return found == switches.end() ? address : fmt::format("nvswitch{}", found - switches.begin());
}

// Resetting a GPU or unloading the driver also takes its links down. The driver logs that as fatal,
// although nothing stays broken: no link is down, and no GPU had an XID 74 at the time since the
// driver was last loaded.
bool is_over(const Snapshot& snapshot, const XidLog& log, const xid::XidGroup& group,
             Seconds coalesce) {
  if (group.cause != kLinkFault) return false;
  for (const Gpu& gpu : snapshot.nvml->gpus) {
    if (!gpu::links_where(gpu, [](const NvLink& link) {
           return gpu::is(link, gpu::LinkState::inactive);
         }).empty()) {
      return false;
    }
  }
  return std::ranges::none_of(log.events, [&](const auto& event) {
    return !event.nvswitch && event.code == kNvlink && event.last_us >= log.loaded_us() &&
           xid::is_near(group, event, coalesce);
  });
}

void call_degraded(xid::XidGroup& group) {
  xid::XidMeaning& meaning = group.incidents.back().parts.at(group.cause).meaning;
  if (meaning.kind != xid::kFatal) return;
  meaning.kind = xid::kDegraded;
  meaning.remedy = Remedy::watch;
}

Findings judge_sxids(const Snapshot& snapshot, const Profile& profile) {
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
                                     .device = switch_name_at(snapshot, group.address),
                                     .whose = group.address,
                                     .now_us = window.now_us});
    if (over) finding.message += "; no link is down and no GPU reported an NVLink error";
    finding.seen_by.push_back({.check = "gpu.nvlink_state", .device = "*"});
    findings.push_back(std::move(finding));
  }
  judge_gaps(*snapshot.kernel_log, "whether there were more SXIDs", findings);
  return or_pass(std::move(findings),
                 fmt::format("no SXID {} ({} read)", what_was_read(*snapshot.kernel_log, window),
                             counted(snapshot.kernel_log->seen, "line")));
}

}  // namespace

constinit const Check gpu_xid::check{
    .id = "gpu.xid",
    .title = "The driver reported no GPU error (XID) that makes the node unfit",
    .why =
        "XIDs are errors that the NVIDIA driver writes to the kernel log, with a number and the "
        "GPU's address. Most are faults of a program: they are reported, but never fail a node. "
        "Fatal ones mean that the GPU needs a reset, a reboot or a replacement; they count until "
        "the node was rebooted, the driver reloaded or the GPU reset, however old they are. "
        "xids.yaml defines what each number means; 74 is decoded by its link registers, 144 to 150 "
        "by unit and status, and 154 by the recovery that the driver requests. XIDs of one GPU "
        "within seconds are one incident, named by its cause, with the most drastic of their "
        "remedies. A program error that several jobs had on the same GPU warns about the GPU. If "
        "another check finds the same fault in the GPU's own facts, only that check reports it.",
    .fix =
        "Drain the node, do what the remedy says, and read the lines around the error with dmesg. "
        "From driver 570 on, a reset is noticed: the driver no longer requests a recovery, and the "
        "XID is shown as withdrawn. With an older driver, reload it or reboot after the reset, "
        "because the log does not mention it. To change the class of an XID, use gpu.xid.classes.",
    .code = "NHC2001",
    .needs = Probe::kernel_log | Probe::identity,
    .looks_at = Probe::nvml | Probe::environment | Probe::pci,  // names, processes and jobs
    .nvml_parts = {.processes = true},
    .not_applicable = xid_not_applicable,
    .judge = judge_xids,
};

constinit const Check gpu_sxid::check{
    .id = "gpu.sxid",
    .title = "The driver reported no NVSwitch error (SXID) that makes the node unfit",
    .why =
        "SXIDs are NVSwitch errors in the kernel log. A fatal one ends every program that uses the "
        "switch, and the fabric is unusable until GPUs and switches are reset. The line itself "
        "says whether it is fatal; if not, xids.yaml does. Only a node that owns its switches logs "
        "them: in a virtual machine, gpu.nvlink_state and gpu.fabric see the effects of switch "
        "faults.",
    .fix =
        "Drain the node, stop the Fabric Manager, reset all GPUs and switches together or reboot. "
        "If the error comes back, have the board replaced.",
    .code = "NHC2016",
    .needs = Probe::kernel_log | Probe::identity | Probe::pci,
    .looks_at = Probe::nvml,
    .nvml_parts = {.links = true},
    .not_applicable = sxid_not_applicable,
    .judge = judge_sxids,
};

}  // namespace muster::checks
