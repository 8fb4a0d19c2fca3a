// SPDX-License-Identifier: Apache-2.0
#include "bench/backends/nccl/library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "lib/base/text.hpp"

namespace muster::bench {
namespace {

std::string text_of(const char* text) {
  return text == nullptr ? "unknown error" : printable(text);
}

// Loads the first of these files and looks up the functions of `library`.
class LibraryLoader {
 public:
  [[nodiscard]] Result<void> open(const std::vector<std::string>& files) {
    std::string why;
    for (const auto& file : files) {
      library_ = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (library_ != nullptr) return {};
      const char* text = ::dlerror();  // NOLINT(concurrency-mt-unsafe): one thread opens
      if (why.empty()) why = text_of(text);
    }
    return make_missing(std::move(why));
  }

  template <class Signature>
  void find(Symbol<Signature>& symbol) {
    const std::string name(symbol.name);
    symbol.call = reinterpret_cast<Signature*>(::dlsym(library_, name.c_str()));
    if (symbol.call == nullptr && symbol.required) missing_.push_back(name);
  }

  [[nodiscard]] Result<void> check(std::string_view path, std::string_view what) const {
    if (missing_.empty()) return {};
    return make_error("{} is not a usable {}: {} {} missing", path, what, fmt::join(missing_, ", "),
                      missing_.size() == 1 ? "is" : "are");
  }

