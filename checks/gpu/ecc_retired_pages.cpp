// SPDX-License-Identifier: Apache-2.0
// gpu.ecc_retired_pages: before Ampere a GPU retires bad pages of its memory, and only so many.
#include <cstdint>

#include "checks/catalogue.hpp"
#include "checks/shared/gpus.hpp"
#include "lib/profile/limits/gpu.hpp"

namespace muster::checks::gpu_ecc_retired_pages {
namespace {

std::optional<Finding> judge_one(const Snapshot& snapshot, const Gpu& gpu,
                                 const GpuRetiredPagesLimits& limits) {
  const auto& pages = gpu.retired_pages;
  for (const auto count : {&GpuRetiredPages::single_bit, &GpuRetiredPages::double_bit}) {
    if (pages.*count) continue;
    return gpu::not_told_beside(
        snapshot, gpu, "the count of retired pages", [count](const Gpu& each) -> const auto& {
          return each.retired_pages.*count;
        });
  }
  if (!pages.pending) {
    return gpu::not_told_beside(
        snapshot, gpu, "whether pages are pending",
        [](const Gpu& each) -> const auto& { return each.retired_pages.pending; });
  }
  const auto retired = *pages.single_bit + *pages.double_bit;
  const bool many = limits.fail_above && retired > static_cast<std::uint64_t>(*limits.fail_above);
  if (!many && !*pages.pending) return std::nullopt;
  return gpu::failed(
      gpu,
      many ? fmt::format("{}, more than {}", counted(retired, "retired page"), *limits.fail_above)
           : fmt::format("a bad page waits for a reset to be retired; {} so far",
                         counted(retired, "page")),
      many ? hardware_remedy(snapshot) : gpu::reset_remedy(snapshot),
      {count_value(retired), limits.fail_above ? Value(*limits.fail_above) : Value(), "pages"});
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  return gpu::each(
      snapshot,
      [&](const Gpu& gpu) { return judge_one(snapshot, gpu, profile.gpu->ecc_retired_pages); },
      "with sound memory pages");
}

}  // namespace

constinit const Check check{
    .id = "gpu.ecc_retired_pages",
    .title = "Few pages of memory are retired, and none waits",
    .why =
        "Before Ampere the driver takes bad pages of memory out of use, up to 64 of them. "
        "A page that was found bad while in use waits for the driver to be loaded again.",
    .fix =
        "Pending: drain the node and reset the GPU or reboot. Too many: replace the GPU, "
        "or report its serial number to the provider.",
    .code = "NHC2018",
    .needs = Probe::nvml | Probe::identity,
    .not_here = gpu::none_to_judge,
    .judge = judge,
};

}  // namespace muster::checks::gpu_ecc_retired_pages
