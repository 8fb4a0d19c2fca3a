// SPDX-License-Identifier: Apache-2.0
#include "bench/backends/nccl/library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <utility>
#include <vector>

#include "lib/base/text.hpp"

namespace muster::bench {
namespace {

Result<void*> open_first(const std::string& named, const std::vector<std::string>& usual) {
  const auto candidates = named.empty() ? usual : std::vector<std::string>{named};
  std::string why;
  for (const auto& candidate : candidates) {
    void* opened = ::dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (opened != nullptr) return opened;
    const char* text = ::dlerror();  // NOLINT(concurrency-mt-unsafe): one thread opens
    if (why.empty()) why = printable(text == nullptr ? "no reason given" : text, 300);
  }
  return make_missing(std::move(why));
}

// Looks functions up, and keeps the names of those that are needed and not there.
class Finder {
 public:
  explicit Finder(void* library) : library_(library) {}

  template <class Signature>
  void find(Symbol<Signature>& symbol) {
    const std::string name(symbol.name);
    symbol.call = reinterpret_cast<Signature*>(::dlsym(library_, name.c_str()));
    if (symbol.call == nullptr && symbol.required) missing_.push_back(name);
  }

  [[nodiscard]] Result<void> all_found(std::string_view path, std::string_view what) const {
    if (missing_.empty()) return {};
    return make_error(fmt::format("{} is no {} that can be used: it lacks {}", path, what,
                                  fmt::join(missing_, ", ")));
  }

 private:
  void* library_;
  std::vector<std::string> missing_;
};

}  // namespace

#define MUSTER_BENCH_FIND(member, ...) finder.find(library.member);

Result<cuda::Library> cuda::open_library(const std::string& named) {
  TRY_ASSIGN(const auto opened, open_first(named, {"libcuda.so.1"}));
  Library library{.path = named.empty() ? "libcuda.so.1" : named};
  Finder finder(opened);
  MUSTER_CUDA_FUNCTIONS(MUSTER_BENCH_FIND)
  TRY(finder.all_found(library.path, "CUDA driver library"));
  return library;
}

Result<nccl::Library> nccl::open_library(const std::string& named) {
  TRY_ASSIGN(const auto opened, open_first(named, {"libnccl.so.2", "libnccl.so"}));
  Library library{.path = named.empty() ? "libnccl.so.2" : named};
  Finder finder(opened);
  MUSTER_NCCL_FUNCTIONS(MUSTER_BENCH_FIND)
  TRY(finder.all_found(library.path, "NCCL library"));
  return library;
}

Result<cublas::Library> cublas::open_library(const std::string& named) {
  const auto opened =
      open_first(named, {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11",
                         "/usr/local/cuda/lib64/libcublasLt.so"});
  if (!opened) return tl::unexpected(opened.error());
  Library library{.path = named.empty() ? "libcublasLt.so" : named};
  Finder finder(*opened);
  MUSTER_CUBLAS_FUNCTIONS(MUSTER_BENCH_FIND)
  TRY(finder.all_found(library.path, "cuBLASLt library"));
  return library;
}

#undef MUSTER_BENCH_FIND

}  // namespace muster::bench
