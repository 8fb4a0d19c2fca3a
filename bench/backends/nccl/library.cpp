// SPDX-License-Identifier: Apache-2.0
#include "bench/backends/nccl/library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

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

Result<cublas::Library> cublas::open_library(const std::string& named) {
  const Files usual{"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11",
                    "/usr/local/cuda/lib64/libcublasLt.so"};
  Library library{.path = named.empty() ? "libcublasLt.so" : named};
  LibraryLoader loader;
  TRY(loader.open(named.empty() ? usual : Files{named}));
  MUSTER_CUBLAS_FUNCTIONS(MUSTER_BENCH_FIND)
  TRY(loader.check(library.path, "cuBLASLt library"));
  return library;
}

#undef MUSTER_BENCH_FIND

}  // namespace muster::bench
