// SPDX-License-Identifier: Apache-2.0
// The functions of the fake libnvidia-ml.so.1 about the driver, and those of other clients. The
// scenario is the file MUSTER_FAKE_NVML, or `scenario` next to the library. Each nvmlInit reads it,
// so that counters can change between runs. MUSTER_FAKE_BRANCH is the driver branch whose symbols
// the library exports.
#include "tests/fakes/nvml/answers.hpp"

namespace {

using namespace muster;         // NOLINT(google-build-using-namespace): all of it is a fake
using namespace muster::nvml;   // NOLINT(google-build-using-namespace): the same
using namespace muster::fakes;  // NOLINT(google-build-using-namespace): the same

// No processes of this kind: graphics, or clients of MPS.
int give_none(std::string_view call, Device device, unsigned* count) {
  return on(call, device, [&](const Gpu& /*gpu*/) -> int {
    if (count == nullptr) return kInvalidArgument;
    *count = 0;
    return kOk;
  });
}

// No such GPU.
constexpr int kNotFound = 6;

template <class Matches>
int find_gpu(Device* device, Matches matches) {
  const Script scenario = script();
  if (!scenario) return kUninitialised;
  if (device == nullptr) return kInvalidArgument;
  for (const Gpu& gpu : scenario->nvml.gpus) {
    if (!matches(gpu)) continue;
    *device = handle_of(gpu.index);
    return kOk;
  }
  return kNotFound;
}

}  // namespace

FAKE_API const char* nvmlErrorString(int code) {
  switch (code) {
    case kOk:
      return "Success";
    case kUninitialised:
      return "Uninitialized";
    case kInvalidArgument:
      return "Invalid Argument";
    case kNotSupported:
      return "Not Supported";
    case kNoPermission:
      return "Insufficient Permissions";
    case 9:
      return "Driver Not Loaded";
    case kGpuIsLost:
      return "GPU is lost";
    case kResetRequired:
      return "GPU requires reset";
    case 18:
      return "Driver/library version mismatch";
    default:
      return "Unknown Error";
  }
}

FAKE_API int nvmlInit_v2() { return start(); }

FAKE_API int nvmlShutdown() { return stop(); }

FAKE_API int nvmlSystemGetDriverVersion(char* version, unsigned size) {
  return on_driver(__func__,
                   [&](const Nvml& nvml) { return give_text(nvml.driver, version, size); });
}

FAKE_API int nvmlSystemGetCudaDriverVersion_v2(int* version) {
  return on_driver(__func__, [&](const Nvml& nvml) { return give(nvml.cuda, version); });
}

#if MUSTER_FAKE_BRANCH >= 570
FAKE_API int nvmlSystemGetConfComputeState(ConfidentialState* out) {
  return on_driver(__func__, [&](const Nvml& nvml) -> int {
    if (out == nullptr) return kInvalidArgument;
    *out = {};
    return give(nvml.confidential, &out->feature);
  });
}

FAKE_API int nvmlSystemGetConfComputeGpusReadyState(unsigned* out) {
  return on_driver(__func__, [&](const Nvml& nvml) { return give(nvml.confidential_ready, out); });
}
#endif

FAKE_API int nvmlDeviceGetCount_v2(unsigned* count) {
  return on_driver(__func__, [&](const Nvml& nvml) -> int {
    if (count == nullptr) return kInvalidArgument;
    *count = static_cast<unsigned>(nvml.gpus.size());
    return kOk;
  });
}

FAKE_API int nvmlDeviceGetHandleByIndex_v2(unsigned index, Device* device) {
  const Script scenario = script();
  if (!scenario) return kUninitialised;
  if (device == nullptr || index >= scenario->nvml.gpus.size()) return kInvalidArgument;
  if (const auto code = obstacle(*scenario, "nvmlDeviceGetHandleByIndex_v2", index)) return *code;
  *device = handle_of(index);
  return kOk;
}

// Functions that only other clients of NVML use: nvtop, gpustat, exporters. Answered from the
// facts, or "not supported", as by data centre GPUs.

FAKE_API int nvmlInit() { return start(); }

FAKE_API int nvmlInitWithFlags(unsigned /*flags*/) { return start(); }

FAKE_API int nvmlSystemGetNVMLVersion(char* version, unsigned size) {
  return on_driver(__func__, [&](const Nvml& nvml) {
    const auto branch = nvml.driver ? Fact<std::string>("12." + *nvml.driver) : nvml.driver;
    return give_text(branch, version, size);
  });
}

FAKE_API int nvmlDeviceGetIndex(Device device, unsigned* index) {
  return on(__func__, device,
            [&](const Gpu& gpu) { return give(Fact<unsigned>(gpu.index), index); });
}

FAKE_API int nvmlDeviceGetHandleByUUID(const char* uuid, Device* device) {
  if (uuid == nullptr) return kInvalidArgument;
  return find_gpu(device, [&](const Gpu& gpu) { return gpu.uuid && *gpu.uuid == uuid; });
}

FAKE_API int nvmlDeviceGetPcieThroughput(Device device, int /*direction*/, unsigned* kib_per_s) {
  return on(__func__, device,
            [&](const Gpu& /*gpu*/) { return give(Fact<unsigned>(0U), kib_per_s); });
}

// Not supported by data centre GPUs.
FAKE_API int nvmlDeviceGetFanSpeed(Device device, unsigned* /*percent*/) {
  return on(__func__, device, [](const Gpu& /*gpu*/) { return kNotSupported; });
}

FAKE_API int nvmlDeviceGetEncoderUtilization(Device device, unsigned* percent,
                                             unsigned* period_us) {
  return on(__func__, device, [&](const Gpu& /*gpu*/) -> int {
    const int code = give(Fact<unsigned>(0U), percent);
    return code == kOk ? give(Fact<unsigned>(1'000'000U), period_us) : code;
  });
}

FAKE_API int nvmlDeviceGetDecoderUtilization(Device device, unsigned* percent,
                                             unsigned* period_us) {
  return nvmlDeviceGetEncoderUtilization(device, percent, period_us);
}

FAKE_API int nvmlDeviceGetGraphicsRunningProcesses(Device device, unsigned* count,
                                                   ProcessV1* /**/) {
  return give_none("nvmlDeviceGetGraphicsRunningProcesses", device, count);
}

FAKE_API int nvmlDeviceGetMPSComputeRunningProcesses_v3(Device device, unsigned* count,
                                                        Process* /**/) {
  return give_none("nvmlDeviceGetMPSComputeRunningProcesses_v3", device, count);
}

// No samples.
FAKE_API int nvmlDeviceGetProcessUtilization(Device device, void* /*samples*/, unsigned* count,
                                             Counter /*since*/) {
  return give_none("nvmlDeviceGetProcessUtilization", device, count);
}
