// SPDX-License-Identifier: Apache-2.0
// The parts of the interfaces of the CUDA driver, NCCL and cuBLASLt that muster uses. Declared
// here, so that building needs none of their headers and one program runs with any version.
#pragma once

#include <array>
#include <climits>
#include <cstddef>
#include <cstdint>

// Constants: our name, the value, the header's name, with which a test compares the value.
#define MUSTER_BENCH_CONSTANT(name, value, theirs) inline constexpr int name = value;

namespace muster::bench::cuda {

using Context = struct ContextOpaque*;
using Stream = struct StreamOpaque*;
using Event = struct EventOpaque*;
using Module = struct ModuleOpaque*;
using Kernel = struct KernelOpaque*;
using Graph = struct GraphOpaque*;
using GraphRun = struct GraphRunOpaque*;
using Pointer = unsigned long long;

inline constexpr int kSuccess = 0;

// clang-format off
#define MUSTER_CUDA_CONSTANTS(X) \
  X(kInvalidValue, 1, CUDA_ERROR_INVALID_VALUE) \
  X(kOutOfMemory, 2, CUDA_ERROR_OUT_OF_MEMORY) \
  X(kNotInitialised, 3, CUDA_ERROR_NOT_INITIALIZED) \
  X(kStubLibrary, 34, CUDA_ERROR_STUB_LIBRARY) \
  X(kNoDevice, 100, CUDA_ERROR_NO_DEVICE) \
  X(kInvalidDevice, 101, CUDA_ERROR_INVALID_DEVICE) \
  X(kInvalidContext, 201, CUDA_ERROR_INVALID_CONTEXT) \
  X(kNoBinary, 209, CUDA_ERROR_NO_BINARY_FOR_GPU) \
  X(kUncorrectableEcc, 214, CUDA_ERROR_ECC_UNCORRECTABLE) \
  X(kInvalidPtx, 218, CUDA_ERROR_INVALID_PTX) \
  X(kNvlinkUncorrectable, 220, CUDA_ERROR_NVLINK_UNCORRECTABLE) \
  X(kNoJitCompiler, 221, CUDA_ERROR_JIT_COMPILER_NOT_FOUND) \
  X(kNewerPtx, 222, CUDA_ERROR_UNSUPPORTED_PTX_VERSION) \
  X(kContained, 226, CUDA_ERROR_CONTAINED) \
  X(kInvalidHandle, 400, CUDA_ERROR_INVALID_HANDLE) \
  X(kNotFound, 500, CUDA_ERROR_NOT_FOUND) \
  X(kNotReady, 600, CUDA_ERROR_NOT_READY) \
  X(kIllegalAddress, 700, CUDA_ERROR_ILLEGAL_ADDRESS) \
  X(kHardwareStack, 714, CUDA_ERROR_HARDWARE_STACK_ERROR) \
  X(kLaunchFailed, 719, CUDA_ERROR_LAUNCH_FAILED) \
  X(kNotSupported, 801, CUDA_ERROR_NOT_SUPPORTED) \
  X(kSystemNotReady, 802, CUDA_ERROR_SYSTEM_NOT_READY) \
  X(kSystemDriverMismatch, 803, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH) \
  X(kCaptureUnsupported, 900, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED) \
  X(kCaptureInvalidated, 901, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED) \
  X(kMultiprocessors, 16, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT) \
  X(kRdmaOrdering, 118, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING) \
  X(kCaptureThreadLocal, 1, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)
// clang-format on

MUSTER_CUDA_CONSTANTS(MUSTER_BENCH_CONSTANT)

inline constexpr int kToOwner = 100;  // a scope in which writes by RDMA are visible
inline constexpr unsigned kStreamNonBlocking = 1;

}  // namespace muster::bench::cuda

