// SPDX-License-Identifier: Apache-2.0
// A libnvidia-ml.so.1 without GPUs: the functions about the driver. The scenario is the file
// MUSTER_FAKE_NVML, or `scenario` next to the library. Each nvmlInit reads it, so that counters can
// change between runs. MUSTER_FAKE_BRANCH is the driver branch whose symbols the library exports.
#include "tests/fakes/nvml/answers.hpp"

namespace {

using namespace muster;         // NOLINT(google-build-using-namespace): all of it is a fake
using namespace muster::nvml;   // NOLINT(google-build-using-namespace): the same
using namespace muster::fakes;  // NOLINT(google-build-using-namespace): the same

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
  return on_driver("nvmlSystemGetDriverVersion",
                   [&](const Nvml& nvml) { return give_text(nvml.driver, version, size); });
}

FAKE_API int nvmlSystemGetCudaDriverVersion_v2(int* version) {
  return on_driver("nvmlSystemGetCudaDriverVersion_v2",
                   [&](const Nvml& nvml) { return give(nvml.cuda, version); });
}

#if MUSTER_FAKE_BRANCH >= 570
FAKE_API int nvmlSystemGetConfComputeState(ConfidentialState* out) {
  return on_driver("nvmlSystemGetConfComputeState", [&](const Nvml& nvml) -> int {
    if (out == nullptr) return kInvalidArgument;
    *out = {};
    return give(nvml.confidential, &out->feature);
  });
}

FAKE_API int nvmlSystemGetConfComputeGpusReadyState(unsigned* out) {
  return on_driver("nvmlSystemGetConfComputeGpusReadyState",
                   [&](const Nvml& nvml) { return give(nvml.confidential_ready, out); });
}
#endif

FAKE_API int nvmlDeviceGetCount_v2(unsigned* count) {
  return on_driver("nvmlDeviceGetCount_v2", [&](const Nvml& nvml) -> int {
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
