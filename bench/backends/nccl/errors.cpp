// SPDX-License-Identifier: Apache-2.0
#include "bench/backends/nccl/errors.hpp"

#include <fmt/format.h>

#include "lib/base/text.hpp"

namespace muster::bench {
namespace {

std::string_view cause_of_cuda(int code) {
  switch (code) {
    case cuda::kStubLibrary:
      return "the library is the stub for building; the driver's own must be found first";
    case cuda::kNoDevice:
      return "no GPU is visible to this process";
    case cuda::kUncorrectableEcc:
      return "the GPU's memory has an uncorrectable error";
    case cuda::kInvalidPtx:
      return "the driver is older than CUDA 10.1";
    case cuda::kNoJitCompiler:
      return "the driver's compiler, libnvidia-ptxjitcompiler.so.1, is not there: in a container, "
             "NVIDIA_DRIVER_CAPABILITIES must have compute";
    case cuda::kNewerPtx:
      return "the driver is older than this program's kernels";
    case cuda::kNvlinkUncorrectable:
      return "NVLink has an uncorrectable error";
    case cuda::kIllegalAddress:
    case cuda::kLaunchFailed:
      return "the kernel log may hold an XID";
    case cuda::kSystemNotReady:
      return "the Fabric Manager is not running, or has not set up the NVSwitches";
    case cuda::kSystemDriverMismatch:
      return "the driver's library and its kernel module are of different versions";
    default:
      return {};
  }
}

std::string_view cause_of_nccl(int code) {
  switch (code) {
    case nccl::kUnhandledCuda:
      return "a call of CUDA failed inside NCCL";
    case nccl::kSystem:
      return "a call of the system or of the network failed inside NCCL";
    case nccl::kRemote:
      return "a peer has ended, or cannot be reached over the network";
    default:
      return {};
  }
}

std::string with_cause(std::string text, std::string_view cause) {
  return cause.empty() ? text : fmt::format("{}: {}", text, cause);
}

}  // namespace

Error trouble(const cuda::Library& library, std::string_view call, int code) {
  const char* text = nullptr;
  const char* name = nullptr;
  if (library.error_string.call(code, &text) != cuda::kSuccess) text = nullptr;
  if (library.error_name.call(code, &name) != cuda::kSuccess) name = nullptr;
  return {.message = with_cause(fmt::format("{}: {} (CUDA {}{}{})",
                                            call,
                                            text == nullptr ? "unknown error" : printable(text),
                                            code,
                                            name == nullptr ? "" : ", ",
                                            name == nullptr ? "" : printable(name)),
                                cause_of_cuda(code))};
}

Error trouble(const nccl::Library& library,
              std::string_view call,
              int code,
              nccl::Communicator communicator) {
  const char* text = library.error_string.call(code);
  auto message = fmt::format(
      "{}: {} (NCCL {})", call, text == nullptr ? "unknown error" : printable(text), code);
  const char* last =
      library.last_error.call == nullptr ? nullptr : library.last_error.call(communicator);
  if (last != nullptr && !trim(last).empty())
    return {fmt::format("{}: {}", message, printable(trim(last)))};
  return {.message = with_cause(std::move(message), cause_of_nccl(code))};
}

Error trouble(const cublas::Library& library, std::string_view call, int code) {
  const char* text = library.status_text.call == nullptr ? nullptr : library.status_text.call(code);
  auto message = fmt::format(
      "{}: {} (cuBLAS {})", call, text == nullptr ? "unknown error" : printable(text), code);
  if (code == cublas::kArchMismatch || code == cublas::kNotInitialised) {
    message += ": the library may be older than the GPU, or newer than the driver";
  }
  return {.message = std::move(message)};
}

}  // namespace muster::bench