namespace muster::bench::cublas {

using Handle = struct HandleOpaque*;
using Operation = struct OperationOpaque*;
using Layout = struct LayoutOpaque*;
using Preference = struct PreferenceOpaque*;

inline constexpr int kSuccess = 0;

// clang-format off
#define MUSTER_CUBLAS_CONSTANTS(X) \
  X(kNotInitialised, 1, CUBLAS_STATUS_NOT_INITIALIZED) \
  X(kInvalidValue, 7, CUBLAS_STATUS_INVALID_VALUE) \
  X(kArchMismatch, 8, CUBLAS_STATUS_ARCH_MISMATCH) \
  X(kNotSupported, 15, CUBLAS_STATUS_NOT_SUPPORTED) \
  X(kFp32, 0, CUDA_R_32F) \
  X(kFp64, 1, CUDA_R_64F) \
  X(kFp16, 2, CUDA_R_16F) \
  X(kBf16, 14, CUDA_R_16BF) \
  X(kFp8, 28, CUDA_R_8F_E4M3) \
  X(kComputeFp32, 68, CUBLAS_COMPUTE_32F) \
  X(kComputeFp64, 70, CUBLAS_COMPUTE_64F) \
  X(kComputeTf32, 77, CUBLAS_COMPUTE_32F_FAST_TF32) \
  X(kTransposeFirst, 3, CUBLASLT_MATMUL_DESC_TRANSA) \
  X(kTransposed, 1, CUBLAS_OP_T) \
  X(kMaxWorkspace, 1, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES)
// clang-format on

MUSTER_CUBLAS_CONSTANTS(MUSTER_BENCH_CONSTANT)

struct Algorithm {
  std::array<std::uint64_t, 8> data;
};

// An algorithm that the library suggests.
struct Choice {
  Algorithm algorithm;
  std::size_t workspace;
  int state;
  float waves;
  std::array<int, 4> reserved;
};

static_assert(sizeof(Algorithm) == 64);
static_assert(sizeof(Choice) == 96);
static_assert(kSuccess == cuda::kSuccess);

}  // namespace muster::bench::cublas

namespace muster::bench::nccl {

using Communicator = struct CommunicatorOpaque*;

struct UniqueId {
  std::array<char, 128> bytes;
};

static_assert(sizeof(UniqueId) == 128);

inline constexpr int kSuccess = 0;
inline constexpr int kTimeout = 8;  // newer than some headers

// clang-format off
#define MUSTER_NCCL_CONSTANTS(X) \
  X(kUnhandledCuda, 1, ncclUnhandledCudaError) \
  X(kSystem, 2, ncclSystemError) \
  X(kInternal, 3, ncclInternalError) \
  X(kInvalidArgument, 4, ncclInvalidArgument) \
  X(kInvalidUsage, 5, ncclInvalidUsage) \
  X(kRemote, 6, ncclRemoteError) \
  X(kInProgress, 7, ncclInProgress) \
  X(kInt8, 0, ncclInt8) \
  X(kUint8, 1, ncclUint8) \
  X(kInt32, 2, ncclInt32) \
  X(kUint32, 3, ncclUint32) \
  X(kInt64, 4, ncclInt64) \
  X(kUint64, 5, ncclUint64) \
  X(kFloat16, 6, ncclFloat16) \
  X(kFloat32, 7, ncclFloat32) \
  X(kFloat64, 8, ncclFloat64) \
  X(kBfloat16, 9, ncclBfloat16) \
  X(kFloat8e4m3, 10, ncclFloat8e4m3) \
  X(kFloat8e5m2, 11, ncclFloat8e5m2) \
  X(kSum, 0, ncclSum) \
  X(kProd, 1, ncclProd) \
  X(kMax, 2, ncclMax) \
  X(kMin, 3, ncclMin) \
  X(kAvg, 4, ncclAvg)
// clang-format on

MUSTER_NCCL_CONSTANTS(MUSTER_BENCH_CONSTANT)

// Version 2.18. A newer library fills in later members; one since 2.14 reads those that it knows.
struct Config {
  std::size_t size = sizeof(Config);
  unsigned magic = 0xcafebeef;
  unsigned version = 21800;
  int blocking = INT_MIN;  // INT_MIN: not set
  int cga_cluster_size = INT_MIN;
  int min_ctas = INT_MIN;
  int max_ctas = INT_MIN;
  const char* net_name = nullptr;
  int split_share = INT_MIN;
};

static_assert(sizeof(Config) == 48);
static_assert(offsetof(Config, net_name) == 32);

}  // namespace muster::bench::nccl

#undef MUSTER_BENCH_CONSTANT
