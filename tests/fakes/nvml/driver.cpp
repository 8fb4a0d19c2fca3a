// SPDX-License-Identifier: Apache-2.0
// A libnvidia-ml.so.1 without GPUs: the functions about the driver as a whole. The scenario is the
// file that MUSTER_FAKE_NVML names, else `scenario` beside the library; it is read at each
// nvmlInit, so that counters can move between runs. MUSTER_FAKE_BRANCH is the driver branch whose
// symbols the library offers.
#include <mutex>

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

FAKE_API int nvmlInit_v2() {
  {
    const std::lock_guard lock(state().guard);
    if (!load_scenario()) return kUnknownError;
  }
  if (const auto code = obstacle("nvmlInit_v2", std::nullopt)) return *code;
  const std::lock_guard lock(state().guard);
  ++state().initialised;
  return kOk;
}

FAKE_API int nvmlShutdown() {
  const std::lock_guard lock(state().guard);
  if (state().initialised == 0) return kUninitialised;
  --state().initialised;
  return kOk;
}

FAKE_API int nvmlSystemGetDriverVersion(char* version, unsigned size) {
  if (const auto code = system_obstacle("nvmlSystemGetDriverVersion")) return *code;
  return give_text(state().scenario.nvml.driver, version, size);
}

FAKE_API int nvmlSystemGetCudaDriverVersion_v2(int* version) {
  if (const auto code = system_obstacle("nvmlSystemGetCudaDriverVersion_v2")) return *code;
  return give(state().scenario.nvml.cuda, version);
}

FAKE_API int nvmlDeviceGetCount_v2(unsigned* count) {
  if (const auto code = system_obstacle("nvmlDeviceGetCount_v2")) return *code;
  if (count == nullptr) return kInvalidArgument;
  *count = static_cast<unsigned>(state().scenario.nvml.gpus.size());
  return kOk;
}

FAKE_API int nvmlDeviceGetHandleByIndex_v2(unsigned index, Device* device) {
  if (state().initialised == 0) return kUninitialised;
  if (device == nullptr || index >= state().scenario.nvml.gpus.size()) return kInvalidArgument;
  if (const auto code = obstacle("nvmlDeviceGetHandleByIndex_v2", index)) return *code;
  *device = &state().handles.at(index);
  return kOk;
}