 private:
  void* library_ = nullptr;
  std::vector<std::string> missing_;
};

using Files = std::vector<std::string>;

// An error of CUDA and its cause.
struct CudaError {
  int code = 0;
  std::string_view cause;
  bool broken = false;         // the hardware, or NVSwitches that are not set up
  std::string_view text = {};  // CUDA's; NCCL before 2.20 quotes it without the code
};

constexpr std::array<CudaError, 14> kCudaErrors{{
    {cuda::kStubLibrary,
     "this is the stub library for building; put the driver's own library first"},
    {cuda::kNoDevice, "no GPU is visible to this process"},
    {cuda::kNoBinary, "the GPU is older than Volta, and this program's kernels do not run on it"},
    {cuda::kContained,
     "the GPU's hardware failed, or a peer's memory was accessed wrongly over NVLink; the process "
     "must be restarted",
     true, "nvlink or a hardware error"},
    {cuda::kUncorrectableEcc, "the GPU's memory has an uncorrectable error", true,
     "uncorrectable ECC error"},
    {cuda::kInvalidPtx, "the driver is older than CUDA 10.1"},
    {cuda::kNoJitCompiler,
     "the driver's compiler, libnvidia-ptxjitcompiler.so.1, is missing: in a container, "
     "NVIDIA_DRIVER_CAPABILITIES must include compute"},
    {cuda::kNewerPtx, "the driver is older than this program's kernels"},
    {cuda::kNvlinkUncorrectable, "NVLink has an uncorrectable error", true,
     "uncorrectable NVLink error"},
    {cuda::kHardwareStack, "", true, "hardware stack error"},
    {cuda::kIllegalAddress, "see the kernel log for an XID"},
    {cuda::kLaunchFailed, "see the kernel log for an XID", true, "unspecified launch failure"},
    {cuda::kSystemNotReady, "the Fabric Manager is not running, or has not set up the NVSwitches",
     true, "system not yet initialized"},
    {cuda::kSystemDriverMismatch, "the driver's library and kernel module have different versions"},
}};

CudaError cuda_error(int code) {
  const auto* const found = std::ranges::find(kCudaErrors, code, &CudaError::code);
  return found == kCudaErrors.end() ? CudaError{} : *found;
}

std::string_view cause_of_nccl(int code) {
  switch (code) {
    case nccl::kUnhandledCuda:
      return "a CUDA call failed inside NCCL";
    case nccl::kSystem:
      return "a system or network call failed inside NCCL";
    case nccl::kRemote:
      return "a peer has exited, or cannot be reached over the network";
    default:
      return {};
  }
}

// NCCL quotes CUDA's error: "Cuda failure 719 'unspecified launch failure'".
bool quotes_broken(std::string_view text) {
  constexpr std::string_view kBegin = "Cuda failure ";
  const auto at = text.find(kBegin);
  if (at == std::string_view::npos) return false;
  const auto quoted = text.substr(at + kBegin.size());
  const auto code = parse_unsigned(quoted.substr(0, quoted.find(' ')));
  if (code) return cuda_error(static_cast<int>(*code)).broken;
  return std::ranges::any_of(kCudaErrors, [&](const CudaError& error) {
    return error.broken && quoted.find(error.text) != std::string_view::npos;
  });
}

std::string with_cause(std::string text, std::string_view cause) {
  return cause.empty() ? text : fmt::format("{}: {}", text, cause);
}

}  // namespace

#define MUSTER_BENCH_FIND(member, ...) loader.find(library.member);

Result<cuda::Library> cuda::open_library(const std::string& named) {
  Library library{.path = named.empty() ? "libcuda.so.1" : named};
  LibraryLoader loader;
  TRY(loader.open({library.path}));
  MUSTER_CUDA_FUNCTIONS(MUSTER_BENCH_FIND)
  TRY(loader.check(library.path, "CUDA driver library"));
  return library;
}

Result<nccl::Library> nccl::open_library(const std::string& named) {
  Library library{.path = named.empty() ? "libnccl.so.2" : named};
  LibraryLoader loader;
  TRY(loader.open(named.empty() ? Files{"libnccl.so.2", "libnccl.so"} : Files{named}));
  MUSTER_NCCL_FUNCTIONS(MUSTER_BENCH_FIND)
  TRY(loader.check(library.path, "NCCL library"));
  return library;
}

std::vector<std::string> cublas::files_for(int driver_version) {
  Files files;
  for (const int major : {13, 12, 11}) {
    if (major * 1000 > driver_version) continue;
    files.push_back(fmt::format("libcublasLt.so.{}", major));
  }
  files.emplace_back("/usr/local/cuda/lib64/libcublasLt.so");
  return files;
}

Result<cublas::Library> cublas::open_library(const std::string& named,
                                             const cuda::Library& driver) {
  int version = 0;
  TRY(call(driver, driver.version, &version));
  Library library{.path = named.empty() ? "libcublasLt.so" : named};
  LibraryLoader loader;
  TRY(loader.open(named.empty() ? files_for(version) : Files{named}));
  MUSTER_CUBLAS_FUNCTIONS(MUSTER_BENCH_FIND)
  TRY(loader.check(library.path, "cuBLASLt library"));
  return library;
}

#undef MUSTER_BENCH_FIND

Error trouble(const cuda::Library& library, std::string_view call, int code) {
  const char* text = nullptr;
  const char* name = nullptr;
  if (library.error_string.call(code, &text) != cuda::kSuccess) text = nullptr;
  if (library.error_name.call(code, &name) != cuda::kSuccess) name = nullptr;
  const auto known = cuda_error(code);
  return {.message = with_cause(
              fmt::format("{}: {} (CUDA {}{}{})", call, text_of(text), code,
                          name == nullptr ? "" : ", ", name == nullptr ? "" : printable(name)),
              known.cause),
          // Other errors may come from a GPU that exists.
          .missing = code == cuda::kNoDevice || code == cuda::kStubLibrary,
          .broken = known.broken};
}

Error trouble(const nccl::Library& library, std::string_view call, int code,
              nccl::Communicator communicator) {
  const char* text = library.error_string.call(code);
  auto message = fmt::format("{}: {} (NCCL {})", call, text_of(text), code);
  const char* last =
      library.last_error.call == nullptr ? nullptr : library.last_error.call(communicator);
  if (last != nullptr && !trim(last).empty()) {
    return {.message = fmt::format("{}: {}", message, printable(trim(last))),
            .broken = quotes_broken(last)};
  }
  return {.message = with_cause(std::move(message), cause_of_nccl(code))};
}

Error trouble(const cublas::Library& library, std::string_view call, int code) {
  const char* text = library.status_text.call == nullptr ? nullptr : library.status_text.call(code);
  auto message = fmt::format("{}: {} (cuBLAS {})", call, text_of(text), code);
  if (code == cublas::kArchMismatch || code == cublas::kNotInitialised) {
    message += ": the library may be older than the GPU, or newer than the driver";
  }
  return {.message = std::move(message)};
}

}  // namespace muster::bench
