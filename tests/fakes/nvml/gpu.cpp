// SPDX-License-Identifier: Apache-2.0
// The fake NVML's functions about a single GPU.
#include <cstring>
#include <utility>

#include "tests/fakes/nvml/answers.hpp"

namespace {

using namespace muster;         // NOLINT(google-build-using-namespace): all of it is a fake
using namespace muster::nvml;   // NOLINT(google-build-using-namespace): the same
using namespace muster::fakes;  // NOLINT(google-build-using-namespace): the same

int give_memory(const Gpu& gpu, Memory* out) {
  if (out == nullptr) return kInvalidArgument;
  if (!gpu.memory) return code_of(gpu.memory);
  *out = {.total = gpu.memory->total,
          .free = gpu.memory->free,
          .used = gpu.memory->used + gpu.memory->reserved.value_or(0)};
  return kOk;
}

Fact<std::uint64_t> ecc_of(const Gpu& gpu, int type, int since, int location) {
  const GpuEcc& ecc = since == kVolatile ? gpu.ecc_volatile : gpu.ecc_aggregate;
  if (location == kDram) return type == kCorrected ? ecc.dram_corrected : ecc.dram_uncorrected;
  if (location == kSram) return type == kCorrected ? ecc.sram_corrected : ecc.sram_uncorrected;
  return Fact<std::uint64_t>::absent("");
}

template <class Entry>
int give_processes(const Fact<std::vector<GpuProcess>>& list, unsigned* count, Entry* out) {
  if (count == nullptr) return kInvalidArgument;
  if (!list) return code_of(list);
  const auto& processes = *list;
  const unsigned room = std::exchange(*count, static_cast<unsigned>(processes.size()));
  if (processes.empty()) return kOk;
  if (out == nullptr) return kInvalidArgument;
  if (room < processes.size()) return kInsufficientSize;
  for (std::size_t i = 0; i < processes.size(); ++i) {
    out[i] = {.pid = processes[i].pid, .memory = processes[i].memory_bytes.value_or(kNotAvailable)};
  }
  return kOk;
}

}  // namespace

