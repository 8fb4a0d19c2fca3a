// SPDX-License-Identifier: Apache-2.0
// gpu.memory_used: no memory of a GPU is in use where nobody computes.
#include <utility>

#include "checks/catalogue.hpp"
#include "checks/shared/gpus.hpp"
#include "lib/profile/limits/gpu.hpp"
#include "lib/state/job_gpus.hpp"

namespace muster::checks {
namespace {

// Whether a leak may take the node out, and if not, why.
struct Certainty {
  Held held = Held::yes;
  std::string doubt;
};

std::string in_mib(double bytes) { return fmt::format("{:.0f} MiB", bytes / (1024.0 * 1024.0)); }

// Without a word about the driver's own memory that is part of what is used.
double allowance(const GpuMemory& memory, const GpuMemoryUsedLimits& limits) {
  return memory.reserved ? 0 : limits.driver_reserve.value_or(Bytes{}).value;
}

Finding leak(const Snapshot& snapshot,
             const Gpu& gpu,
             const Certainty& certainty,
             double limit,
             bool fails) {
  const auto used = static_cast<double>(gpu.memory->used);
  const bool certain = certainty.held == Held::yes;
  std::string message = fmt::format(
      "{} of memory in use and no process that computes{}, expected "
      "at most {}",
      in_mib(used),
      gpu.memory->reserved ? "" : " (the driver's own included)",
      in_mib(limit));
  if (fails && !certain) message = fmt::format("{}; {}", message, certainty.doubt);
  Finding finding =
      gpu::about(gpu, fails && certain ? Outcome::fail : Outcome::warn, std::move(message));
  finding.observed = used;
  finding.limit = limit;
  finding.unit = "B";
  finding.remedy = finding.outcome == Outcome::fail ? gpu::reset_remedy(snapshot) : Remedy::watch;
  return finding;
}

std::optional<Finding> judge_used(const Snapshot& snapshot,
                                  const Gpu& gpu,
                                  const GpuMemoryUsedLimits& limits,
                                  const Certainty& certainty) {
  const auto used = static_cast<double>(gpu.memory->used);
  for (const auto& [limit, fails] :
       {std::pair{&limits.fail_above, true}, std::pair{&limits.warn_above, false}}) {
    if (!*limit) continue;
    const double most = (*limit)->value + allowance(*gpu.memory, limits);
    if (used > most) return leak(snapshot, gpu, certainty, most, fails);
  }
  return std::nullopt;
}

// Why this GPU tells nothing about leaks.
std::optional<Finding> cannot_tell(const Gpu& gpu) {
  if (gpu.modes.mig.value_or(false)) {
    return Finding{.device = gpu::name_of(gpu),
                   .outcome = Outcome::skip,
                   .message = "with MIG on, the memory of the whole GPU does not tell of leaks"};
  }
  if (!gpu.processes) return gpu::not_told(gpu, "the list of its processes", gpu.processes);
  if (!gpu.memory) return gpu::not_told(gpu, "the memory in use", gpu.memory);
  return std::nullopt;
}

struct Seen {
  Findings findings;
  std::size_t well = 0;
  std::size_t busy = 0;    // with processes
  std::size_t others = 0;  // of other jobs
};

void judge_gpu(const Snapshot& snapshot,
               const Gpu& gpu,
               const GpuMemoryUsedLimits& limits,
               const Certainty& certainty,
               Seen& seen) {
  if (certainty.held == Held::no) {
    ++seen.others;
    return;
  }
  auto finding = cannot_tell(gpu);
  if (!finding && !gpu.processes->empty()) {
    ++seen.busy;
    return;
  }
  if (!finding) finding = judge_used(snapshot, gpu, limits, certainty);
  if (finding) {
    seen.findings.push_back(*std::move(finding));
  } else {
    ++seen.well;
  }
}

Findings summed_up(Seen seen) {
  if (seen.well > 0) {
    seen.findings.push_back(
        passed(fmt::format("{} without memory in use", counted(seen.well, "GPU"))));
  }
  if (seen.findings.empty()) {
    return {skipped(fmt::format("{} with processes and {} of other jobs: no other to judge",
                                counted(seen.busy, "GPU"),
                                seen.others))};
  }
  return std::move(seen.findings);
}

Findings judge(const Snapshot& snapshot, const Profile& profile, const Context& context) {
  const GpuMemoryUsedLimits& limits = profile.gpu->memory_used;
  if (!limits.warn_above && !limits.fail_above) return {not_limited("the memory in use")};
  const JobGpus mine = find_job_gpus(snapshot);
  Seen seen;
  for (const Gpu* gpu : gpu::answering(snapshot)) {
    Certainty certainty{.held = mine.of(*gpu), .doubt = {}};
    if (!context.gpus_idle) {
      certainty = {.held = Held::perhaps,
                   .doubt =
                       "beside jobs it may be that of a process that has just ended, or that "
                       "is not to be seen from here"};
    } else if (certainty.held == Held::perhaps) {
      certainty.doubt =
          fmt::format("whether the job holds this GPU is not certain: {}", mine.doubt);
    }
    judge_gpu(snapshot, *gpu, limits, certainty, seen);
  }
  return summed_up(std::move(seen));
}

}  // namespace

constinit const Check gpu_memory_used{
    .id = "gpu.memory_used",
    .title = "No memory of a GPU is in use without a process",
    .why =
        "Compares the memory in use with a limit, on GPUs on which NVML lists no process that "
        "computes. What is left there belongs to nobody: a process that died within a call of the "
        "driver, or a fault of the driver itself, and the next job runs out of memory before its "
        "time. The driver's own memory does not count where it tells that apart; with an older "
        "driver gpu.memory_used.driver_reserve is allowed for it. Only where nobody should "
        "compute (contexts with gpus_idle) does a leak fail, and on a node that jobs share only "
        "on the GPUs of the job at hand; beside running jobs it is a warning. GPUs with a process "
        "are gpu.processes' affair, and with MIG on the driver does not tell.",
    .fix =
        "fuser -v /dev/nvidia* shows who still has the GPU open (a display server, a monitor that "
        "profiles, a process of another PID namespace). If nobody has, reset the GPU "
        "(nvidia-smi --gpu-reset --id=N) or reboot; a virtual machine is rebooted. If it comes "
        "back, update the driver.",
    .needs = Probe::nvml | Probe::identity,
    .looks_at = Probe::environment,
    .asks = {.processes = true},
    .not_here = gpu::none_to_judge,
    .judge_in = judge,
};

}  // namespace muster::checks
