// SPDX-License-Identifier: Apache-2.0
// Faults of GPUs and their driver, as NVML reports them.
#include <algorithm>
#include <array>
#include <iterator>

#include "tests/nodes/faults.hpp"
#include "tests/nodes/needed.hpp"
#include "tests/nodes/nvml.hpp"

namespace muster::nodes {
namespace {

constexpr int kNoPermission = 4;
constexpr int kGpuIsLost = 15;
constexpr int kResetRequired = 16;
constexpr int kMismatch = 18;
constexpr int kUnknownError = 999;

std::vector<Fault> lost_gpus() {
  return {
      fails("gpu_lost", kH100, "gpu.present", "gpu3",
            [](NodeDescription& node) { answer(node, 3, "*", kGpuIsLost); }),
      fails(
          "gpu_lost_that_still_tells_its_name", kBareMetal, "gpu.present", "gpu5",
          [](NodeDescription& node) { answer(node, 5, "nvmlDeviceGetMemoryInfo_v2", kGpuIsLost); }),
      fails("gpu_refused", kA100, "gpu.present", "gpu1",
            [](NodeDescription& node) {
              answer(node, 1, "nvmlDeviceGetHandleByIndex_v2", kNoPermission);
            }),
  };
}

std::vector<Fault> other_gpus() {
  return {
      fails("gpu_of_another_model", kH100, "gpu.present", "gpu2",
            [](NodeDescription& node) { node.gpus.at(2).model = "NVIDIA H100 PCIe"; }),
      fails("gpu_memory_too_small", kA100, "gpu.present", "gpu7",
            [](NodeDescription& node) { needed(facts(node, 7).memory).total = 34'359'738'368; }),
      is_unknown(
          "gpu_without_a_uuid", kH100, "gpu.present", "gpu0",
          [](NodeDescription& node) { answer(node, 0, "nvmlDeviceGetUUID", kUnknownError); }),
  };
}

std::vector<Fault> driver_faults() {
  return {
      fails("driver_upgraded", kH100, "gpu.driver", "node",
            [](NodeDescription& node) { node.nvml.answers["nvmlInit_v2"] = kMismatch; }),
      fails("driver_not_loaded", kA100, "gpu.driver", "node",
            [](NodeDescription& node) { std::erase(node.system.modules, "nvidia"); }),
      fails("nvml_of_another_driver", kH100, "gpu.driver", "node",
            [](Tree& tree) {
              change_scenario(tree, [](fakes::Scenario& scenario) {
                scenario.nvml.driver = std::string("570.86.15");
              });
            }),
  };
}

std::vector<Fault> recovery_faults() {
  return {
      fails("gpu_calls_for_a_reboot", kH100, "gpu.recovery_action", "gpu4",
            [](NodeDescription& node) { facts(node, 4).recovery_action = 2U; }),
      fails("gpu_calls_for_a_reset", kBareMetal, "gpu.recovery_action", "gpu6",
            [](NodeDescription& node) { facts(node, 6).recovery_action = 1U; }),
      fails("gpu_answers_that_it_needs_a_reset", kH100, "gpu.recovery_action", "gpu2",
            [](NodeDescription& node) {
              answer(node, 2, "nvmlDeviceGetTemperatureV", kResetRequired);
            }),
  };
}

std::vector<Fault> heat_faults() {
  return {
      fails("gpu_hot", kH100, "gpu.temperature", "gpu0",
            [](NodeDescription& node) { facts(node, 0).heat.gpu_c = 92; }),
      warns("gpu_warm", kA100, "gpu.temperature", "gpu3",
            [](NodeDescription& node) { facts(node, 3).heat.gpu_c = 87; }),
      fails("gpu_memory_hot", kH100, "gpu.temperature", "gpu7",
            [](NodeDescription& node) {
              facts(node, 7).heat.memory_c = 97;
              facts(node, 7).heat.memory_max_c = 95;
            }),
      warns("gpu_memory_warm", kH100, "gpu.temperature", "gpu6",
            [](NodeDescription& node) { facts(node, 6).heat.memory_c = 97; }),
      fails("gpu_above_its_slowdown", kA100, "gpu.temperature", "gpu2",
            [](NodeDescription& node) {
              facts(node, 2).heat.gpu_c = 97;
              facts(node, 2).heat.margin_c = -8;
            }),
      warns("gpu_near_its_slowdown", kV100, "gpu.temperature", "gpu5",
            [](NodeDescription& node) {
              facts(node, 5).heat.gpu_c = 83;
              facts(node, 5).heat.margin_c = 4;
            }),
      warns("gpu_power_limited", kH100, "gpu.power", "gpu1",
            [](NodeDescription& node) { facts(node, 1).power.enforced_mw = 500'000U; }),
  };
}

std::vector<Fault> mode_faults() {
  return {
      fails("ecc_off", kH100, "gpu.ecc_mode", "gpu1",
            [](NodeDescription& node) {
              facts(node, 1).modes.ecc = false;
              facts(node, 1).modes.ecc_pending = false;
            }),
      fails("ecc_off_after_the_next_reset", kV100, "gpu.ecc_mode", "gpu2",
            [](NodeDescription& node) { facts(node, 2).modes.ecc_pending = false; }),
      fails("mig_on", kH100, "gpu.mig", "gpu6",
            [](NodeDescription& node) {
              facts(node, 6).modes.mig = true;
              facts(node, 6).modes.mig_pending = true;
            }),
      fails("mig_on_after_the_next_reset", kA100, "gpu.mig", "gpu4",
            [](NodeDescription& node) { facts(node, 4).modes.mig_pending = true; }),
      warns("persistence_off", kH100, "gpu.persistence", "gpu5",
            [](NodeDescription& node) { facts(node, 5).modes.persistence = false; }),
  };
}

}  // namespace

std::vector<Fault> gpu_faults() {
  std::vector<Fault> faults;
  for (auto* table : {lost_gpus, other_gpus, driver_faults, gpu_memory_faults, recovery_faults,
                      heat_faults, mode_faults}) {
    std::ranges::move(table(), std::back_inserter(faults));
  }
  return faults;
}

}  // namespace muster::nodes
