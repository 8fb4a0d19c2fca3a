// SPDX-License-Identifier: Apache-2.0
// What goes wrong with GPUs and their driver, as NVML tells it.
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

Value count(std::int64_t number) { return number; }

Value text(std::string_view words) { return std::string(words); }

std::vector<Fault> lost_gpus() {
  return {
      {.name = "gpu_lost",
       .node = kH100,
       .check = "gpu.present",
       .device = "gpu3",
       .change = [](NodeDescription& node) { answer(node, 3, "*", kGpuIsLost); },
       .says = Saying{.remedy = Remedy::report_to_provider}},
      {.name = "gpu_lost_that_still_tells_its_name",
       .node = kBareMetal,
       .check = "gpu.present",
       .device = "gpu5",
       .change =
           [](NodeDescription& node) { answer(node, 5, "nvmlDeviceGetMemoryInfo_v2", kGpuIsLost); },
       .says = Saying{.remedy = Remedy::reboot}},
      {.name = "gpu_refused",
       .node = kA100,
       .check = "gpu.present",
       .device = "gpu1",
       .change =
           [](NodeDescription& node) {
             answer(node, 1, "nvmlDeviceGetHandleByIndex_v2", kNoPermission);
           },
       .says = Saying{.remedy = Remedy::report_to_provider}},
  };
}

