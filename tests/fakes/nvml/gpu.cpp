// SPDX-License-Identifier: Apache-2.0
// The fake NVML's functions about a single GPU.
#include <cstring>
#include <utility>

#include "tests/fakes/nvml/answers.hpp"

namespace {

using namespace muster;         // NOLINT(google-build-using-namespace): all of it is a fake
using namespace muster::nvml;   // NOLINT(google-build-using-namespace): the same
using namespace muster::fakes;  // NOLINT(google-build-using-namespace): the same

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

#define FAKE_FLAGS(name, Raw, now, later) \
  FAKE_API int name(Device device, Raw* first, Raw* second) { \
    return on(#name, device, [&](const Gpu& gpu) { \
      const int code = give(now, first); \
      return code == kOk ? give(later, second) : code; }); }
#define FAKE_PROCESSES(name, Entry, list) \
  FAKE_API int name(Device device, unsigned* count, Entry* out) { \
    return on(#name, device, [&](const Gpu& gpu) { return give_processes(list, count, out); }); }

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
FAKE_FLAGS(nvmlDeviceGetEccMode, int, gpu.modes.ecc, gpu.modes.ecc_pending)
FAKE_FLAGS(nvmlDeviceGetMigMode, unsigned, gpu.modes.mig, gpu.modes.mig_pending)
FAKE_CLOCK(nvmlDeviceGetClockInfo, gpu.clocks.sm_mhz)
FAKE_CLOCK(nvmlDeviceGetMaxClockInfo, gpu.clocks.sm_max_mhz)
FAKE_CLOCK(nvmlDeviceGetApplicationsClock, gpu.clocks.application_sm_mhz)
FAKE_CLOCK(nvmlDeviceGetDefaultApplicationsClock, gpu.clocks.default_sm_mhz)
#if MUSTER_FAKE_BRANCH >= 535
FAKE_VALUE(nvmlDeviceGetCurrentClocksEventReasons, Counter, gpu.clocks.reasons)
FAKE_FLAGS(nvmlDeviceGetGspFirmwareMode, unsigned, gpu.firmware.gsp_enabled, gpu.firmware.gsp_default)
FAKE_PROCESSES(nvmlDeviceGetComputeRunningProcesses_v3, Process, gpu.processes)
FAKE_PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v3, Process, gpu.graphics)
#else
FAKE_PROCESSES(nvmlDeviceGetComputeRunningProcesses, ProcessV1, gpu.processes)
FAKE_VALUE(nvmlDeviceGetCurrentClocksThrottleReasons, Counter, gpu.clocks.reasons)
#endif

// clang-format on

FAKE_API int nvmlDeviceGetPciInfo_v3(Device device, PciInfo* out) {
  return on(__func__, device,
            [&](const Gpu& gpu) { return give(Fact<std::string>(gpu.address), out, pci_of); });
}

FAKE_API int nvmlDeviceGetMemoryInfo(Device device, Memory* out) {
  return on(__func__, device, [&](const Gpu& gpu) {
    return give(gpu.memory, out, [](const GpuMemory& memory) {
      return Memory{.total = memory.total,
                    .free = memory.free,
                    .used = memory.used + memory.reserved.value_or(0)};
    });
  });
}

FAKE_API int nvmlDeviceGetRowRemapperHistogram(Device device, Histogram* out) {
  return on(__func__, device, [&](const Gpu& gpu) {
    return give(gpu.spare_rows, out, [](const GpuSpareRows& rows) {
      return Histogram{.max = static_cast<unsigned>(rows.all),
                       .high = static_cast<unsigned>(rows.high),
                       .partial = static_cast<unsigned>(rows.partial),
                       .low = static_cast<unsigned>(rows.low),
                       .none = static_cast<unsigned>(rows.none)};
    });
  });
}

FAKE_API int nvmlDeviceGetRemappedRows(Device device, unsigned* corrected, unsigned* uncorrected,
                                       unsigned* pending, unsigned* failed) {
  return on(__func__, device, [&](const Gpu& gpu) -> int {
    if (corrected == nullptr || uncorrected == nullptr || pending == nullptr || failed == nullptr) {
      return kInvalidArgument;
    }
    const auto rows = gpu.remapped_rows.value_or({});
    *corrected = static_cast<unsigned>(rows.corrected);
    *uncorrected = static_cast<unsigned>(rows.uncorrected);
    *pending = rows.pending ? 1 : 0;
    *failed = rows.failed ? 1 : 0;
    return code_of(gpu.remapped_rows);
  });
}

FAKE_API int nvmlDeviceGetUtilizationRates(Device device, Utilization* out) {
  return on(__func__, device, [&](const Gpu& gpu) {
    return give(gpu.utilisation, out, [](unsigned percent) { return Utilization{percent, 0}; });
  });
}

FAKE_API int nvmlDeviceValidateInforom(Device device) {
  return on(__func__, device, [&](const Gpu& gpu) -> int {
    if (!gpu.firmware.inforom_valid) return code_of(gpu.firmware.inforom_valid);
    return *gpu.firmware.inforom_valid ? kOk : kCorruptedInforom;
  });
}

FAKE_API int nvmlDeviceGetMemoryErrorCounter(Device device, int type, int since, int location,
                                             Counter* out) {
  return on(__func__, device,
            [&](const Gpu& gpu) -> int { return give(ecc_of(gpu, type, since, location), out); });
}

// NOLINTNEXTLINE(readability-non-const-parameter): as NVML declares it
FAKE_API int nvmlDeviceGetRetiredPages(Device device, int cause, unsigned* count, Counter* out) {
  return on(__func__, device, [&](const Gpu& gpu) -> int {
    const auto& fact =
        cause == kDoubleBit ? gpu.retired_pages.double_bit : gpu.retired_pages.single_bit;
    const int code = give(fact, count);
    // Without room for the addresses, returns only their number.
    return code == kOk && out == nullptr && *count > 0 ? kInsufficientSize : code;
  });
}

FAKE_API int nvmlDeviceGetTemperature(Device device, int sensor, unsigned* out) {
  return on(__func__, device, [&](const Gpu& gpu) -> int {
    return sensor == 0 ? give(gpu.heat.gpu_c, out) : kInvalidArgument;
  });
}

FAKE_API int nvmlDeviceGetTemperatureThreshold(Device device, int threshold, unsigned* out) {
  return on(__func__, device, [&](const Gpu& gpu) -> int {
    if (threshold == kThresholdMemoryMax) return give(gpu.heat.memory_max_c, out);
    if (threshold != kThresholdSlowdown || !gpu.heat.margin_c || !gpu.heat.gpu_c) {
      return kNotSupported;
    }
    return give(Fact<int>(*gpu.heat.gpu_c + *gpu.heat.margin_c), out);
  });
}

#if MUSTER_FAKE_BRANCH >= 535
FAKE_API int nvmlDeviceGetMemoryInfo_v2(Device device, MemoryV2* out) {
  return on(__func__, device, [&](const Gpu& gpu) -> int {
    if (const int code = check_version(out, 2); code != kOk) return code;
    return give(gpu.memory, out, [&](const GpuMemory& memory) {
      return MemoryV2{.version = out->version,
                      .total = memory.total,
                      .reserved = memory.reserved.value_or(0),
                      .free = memory.free,
                      .used = memory.used};
    });
  });
}

FAKE_API int nvmlDeviceGetGspFirmwareVersion(Device device, char* out) {
  return on(__func__, device,
            [&](const Gpu& gpu) -> int { return give_text(gpu.firmware.gsp, out, 80); });
}

FAKE_API int nvmlDeviceGetSramEccErrorStatus(Device device, Sram* out) {
  return on(__func__, device, [&](const Gpu& gpu) -> int {
    if (const int code = check_version(out, 1); code != kOk) return code;
    return give(gpu.sram, out, [&](const GpuSram& sram) {
      return Sram{.version = out->version,
                  .aggregate_parity = sram.unique_uncorrected,
                  .threshold_exceeded = sram.threshold_exceeded ? 1U : 0U};
    });
  });
}
#endif

#if MUSTER_FAKE_BRANCH >= 570
FAKE_VALUE(nvmlDeviceGetNumaNodeId, unsigned, gpu.numa_node)

FAKE_API int nvmlDeviceGetRepairStatus(Device device, Repair* out) {
  return on(__func__, device, [&](const Gpu& gpu) -> int {
    if (const int code = check_version(out, 1); code != kOk) return code;
    return give(gpu.repairs, out, [&](const GpuRepairs& repairs) {
      return Repair{out->version, repairs.channel_pending ? 1U : 0U, repairs.tpc_pending ? 1U : 0U};
    });
  });
}

FAKE_API int nvmlDeviceGetTemperatureV(Device device, Temperature* out) {
  return on(__func__, device, [&](const Gpu& gpu) -> int {
    if (const int code = check_version(out, 1); code != kOk) return code;
    return out->sensor == 0 ? give(gpu.heat.gpu_c, &out->celsius) : kInvalidArgument;
  });
}

FAKE_API int nvmlDeviceGetMarginTemperature(Device device, Margin* out) {
  return on(__func__, device, [&](const Gpu& gpu) -> int {
    if (const int code = check_version(out, 1); code != kOk) return code;
    return give(gpu.heat.margin_c, &out->celsius);
  });
}
#endif
