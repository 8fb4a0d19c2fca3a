// SPDX-License-Identifier: Apache-2.0
#include "checks/shared/support.hpp"

#include <array>
#include <cmath>

#include "checks/shared/gpus.hpp"

namespace muster::checks {
namespace {

// These read a few files of the kernel: only overload delays them.
constexpr ProbeSet kPlainFiles = Probe::identity | Probe::cpu | Probe::memory | Probe::kernel;
constexpr double kPlainFilesMs = 2000;  // far more than they take on a busy node

constexpr double kRunnablePerCpu = 4;    // a full node has one
constexpr double kAvailablePercent = 1;  // with less, every program waits for its own pages

// Why the node lacks CPUs or memory; empty if it does not.
std::string overload_reason(const Snapshot& snapshot) {
  std::string late;
  for_each_section(snapshot, [&](Probe probe, const auto& section) {
    if (!kPlainFiles.contains(probe)) return;
    if (section.status == Status::timeout || section.duration_ms > kPlainFilesMs) {
      late = to_string(probe);
    }
  });
  if (!late.empty()) return fmt::format("the {} probe was late as well", late);
  const auto& running = snapshot.processes->running;
  const auto cpus = static_cast<double>(snapshot.cpu->threads.value_or(0));
  if (running && cpus > 0 && static_cast<double>(*running) > kRunnablePerCpu * cpus) {
    return fmt::format("{} on {:.0f} CPUs", counted(*running, "runnable task"), cpus);
  }
  const auto& memory = *snapshot.memory;
  if (memory.available_bytes && memory.total_bytes &&
      static_cast<double>(*memory.available_bytes) * 100 <
          kAvailablePercent * static_cast<double>(*memory.total_bytes)) {
    return fmt::format("{} of memory available",
                       in_gib(static_cast<double>(*memory.available_bytes)));
  }
  return {};
}

}  // namespace

void leave_undecided(const Snapshot& snapshot, Finding& finding) {
  const std::string why = overload_reason(snapshot);
  if (why.empty() || finding.outcome != Outcome::fail) return;
  finding.outcome = Outcome::unknown;
  finding.remedy = Remedy::watch;
  finding.message.append(fmt::format("; the node is overloaded: {}", why));
}

namespace gpu {

std::size_t expected_count(const Profile& profile) {
  const auto& present = profile.gpu->present;
  if (present.vendor.value_or(GpuVendor::nvidia) != GpuVendor::nvidia) return 0;
  return static_cast<std::size_t>(std::max(present.count.value_or(0), 0));
}

bool sees_all(const Snapshot& snapshot, const Context& context) {
  constexpr std::array<std::string_view, 4> kOutsideJobs{"prolog", "epilog", "periodic", "boot"};
  return snapshot.identity->container.is_absent() &&
         std::ranges::find(kOutsideJobs, context.name) != kOutsideJobs.end();
}

bool driver_is_bound(const Snapshot& snapshot) {
  return std::ranges::any_of(snapshot.pci->devices, [](const PciDevice& device) {
    return is_nvidia_gpu(device) && device.driver == "nvidia";
  });
}

bool has_expected_memory(const Profile& profile, std::uint64_t bytes) {
  const auto& limits = profile.gpu->present;
  if (!limits.memory) return true;
  const double expected = limits.memory->value;
  return std::abs(static_cast<double>(bytes) - expected) <= expected * limits.tolerance.value / 100;
}

std::optional<Finding> none_to_judge(const Snapshot& snapshot, const Profile& profile) {
  const auto& section = snapshot.nvml;
  if (section.status == Status::absent) {
    if (!expected(profile)) return not_expected("GPU");
    return skipped(fmt::format("NVML is not available: {}", section.reason));
  }
  if (!section.ok()) return std::nullopt;
  if (!section->trouble.empty()) {
    return skipped(expected(profile) ? "NVML is not usable: see gpu.driver"
                                     : "no GPU expected by this profile, and NVML is not usable");
  }
  if (section->gpus.empty()) {
    return expected(profile) ? skipped("NVML lists no GPU: see gpu.present") : not_expected("GPU");
  }
  if (answering(snapshot).empty()) return skipped("no GPU responds: see gpu.present");
  return std::nullopt;
}

}  // namespace gpu

}  // namespace muster::checks
