// SPDX-License-Identifier: Apache-2.0
// NVML, loaded at run time. Each function is looked up by its newest name first; one that the
// driver lacks is unsupported, and an error only if muster requires it. Return codes become facts:
// unsupported values are absent, failures are unreadable, and faults of the GPU are recorded.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "lib/base/fact.hpp"
#include "lib/base/text.hpp"
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

// Calls NVML.
class Caller {
 public:
  // Calls `calling` with a function's name before each call, and with an empty name after it.
  Caller(const Functions& functions, std::function<void(std::string_view)> calling)
      : functions_(functions), calling_(std::move(calling)) {}

  // Retries once if the driver is not ready.
  template <class Signature, class... Arguments>
  int operator()(const Function<Signature>& function, Arguments... arguments) {
    if (function.call == nullptr) return kFunctionNotFound;
    calling_(function.name);
    int code = function.call(arguments...);
    if (code == kNotReady) {
      constexpr std::chrono::milliseconds kPause{10};
      std::this_thread::sleep_for(kPause);
      code = function.call(arguments...);
    }
    calling_({});
    if (code != kOk) note(function.name, code);
    return code;
  }

  // "nvmlDeviceGetName: GPU is lost".
  template <class Signature>
  [[nodiscard]] Error error(const Function<Signature>& function, int code) {
    constexpr std::array kNotOffered{kNotSupported, kFunctionNotFound, kVersionMismatch,
                                     kDeprecated};
    if (function.call == nullptr) {
      return {.message = fmt::format("this driver has no {}", function.names), .missing = true};
    }
    return {.message = fmt::format("{}: {}", function.name, word_for(code)),
            .missing = std::ranges::count(kNotOffered, code) > 0};
  }

  template <class T, class Signature>
  [[nodiscard]] Fact<T> fact(const Function<Signature>& function, int code, T value) {
    if (code == kOk) return value;
    return Fact<T>::failed(error(function, code));
  }

  // Returns the number that the function writes to its last argument, in another type.
  template <class To, class... Parameters, class... Arguments>
  [[nodiscard]] Fact<To> number(const Function<int(Parameters...)>& function,
                                Arguments... arguments) {
    constexpr auto kLast = sizeof...(Parameters) - 1;
    std::remove_pointer_t<std::tuple_element_t<kLast, std::tuple<Parameters...>>> raw{};
    const int code = (*this)(function, arguments..., &raw);
    return fact(function, code, static_cast<To>(raw));
  }

  // Returns the text that the function writes to a buffer; most functions also take its size.
  template <std::size_t Size, class... Parameters, class... Arguments>
  [[nodiscard]] Fact<std::string> text(const Function<int(Parameters...)>& function,
                                       Arguments... arguments) {
    std::array<char, Size + 1> buffer{};
    int code = kOk;
    if constexpr (sizeof...(Parameters) == sizeof...(Arguments) + 2) {
      code = (*this)(function, arguments..., buffer.data(), static_cast<unsigned>(Size));
    } else {
      code = (*this)(function, arguments..., buffer.data());
    }
    return fact(function, code, printable(buffer.data(), Size));
  }

  // NVML's text for a code.
  [[nodiscard]] std::string word_for(int code) {
    calling_(functions_.error_string.name);
    const char* word = functions_.error_string.call(code);
    calling_({});
    return fmt::format("{} ({})", printable(word == nullptr ? "no word for it" : word, 80), code);
  }

  // The call that found the GPU lost, with NVML's text; empty if none has.
  [[nodiscard]] const std::string& lost() const { return lost_; }

  // Codes that are faults of the GPU, each once.
  [[nodiscard]] const std::vector<std::string>& troubles() const { return troubles_; }

 private:
  void note(std::string_view name, int code) {
    constexpr std::array kFaults{kInsufficientPower, kIrqIssue, kCorruptedInforom, kResetRequired};
    if (code == kGpuIsLost) {
      if (lost_.empty()) lost_ = fmt::format("{}: {}", name, word_for(code));
    } else if (std::ranges::count(kFaults, code) > 0 && std::ranges::count(faults_, code) == 0) {
      faults_.push_back(code);
      troubles_.push_back(fmt::format("{}: {}", name, word_for(code)));
    }
  }

  const Functions& functions_;
  std::function<void(std::string_view)> calling_;
  std::string lost_;
  std::vector<int> faults_;
  std::vector<std::string> troubles_;
};

// A field's value as a natural number.
[[nodiscard]] Fact<std::uint64_t> number_of(const FieldValue& field);

// A fact in another type.
template <class To, class From>
[[nodiscard]] Fact<To> as(const Fact<From>& from) {
  if (from) return static_cast<To>(*from);
  return from.is_absent() ? Fact<To>::absent(from.why()) : Fact<To>::unreadable(from.why());
}

}  // namespace muster::nvml
