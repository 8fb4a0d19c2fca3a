// SPDX-License-Identifier: Apache-2.0
// Faults of GPUs, their driver, memory, links, firmware and clocks, and leftovers on GPUs: as NVML,
// and for AMD the bus, the amdgpu driver and the kernel log, show them.
#include <array>
#include <cstdint>

#include "lib/base/units.hpp"
#include "tests/nodes/faults.hpp"
#include "tests/nodes/needed.hpp"
#include "tests/nodes/nvml.hpp"
#include "tests/nodes/render.hpp"

namespace muster::nodes {
namespace {

constexpr int kNoPermission = 4;
constexpr int kGpuIsLost = 15;
constexpr int kResetRequired = 16;
constexpr int kMismatch = 18;
constexpr int kUnknownError = 999;
constexpr unsigned kInProgress = 2;
constexpr std::uint64_t kForWeeksNs = 2'000'000'000'000'000;

void log_of_gpu(NodeDescription& node, std::string_view text) {
  static_cast<void>(node.amd_gpus.at(2));
  log(node, fmt::format("amdgpu 0004:00:00.0: amdgpu: {}", text), 3, kHour - 60);
}

NvLink& link(Gpu& gpu, std::size_t number) { return needed(gpu.nvlinks).at(number); }

constexpr std::array kGpuFaults{
    fails("gpu_lost", kH100, "gpu.present", "gpu3",
          [](NodeDescription& node) { answer(node, 3, "*", kGpuIsLost); }),
    fails("gpu_lost_that_still_tells_its_name", kBareMetal, "gpu.present", "gpu5",
          [](NodeDescription& node) { answer(node, 5, "nvmlDeviceGetMemoryInfo_v2", kGpuIsLost); }),
    fails("gpu_refused", kA100, "gpu.present", "gpu1",
          [](NodeDescription& node) {
            answer(node, 1, "nvmlDeviceGetHandleByIndex_v2", kNoPermission);
          }),
    fails("gpu_of_another_model", kH100, "gpu.present", "gpu2",
          [](NodeDescription& node) { node.gpus.at(2).model = "NVIDIA H100 PCIe"; }),
    fails("gpu_memory_too_small", kA100, "gpu.present", "gpu7",
          [](Gpu& gpu) { needed(gpu.memory).total = 34'359'738'368; }),
    is_unknown("gpu_without_a_uuid", kH100, "gpu.present", "gpu0",
               [](NodeDescription& node) { answer(node, 0, "nvmlDeviceGetUUID", kUnknownError); }),
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
    fails("uncorrectable_errors", kH100, "gpu.ecc_uncorrectable", "gpu3",
          [](Gpu& gpu) {
            gpu.ecc_volatile.dram_uncorrected = 2U;
            gpu.ecc_aggregate.dram_uncorrected = 2U;
          }),
    fails("uncorrectable_errors_of_bare_metal", kBareMetal, "gpu.ecc_uncorrectable", "gpu0",
          [](Gpu& gpu) { gpu.ecc_volatile.dram_uncorrected = 1U; }),
    fails("sram_threshold_exceeded", kH100, "gpu.ecc_sram", "gpu6",
          [](Gpu& gpu) {
            gpu.sram = GpuSram{.unique_uncorrected = 6, .threshold_exceeded = true};
            gpu.ecc_aggregate.sram_uncorrected = 6U;
          }),
    warns("sram_error_long_ago", kA100, "gpu.ecc_sram", "gpu1",
          [](Gpu& gpu) {
            gpu.sram = GpuSram{.unique_uncorrected = 1};
            gpu.ecc_aggregate.sram_uncorrected = 1U;
          }),
    warns("many_corrected_errors", kH100, "gpu.ecc_corrected", "gpu4",
          [](Gpu& gpu) { gpu.ecc_aggregate.dram_corrected = 30'000'000U; }),
    warns("many_corrected_sram_errors", kA100, "gpu.ecc_corrected", "gpu0",
          [](Gpu& gpu) { gpu.ecc_aggregate.sram_corrected = 20'000U; }),
    fails("row_remapping_failed", kH100, "gpu.ecc_remapped_rows", "gpu5",
          [](Gpu& gpu) { needed(gpu.remapped_rows).failed = true; }),
    fails("row_remapping_failed_on_bare_metal", kBareMetal, "gpu.ecc_remapped_rows", "gpu2",
          [](Gpu& gpu) { needed(gpu.remapped_rows).failed = true; }),
    fails("row_remapping_pending", kA100, "gpu.ecc_remapped_rows", "gpu0",
          [](Gpu& gpu) { needed(gpu.remapped_rows).pending = true; }),
    fails("memory_channel_repair_pending", kBareMetal, "gpu.ecc_remapped_rows", "gpu7",
          [](Gpu& gpu) { needed(gpu.repairs).channel_pending = true; }),
    warns("no_spare_row_in_a_bank", kH100, "gpu.ecc_remapped_rows", "gpu1",
          [](Gpu& gpu) {
            needed(gpu.remapped_rows).uncorrected = 8;
            gpu.spare_rows = GpuSpareRows{.all = 2559, .none = 1};
          }),
    warns("many_rows_remapped", kH100, "gpu.ecc_remapped_rows", "gpu2",
          [](Gpu& gpu) {
            needed(gpu.remapped_rows).corrected = 4;
            needed(gpu.remapped_rows).uncorrected = 9;
          }),
    fails("many_pages_retired", kV100, "gpu.ecc_retired_pages", "gpu6",
          [](Gpu& gpu) {
            gpu.retired_pages.single_bit = 40U;
            gpu.retired_pages.double_bit = 20U;
          }),
    fails("page_retirement_pending", kV100, "gpu.ecc_retired_pages", "gpu1",
          [](Gpu& gpu) {
            gpu.retired_pages.double_bit = 2U;
            gpu.retired_pages.pending = true;
          }),
    fails("gpu_calls_for_a_reboot", kH100, "gpu.recovery_action", "gpu4",
          [](Gpu& gpu) { gpu.recovery_action = 2U; }),
    fails("gpu_calls_for_a_reset", kBareMetal, "gpu.recovery_action", "gpu6",
          [](Gpu& gpu) { gpu.recovery_action = 1U; }),
    fails("gpu_answers_that_it_needs_a_reset", kH100, "gpu.recovery_action", "gpu2",
          [](NodeDescription& node) {
            answer(node, 2, "nvmlDeviceGetTemperatureV", kResetRequired);
          }),
    fails("gpu_hot", kH100, "gpu.temperature", "gpu0", [](Gpu& gpu) { gpu.heat.gpu_c = 92; }),
    warns("gpu_warm", kA100, "gpu.temperature", "gpu3", [](Gpu& gpu) { gpu.heat.gpu_c = 87; }),
    fails("gpu_memory_hot", kH100, "gpu.temperature", "gpu7",
          [](Gpu& gpu) {
            gpu.heat.memory_c = 97;
            gpu.heat.memory_max_c = 95;
          }),
    warns("gpu_memory_warm", kH100, "gpu.temperature", "gpu6",
          [](Gpu& gpu) { gpu.heat.memory_c = 97; }),
    fails("gpu_above_its_slowdown", kA100, "gpu.temperature", "gpu2",
          [](Gpu& gpu) {
            gpu.heat.gpu_c = 97;
            gpu.heat.margin_c = -8;
          }),
    warns("gpu_near_its_slowdown", kV100, "gpu.temperature", "gpu5",
          [](Gpu& gpu) {
            gpu.heat.gpu_c = 83;
            gpu.heat.margin_c = 4;
          }),
    warns("gpu_power_limited", kH100, "gpu.power", "gpu1",
          [](Gpu& gpu) { gpu.power.enforced_mw = 500'000U; }),
    fails("ecc_off", kH100, "gpu.ecc_mode", "gpu1",
          [](Gpu& gpu) {
            gpu.modes.ecc = false;
            gpu.modes.ecc_pending = false;
          }),
    fails("ecc_off_after_the_next_reset", kV100, "gpu.ecc_mode", "gpu2",
          [](Gpu& gpu) { gpu.modes.ecc_pending = false; }),
    fails("mig_on", kH100, "gpu.mig", "gpu6",
          [](Gpu& gpu) {
            gpu.modes.mig = true;
            gpu.modes.mig_pending = true;
          }),
    fails("mig_on_after_the_next_reset", kA100, "gpu.mig", "gpu4",
          [](Gpu& gpu) { gpu.modes.mig_pending = true; }),
    warns("persistence_off", kH100, "gpu.persistence", "gpu5",
          [](Gpu& gpu) { gpu.modes.persistence = false; }),
    fails("amd_gpu_missing", kMi300x, "pci.devices", "node",
          [](NodeDescription& node) { drop(node.amd_gpus, 4); }),
    fails("amd_gpu_off_the_bus", kMi300x, "pci.devices", "0004:00:00.0",
          [](NodeDescription& node) { node.amd_gpus.at(2).pci.responding = false; }),
    fails("amd_gpu_half_width", kMi300x, "pci.link", "0002:00:00.0",
          [](NodeDescription& node) { node.amd_gpus.at(0).pci.width = 8; }),
    fails("amd_gpu_without_driver", kMi300x, "gpu.ras", "0003:00:00.0",
          [](NodeDescription& node) { node.amd_gpus.at(1).pci.driver.clear(); }),
    fails("amd_driver_not_loaded", kMi300x, "host.modules", "amdgpu",
          [](NodeDescription& node) { std::erase(node.system.modules, "amdgpu"); }),
    seen_before(kHour, warns("amd_pcie_replays", kMi300x, "gpu.amd", "0005:00:00.0",
                             [](AmdGpu& gpu) { gpu.replays = std::uint64_t{9000}; })),
    fails("amd_uncorrected_errors", kMi300x, "gpu.ras", "0004:00:00.0",
          [](AmdGpu& gpu) { needed(gpu.ras)["umc"].uncorrected = 1; }),
    warns("amd_many_corrected_errors", kMi300x, "gpu.ras", "0004:00:00.0",
          [](AmdGpu& gpu) { needed(gpu.ras)["umc"].corrected = 90'000'000; }),
    fails("amd_less_memory", kMi300x, "gpu.ras", "0006:00:00.0",
          [](AmdGpu& gpu) { gpu.memory_bytes = std::uint64_t{163'840} << 20U; }),
    fails("amd_page_waits_for_a_reset", kMi300x, "gpu.amd", "0006:00:00.0",
          [](AmdGpu& gpu) { needed(gpu.bad_pages).pending = 1; }),
    fails("amd_page_not_retired", kMi300x, "gpu.amd", "0006:00:00.0",
          [](AmdGpu& gpu) { needed(gpu.bad_pages).failed = 1; }),
    fails("amd_gpu_hot", kMi300x, "gpu.amd", "0007:00:00.0",
          [](AmdGpu& gpu) { needed(gpu.temperatures)[0].now_c = 103; }),
    warns("amd_power_limit", kMi300x, "gpu.amd", "0007:00:00.0",
          [](AmdGpu& gpu) { gpu.power_cap_w = 500; }),
    warns("amd_other_partition", kMi300x, "gpu.amd", "0008:00:00.0",
          [](AmdGpu& gpu) { gpu.compute_partition = std::string("CPX"); }),
    warns("amd_other_vbios", kMi300x, "gpu.amd", "0008:00:00.0",
          [](AmdGpu& gpu) { gpu.vbios = std::string("113-OLD"); }),
    warns("amd_clocks_forced", kMi300x, "gpu.amd", "0008:00:00.0",
          [](AmdGpu& gpu) { gpu.performance_level = std::string("low"); }),
    fails("amd_outside_the_hive", kMi300x, "gpu.amd", "0009:00:00.0",
          [](AmdGpu& gpu) { gpu.hive = std::string("0"); }),
    fails("amd_uncorrected_in_the_log", kMi300x, "host.kernel_log", "0004:00:00.0",
          [](NodeDescription& node) {
            log_of_gpu(node,
                       "socket: 0, die: 0 1 new uncorrectable hardware errors detected in umc "
                       "block");
          }),
    fails("amd_reset_failed", kMi300x, "host.kernel_log", "0004:00:00.0",
          [](NodeDescription& node) { log_of_gpu(node, "GPU reset(2) failed"); }),
    fails("gpu_not_listed", kH100, "pci.devices", "0009:00:00.0",
          [](NodeDescription& node) { node.gpus.at(4).listed = false; }),
    // NVML still knows the address, and refuses every call to the GPU itself.
    Fault{.name = "gpu_fell_off_in_use",
          .node = kH100,
          .check = "gpu.present",
          .device = "gpu2",
          .change =
              [](NodeDescription& node) {
                answer(node, 2, "nvmlDeviceGetMemoryInfo_v2", kGpuIsLost);
              },
          .damage =
              [](Tree& tree) {
                const auto config = device_path(nd96isr_h100_v5().gpus[2].pci).append("/config");
                tree.file(config, std::string(needed(tree, config).size(), '\xff'));
              }},
    warns("vbios_differs", kH100, "gpu.firmware", "gpu5",
          [](Gpu& gpu) { gpu.firmware.vbios = std::string("96.00.74.00.01"); }),
    fails("inforom_corrupt", kH100, "gpu.firmware", "gpu2",
          [](Gpu& gpu) { gpu.firmware.inforom_valid = false; }),
    warns("gsp_off", kH100, "gpu.firmware", "gpu3",
          [](Gpu& gpu) { gpu.firmware.gsp_enabled = false; }),
    fails("nvlink_down", kH100, "gpu.nvlink_state", "gpu2",
          [](Gpu& gpu) { link(gpu, 7).state = 0U; }),
    fails("nvlink_down_on_an_older_driver", kA100, "gpu.nvlink_state", "gpu6",
          [](Gpu& gpu) { link(gpu, 11).state = 0U; }),
    fails("nvlink_slow", kH100, "gpu.nvlink_state", "gpu4",
          [](Gpu& gpu) { link(gpu, 3).speed_mbps = 13'281U; }),
    seen_before(kHour, fails("nvlink_crc_errors", kH100, "gpu.nvlink_errors", "gpu1",
                             [](Gpu& gpu) { link(gpu, 5).crc = 900'000U; })),
    seen_before(kHour, warns("nvlink_replays", kA100, "gpu.nvlink_errors", "gpu6",
                             [](Gpu& gpu) { link(gpu, 0).replays = 300U; })),
    seen_before(kHour, warns("gpu_pcie_replays", kH100, "gpu.pcie_replay", "gpu0",
                             [](Gpu& gpu) { gpu.link.replays = 100'000U; })),
    fails("no_access_to_a_peer", kH100, "gpu.p2p", "gpu2",
          [](Gpu& gpu) { needed(gpu.peers).emplace("0008:00:00.0", 1U); }),
    fails("fabric_in_progress", kH100, "gpu.fabric", "gpu3",
          [](Gpu& gpu) { needed(gpu.fabric).state = kInProgress; }),
    fails("fabric_not_started", kH100, "gpu.fabric", "node",
          [](NodeDescription& node) {
            for (auto& gpu : node.gpus) needed(gpu.facts.fabric).state = 1;
          }),
    fails("fabric_of_another_cluster", kH100, "gpu.fabric", "gpu6",
          [](Gpu& gpu) { needed(gpu.fabric).cluster = "0123456789abcdef0123456789abcdef"; }),
    fails("fabric_bandwidth_degraded", kH100, "gpu.fabric", "gpu1",
          [](Gpu& gpu) {
            needed(gpu.fabric).health_mask = 0x1a9U;
            needed(gpu.fabric).health_summary = 2U;
          }),
    fails("clocks_held_by_heat", kH100, "gpu.clocks", "gpu4",
          [](Gpu& gpu) {
            gpu.clocks.reasons = 0x48U;
            gpu.clocks.hardware_thermal_ns = kForWeeksNs;
          }),
    fails("clocks_held_by_the_power_brake", kH100, "gpu.clocks", "gpu2",
          [](Gpu& gpu) {
            gpu.clocks.reasons = 0x88U;
            gpu.clocks.power_brake_ns = kForWeeksNs;
          }),
    warns("clocks_held_by_the_driver_for_heat", kH100, "gpu.clocks", "gpu5",
          [](Gpu& gpu) { gpu.clocks.reasons = 0x20U; }),
    warns("clocks_held_at_the_first_look", kH100, "gpu.clocks", "gpu3",
          [](Gpu& gpu) {
            gpu.clocks.reasons = 0x8U;
            gpu.clocks.sm_mhz = 420U;
          }),
    warns("clocks_left_locked", kH100, "gpu.clocks", "gpu7",
          [](Gpu& gpu) { gpu.clocks.application_sm_mhz = 1200U; }),
    fails("compute_prohibited", kH100, "gpu.compute_mode", "gpu3",
          [](Gpu& gpu) { gpu.modes.compute = 2U; }),
    // Warnings, because jobs may run.
    warns("process_of_no_job", kH100, "gpu.processes", "gpu2",
          [](NodeDescription& node) {
            node.processes.push_back({.pid = 4242, .name = "python3"});
            needed(node.gpus.at(2).facts.processes)
                .push_back({.pid = 4242, .memory_bytes = 40'000'000'000U});
          }),
    warns("memory_of_no_process", kH100, "gpu.memory_used", "gpu6",
          [](Gpu& gpu) { needed(gpu.memory).used = 2'147'483'648; }),
    fails("xid_of_an_uncorrectable_error", kH100, "gpu.xid", "gpu4",
          LogLine{"NVRM: Xid (PCI:0009:00:00): 48, pid='<unknown>', name=<unknown>, An "
                  "uncorrectable double bit error (DBE) has been detected on GPU in the "
                  "framebuffer at physical "
                  "address 0x1f2a000 partition 3, subpartition 0."}),
    // A warning, because no link is down.
    warns(
        "sxid_of_a_link", kH100, "gpu.sxid", "0000:c3:00.0",
        LogLine{"nvidia-nvswitch0: SXid (PCI:0000:c3:00.0): 20034, Fatal, Link 30 LTSSM Fault Up"}),
};

}  // namespace

std::span<const Fault> gpu_faults() { return kGpuFaults; }

}  // namespace muster::nodes
