// SPDX-License-Identifier: Apache-2.0
// gpu.memory_used: no memory of a GPU is in use where nobody computes.
#include <algorithm>
#include <utility>

#include "checks/catalogue.hpp"
#include "checks/shared/gpu_processes.hpp"
#include "checks/shared/gpus.hpp"
#include "lib/profile/limits/gpu.hpp"
#include "lib/state/job_gpus.hpp"

namespace muster::checks::gpu_memory_used {
namespace {

// The memory in use that nobody accounts for.
struct Unclaimed {
  double bytes = 0;
  bool monitored = false;  // a daemon of the system may have a context there
};

std::string in_mib(double bytes) { return fmt::format("{:.0f} MiB", bytes / (1024.0 * 1024.0)); }

// Without a word about the driver's own memory that is part of what is used.
double allowance(const GpuMemory& memory, const GpuMemoryUsedLimits& limits) {
  return memory.reserved ? 0 : limits.driver_reserve.value_or(Bytes{}).value;
}

// `doubt`: why the leak may not take the node out.
Finding leak(const Snapshot& snapshot, const Gpu& gpu, const std::string& doubt, double used,
             double limit, bool fails) {
  const bool certain = fails && doubt.empty();
  return gpu::about(
      gpu, certain ? Outcome::fail : Outcome::warn,
      fmt::format("{} of memory in use and no process that computes{}, expected at most {}{}",
                  in_mib(used), gpu.memory->reserved ? "" : " (the driver's own included)",
                  in_mib(limit), fails && !certain ? fmt::format("; {}", doubt) : ""),
      certain ? gpu::reset_remedy(snapshot) : Remedy::watch, {used, limit, "B"});
}

// Daemons that may have a context on each GPU, of which no list tells: monitors in a container or
// in a process of another PID namespace.
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
                                  const Unclaimed& unclaimed) {
  for (const auto& [limit, fails] :
       {std::pair{&limits.fail_above, true}, std::pair{&limits.warn_above, false}}) {
    if (!*limit || (!fails && unclaimed.monitored)) continue;
    const double most = (*limit)->value + allowance(*gpu.memory, limits);
    if (unclaimed.bytes > most) {
      return leak(snapshot, gpu, doubt, unclaimed.bytes, most, fails);
    }
  }
  return std::nullopt;
}

// Why this GPU tells nothing about leaks.
std::optional<Finding> cannot_tell(const Gpu& gpu) {
  if (gpu.modes.mig.value_or(false)) {
    return skipped("with MIG on, the memory of the whole GPU does not tell of leaks",
                   gpu::name_of(gpu));
  }
  if (!gpu.processes) return gpu::not_told(gpu, "the list of its processes", gpu.processes);
  if (!gpu.memory) return gpu::not_told(gpu, "the memory in use", gpu.memory);
  return std::nullopt;
}

// The kernel's page cache in the memory of a GPU that is a NUMA node, too.
double page_cache_in(const Snapshot& snapshot, const Gpu& gpu) {
  if (!gpu.numa_node || !snapshot.cpu.ok() || !snapshot.cpu->numa_nodes) return 0;
  for (const auto& node : *snapshot.cpu->numa_nodes) {
    if (node.id == *gpu.numa_node) return static_cast<double>(node.page_cache_bytes.value_or(0));
  }
  return 0;
}

// Nothing where programs are at work, who may use as much as they like.
std::optional<Unclaimed> unclaimed_of(const Snapshot& snapshot, const Gpu& gpu,
                                      const Words& daemons) {
  if (gpu.graphics && !gpu.graphics->empty()) return std::nullopt;
  Unclaimed unclaimed{.bytes = static_cast<double>(gpu.memory->used) - page_cache_in(snapshot, gpu),
                      .monitored = is_monitored(snapshot) || !gpu.processes->empty()};
  for (const auto& process : *gpu.processes) {
    if (!gpu::is_allowed(daemons, process) || !process.memory_bytes) return std::nullopt;
    unclaimed.bytes -= static_cast<double>(*process.memory_bytes);
  }
  return unclaimed;
}

struct Seen {
  Findings findings;
  std::size_t well = 0;
  std::size_t busy = 0;    // with processes
  std::size_t others = 0;  // of other jobs
};

void judge_gpu(const Snapshot& snapshot, const Gpu& gpu, const GpuLimits& limits,
               const std::string& doubt, Seen& seen) {
  auto finding = cannot_tell(gpu);
  if (!finding) {
    const auto unclaimed = unclaimed_of(snapshot, gpu, limits.processes.allowed);
    if (!unclaimed) {
      ++seen.busy;
      return;
    }
    finding = judge_used(snapshot, gpu, limits.memory_used, doubt, *unclaimed);
  }
  if (!finding) ++seen.well;
  append(seen.findings, std::move(finding));
}

Findings summed_up(Seen seen) {
  if (seen.well > 0) {
    seen.findings.push_back(
        passed(fmt::format("{} without memory in use", counted(seen.well, "GPU"))));
  }
  if (seen.findings.empty()) {
    return {skipped(fmt::format("{} with processes and {} of other jobs: no other to judge",
                                counted(seen.busy, "GPU"), seen.others))};
  }
  return std::move(seen.findings);
}

// Why a leak on this GPU may not take the node out; empty where it may.
std::string doubt_about(const Gpu& gpu, const JobGpus& mine, const Context& context) {
  if (!context.gpus_idle) {
    return "beside jobs it may be that of a process that has just ended, or that is not to be seen "
           "from here";
  }
  if (gpu.numa_node) return "the kernel uses the memory of this GPU as it uses any other";
  if (mine.of(gpu) != Held::perhaps) return {};
  return fmt::format("whether the job holds this GPU is not certain: {}", mine.doubt);
}

Findings judge(const Snapshot& snapshot, const Profile& profile, const Context& context) {
  const GpuMemoryUsedLimits& limits = profile.gpu->memory_used;
  if (!limits.warn_above && !limits.fail_above) return {not_limited("the memory in use")};
  const JobGpus mine = find_job_gpus(snapshot);
  Seen seen;
  for (const Gpu* gpu : gpu::answering(snapshot)) {
    if (context.gpus_idle && mine.of(*gpu) == Held::no) {
      ++seen.others;
    } else {
      judge_gpu(snapshot, *gpu, *profile.gpu, doubt_about(*gpu, mine, context), seen);
    }
  }
  return summed_up(std::move(seen));
}

}  // namespace