std::vector<Fault> other_gpus() {
  return {
      {.name = "gpu_of_another_model",
       .node = kH100,
       .check = "gpu.present",
       .device = "gpu2",
       .change = [](NodeDescription& node) { node.gpus.at(2).model = "NVIDIA H100 PCIe"; },
       .says = Saying{text("NVIDIA H100 PCIe"), text("NVIDIA H100 80GB HBM3"), Remedy::fix_config}},
      {.name = "gpu_memory_too_small",
       .node = kA100,
       .check = "gpu.present",
       .device = "gpu7",
       .change =
           [](NodeDescription& node) { needed(facts(node, 7).memory).total = 34'359'738'368; },
       .says = Saying{34'359'738'368.0, 42'949'672'960.0, Remedy::report_to_provider}},
      {.name = "gpu_without_a_uuid",
       .node = kH100,
       .check = "gpu.present",
       .device = "gpu0",
       .outcome = Outcome::unknown,
       .change = [](NodeDescription& node) { answer(node, 0, "nvmlDeviceGetUUID", kUnknownError); },
       .says = Saying{}},
  };
}

std::vector<Fault> driver_faults() {
  return {
      {.name = "driver_upgraded",
       .node = kH100,
       .check = "gpu.driver",
       .device = "node",
       .change = [](NodeDescription& node) { node.nvml.answers["nvmlInit_v2"] = kMismatch; },
       .says = Saying{.remedy = Remedy::reboot}},
      {.name = "driver_not_loaded",
       .node = kA100,
       .check = "gpu.driver",
       .device = "node",
       .change = [](NodeDescription& node) { std::erase(node.system.modules, "nvidia"); },
       .says = Saying{.remedy = Remedy::reboot}},
      {.name = "nvml_of_another_driver",
       .node = kH100,
       .check = "gpu.driver",
       .device = "node",
       .damage =
           [](Tree& tree) {
             change_scenario(tree, [](fakes::Scenario& scenario) {
               scenario.nvml.driver = std::string("570.86.15");
             });
           },
       .says = Saying{text("570.86.15"), text("580.65.06"), Remedy::reboot}},
  };
}

std::vector<Fault> recovery_faults() {
  return {
      {.name = "gpu_calls_for_a_reboot",
       .node = kH100,
       .check = "gpu.recovery_action",
       .device = "gpu4",
       .change = [](NodeDescription& node) { facts(node, 4).recovery_action = 2U; },
       .says = Saying{count(2), count(0), Remedy::reboot}},
      {.name = "gpu_calls_for_a_reset",
       .node = kBareMetal,
       .check = "gpu.recovery_action",
       .device = "gpu6",
       .change = [](NodeDescription& node) { facts(node, 6).recovery_action = 1U; },
       .says = Saying{count(1), count(0), Remedy::reset_gpu}},
      {.name = "gpu_answers_that_it_needs_a_reset",
       .node = kH100,
       .check = "gpu.recovery_action",
       .device = "gpu2",
       .change =
           [](NodeDescription& node) {
             answer(node, 2, "nvmlDeviceGetTemperatureV", kResetRequired);
           },
       .says = Saying{.remedy = Remedy::reboot}},
  };
}

std::vector<Fault> heat_faults() {
  return {
      {.name = "gpu_hot",
       .node = kH100,
       .check = "gpu.temperature",
       .device = "gpu0",
       .change = [](NodeDescription& node) { facts(node, 0).heat.gpu_c = 92; },
       .says = Saying{count(92), 90.0, Remedy::report_to_provider}},
      {.name = "gpu_warm",
       .node = kA100,
       .check = "gpu.temperature",
       .device = "gpu3",
       .outcome = Outcome::warn,
       .change = [](NodeDescription& node) { facts(node, 3).heat.gpu_c = 87; },
       .says = Saying{count(87), 85.0, Remedy::watch}},
      {.name = "gpu_memory_hot",
       .node = kH100,
       .check = "gpu.temperature",
       .device = "gpu7",
       .change =
           [](NodeDescription& node) {
             facts(node, 7).heat.memory_c = 97;
             facts(node, 7).heat.memory_max_c = 95;
           },
       .says = Saying{count(97), 95.0, Remedy::report_to_provider}},
      {.name = "gpu_memory_warm",
       .node = kH100,
       .check = "gpu.temperature",
       .device = "gpu6",
       .outcome = Outcome::warn,
       .change = [](NodeDescription& node) { facts(node, 6).heat.memory_c = 97; },
       .says = Saying{count(97), 95.0, Remedy::watch}},
      {.name = "gpu_above_its_slowdown",
       .node = kA100,
       .check = "gpu.temperature",
       .device = "gpu2",
       .change =
           [](NodeDescription& node) {
             facts(node, 2).heat.gpu_c = 97;
             facts(node, 2).heat.margin_c = -8;
           },
       .says = Saying{count(-8), 0.0, Remedy::report_to_provider}},
      {.name = "gpu_near_its_slowdown",
       .node = kV100,
       .check = "gpu.temperature",
       .device = "gpu5",
       .outcome = Outcome::warn,
       .change =
           [](NodeDescription& node) {
             facts(node, 5).heat.gpu_c = 83;
             facts(node, 5).heat.margin_c = 4;
           },
       .says = Saying{count(4), 5.0, Remedy::watch}},
      {.name = "gpu_power_limited",
       .node = kH100,
       .check = "gpu.power",
       .device = "gpu1",
       .outcome = Outcome::warn,
       .change = [](NodeDescription& node) { facts(node, 1).power.enforced_mw = 500'000U; },
       .says = Saying{500.0, 700.0, Remedy::fix_config}},
  };
}

std::vector<Fault> mode_faults() {
  return {
      {.name = "ecc_off",
       .node = kH100,
       .check = "gpu.ecc_mode",
       .device = "gpu1",
       .change =
           [](NodeDescription& node) {
             facts(node, 1).modes.ecc = false;
             facts(node, 1).modes.ecc_pending = false;
           },
       .says = Saying{false, true, Remedy::fix_config}},
      {.name = "ecc_off_after_the_next_reset",
       .node = kV100,
       .check = "gpu.ecc_mode",
       .device = "gpu2",
       .change = [](NodeDescription& node) { facts(node, 2).modes.ecc_pending = false; },
       .says = Saying{false, true, Remedy::fix_config}},
      {.name = "mig_on",
       .node = kH100,
       .check = "gpu.mig",
       .device = "gpu6",
       .change =
           [](NodeDescription& node) {
             facts(node, 6).modes.mig = true;
             facts(node, 6).modes.mig_pending = true;
           },
       .says = Saying{true, false, Remedy::fix_config}},
      {.name = "mig_on_after_the_next_reset",
       .node = kA100,
       .check = "gpu.mig",
       .device = "gpu4",
       .change = [](NodeDescription& node) { facts(node, 4).modes.mig_pending = true; },
       .says = Saying{true, false, Remedy::fix_config}},
      {.name = "persistence_off",
       .node = kH100,
       .check = "gpu.persistence",
       .device = "gpu5",
       .outcome = Outcome::warn,
       .change = [](NodeDescription& node) { facts(node, 5).modes.persistence = false; },
       .says = Saying{false, true, Remedy::fix_config}},
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
