// SPDX-License-Identifier: Apache-2.0
// Processes and memory that jobs left on GPUs.
#include <map>

#include "checks/catalogue.hpp"
#include "checks/shared/gpus.hpp"
#include "lib/state/job_gpus.hpp"

namespace muster::checks {
namespace {

// Matches the command, which the kernel cuts at 15 characters. Users can choose any name, so
// processes of jobs, and of users outside system units, are never allowed. The MPS server runs in
// such a unit, as the user it serves.
bool is_allowed(const std::vector<std::string>& allowed, const GpuProcess& process) {
  constexpr std::size_t kLongest = 15;
  const std::string& name = process.name;
  if (!process.job.empty()) return false;
  // Started by root; Slurm's units may contain processes of jobs.
  const bool of_system_unit = !process.unit.empty() && !process.unit.starts_with("slurm");
  if (process.user && is_of_users(*process.user) && !of_system_unit) return false;
  return std::ranges::any_of(allowed, [&](const std::string& glob) {
    return matches_glob(glob, name) ||
           (name.size() == kLongest && matches_glob(glob.substr(0, kLongest), name));
  });
}

// gpu.processes: no process is left on an idle GPU, and only jobs use the GPUs of a busy node.

// One process and the GPUs it uses.
struct ComputeProcess {
  const GpuProcess* process = nullptr;
  std::vector<const Gpu*> gpus;
  std::uint64_t bytes = 0;
  bool bytes_known = true;
  Held held = Held::no;
};

struct SeenProcesses {
  std::map<unsigned, ComputeProcess> processes;  // by pid, without the allowed ones
  Findings unknown;
  std::size_t judged = 0;  // GPUs
  std::size_t others = 0;  // GPUs of other jobs
};

// A process of this job is left behind on any GPU. A process of another job is legitimate on a GPU
// that may belong to that job.
bool is_relevant(const JobGpus& mine, Held held, const GpuProcess& process) {
  if (mine.job.empty() || process.job == mine.job || held == Held::yes) return true;
  return held == Held::perhaps && process.job.empty();
}

void scan_gpu(const Gpu& gpu, const GpuProcessLimits& limits, const JobGpus& mine,
              SeenProcesses& seen) {
  const Held held = mine.of(gpu);
  if (held == Held::no) {
    ++seen.others;
  } else if (gpu.processes) {
    ++seen.judged;
  } else {
    seen.unknown.push_back(gpu::not_reported(gpu, "the list of its processes", gpu.processes));
  }
  if (!gpu.processes) return;
  for (const GpuProcess& process : *gpu.processes) {
    if (!is_relevant(mine, held, process) || is_allowed(limits.allowed, process)) continue;
    ComputeProcess& computing = seen.processes[process.pid];
    if (computing.process == nullptr) computing.process = &process;
    computing.gpus.push_back(&gpu);
    computing.bytes += process.memory_bytes.value_or(0);
    computing.bytes_known = computing.bytes_known && process.memory_bytes.known();
    if (held == Held::yes || computing.held == Held::no) computing.held = held;
  }
}

// "process 4242 (python, user 1000, 40.0 GiB on 2 GPUs)".
std::string describe(const ComputeProcess& computing) {
  const GpuProcess& process = *computing.process;
  const std::string user = process.user ? fmt::format("user {}", *process.user) : "unknown user";
  std::string memory = computing.bytes_known ? in_gib(static_cast<double>(computing.bytes))
                                             : std::string("unknown memory");
  if (computing.gpus.size() > 1) {
    memory = fmt::format("{} on {}", memory, counted(computing.gpus.size(), "GPU"));
  }
  return fmt::format("process {} ({}, {}, {})", process.pid,
                     process.name.empty() ? "unknown command" : process.name, user, memory);
}

Finding about_process(const ComputeProcess& computing, Outcome outcome, std::string_view what) {
  return checks::about(
      gpu::name_of(*computing.gpus.front()), outcome,
      fmt::format("{} {}", describe(computing), what),
      outcome == Outcome::fail ? Remedy::restart_app : Remedy::watch,
      computing.bytes_known ? Values{count_value(computing.bytes), 0, "B"} : Values{});
}

bool has_vanished(const GpuProcess& process) { return process.name.empty() && !process.user; }

Finding left_behind(const ComputeProcess& computing, const JobGpus& mine) {
  const GpuProcess& process = *computing.process;
  if (!process.job.empty() && process.job == mine.job) {
    return about_process(computing, Outcome::fail,
                         fmt::format("left behind by job {}", process.job));
  }
  if (!process.job.empty()) {
    return about_process(
        computing, Outcome::warn,
        fmt::format("left behind by job {}, unless that job still runs", process.job));
  }
  if (has_vanished(process)) {
    return about_process(
        computing, Outcome::warn,
        "is not in /proc: it just ended, hangs in the driver, or is in another PID "
        "namespace");
  }
  if (computing.held == Held::yes) {
    return about_process(computing, Outcome::fail, "left behind, belongs to no job");
  }
  const auto whose = mine.job.empty()
                         ? std::string("the job is unknown")
                         : fmt::format("it may belong to a job other than {}", mine.job);
  return about_process(computing, Outcome::warn,
                       fmt::format("has no job in its cgroup, and {}: {}", whose, mine.doubt));
}

// Before or after a job, or at boot.
Findings judge_idle(const Snapshot& snapshot, const GpuProcessLimits& limits) {
  const JobGpus mine = find_job_gpus(snapshot);
  SeenProcesses seen;
  for (const Gpu* gpu : gpu::answering(snapshot)) scan_gpu(*gpu, limits, mine, seen);
  Findings findings = std::move(seen.unknown);
  for (const auto& [pid, computing] : seen.processes) {
    findings.push_back(left_behind(computing, mine));
  }
  if (findings.empty() && seen.judged == 0) {
    return {skipped(fmt::format("job {} holds no GPU here that responds", mine.job))};
  }
  const auto others =
      seen.others == 0 ? "" : fmt::format("; {} GPUs of other jobs ignored", seen.others);
  return or_pass(std::move(findings), fmt::format("no process left behind on {}{}",
                                                  counted(seen.judged, "GPU"), others));
}

bool runs_slurm(const Snapshot& snapshot, const SeenProcesses& seen) {
  const auto& services = snapshot.services;
  if (services.ok() && services->active &&
      std::ranges::count(*services->active, "slurmd.service") > 0) {
    return true;
  }
  return std::ranges::any_of(seen.processes,
                             [](const auto& each) { return !each.second.process->job.empty(); });
}

// While jobs run, a process without a job only warns: the cgroup of a container's process may not
// name the job, and not every Slurm keeps its jobs in cgroups.
Findings judge_busy(const Snapshot& snapshot, const GpuProcessLimits& limits) {
  const JobGpus any_job;
  SeenProcesses seen;
  for (const Gpu* gpu : gpu::answering(snapshot)) scan_gpu(*gpu, limits, any_job, seen);
  const bool slurm = runs_slurm(snapshot, seen);
  Findings findings = std::move(seen.unknown);
  std::size_t not_judged = 0;
  for (const auto& [pid, computing] : seen.processes) {
    const GpuProcess& process = *computing.process;
    if (!process.job.empty() || has_vanished(process)) continue;
    if (!slurm) {
      ++not_judged;
      continue;
    }
    findings.push_back(
        about_process(computing, Outcome::warn,
                      "has no job in its cgroup: left behind, or started outside Slurm"));
  }
  if (not_judged > 0) {
    findings.push_back(skipped(fmt::format("{} on the GPUs not judged without Slurm",
                                           counted(not_judged, "compute process"))));
  }
  return or_pass(std::move(findings),
                 fmt::format("{} idle or used by jobs", counted(seen.judged, "GPU")));
}

Findings judge_processes(const Snapshot& snapshot, const Profile& profile, const Context& context) {
  const GpuProcessLimits& limits = profile.gpu->processes;
  return context.gpus_idle ? judge_idle(snapshot, limits) : judge_busy(snapshot, limits);
}

// gpu.memory_used: GPUs without a compute process have no memory in use.

// Memory in use that no listed process holds.
struct UnclaimedMemory {
  double bytes = 0;
  bool monitored = false;     // a system daemon may have a context on this GPU
  bool has_vanished = false;  // NVML lists processes that have ended
};

std::string in_mib(double bytes) { return fmt::format("{:.0f} MiB", bytes / (1024.0 * 1024.0)); }

// `doubt`: why the leak must not fail the node; empty if it may.
Finding leak(const Snapshot& snapshot, const Gpu& gpu, const std::string& doubt,
             const UnclaimedMemory& unclaimed, double limit, bool fails) {
  const bool certain = fails && doubt.empty();
  return gpu::about(
      gpu, certain ? Outcome::fail : Outcome::warn,
      fmt::format("{} of memory in use without a compute process{}{}, expected at most {}{}",
                  in_mib(unclaimed.bytes), unclaimed.has_vanished ? " in /proc" : "",
                  gpu.memory->reserved ? "" : " (including the driver's)", in_mib(limit),
                  fails && !certain ? fmt::format("; {}", doubt) : ""),
      certain ? gpu::reset_remedy(snapshot) : Remedy::watch, {unclaimed.bytes, limit, "B"});
}

// True if daemons may have a context on each GPU that NVML does not list: monitors in a container
// or another PID namespace.
bool is_monitored(const Snapshot& snapshot) {
  const auto& services = snapshot.services;
  if (!services.ok() || !services->active) return false;
  return std::ranges::any_of(*services->active, [](const std::string& unit) {
    return unit.find("dcgm") != std::string::npos || unit.find("hostengine") != std::string::npos ||
           unit.find("mps") != std::string::npos;
  });
}

std::optional<Finding> judge_used(const Snapshot& snapshot, const Gpu& gpu,
                                  const GpuMemoryUsedLimits& limits, const std::string& doubt,
                                  const UnclaimedMemory& unclaimed) {
  for (const auto& [limit, fails] :
       {std::pair{&limits.fail_above, true}, std::pair{&limits.warn_above, false}}) {
    if (!*limit || (!fails && unclaimed.monitored)) continue;
    // An older driver includes its own memory in the memory in use.
    const double own = gpu.memory->reserved ? 0 : limits.driver_reserve.value_or(Bytes{}).value;
    const double most = (*limit)->value + own;
    if (unclaimed.bytes > most) return leak(snapshot, gpu, doubt, unclaimed, most, fails);
  }
  return std::nullopt;
}

// Why leaks on this GPU cannot be judged.
std::optional<Finding> cannot_judge(const Gpu& gpu) {
  if (gpu.modes.mig.value_or(false)) {
    return skipped("leaks cannot be judged while MIG is on", gpu::name_of(gpu));
  }
  if (!gpu.processes) return gpu::not_reported(gpu, "the list of its processes", gpu.processes);
  if (!gpu.memory) return gpu::not_reported(gpu, "the memory in use", gpu.memory);
  return std::nullopt;
}

// The kernel's page cache in the memory of a GPU that is also a NUMA node.
double page_cache_in(const Snapshot& snapshot, const Gpu& gpu) {
  if (!gpu.numa_node || !snapshot.cpu.ok() || !snapshot.cpu->numa_nodes) return 0;
  for (const auto& node : *snapshot.cpu->numa_nodes) {
    if (node.id == *gpu.numa_node) return static_cast<double>(node.page_cache_bytes.value_or(0));
  }
  return 0;
}

// True if muster sees all processes of the node, unlike in a container.
bool sees_all_processes(const Snapshot& snapshot) {
  const auto& container = snapshot.identity->container;
  return container.is_absent() && container.why() == kNoContainer;
}

// Empty if programs use the GPU: they may use any amount. Processes that have ended use nothing.
std::optional<UnclaimedMemory> unclaimed_of(const Snapshot& snapshot, const Gpu& gpu,
                                            const Words& daemons) {
  if (gpu.graphics && !gpu.graphics->empty()) return std::nullopt;
  UnclaimedMemory unclaimed{
      .bytes = static_cast<double>(gpu.memory->used) - page_cache_in(snapshot, gpu),
      .monitored = is_monitored(snapshot)};
  for (const auto& process : *gpu.processes) {
    if (has_vanished(process) && sees_all_processes(snapshot)) {
      unclaimed.has_vanished = true;
      continue;
    }
    unclaimed.monitored = true;
    if (!is_allowed(daemons, process) || !process.memory_bytes) return std::nullopt;
    unclaimed.bytes -= static_cast<double>(*process.memory_bytes);
  }
  return unclaimed;
}

// Why a leak on this GPU must not fail the node; empty if it may.
std::string doubt_about(const Gpu& gpu, const JobGpus& mine, const Context& context) {
  if (!context.gpus_idle) {
    return "it may belong to a process of a job that just ended or is not visible";
  }
  if (gpu.numa_node) return "the kernel uses the memory of this GPU like any other";
  if (mine.of(gpu) != Held::perhaps) return {};
  return fmt::format("uncertain whether the job holds this GPU: {}", mine.doubt);
}

Findings judge_memory_used(const Snapshot& snapshot, const Profile& profile,
                           const Context& context) {
  const GpuMemoryUsedLimits& limits = profile.gpu->memory_used;
  if (!limits.warn_above && !limits.fail_above) return {not_limited("the memory in use")};
  const JobGpus mine = find_job_gpus(snapshot);
  Findings findings;
  std::size_t healthy = 0;
  std::size_t busy = 0;    // with processes
  std::size_t others = 0;  // of other jobs
  for (const Gpu* gpu : gpu::answering(snapshot)) {
    if (context.gpus_idle && mine.of(*gpu) == Held::no) {
      ++others;
      continue;
    }
    auto finding = cannot_judge(*gpu);
    if (!finding) {
      const auto unclaimed = unclaimed_of(snapshot, *gpu, profile.gpu->processes.allowed);
      if (!unclaimed) {
        ++busy;
        continue;
      }
      finding = judge_used(snapshot, *gpu, limits, doubt_about(*gpu, mine, context), *unclaimed);
    }
    if (!finding) ++healthy;
    append(findings, std::move(finding));
  }
  if (healthy > 0) {
    findings.push_back(passed(fmt::format("{} without memory in use", counted(healthy, "GPU"))));
  }
  if (!findings.empty()) return findings;
  return {skipped(
      fmt::format("all GPUs are in use: {} with processes, {} of other jobs", busy, others))};
}

}  // namespace

constinit const Check gpu_processes::check = gpu::check_of_gpus({
    .id = "gpu.processes",
    .title = "No process is left on the GPUs",
    .why =
        "Looks at the compute processes that NVML lists. One that outlives its job holds memory "
        "and time promised to the next job, which fails or is slow. On idle nodes (contexts with "
        "gpus_idle: prolog, epilog, boot), a process of the ended job, or of no job, fails; if "
        "jobs share the node, only the GPUs of the current job are judged. A process of another "
        "job, or on a GPU whose owner is uncertain, warns: it may be legitimate. While jobs run, "
        "only a process without a job warns. gpu.processes.allowed lists daemons of the system: "
        "monitors, and the MPS server, which runs as the user it serves. Processes of users match "
        "it only if systemd started them (system.slice).",
    .fix =
        "ps -fp PID shows the process; kill it, with -KILL if necessary. A process that does not "
        "die hangs in the driver: look for its XIDs in the kernel log, and reboot. If it happens "
        "again, let Slurm track and end jobs by cgroup (ProctrackType=proctrack/cgroup, "
        "ConstrainDevices=yes), and look for programs started outside it (docker, ssh without "
        "pam_slurm_adopt).",
    .looks_at = Probe::environment | Probe::services,
    .nvml_parts = {.processes = true},
    .judge_in = judge_processes,
});

constinit const Check gpu_memory_used::check = gpu::check_of_gpus({
    .id = "gpu.memory_used",
    .title = "No GPU memory is in use without a process",
    .why =
        "Compares the memory in use with a limit, on GPUs for which NVML lists no compute process, "
        "or, outside containers, only processes that are not in /proc. Such memory leaked: a "
        "process died inside a call of the driver, or the driver has a bug, and the next job runs "
        "out of memory. The driver's own memory does not count if the driver reports it "
        "separately; otherwise gpu.memory_used.driver_reserve is added to the limit. A leak fails "
        "only on idle nodes (contexts with gpus_idle), and if jobs share the node only on the GPUs "
        "of the current job; while jobs run it warns. gpu.processes judges GPUs with processes; "
        "with MIG on, leaks cannot be judged. Memory of the system's daemons "
        "(gpu.processes.allowed) does not count; with a monitor or MPS running, only a large leak "
        "does. GPU memory that is a NUMA node (GH200, GB200) may hold files and programs of the "
        "CPU: its page cache does not count, and the rest only warns.",
    .fix =
        "fuser -v /dev/nvidia* lists the processes that have the GPU open (a display server, a "
        "profiling monitor, a process in another PID namespace). If there are none, reset the GPU "
        "(nvidia-smi --gpu-reset --id=N) or reboot; reboot a virtual machine. If it comes back, "
        "update the driver.",
    .looks_at = Probe::environment | Probe::services | Probe::cpu,
    .nvml_parts = {.processes = true},
    .judge_in = judge_memory_used,
});

}  // namespace muster::checks
