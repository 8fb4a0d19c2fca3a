// SPDX-License-Identifier: Apache-2.0
// Error codes of the CUDA driver, NCCL and cuBLASLt as sentences, with their known causes.
#pragma once

#include <string_view>
#include <type_traits>

#include "bench/backends/nccl/library.hpp"
#include "lib/base/result.hpp"

namespace muster::bench {

// "cuInit: system not yet initialized (CUDA 802): the Fabric Manager …"
[[nodiscard]] Error trouble(const cuda::Library& library, std::string_view call, int code);

// "ncclCommInitRank: invalid usage (NCCL 5): Duplicate GPU detected …". The communicator may be
// null.
[[nodiscard]] Error trouble(const nccl::Library& library, std::string_view call, int code,
                            nccl::Communicator communicator);

// "cublasLtMatmul: the requested functionality is not supported (cuBLAS 15)".
[[nodiscard]] Error trouble(const cublas::Library& library, std::string_view call, int code);

// Calls a function of the CUDA driver or of cuBLASLt.
template <class Library, class... Parameters>
[[nodiscard]] Result<void> call(const Library& library, const Symbol<int(Parameters...)>& symbol,
                                std::type_identity_t<Parameters>... arguments) {
  const int code = symbol.call(arguments...);
  if (code == cuda::kSuccess) return {};  // as cuBLASLt's
  return tl::unexpected(trouble(library, symbol.name, code));
}

}  // namespace muster::bench
