// SPDX-License-Identifier: Apache-2.0
#include "lib/state/xids.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "lib/base/text.hpp"
#include "lib/base/units.hpp"
#include "lib/state/job_gpus.hpp"

namespace muster {
namespace {

constexpr double kMergeWithin = 600;          // seconds; closer XIDs are remembered as one
constexpr double kMergeDistinctWithin = 5;    // the same for XIDs of is_distinct()
constexpr double kRememberXids = 48 * kHour;  // seconds, for XIDs of other boots
constexpr std::size_t kMaxOfOneKind = 16;
constexpr std::size_t kMax = 1024;
constexpr std::size_t kMaxJobs = 256;
constexpr std::size_t kLongestText = 200;

std::string job_variable(const Snapshot& snapshot, const std::string& name) {
  const auto found = snapshot.environment->job.find(name);
  return found == snapshot.environment->job.end() ? std::string() : found->second;
}

bool in_prolog(const Snapshot& snapshot) {
  return job_variable(snapshot, "SLURM_SCRIPT_CONTEXT").starts_with("prolog");
}

// The uptime at which the current job began, if it is known.
std::optional<double> start_of_job(const Snapshot& snapshot, const std::string& job) {
  const auto start_time = parse_unsigned(job_variable(snapshot, "SLURM_JOB_START_TIME"));
  const double now_wall_s = snapshot.earlier.wall_s;
  if (start_time && now_wall_s > 0) {
    return *snapshot.identity->uptime_s - (now_wall_s - static_cast<double>(*start_time));
  }
  const auto& jobs = snapshot.earlier.jobs;
  const auto seen = std::ranges::find(jobs, job, &SeenJob::id);
  if (seen == jobs.end() || seen->boot_id != snapshot.identity->boot_id.value_or(""))
    return std::nullopt;
  return seen->since_s;
}

std::string job_of_process(const Snapshot& snapshot, const XidEvent& event) {
  if (!event.pid) return {};
  for (const auto& gpu : snapshot.nvml->gpus) {
    if (!gpu.processes) continue;
    const auto found = std::ranges::find(*gpu.processes, *event.pid, &GpuProcess::pid);
    if (found != gpu.processes->end()) return found->job;
  }
  return {};
}

// On a shared node, events of a GPU count for the job only if the GPU is certainly its own.
bool on_its_own_gpu(const Snapshot& snapshot, const std::string& address) {
  const Gpu* gpu = gpu_at(snapshot, address);
  return gpu == nullptr || find_job_gpus(snapshot).of(*gpu) == Held::yes;
}

// Whether the text of an XID, or other XIDs next to it, change its meaning. These are remembered
// separately, so that a harmless one does not replace a fatal one.
bool is_distinct(bool nvswitch, unsigned code) {
  constexpr std::array<unsigned, 3> kCodes{48, 74, 154};
  constexpr unsigned kFirstNvlink = 144;
  constexpr unsigned kLastNvlink = 150;
  return nvswitch || (code >= kFirstNvlink && code <= kLastNvlink) ||
         std::ranges::count(kCodes, code) > 0;
}

// NVSwitch, of a program, address, number, and the text if it matters.
using XidKind = std::tuple<bool, bool, std::string, unsigned, std::string>;

template <class Xid>
XidKind kind_of(const Xid& xid) {
  return {xid.nvswitch, xid.of_program, xid.address, xid.code,
          is_distinct(xid.nvswitch, xid.code) ? printable(xid.text, kLongestText) : ""};
}

RememberedXid make_remembered(const Snapshot& snapshot, const XidLog& log, const XidEvent& event) {
  const double uptime_s = *snapshot.identity->uptime_s;
  RememberedXid xid{.nvswitch = event.nvswitch,
                    .of_program = event.of_program,
                    .address = event.address,
                    .uuid = uuid_of(snapshot, log, event.address),
                    .code = event.code,
                    .job = job_of(snapshot, event),
                    .boot_id = *snapshot.identity->boot_id,
                    .first_s = static_cast<double>(event.first_us) / kMicrosecondsPerSecond,
                    .last_s = static_cast<double>(event.last_us) / kMicrosecondsPerSecond,
                    .lines = event.lines,
                    .text = printable(event.text, kLongestText)};
  xid.wall_s = snapshot.earlier.wall_s - (uptime_s - xid.last_s);
  return xid;
}

// Whether the XID happened in this boot, before `until_s`, and has valid times.
bool is_before(const RememberedXid& xid, const std::string& boot_id, double until_s) {
  return xid.boot_id == boot_id && xid.last_s < until_s && xid.first_s >= 0 &&
         xid.first_s <= xid.last_s;
}

// Whether `next` continues the remembered `xid`, or is already part of it.
bool is_continued_by(const RememberedXid& xid, const RememberedXid& next) {
  const bool same_job = xid.job.empty() || next.job.empty() || xid.job == next.job;
  const bool same_boot = xid.boot_id == next.boot_id;
  const double together = is_distinct(xid.nvswitch, xid.code) ? kMergeDistinctWithin : kMergeWithin;
  return same_boot && next.first_s >= xid.first_s && next.first_s <= xid.last_s + together &&
         (same_job || next.last_s <= xid.last_s);
}

void merge_into(RememberedXid& xid, RememberedXid next) {
  if (xid.job.empty()) xid.job = next.job;
  if (xid.uuid.empty()) xid.uuid = next.uuid;
  if (next.last_s <= xid.last_s) return;  // seen by an earlier run
  xid.last_s = next.last_s;
  xid.wall_s = next.wall_s;
  xid.lines += next.lines;
  xid.text = std::move(next.text);
}

// Merges storms: thousands of events of a kind within seconds.
std::vector<XidEvent> merge_storms(const std::vector<XidEvent>& events) {
  constexpr std::uint64_t kStorm = 5'000'000;  // microseconds
  std::vector<XidEvent> kept;
  std::map<XidKind, std::size_t> newest;
  for (const auto& event : events) {
    const auto [entry, added] = newest.try_emplace(kind_of(event), kept.size());
    if (!added && kept[entry->second].pid == event.pid &&
        event.first_us <= kept[entry->second].last_us + kStorm) {
      auto& storm = kept[entry->second];
      storm.last_us = std::max(storm.last_us, event.last_us);
      storm.lines += event.lines;
      storm.text = event.text;
      continue;
    }
    entry->second = kept.size();
    kept.push_back(event);
  }
  return kept;
}

// Forgets the oldest XIDs: first of kinds with too many, then of all.
void forget_xids(std::vector<RememberedXid>& xids, const std::string& boot_id, double now_wall_s) {
  std::erase_if(xids, [&](const RememberedXid& xid) {
    return xid.boot_id != boot_id && xid.wall_s < now_wall_s - kRememberXids;
  });
  std::ranges::stable_sort(xids, {}, &RememberedXid::wall_s);
  std::map<XidKind, std::size_t> left;
  for (const auto& xid : xids) ++left[kind_of(xid)];
  std::erase_if(xids, [&](const RememberedXid& xid) {
    auto& count = left[kind_of(xid)];
    return count > kMaxOfOneKind && count-- > 0;
  });
  if (xids.size() > kMax) xids.erase(xids.begin(), xids.end() - kMax);
}

}  // namespace

std::string uuid_of(const Snapshot& snapshot, const XidLog& log, const std::string& address) {
  const Gpu* gpu = gpu_at(snapshot, address);
  if (gpu != nullptr && gpu->uuid) return *gpu->uuid;
  const auto subject = log.subjects.find(address);
  return subject == log.subjects.end() ? std::string() : subject->second.uuid;
}

std::string job_of(const Snapshot& snapshot, const XidEvent& event) {
  if (auto job = job_of_process(snapshot, event); !job.empty()) return job;
  std::string job = job_variable(snapshot, "SLURM_JOB_ID");
  if (job.empty() || in_prolog(snapshot) || !snapshot.identity->uptime_s) return {};
  const auto start = start_of_job(snapshot, job);
  const bool in_time =
      start && static_cast<double>(event.last_us) / kMicrosecondsPerSecond >= *start;
  if (!in_time || !on_its_own_gpu(snapshot, event.address)) return {};
  return job;
}

void add_remembered(const Snapshot& snapshot, XidLog& log, bool of_programs) {
  const KernelLog& kernel = *snapshot.kernel_log;
  if (kernel.first_sequence == 0 || !snapshot.identity->boot_id) return;
  const double from_s = static_cast<double>(kernel.first_us) / kMicrosecondsPerSecond;
  std::vector<XidEvent> events;
  const double loaded_s = snapshot.earlier.driver_loaded_s;
  if (loaded_s > 0 && loaded_s < from_s) {
    log.driver_loaded_us.insert(log.driver_loaded_us.begin(),
                                static_cast<std::uint64_t>(loaded_s * kMicrosecondsPerSecond));
  }
  for (const auto& xid : snapshot.earlier.xids) {
    if (!is_before(xid, *snapshot.identity->boot_id, from_s)) continue;
    if (xid.of_program && !of_programs) continue;
    events.push_back({.nvswitch = xid.nvswitch,
                      .of_program = xid.of_program,
                      .address = xid.address,
                      .code = xid.code,
                      .first_us = static_cast<std::uint64_t>(xid.first_s * kMicrosecondsPerSecond),
                      .last_us = static_cast<std::uint64_t>(xid.last_s * kMicrosecondsPerSecond),
                      .lines = xid.lines,
                      .text = xid.text});
    if (!xid.uuid.empty()) log.subjects[xid.address].uuid = xid.uuid;
  }
  std::ranges::stable_sort(events, {}, &XidEvent::first_us);
  std::ranges::move(log.events, std::back_inserter(events));
  log.events = std::move(events);
}

void remember_xids(Earlier& state, const Snapshot& snapshot, bool of_programs) {
  if (!snapshot.identity->uptime_s || !snapshot.identity->boot_id) return;
  // Only the kernel itself is believed here, since a load ends earlier errors.
  const auto& loaded_us = snapshot.xids.of_kernel.driver_loaded_us;
  if (!loaded_us.empty()) {
    state.driver_loaded_s = static_cast<double>(loaded_us.back()) / kMicrosecondsPerSecond;
  }
  const XidLog& log = snapshot.xids.believed(of_programs);
  std::map<XidKind, std::vector<std::size_t>> known;
  for (std::size_t i = 0; i < state.xids.size(); ++i) known[kind_of(state.xids[i])].push_back(i);
  for (const auto& event : merge_storms(log.events)) {
    RememberedXid next = make_remembered(snapshot, log, event);
    auto& places = known[kind_of(next)];
    const auto place = std::ranges::find_if(
        places, [&](std::size_t each) { return is_continued_by(state.xids[each], next); });
    if (place != places.end()) {
      merge_into(state.xids[*place], std::move(next));
      continue;
    }
    places.push_back(state.xids.size());
    state.xids.push_back(std::move(next));
  }
  forget_xids(state.xids, *snapshot.identity->boot_id, snapshot.earlier.wall_s);
}

void remember_job(Earlier& state, const Snapshot& snapshot) {
  const std::string job = job_variable(snapshot, "SLURM_JOB_ID");
  const double now_wall_s = snapshot.earlier.wall_s;
  std::erase_if(state.jobs, [&](const SeenJob& seen) {
    return seen.boot_id != *snapshot.identity->boot_id || seen.id == job;
  });
  if (job.empty() || !in_prolog(snapshot)) return;
  state.jobs.push_back({.id = job,
                        .boot_id = *snapshot.identity->boot_id,
                        .since_s = *snapshot.identity->uptime_s,
                        .wall_s = now_wall_s});
  if (state.jobs.size() > kMaxJobs) state.jobs.erase(state.jobs.begin());
}

}  // namespace muster
