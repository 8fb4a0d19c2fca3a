// SPDX-License-Identifier: Apache-2.0
// gpu.compute_mode: who may use a GPU at the same time is as expected.
#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "checks/catalogue.hpp"
#include "checks/shared/gpus.hpp"
#include "lib/profile/limits/gpu.hpp"

namespace muster::checks::gpu_compute_mode {
namespace {

constexpr std::string_view kProhibited = "prohibited";

std::string word_for(unsigned mode) {
  constexpr std::array<std::string_view, 4> kModes{"default", "exclusive_thread", kProhibited,
                                                   "exclusive_process"};
  return mode < kModes.size() ? std::string(kModes.at(mode))
                              : fmt::format("{}, which this muster does not know", mode);
}

// That of most GPUs; of equally many, the one with the least number, which default has.
std::string common_mode(const Snapshot& snapshot) {
  std::map<unsigned, std::size_t> counts;
  for (const auto* each : gpu::answering(snapshot)) {
    if (each->modes.compute) ++counts[*each->modes.compute];
  }
  const auto most =
      std::ranges::max_element(counts, {}, [](const auto& each) { return each.second; });
  return most == counts.end() ? "" : word_for(most->first);
}

std::optional<Finding> judge_one(const Gpu& gpu, const Limit<ComputeMode>& expected,
                                 const std::string& common) {
  const auto& mode = gpu.modes.compute;
  if (!mode) return gpu::not_told(gpu, "the compute mode", mode);
  const std::string word = word_for(*mode);
  const auto fault = [&](const std::string& wanted, std::string message) {
    return gpu::failed(gpu, std::move(message), Remedy::fix_config, {word, wanted});
  };
  if (expected) {
    const std::string wanted(word_of(*expected));
    if (word == wanted) return std::nullopt;
    return fault(wanted, fmt::format("the compute mode is {}, expected {}", word, wanted));
  }
  if (word == kProhibited) {
    return fault("default", "the compute mode is prohibited: no program can use it");
  }
  if (word == common) return std::nullopt;
  return fault(common, fmt::format("the compute mode is {}, and {} on other GPUs", word, common));
}

Findings judge(const Snapshot& snapshot, const Profile& profile) {
  const auto& expected = profile.gpu->compute_mode.expected;
  const auto common = common_mode(snapshot);
  return gpu::each(
      snapshot, [&](const Gpu& gpu) { return judge_one(gpu, expected, common); },
      fmt::format("in compute mode {}", expected ? word_of(*expected) : common));
}

}  // namespace

constinit const Check check{
    .id = "gpu.compute_mode",
    .title = "GPUs are in the expected compute mode, or all in the same",
    .why =
        "The compute mode says who may use a GPU. In mode default any number of processes may; in "
        "exclusive_process the second one is refused, which stops jobs that start several "
        "processes for each GPU, and debuggers and monitors with them; in prohibited nobody can "
        "use it. The mode stays until the driver is loaded again, so that one job's choice, or an "
        "administrator's, meets the jobs after it.",
    .fix =
        "nvidia-smi --compute-mode=0 (0 default, 2 prohibited, 3 exclusive_process). A site that "
        "wants one mode on all nodes sets gpu.compute_mode.expected; where none is set, the GPUs "
        "of a node are to be in the same one, and not in prohibited.",
    .needs = Probe::nvml | Probe::identity,
    .not_here = gpu::none_to_judge,
    .judge = judge,
};

}  // namespace muster::checks::gpu_compute_mode
