// SPDX-License-Identifier: Apache-2.0
// Result codes of the CUDA driver, of NCCL and of cuBLASLt as sentences, with what is known about
// their cause.
#pragma once

#include <string>
#include <string_view>

#include "bench/backends/nccl/library.hpp"
#include "lib/base/result.hpp"

namespace muster::bench {

// "cuInit: system not yet initialized (CUDA 802): the Fabric Manager …"
[[nodiscard]] Error trouble(const cuda::Library& library, std::string_view call, int code);

// "ncclCommInitRank: invalid usage (NCCL 5): Duplicate GPU detected …". `communicator` may be null.
[[nodiscard]] Error trouble(const nccl::Library& library, std::string_view call, int code,
                            nccl::Communicator communicator);

// "cublasLtMatmul: the requested functionality is not supported (cuBLAS 15)".
[[nodiscard]] Error trouble(const cublas::Library& library, std::string_view call, int code);

}  // namespace muster::bench

// Calls a function of the driver, and leaves the function around it with an error where it fails.
#define MUSTER_CUDA_TRY(library, member, ...)                                     \
  do {                                                                            \
    const int muster_code = (library).member.call(__VA_ARGS__);                   \
    if (muster_code != ::muster::bench::cuda::kSuccess) {                         \
      return tl::unexpected(                                                      \
          ::muster::bench::trouble(library, (library).member.name, muster_code)); \
    }                                                                             \
  } while (false)

// A call of cuBLASLt, whose code of success is CUDA's.
#define MUSTER_CUBLAS_TRY MUSTER_CUDA_TRY
