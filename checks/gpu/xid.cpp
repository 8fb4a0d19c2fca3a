// SPDX-License-Identifier: Apache-2.0
// gpu.xid: errors that the NVIDIA driver wrote to the kernel's log about GPUs.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "checks/catalogue.hpp"
#include "checks/shared/gpus.hpp"
#include "checks/shared/kernel_window.hpp"
#include "checks/shared/nvml_view.hpp"
#include "checks/xid/incidents.hpp"
#include "checks/xid/nvlink_registers.hpp"
#include "lib/base/units.hpp"
#include "lib/profile/limits/gpu.hpp"
#include "lib/state/xids.hpp"

namespace muster::checks::gpu_xid {
namespace {

constexpr unsigned kFallenOffTheBus = 79;
constexpr unsigned kCleanUp = 45;
constexpr unsigned kNvlink = 74;
constexpr std::size_t kRepeated = 3;  // clean-ups without another error, errors of one link

// NVML's number for the GPU at an address; the address where NVML does not list it.
std::string device_at(const Snapshot& snapshot, const std::string& address) {
  const Gpu* gpu = gpu_at(snapshot, address);
  return gpu == nullptr ? address : gpu::name_of(*gpu);
}

std::string serial_of(const Snapshot& snapshot, const XidLog& log, const std::string& address) {
  const Gpu* gpu = gpu_at(snapshot, address);
  if (gpu != nullptr && gpu->serial) return *gpu->serial;
  const auto subject = log.subjects.find(address);
  return subject == log.subjects.end() ? std::string() : subject->second.serial;
}

// GPUs whose driver can call for a recovery, and calls for none.
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

// Every name that somebody may look for, also of a GPU that has left the bus.
std::string names_of(const Snapshot& snapshot, const XidLog& log, const std::string& address) {
  std::vector<std::string> names{address};
  if (auto uuid = uuid_of(snapshot, log, address); !uuid.empty()) names.push_back(std::move(uuid));
  if (const auto serial = serial_of(snapshot, log, address); !serial.empty()) {
    names.push_back(fmt::format("serial {}", serial));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

// What earlier runs saw of the same XID on the same GPU, over reboots too.
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

// The jobs that an XID happened to on one GPU lately.
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

// A program's own error that several jobs had on one GPU is hardly the programs'.
void judge_repeats(const Snapshot& snapshot, const XidLog& log, const XidLimits& limits,
                   const xid::XidGroup& group, bool alone, Finding& finding) {
  if (group.newest().lead().meaning.kind != xid::kApplication) return;
  const auto degraded = outcome_of(limits.kinds, std::string(xid::kDegraded));
  const auto jobs = jobs_hit(snapshot, log, group, limits);
  if (limits.jobs > 0 && jobs.size() >= static_cast<std::size_t>(limits.jobs)) {
    finding.outcome = degraded;
    finding.remedy = Remedy::watch;
    finding.message +=
        fmt::format("; the same in {} jobs on this GPU: {}", jobs.size(), fmt::join(jobs, ", "));
  } else if (alone && group.cause == kCleanUp && group.incidents.size() >= kRepeated) {
    finding.outcome = degraded;
    finding.remedy = Remedy::restart_service;
    finding.message += "; repeated without another error: look at the Fabric Manager";
  }
}

// How often an NVLink of this GPU had an XID 74, over resets and reboots: lines within seconds are
// one time.
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

// A reset clears the error and not its cause, where that is the link itself.
void judge_bad_link(const Snapshot& snapshot, const XidLog& log, const XidLimits& limits,
                    const xid::XidGroup& group, Finding& finding) {
  const auto& meaning = group.newest().lead().meaning;
  if (group.cause != kNvlink || !meaning.hardware || meaning.kind != xid::kFatal) return;
  const auto times = times_on_link(snapshot, log, limits, group);
  if (meaning.link.empty() || times < kRepeated) return;
  finding.remedy = hardware_remedy(snapshot);
  finding.message += fmt::format("; {} times on link {}", times, meaning.link);
}

// Nothing else happened to the GPU.
bool alone(const std::vector<xid::XidGroup>& groups, const xid::XidGroup& group) {
  return std::ranges::count(groups, group.address, &xid::XidGroup::address) == 1;
}

bool is_lost(const xid::XidGroup& group) {
  return group.cause == kFallenOffTheBus && group.newest().lead().meaning.kind == xid::kFatal;
}

// GPUs that fall off the bus together lost something that they share.
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
    devices.push_back(device_at(snapshot, group.address));
    finding = xid::describe(snapshot, limits.kinds, group, {.name = "XID"});
  }
  std::erase_if(groups, together);
  finding.device = kNode;
  finding.message = fmt::format(
      "XID {} on {} at once: {} fell off the bus within {}; look at what they share, a "
      "PCIe switch or a power supply",
      kFallenOffTheBus, counted(devices.size(), "GPU"), fmt::join(devices, ", "),
      in_time(limits.coalesce.value));
  finding.seen_by.clear();
  return finding;
}

// What a GPU that fell off the bus reports after that says no more than that it is gone.
void drop_what_followed_a_loss(std::vector<xid::XidGroup>& groups) {
  std::map<std::string, std::uint64_t> lost_us;
  for (const auto& group : groups) {
    if (is_lost(group)) lost_us[group.address] = group.incidents.front().first_us;
  }
  std::erase_if(groups, [&](const xid::XidGroup& group) {
    const auto lost = lost_us.find(group.address);
    return lost != lost_us.end() && !is_lost(group) &&
           group.incidents.front().first_us >= lost->second;
  });
}

// Who else may tell of the same fault: gpu.present of a GPU that NVML refused, where this can be
// its address, and gpu.sxid where an NVSwitch reported an error at the same time.
void add_witnesses(const Snapshot& snapshot, const Profile& profile, const XidLog& log,
                   const xid::XidGroup& group, Finding& finding) {
  if (is_lost(group) && gpu_at(snapshot, group.address) == nullptr) {
    pci::NvmlView(snapshot, profile).leave_to_gpu_present(group.address, finding);
  }
  const auto* rule = group.newest().lead().meaning.rule;
  const bool of_links =
      rule != nullptr && std::ranges::count(rule->seen_by, "gpu.nvlink_state") > 0;
  const bool with_switch = std::ranges::any_of(log.events, [&](const XidEvent& event) {
    return event.nvswitch && xid::is_beside(group, event, profile.gpu->xid.coalesce);
  });
  if (of_links && with_switch) finding.seen_by.push_back({.check = "gpu.sxid", .device = "*"});
}

std::string all_well(const XidLog& xids, const KernelLog& log, const LogWindow& window) {
  const auto others =
      std::ranges::count_if(xids.events, [](const auto& event) { return !event.nvswitch; });
  if (others == 0) {
    return fmt::format("no XID of a GPU {} ({} read)", what_was_read(log, window),
                       counted(log.seen, "line"));
  }
  return fmt::format("no XID that counts against a GPU {} ({} read, {} ignored or over)",
                     what_was_read(log, window), counted(log.seen, "line"),
                     counted(static_cast<std::uint64_t>(others), "XID"));
}

std::optional<Finding> not_here(const Snapshot& snapshot, const Profile& profile) {
  if (gpu::expected(profile) || !snapshot.nvml->gpus.empty()) return std::nullopt;
  if (!snapshot.kernel_log.ok()) return std::nullopt;
  const auto& log = snapshot.xids.believed(profile.gpu->xid.of_programs);
  const bool any = std::ranges::any_of(log.events, [](const auto& e) { return !e.nvswitch; });
  return any ? std::nullopt : std::optional(not_expected("GPU"));
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  const XidLimits& limits = profile.gpu->xid;
  const Fact<double>& uptime = snapshot.identity->uptime_s;
  if (!uptime) return {not_known(kNode, "the time since boot", uptime)};
  const LogWindow window = window_of(*uptime, limits.window);
  XidLog log = snapshot.xids.believed(limits.of_programs);
  add_remembered(snapshot, log, limits.of_programs);

  Findings findings;
  auto groups = xid::group_xids(log, xid::XidRules(limits), false, limits.coalesce, window.from_us,
                                without_call(snapshot));
  drop_what_followed_a_loss(groups);
  append(findings, judge_shared_loss(snapshot, limits, groups));
  for (const auto& group : groups) {
    Finding finding = xid::describe(snapshot, limits.kinds, group,
                                    {.name = "XID",
                                     .device = device_at(snapshot, group.address),
                                     .whose = names_of(snapshot, log, group.address),
                                     .job = job_of(snapshot, *group.newest().lead().event),
                                     .now_us = window.now_us});
    judge_repeats(snapshot, log, limits, group, alone(groups, group), finding);
    judge_bad_link(snapshot, log, limits, group, finding);
    add_witnesses(snapshot, profile, log, group, finding);
    findings.push_back(std::move(finding));
  }
  judge_gaps(*snapshot.kernel_log, "whether there were more XIDs", findings);
  return or_pass(std::move(findings), all_well(log, *snapshot.kernel_log, window));
}

}  // namespace

constinit const Check check{
    .id = "gpu.xid",
    .title = "The driver reported no error of a GPU (XID) that makes it unfit",
    .why =
        "XIDs are the NVIDIA driver's errors, written to the kernel's log with a number and the "
        "GPU's address. Most are the fault of a program: those are told, and never fail a node. "
        "Fatal ones mean that the GPU needs a reset, a reboot or a replacement, and count until "
        "the node was rebooted, the driver loaded again or the GPU reset, however old they are. "
        "What each number means stands in xids.yaml; 74 is read by its link's registers, 144 to "
        "150 by unit and status, and 154 by the recovery that the driver calls for. XIDs of one "
        "GPU within seconds are one incident, named by its cause. A program's error that comes in "
        "several jobs on the same GPU is a warning about the GPU. Where another check finds the "
        "same fault in the GPU's own facts, the log's word is skipped in favour of it.",
    .fix =
        "Do what the remedy says, with the node drained, and read the lines around it with dmesg. "
        "From driver 570 on a reset is seen by itself: the driver calls for no recovery any more. "
        "Before, load the driver again or reboot after a reset: the log does not tell of it. A "
        "class that does not suit your site is changed by gpu.xid.classes.",
    .code = "NHC2001",
    .needs = Probe::kernel_log | Probe::identity,
    .looks_at = Probe::nvml | Probe::environment | Probe::pci,  // names, processes and jobs
    .asks = {.processes = true},
    .not_here = not_here,
    .judge = judge,
};

}  // namespace muster::checks::gpu_xid
