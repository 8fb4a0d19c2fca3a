// SPDX-License-Identifier: Apache-2.0
// A virtual machine with two healthy H100s and the profile that it satisfies: each test changes
// what it is about.
#pragma once

#include <fmt/format.h>

#include <map>
#include <string>
#include <vector>

#include "lib/node/snapshot.hpp"
#include "lib/profile/profile.hpp"
#include "lib/report/finding.hpp"

namespace muster::gpu_node {

inline Gpu h100(unsigned index) {
  Gpu gpu{.index = index, .address = fmt::format("000{}:00:00.0", index + 1)};
  gpu.uuid = fmt::format("GPU-{}", index);
  gpu.serial = fmt::format("16509230{}", index);
  gpu.model = std::string("NVIDIA H100 80GB HBM3");
  gpu.architecture = 9U;
  gpu.modes = {.ecc = true,
               .ecc_pending = true,
               .mig = false,
               .mig_pending = false,
               .persistence = true,
               .compute = 0U};
  gpu.memory = GpuMemory{.total = 85520809984, .reserved = 600000000U, .used = 0, .free = 0};
  gpu.ecc_volatile = {
      .dram_corrected = 0U, .dram_uncorrected = 0U, .sram_corrected = 0U, .sram_uncorrected = 0U};
  gpu.ecc_aggregate = gpu.ecc_volatile;
  gpu.sram = GpuSram{};
  gpu.retired_pages = {.single_bit = Fact<std::uint64_t>::absent("not supported"),
                       .double_bit = Fact<std::uint64_t>::absent("not supported"),
                       .pending = Fact<bool>::absent("not supported")};
  gpu.remapped_rows = GpuRemappedRows{};
  gpu.spare_rows = GpuSpareRows{.all = 640};
  gpu.repairs = GpuRepairs{};
  gpu.recovery_action = 0U;
  gpu.heat = {.gpu_c = 34, .memory_c = 41, .margin_c = 53};
  gpu.power = {.usage_mw = 72000U, .enforced_mw = 700000U, .default_mw = 700000U};
  gpu.processes = std::vector<GpuProcess>{};
  gpu.peers = std::map<std::string, unsigned>{};
  return gpu;
}

inline PciDevice on_bus(const Gpu& gpu) {
  PciDevice device{.address = gpu.address, .kind = PciKind::gpu, .vendor = 0x10de};
  device.driver = "nvidia";
  device.responding = true;
  return device;
}

inline Snapshot node() {
  Snapshot snapshot;
  snapshot.identity = observed(Identity{.hypervisor = true});
  snapshot.nvml = observed(Nvml{.gpus = {h100(0), h100(1)}});
  snapshot.pci = observed(Pci{.devices = {on_bus(h100(0)), on_bus(h100(1))}});
  snapshot.environment = observed(Environment{});
  return snapshot;
}

inline Snapshot bare_metal() {
  Snapshot snapshot = node();
  snapshot.identity->hypervisor = false;
  return snapshot;
}

inline Profile profile() {
  Profile profile;
  profile.gpu->present.count = 2;
  profile.gpu->present.vendor = GpuVendor::nvidia;
  profile.gpu->present.model = std::string("NVIDIA H100 80GB HBM3");
  profile.gpu->present.memory = Bytes{85520809984.0};
  profile.gpu->present.tolerance = Percent{2};
  profile.gpu->ecc_mode.expected = true;
  profile.gpu->ecc_corrected.dram_warn_above = 1000;
  profile.gpu->ecc_corrected.sram_warn_above = 10;
  profile.gpu->ecc_remapped_rows.watch_above = 10;
  profile.gpu->ecc_retired_pages.fail_above = 60;
  profile.gpu->temperature = {.warn_above = Celsius{85},
                              .fail_above = Celsius{90},
                              .warn_margin_below = Celsius{5},
                              .memory_warn_above = Celsius{95},
                              .memory_fail_above = Celsius{105}};
  profile.gpu->power.limit = Watts{700};
  profile.gpu->mig.expected = false;
  return profile;
}

}  // namespace muster::gpu_node

namespace muster {

inline Gpu& gpu_of(Snapshot& snapshot, std::size_t index) { return snapshot.nvml->gpus.at(index); }

}  // namespace muster
