// SPDX-License-Identifier: Apache-2.0
#include "checks/shared/gpus.hpp"

#include <algorithm>

#include "lib/profile/limits/gpu.hpp"

namespace muster::checks::gpu {

std::size_t expected_count(const Profile& profile) {
  const auto& present = profile.gpu->present;
  if (present.vendor.value_or(GpuVendor::nvidia) != GpuVendor::nvidia) return 0;
  return static_cast<std::size_t>(std::max(present.count.value_or(0), 0));
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

}  // namespace muster::checks::gpu
