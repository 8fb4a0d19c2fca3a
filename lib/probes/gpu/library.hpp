// SPDX-License-Identifier: Apache-2.0
// NVML, loaded at run time. Each function is looked up by its newest name first. One that the
// driver does not have is unsupported, and an error only if muster requires it.
#pragma once

#include <string>
#include <string_view>

#include "lib/base/result.hpp"
#include "lib/probes/gpu/abi.hpp"

namespace muster::nvml {

template <class Signature>
struct Function {
  std::string_view names;  // newest first, separated by blanks
  bool required = false;
  std::string_view name;  // the name that was found
  Signature* call = nullptr;
};

// Member, whether it is required, names, signature.
// clang-format off
#define MUSTER_NVML_FUNCTIONS(X) \
  X(init, true, "nvmlInit_v2", int()) \
  X(shutdown, true, "nvmlShutdown", int()) \
  X(error_string, true, "nvmlErrorString", const char*(int)) \
  X(driver_version, false, "nvmlSystemGetDriverVersion", int(char*, unsigned)) \
  X(cuda_version, false, "nvmlSystemGetCudaDriverVersion_v2 nvmlSystemGetCudaDriverVersion", int(int*)) \
  X(count, true, "nvmlDeviceGetCount_v2", int(unsigned*)) \
  X(handle, true, "nvmlDeviceGetHandleByIndex_v2", int(unsigned, Device*)) \
  X(pci, true, "nvmlDeviceGetPciInfo_v3", int(Device, PciInfo*)) \
  X(uuid, true, "nvmlDeviceGetUUID", int(Device, char*, unsigned)) \
  X(name, false, "nvmlDeviceGetName", int(Device, char*, unsigned)) \
  X(serial, false, "nvmlDeviceGetSerial", int(Device, char*, unsigned)) \
  X(architecture, false, "nvmlDeviceGetArchitecture", int(Device, unsigned*)) \
  X(minor, false, "nvmlDeviceGetMinorNumber", int(Device, unsigned*)) \
  X(vbios, false, "nvmlDeviceGetVbiosVersion", int(Device, char*, unsigned)) \
  X(inforom, false, "nvmlDeviceGetInforomImageVersion", int(Device, char*, unsigned)) \
  X(validate_inforom, false, "nvmlDeviceValidateInforom", int(Device)) \
  X(gsp_version, false, "nvmlDeviceGetGspFirmwareVersion", int(Device, char*)) \
  X(gsp_mode, false, "nvmlDeviceGetGspFirmwareMode", int(Device, unsigned*, unsigned*)) \
  X(link_generation, false, "nvmlDeviceGetCurrPcieLinkGeneration", int(Device, unsigned*)) \
  X(link_generation_max, false, "nvmlDeviceGetMaxPcieLinkGeneration", int(Device, unsigned*)) \
  X(link_width, false, "nvmlDeviceGetCurrPcieLinkWidth", int(Device, unsigned*)) \
  X(link_width_max, false, "nvmlDeviceGetMaxPcieLinkWidth", int(Device, unsigned*)) \
  X(replays, false, "nvmlDeviceGetPcieReplayCounter", int(Device, unsigned*)) \
  X(memory_v2, false, "nvmlDeviceGetMemoryInfo_v2", int(Device, MemoryV2*)) \
  X(memory, false, "nvmlDeviceGetMemoryInfo", int(Device, Memory*)) \
  X(ecc_mode, false, "nvmlDeviceGetEccMode", int(Device, int*, int*)) \
  X(memory_errors, false, "nvmlDeviceGetMemoryErrorCounter", int(Device, int, int, int, Counter*)) \
  X(sram, false, "nvmlDeviceGetSramEccErrorStatus", int(Device, Sram*)) \
  X(retired_pages, false, "nvmlDeviceGetRetiredPages", int(Device, int, unsigned*, Counter*)) \
  X(retired_pending, false, "nvmlDeviceGetRetiredPagesPendingStatus", int(Device, int*)) \
  X(remapped_rows, false, "nvmlDeviceGetRemappedRows", int(Device, unsigned*, unsigned*, unsigned*, unsigned*)) \
  X(spare_rows, false, "nvmlDeviceGetRowRemapperHistogram", int(Device, Histogram*)) \
  X(repairs, false, "nvmlDeviceGetRepairStatus", int(Device, Repair*)) \
  X(clock, false, "nvmlDeviceGetClockInfo", int(Device, int, unsigned*)) \
  X(clock_max, false, "nvmlDeviceGetMaxClockInfo", int(Device, int, unsigned*)) \
  X(clock_applications, false, "nvmlDeviceGetApplicationsClock", int(Device, int, unsigned*)) \
  X(clock_default, false, "nvmlDeviceGetDefaultApplicationsClock", int(Device, int, unsigned*)) \
  X(clock_reasons, false, "nvmlDeviceGetCurrentClocksEventReasons nvmlDeviceGetCurrentClocksThrottleReasons", int(Device, Counter*)) \
  X(performance_state, false, "nvmlDeviceGetPerformanceState", int(Device, int*)) \
  X(temperature_v, false, "nvmlDeviceGetTemperatureV", int(Device, Temperature*)) \
  X(temperature, false, "nvmlDeviceGetTemperature", int(Device, int, unsigned*)) \
  X(temperature_threshold, false, "nvmlDeviceGetTemperatureThreshold", int(Device, int, unsigned*)) \
  X(margin, false, "nvmlDeviceGetMarginTemperature", int(Device, Margin*)) \
  X(power, false, "nvmlDeviceGetPowerUsage", int(Device, unsigned*)) \
  X(power_enforced, false, "nvmlDeviceGetEnforcedPowerLimit", int(Device, unsigned*)) \
  X(power_default, false, "nvmlDeviceGetPowerManagementDefaultLimit", int(Device, unsigned*)) \
  X(power_set, false, "nvmlDeviceGetPowerManagementLimit", int(Device, unsigned*)) \
  X(utilisation, false, "nvmlDeviceGetUtilizationRates", int(Device, Utilization*)) \
  X(numa_node, false, "nvmlDeviceGetNumaNodeId", int(Device, unsigned*)) \
  X(confidential, false, "nvmlSystemGetConfComputeState", int(ConfidentialState*)) \
  X(confidential_ready, false, "nvmlSystemGetConfComputeGpusReadyState", int(unsigned*)) \
  X(persistence, false, "nvmlDeviceGetPersistenceMode", int(Device, int*)) \
  X(compute_mode, false, "nvmlDeviceGetComputeMode", int(Device, int*)) \
  X(mig, false, "nvmlDeviceGetMigMode", int(Device, unsigned*, unsigned*)) \
  X(processes, false, "nvmlDeviceGetComputeRunningProcesses_v3 nvmlDeviceGetComputeRunningProcesses_v2", int(Device, unsigned*, Process*)) \
  X(processes_v1, false, "nvmlDeviceGetComputeRunningProcesses", int(Device, unsigned*, ProcessV1*)) \
  X(graphics, false, "nvmlDeviceGetGraphicsRunningProcesses_v3 nvmlDeviceGetGraphicsRunningProcesses_v2", int(Device, unsigned*, Process*)) \
  X(nvlink_state, false, "nvmlDeviceGetNvLinkState", int(Device, unsigned, int*)) \
  X(nvlink_errors, false, "nvmlDeviceGetNvLinkErrorCounter", int(Device, unsigned, int, Counter*)) \
  X(nvlink_peer, false, "nvmlDeviceGetNvLinkRemotePciInfo_v2 nvmlDeviceGetNvLinkRemotePciInfo", int(Device, unsigned, PciInfo*)) \
  X(nvlink_peer_type, false, "nvmlDeviceGetNvLinkRemoteDeviceType", int(Device, unsigned, int*)) \
  X(fabric_v, false, "nvmlDeviceGetGpuFabricInfoV", int(Device, FabricV3*)) \
  X(fabric, false, "nvmlDeviceGetGpuFabricInfo", int(Device, Fabric*)) \
  X(peer_access, false, "nvmlDeviceGetP2PStatus", int(Device, Device, int, int*)) \
  X(fields, false, "nvmlDeviceGetFieldValues", int(Device, int, FieldValue*))

// clang-format on

struct Functions {
#define MUSTER_NVML_MEMBER(member, required, names, ...) \
  Function<__VA_ARGS__> member{names, required, {}, nullptr};
  MUSTER_NVML_FUNCTIONS(MUSTER_NVML_MEMBER)
#undef MUSTER_NVML_MEMBER
};

struct Library {
  std::string path;
  Functions functions;
};

// Loads the named file, or the driver's libraries if `named` is empty; the error is `missing` if
// there is none. A library is never unloaded, because a thread may hang in it.
[[nodiscard]] Result<Library> open_library(const std::string& named);

}  // namespace muster::nvml
