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

// Loads the first of these files and looks up the functions of `library`.
class LibraryLoader {
 public:
  [[nodiscard]] Result<void> open(const std::vector<std::string>& files) {
    std::string why;
    for (const auto& file : files) {
      library_ = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (library_ != nullptr) return {};
      const char* text = ::dlerror();  // NOLINT(concurrency-mt-unsafe): one thread opens
      if (why.empty()) why = printable(text == nullptr ? "unknown error" : text, 300);
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
    return make_error(fmt::format("{} is not a usable {}: {} {} missing", path, what,
                                  fmt::join(missing_, ", "), missing_.size() == 1 ? "is" : "are"));
  }

 private:
  void* library_ = nullptr;
  std::vector<std::string> missing_;
};

using Files = std::vector<std::string>;

std::string_view cause_of_cuda(int code) {
  switch (code) {
    case cuda::kStubLibrary:
      return "this is the stub library for building; put the driver's own library first";
    case cuda::kNoDevice:
      return "no GPU is visible to this process";
    case cuda::kNoBinary:
      return "the GPU is older than Volta, and this program's kernels do not run on it";
    case cuda::kContained:
      return "the GPU's hardware failed, or a peer's memory was accessed wrongly over NVLink; the "
             "process must be restarted";
    case cuda::kUncorrectableEcc:
      return "the GPU's memory has an uncorrectable error";
    case cuda::kInvalidPtx:
      return "the driver is older than CUDA 10.1";
    case cuda::kNoJitCompiler:
      return "the driver's compiler, libnvidia-ptxjitcompiler.so.1, is missing: in a container, "
             "NVIDIA_DRIVER_CAPABILITIES must include compute";
    case cuda::kNewerPtx:
      return "the driver is older than this program's kernels";
    case cuda::kNvlinkUncorrectable:
      return "NVLink has an uncorrectable error";
    case cuda::kIllegalAddress:
    case cuda::kLaunchFailed:
      return "see the kernel log for an XID";
    case cuda::kSystemNotReady:
      return "the Fabric Manager is not running, or has not set up the NVSwitches";
    case cuda::kSystemDriverMismatch:
      return "the driver's library and kernel module have different versions";
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
      return "a peer has exited, or cannot be reached over the network";
    default:
      return {};
  }
}

// Errors of broken hardware, and of NVSwitches that are not set up.
bool is_broken(int code) {
  constexpr std::array kCodes{cuda::kUncorrectableEcc, cuda::kNvlinkUncorrectable,
                              cuda::kContained,        cuda::kHardwareStack,
                              cuda::kLaunchFailed,     cuda::kSystemNotReady};
  return std::ranges::find(kCodes, code) != kCodes.end();
}

// No GPU and no driver; other errors may come from a GPU that exists.
bool is_missing(int code) { return code == cuda::kNoDevice || code == cuda::kStubLibrary; }

// NCCL quotes CUDA's error: "Cuda failure 719 'unspecified launch failure'", before 2.20 without
// the number.
bool quotes_broken(std::string_view text) {
  constexpr std::string_view kBegin = "Cuda failure ";
  constexpr std::array<std::string_view, 6> kWords{
      "uncorrectable ECC error", "uncorrectable NVLink error", "nvlink or a hardware error",
      "hardware stack error",    "unspecified launch failure", "system not yet initialized"};
  const auto at = text.find(kBegin);
  if (at == std::string_view::npos) return false;
  const auto quoted = text.substr(at + kBegin.size());
  const auto code = parse_unsigned(quoted.substr(0, quoted.find(' ')));
  if (code) return is_broken(static_cast<int>(*code));
  return std::ranges::any_of(
      kWords, [&](auto word) { return quoted.find(word) != std::string_view::npos; });
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
  constexpr int kNewest = 13;
  constexpr int kOldest = 11;
  constexpr int kMajor = 1000;
  Files files;
  for (int major = kNewest; major >= kOldest; --major) {
    if (major * kMajor > driver_version) continue;
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
  return {.message = with_cause(
              fmt::format("{}: {} (CUDA {}{}{})", call,
                          text == nullptr ? "unknown error" : printable(text), code,
                          name == nullptr ? "" : ", ", name == nullptr ? "" : printable(name)),
              cause_of_cuda(code)),
          .missing = is_missing(code),
          .broken = is_broken(code)};
}

Error trouble(const nccl::Library& library, std::string_view call, int code,
              nccl::Communicator communicator) {
  const char* text = library.error_string.call(code);
  auto message = fmt::format("{}: {} (NCCL {})", call,
                             text == nullptr ? "unknown error" : printable(text), code);
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
  auto message = fmt::format("{}: {} (cuBLAS {})", call,
                             text == nullptr ? "unknown error" : printable(text), code);
  if (code == cublas::kArchMismatch || code == cublas::kNotInitialised) {
    message += ": the library may be older than the GPU, or newer than the driver";
  }
  return {.message = std::move(message)};
}

}  // namespace muster::bench
