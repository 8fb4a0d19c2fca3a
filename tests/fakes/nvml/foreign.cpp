// SPDX-License-Identifier: Apache-2.0
// Functions that only other clients of NVML use: nvtop, gpustat, exporters. Answered from the
// facts, or "not supported", as by data centre GPUs.
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

FAKE_API int nvmlInit() { return start(); }

FAKE_API int nvmlInitWithFlags(unsigned /*flags*/) { return start(); }

FAKE_API int nvmlSystemGetNVMLVersion(char* version, unsigned size) {
  return on_driver("nvmlSystemGetNVMLVersion", [&](const Nvml& nvml) {
    const auto branch = nvml.driver ? Fact<std::string>("12." + *nvml.driver) : nvml.driver;
    return give_text(branch, version, size);
  });
}

FAKE_API int nvmlDeviceGetIndex(Device device, unsigned* index) {
  return on("nvmlDeviceGetIndex", device,
            [&](const Gpu& gpu) { return give(Fact<unsigned>(gpu.index), index); });
}

FAKE_API int nvmlDeviceGetHandleByUUID(const char* uuid, Device* device) {
  if (uuid == nullptr) return kInvalidArgument;
  return find_gpu(device, [&](const Gpu& gpu) { return gpu.uuid && *gpu.uuid == uuid; });
}

FAKE_API int nvmlDeviceGetPcieThroughput(Device device, int /*direction*/, unsigned* kib_per_s) {
  return on("nvmlDeviceGetPcieThroughput", device,
            [&](const Gpu& /*gpu*/) { return give(Fact<unsigned>(0U), kib_per_s); });
}

// Not supported by data centre GPUs.
FAKE_API int nvmlDeviceGetFanSpeed(Device device, unsigned* /*percent*/) {
  return on("nvmlDeviceGetFanSpeed", device, [](const Gpu& /*gpu*/) { return kNotSupported; });
}

FAKE_API int nvmlDeviceGetEncoderUtilization(Device device, unsigned* percent,
                                             unsigned* period_us) {
  return on("nvmlDeviceGetEncoderUtilization", device, [&](const Gpu& /*gpu*/) -> int {
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
