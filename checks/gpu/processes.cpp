// SPDX-License-Identifier: Apache-2.0
// gpu.processes: nobody computes on a GPU that should be idle, and beside jobs nobody but jobs.
#include <algorithm>
#include <map>
#include <utility>

#include "checks/catalogue.hpp"
#include "checks/shared/gpu_processes.hpp"
#include "checks/shared/gpus.hpp"
#include "lib/profile/limits/gpu.hpp"
#include "lib/state/job_gpus.hpp"

namespace muster::checks::gpu_processes {
namespace {

// One process with all the GPUs that it computes on.
struct Computing {
  const GpuProcess* process = nullptr;
  std::vector<const Gpu*> gpus;
  std::uint64_t bytes = 0;
  bool bytes_known = true;
  Held held = Held::no;
};

struct Seen {
  std::map<unsigned, Computing> processes;  // by pid; those that are allowed left out
  Findings unknown;
  std::size_t told = 0;    // GPUs that are judged
  std::size_t others = 0;  // GPUs of other jobs
};

void add(const Gpu& gpu, const GpuProcess& process, Held held, Seen& seen) {
  Computing& computing = seen.processes[process.pid];
  if (computing.process == nullptr) computing.process = &process;
  computing.gpus.push_back(&gpu);
  computing.bytes += process.memory_bytes.value_or(0);
  computing.bytes_known = computing.bytes_known && process.memory_bytes.known();
  if (held == Held::yes || computing.held == Held::no) computing.held = held;
}

// What a job left on GPUs of others is left behind, too. What another job does on a GPU that may be
// its own is as it should be.
bool concerns(const JobGpus& mine, Held held, const GpuProcess& process) {
  if (mine.job.empty() || process.job == mine.job || held == Held::yes) return true;
  return held == Held::perhaps && process.job.empty();
}

void look_at(const Gpu& gpu, const GpuProcessLimits& limits, const JobGpus& mine, Seen& seen) {
  const Held held = mine.of(gpu);
  if (held == Held::no) {
    ++seen.others;
  } else if (gpu.processes) {
    ++seen.told;
  } else {
    seen.unknown.push_back(gpu::not_told(gpu, "the list of its processes", gpu.processes));
  }
  if (!gpu.processes) return;
  for (const GpuProcess& process : *gpu.processes) {
    if (concerns(mine, held, process) && !gpu::is_allowed(limits.allowed, process)) {
      add(gpu, process, held, seen);
    }
  }
}

// "process 4242 (python, user 1000, 40.0 GiB on 2 GPUs)".
std::string describe(const Computing& computing) {
  const GpuProcess& process = *computing.process;
  const std::string user = process.user ? fmt::format("user {}", *process.user) : "user not known";
  std::string memory = computing.bytes_known ? in_gib(static_cast<double>(computing.bytes))
                                             : std::string("memory not known");
  if (computing.gpus.size() > 1) {
    memory = fmt::format("{} on {}", memory, counted(computing.gpus.size(), "GPU"));
  }
  return fmt::format("process {} ({}, {}, {})", process.pid,
                     process.name.empty() ? "command not known" : process.name, user, memory);
}

Finding about(const Computing& computing, Outcome outcome, std::string_view what) {
  return checks::about(
      gpu::name_of(*computing.gpus.front()), outcome,
      fmt::format("{} {}", describe(computing), what),
      outcome == Outcome::fail ? Remedy::restart_app : Remedy::watch,
      computing.bytes_known ? Values{count_value(computing.bytes), 0, "B"} : Values{});
}

bool vanished(const GpuProcess& process) { return process.name.empty() && !process.user; }

Finding left_behind(const Computing& computing, const JobGpus& mine) {
  const GpuProcess& process = *computing.process;
  if (!process.job.empty() && process.job == mine.job) {
    return about(computing, Outcome::fail, fmt::format("was left behind by job {}", process.job));
  }
  if (!process.job.empty()) {
    return about(computing, Outcome::warn,
                 fmt::format("was left behind by job {}, unless that still runs", process.job));
  }
  if (vanished(process)) {
    return about(computing, Outcome::warn,
                 "is not to be seen in /proc: it has just ended, hangs in the driver, or lives in "
                 "another PID namespace");
  }
  if (computing.held == Held::yes) {
    return about(computing, Outcome::fail, "was left behind, and belongs to no job");
  }
  const auto whose = mine.job.empty() ? std::string("no job is known")
                                      : fmt::format("it may be of another job than {}", mine.job);
  return about(
      computing, Outcome::warn,
      fmt::format("belongs to no job that its cgroup names, and {}: {}", whose, mine.doubt));
}

std::string others_of(const Seen& seen) {
  return seen.others == 0 ? "" : fmt::format("; {} of other jobs left out", seen.others);
}

// After a job, before one, or before any.
Findings judge_idle(const Snapshot& snapshot, const GpuProcessLimits& limits) {
  const JobGpus mine = find_job_gpus(snapshot);
  Seen seen;
  for (const Gpu* gpu : gpu::answering(snapshot)) look_at(*gpu, limits, mine, seen);
  Findings findings = std::move(seen.unknown);
  for (const auto& [pid, computing] : seen.processes) {
    findings.push_back(left_behind(computing, mine));
  }
  if (findings.empty() && seen.told == 0) {
    return {skipped(fmt::format("job {} holds no GPU here that answers", mine.job))};
  }
  return or_pass(std::move(findings), fmt::format("{} without a process left behind{}",
                                                  counted(seen.told, "GPU"), others_of(seen)));
}

bool runs_slurm(const Snapshot& snapshot, const Seen& seen) {
  const auto& services = snapshot.services;
  if (services.ok() && services->active &&
      std::ranges::count(*services->active, "slurmd.service") > 0) {
    return true;
  }
  return std::ranges::any_of(seen.processes,
                             [](const auto& each) { return !each.second.process->job.empty(); });
}

// Beside running jobs. A container's processes may be a job's although their cgroup does not say
// so, and not every Slurm keeps its jobs in cgroups: no reason to take a node out.
Findings judge_busy(const Snapshot& snapshot, const GpuProcessLimits& limits) {
  JobGpus everybodys;
  Seen seen;
  for (const Gpu* gpu : gpu::answering(snapshot)) look_at(*gpu, limits, everybodys, seen);
  const bool slurm = runs_slurm(snapshot, seen);
  Findings findings = std::move(seen.unknown);
  std::size_t unjudged = 0;
  for (const auto& [pid, computing] : seen.processes) {
    const GpuProcess& process = *computing.process;
    if (!process.job.empty() || vanished(process)) continue;
    if (!slurm) {
      ++unjudged;
      continue;
    }
    findings.push_back(about(computing, Outcome::warn,
                             "belongs to no job that its cgroup names: it was left behind, or "
                             "started past Slurm"));
  }
  if (unjudged > 0) {
    findings.push_back(
        skipped(fmt::format("{} {} on the GPUs, and no Slurm to say whether for a job", unjudged,
                            unjudged == 1 ? "process computes" : "processes compute")));
  }
  return or_pass(std::move(findings), fmt::format("{} without a process, or with those of jobs",
                                                  counted(seen.told, "GPU")));
}

Findings judge(const Snapshot& snapshot, const Profile& profile, const Context& context) {
  const GpuProcessLimits& limits = profile.gpu->processes;
  return context.gpus_idle ? judge_idle(snapshot, limits) : judge_busy(snapshot, limits);
}

}  // namespace

constinit const Check check{
    .id = "gpu.processes",
    .title = "No process is left on the GPUs",
    .why =
        "Looks at the processes that compute, as NVML lists them. One that outlives its job holds "
        "memory and time that the next job was promised, which then fails for want of memory or is "
        "slow for no reason that it can see. Where nobody should compute (contexts with gpus_idle: "
        "prolog, epilog, boot), a process of the ended job, or one that belongs to no job, fails; "
        "on a node that jobs share only the GPUs of the job at hand are judged. A process of "
        "another job, and one of which it is not certain whose GPU it uses, is a warning: it may "
        "be at work. Elsewhere the processes of jobs are as they should be, and one without a job "
        "is a warning. Daemons of the system are listed in gpu.processes.allowed: monitors, and "
        "the server of MPS, which runs as the user that it serves; of users' processes only those "
        "that systemd started (system.slice) go by a name there.",
    .fix =
        "ps -fp PID says what it is; kill it, by -KILL if need be. One that does not die hangs in "
        "the driver: look for its XIDs in the kernel log, and reboot. Where it happens again, let "
        "Slurm track and end jobs by cgroup (ProctrackType=proctrack/cgroup, "
        "ConstrainDevices=yes) and see what starts past it (docker, ssh without pam_slurm_adopt).",
    .needs = Probe::nvml | Probe::identity,
    .looks_at = Probe::environment | Probe::services,
    .asks = {.processes = true},
    .not_here = gpu::none_to_judge,
    .judge_in = judge,
};

}  // namespace muster::checks::gpu_processes