constinit const Check check{
    .id = "gpu.memory_used",
    .title = "No memory of a GPU is in use without a process",
    .why =
        "Compares the memory in use with a limit, on GPUs on which NVML lists no process that "
        "computes. What is left there belongs to nobody: a process that died within a call of the "
        "driver, or a fault of the driver itself, and the next job runs out of memory before its "
        "time. The driver's own memory does not count where it tells that apart; with an older "
        "driver gpu.memory_used.driver_reserve is allowed for it. Only where nobody should compute "
        "(contexts with gpus_idle) does a leak fail, and on a node that jobs share only on the "
        "GPUs of the job at hand; beside running jobs it is a warning. GPUs with a process are "
        "gpu.processes' affair, and with MIG on the driver does not tell. What the system's own "
        "daemons hold (gpu.processes.allowed) is theirs; where a monitor or MPS runs, only a large "
        "leak counts. Memory that the kernel uses as a NUMA node (GH200, GB200) may hold files and "
        "programs of the processor: its page cache does not count, and the rest warns.",
    .fix =
        "fuser -v /dev/nvidia* shows who still has the GPU open (a display server, a monitor that "
        "profiles, a process of another PID namespace). If nobody has, reset the GPU "
        "(nvidia-smi --gpu-reset --id=N) or reboot; a virtual machine is rebooted. If it comes "
        "back, update the driver.",
    .needs = Probe::nvml | Probe::identity,
    .looks_at = Probe::environment | Probe::services | Probe::cpu,
    .asks = {.processes = true},
    .not_here = gpu::none_to_judge,
    .judge_in = judge,
};

}  // namespace muster::checks::gpu_memory_used