// clang-format off
// A function with one output of one fact.
// NOLINTBEGIN(bugprone-macro-parentheses): Raw is a type
#define FAKE_VALUE(name, Raw, fact) \
  FAKE_API int name(Device device, Raw* out) { return on(#name, device, [&](const Gpu& gpu) { return give(fact, out); }); }
// NOLINTEND(bugprone-macro-parentheses)
#define FAKE_TEXT(name, fact) \
  FAKE_API int name(Device device, char* out, unsigned size) { \
    return on(#name, device, [&](const Gpu& gpu) { return give_text(fact, out, size); }); }
#define FAKE_CLOCK(name, fact) \
  FAKE_API int name(Device device, int clock, unsigned* out) { \
    return on(#name, device, [&](const Gpu& gpu) { \
      return clock == kSmClock ? give(fact, out) : int{kNotSupported}; }); }

FAKE_TEXT(nvmlDeviceGetUUID, gpu.uuid)
FAKE_TEXT(nvmlDeviceGetName, gpu.model)
FAKE_TEXT(nvmlDeviceGetSerial, gpu.serial)
FAKE_TEXT(nvmlDeviceGetVbiosVersion, gpu.firmware.vbios)
FAKE_TEXT(nvmlDeviceGetInforomImageVersion, gpu.firmware.inforom)
FAKE_VALUE(nvmlDeviceGetMinorNumber, unsigned, gpu.minor)
FAKE_VALUE(nvmlDeviceGetArchitecture, unsigned, gpu.architecture)
FAKE_VALUE(nvmlDeviceGetCurrPcieLinkGeneration, unsigned, gpu.link.generation)
FAKE_VALUE(nvmlDeviceGetMaxPcieLinkGeneration, unsigned, gpu.link.generation_max)
FAKE_VALUE(nvmlDeviceGetCurrPcieLinkWidth, unsigned, gpu.link.width)
FAKE_VALUE(nvmlDeviceGetMaxPcieLinkWidth, unsigned, gpu.link.width_max)
FAKE_VALUE(nvmlDeviceGetPcieReplayCounter, unsigned, gpu.link.replays)
FAKE_VALUE(nvmlDeviceGetRetiredPagesPendingStatus, int, gpu.retired_pages.pending)
FAKE_VALUE(nvmlDeviceGetPerformanceState, int, gpu.clocks.performance_state)
FAKE_VALUE(nvmlDeviceGetPowerUsage, unsigned, gpu.power.usage_mw)
FAKE_VALUE(nvmlDeviceGetEnforcedPowerLimit, unsigned, gpu.power.enforced_mw)
FAKE_VALUE(nvmlDeviceGetPowerManagementDefaultLimit, unsigned, gpu.power.default_mw)
FAKE_VALUE(nvmlDeviceGetPowerManagementLimit, unsigned, gpu.power.set_mw)
FAKE_VALUE(nvmlDeviceGetPersistenceMode, int, gpu.modes.persistence)
FAKE_VALUE(nvmlDeviceGetComputeMode, int, gpu.modes.compute)
FAKE_CLOCK(nvmlDeviceGetClockInfo, gpu.clocks.sm_mhz)
FAKE_CLOCK(nvmlDeviceGetMaxClockInfo, gpu.clocks.sm_max_mhz)
FAKE_CLOCK(nvmlDeviceGetApplicationsClock, gpu.clocks.application_sm_mhz)
FAKE_CLOCK(nvmlDeviceGetDefaultApplicationsClock, gpu.clocks.default_sm_mhz)
#if MUSTER_FAKE_BRANCH >= 535
FAKE_VALUE(nvmlDeviceGetCurrentClocksEventReasons, Counter, gpu.clocks.reasons)
#else
FAKE_VALUE(nvmlDeviceGetCurrentClocksThrottleReasons, Counter, gpu.clocks.reasons)
#endif

// clang-format on

FAKE_API int nvmlDeviceGetPciInfo_v3(Device device, PciInfo* out) {
  return on("nvmlDeviceGetPciInfo_v3", device, [&](const Gpu& gpu) -> int {
    if (out == nullptr) return kInvalidArgument;
    *out = pci_of(gpu.address);
    return kOk;
  });
}

FAKE_API int nvmlDeviceValidateInforom(Device device) {
  return on("nvmlDeviceValidateInforom", device, [&](const Gpu& gpu) -> int {
    if (!gpu.firmware.inforom_valid) return code_of(gpu.firmware.inforom_valid);
    return *gpu.firmware.inforom_valid ? kOk : kCorruptedInforom;
  });
}

FAKE_API int nvmlDeviceGetMemoryInfo(Device device, Memory* out) {
  return on("nvmlDeviceGetMemoryInfo", device,
            [&](const Gpu& gpu) -> int { return give_memory(gpu, out); });
}

FAKE_API int nvmlDeviceGetEccMode(Device device, int* current, int* pending) {
  return on("nvmlDeviceGetEccMode", device, [&](const Gpu& gpu) -> int {
    const int code = give(gpu.modes.ecc, current);
    return code == kOk ? give(gpu.modes.ecc_pending, pending) : code;
  });
}

FAKE_API int nvmlDeviceGetMigMode(Device device, unsigned* current, unsigned* pending) {
  return on("nvmlDeviceGetMigMode", device, [&](const Gpu& gpu) -> int {
    const int code = give(gpu.modes.mig, current);
    return code == kOk ? give(gpu.modes.mig_pending, pending) : code;
  });
}

FAKE_API int nvmlDeviceGetMemoryErrorCounter(Device device, int type, int since, int location,
                                             Counter* out) {
  return on("nvmlDeviceGetMemoryErrorCounter", device,
            [&](const Gpu& gpu) -> int { return give(ecc_of(gpu, type, since, location), out); });
}

// NOLINTNEXTLINE(readability-non-const-parameter): as NVML declares it
FAKE_API int nvmlDeviceGetRetiredPages(Device device, int cause, unsigned* count, Counter* out) {
  return on("nvmlDeviceGetRetiredPages", device, [&](const Gpu& gpu) -> int {
    const auto& fact =
        cause == kDoubleBit ? gpu.retired_pages.double_bit : gpu.retired_pages.single_bit;
    const int code = give(fact, count);
    // Without room for the addresses, returns only their number.
    return code == kOk && out == nullptr && *count > 0 ? kInsufficientSize : code;
  });
}

FAKE_API int nvmlDeviceGetRemappedRows(Device device, unsigned* corrected, unsigned* uncorrected,
                                       unsigned* pending, unsigned* failed) {
  return on("nvmlDeviceGetRemappedRows", device, [&](const Gpu& gpu) -> int {
    if (corrected == nullptr || uncorrected == nullptr || pending == nullptr || failed == nullptr) {
      return kInvalidArgument;
    }
    if (!gpu.remapped_rows) return code_of(gpu.remapped_rows);
    *corrected = static_cast<unsigned>(gpu.remapped_rows->corrected);
    *uncorrected = static_cast<unsigned>(gpu.remapped_rows->uncorrected);
    *pending = gpu.remapped_rows->pending ? 1 : 0;
    *failed = gpu.remapped_rows->failed ? 1 : 0;
    return kOk;
  });
}

FAKE_API int nvmlDeviceGetRowRemapperHistogram(Device device, Histogram* out) {
  return on("nvmlDeviceGetRowRemapperHistogram", device, [&](const Gpu& gpu) -> int {
    if (out == nullptr) return kInvalidArgument;
    if (!gpu.spare_rows) return code_of(gpu.spare_rows);
    const auto& rows = *gpu.spare_rows;
    *out = {.max = static_cast<unsigned>(rows.all),
            .high = static_cast<unsigned>(rows.high),
            .partial = static_cast<unsigned>(rows.partial),
            .low = static_cast<unsigned>(rows.low),
            .none = static_cast<unsigned>(rows.none)};
    return kOk;
  });
}

FAKE_API int nvmlDeviceGetTemperature(Device device, int sensor, unsigned* out) {
  return on("nvmlDeviceGetTemperature", device, [&](const Gpu& gpu) -> int {
    return sensor == 0 ? give(gpu.heat.gpu_c, out) : kInvalidArgument;
  });
}

FAKE_API int nvmlDeviceGetTemperatureThreshold(Device device, int threshold, unsigned* out) {
  return on("nvmlDeviceGetTemperatureThreshold", device, [&](const Gpu& gpu) -> int {
    if (threshold == kThresholdMemoryMax) return give(gpu.heat.memory_max_c, out);
    if (threshold != kThresholdSlowdown || !gpu.heat.margin_c || !gpu.heat.gpu_c) {
      return kNotSupported;
    }
    return give(Fact<int>(*gpu.heat.gpu_c + *gpu.heat.margin_c), out);
  });
}

#if MUSTER_FAKE_BRANCH >= 535
FAKE_API int nvmlDeviceGetComputeRunningProcesses_v3(Device device, unsigned* count, Process* out) {
  return on("nvmlDeviceGetComputeRunningProcesses_v3", device,
            [&](const Gpu& gpu) -> int { return give_processes(gpu.processes, count, out); });
}

FAKE_API int nvmlDeviceGetGraphicsRunningProcesses_v3(Device device, unsigned* count,
                                                      Process* out) {
  return on("nvmlDeviceGetGraphicsRunningProcesses_v3", device,
            [&](const Gpu& gpu) -> int { return give_processes(gpu.graphics, count, out); });
}

FAKE_API int nvmlDeviceGetMemoryInfo_v2(Device device, MemoryV2* out) {
  return on("nvmlDeviceGetMemoryInfo_v2", device, [&](const Gpu& gpu) -> int {
    if (out == nullptr) return kInvalidArgument;
    if (out->version != version_word<MemoryV2>(2)) return kVersionMismatch;
    if (!gpu.memory) return code_of(gpu.memory);
    const auto& memory = *gpu.memory;
    *out = {.version = out->version,
            .total = memory.total,
            .reserved = memory.reserved.value_or(0),
            .free = memory.free,
            .used = memory.used};
    return kOk;
  });
}

FAKE_API int nvmlDeviceGetGspFirmwareVersion(Device device, char* out) {
  return on("nvmlDeviceGetGspFirmwareVersion", device,
            [&](const Gpu& gpu) -> int { return give_text(gpu.firmware.gsp, out, 80); });
}

FAKE_API int nvmlDeviceGetGspFirmwareMode(Device device, unsigned* enabled, unsigned* by_default) {
  return on("nvmlDeviceGetGspFirmwareMode", device, [&](const Gpu& gpu) -> int {
    const int code = give(gpu.firmware.gsp_enabled, enabled);
    return code == kOk ? give(gpu.firmware.gsp_default, by_default) : code;
  });
}

FAKE_API int nvmlDeviceGetSramEccErrorStatus(Device device, Sram* out) {
  return on("nvmlDeviceGetSramEccErrorStatus", device, [&](const Gpu& gpu) -> int {
    if (out == nullptr) return kInvalidArgument;
    if (out->version != version_word<Sram>(1)) return kVersionMismatch;
    if (!gpu.sram) return code_of(gpu.sram);
    out->aggregate_parity = gpu.sram->unique_uncorrected;
    out->threshold_exceeded = gpu.sram->threshold_exceeded ? 1 : 0;
    return kOk;
  });
}
#else
FAKE_API int nvmlDeviceGetComputeRunningProcesses(Device device, unsigned* count, ProcessV1* out) {
  return on("nvmlDeviceGetComputeRunningProcesses", device,
            [&](const Gpu& gpu) -> int { return give_processes(gpu.processes, count, out); });
}
#endif

FAKE_API int nvmlDeviceGetUtilizationRates(Device device, Utilization* out) {
  return on("nvmlDeviceGetUtilizationRates", device, [&](const Gpu& gpu) -> int {
    if (out == nullptr) return kInvalidArgument;
    *out = {};
    return give(gpu.utilisation, &out->gpu);
  });
}

#if MUSTER_FAKE_BRANCH >= 570
FAKE_VALUE(nvmlDeviceGetNumaNodeId, unsigned, gpu.numa_node)

FAKE_API int nvmlDeviceGetRepairStatus(Device device, Repair* out) {
  return on("nvmlDeviceGetRepairStatus", device, [&](const Gpu& gpu) -> int {
    if (out == nullptr) return kInvalidArgument;
    if (out->version != version_word<Repair>(1)) return kVersionMismatch;
    if (!gpu.repairs) return code_of(gpu.repairs);
    out->channel_pending = gpu.repairs->channel_pending ? 1 : 0;
    out->tpc_pending = gpu.repairs->tpc_pending ? 1 : 0;
    return kOk;
  });
}

FAKE_API int nvmlDeviceGetTemperatureV(Device device, Temperature* out) {
  return on("nvmlDeviceGetTemperatureV", device, [&](const Gpu& gpu) -> int {
    if (out == nullptr || out->sensor != 0) return kInvalidArgument;
    if (out->version != version_word<Temperature>(1)) return kVersionMismatch;
    return give(gpu.heat.gpu_c, &out->celsius);
  });
}

FAKE_API int nvmlDeviceGetMarginTemperature(Device device, Margin* out) {
  return on("nvmlDeviceGetMarginTemperature", device, [&](const Gpu& gpu) -> int {
    if (out == nullptr) return kInvalidArgument;
    if (out->version != version_word<Margin>(1)) return kVersionMismatch;
    return give(gpu.heat.margin_c, &out->celsius);
  });
}
#endif
