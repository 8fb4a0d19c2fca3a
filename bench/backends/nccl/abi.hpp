// SPDX-License-Identifier: Apache-2.0
// The parts of the interfaces of the CUDA driver, NCCL and cuBLASLt that muster uses. Declared
// here, so that building needs none of their headers and one program runs with any version.
#pragma once

#include <array>
#include <climits>
#include <cstddef>
#include <cstdint>

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
inline constexpr int kInvalidValue = 1;
inline constexpr int kOutOfMemory = 2;
inline constexpr int kNotInitialised = 3;
inline constexpr int kStubLibrary = 34;
inline constexpr int kNoDevice = 100;
inline constexpr int kInvalidDevice = 101;
inline constexpr int kInvalidContext = 201;
inline constexpr int kNoBinary = 209;
inline constexpr int kUncorrectableEcc = 214;
inline constexpr int kInvalidPtx = 218;
inline constexpr int kNvlinkUncorrectable = 220;
inline constexpr int kNoJitCompiler = 221;
inline constexpr int kNewerPtx = 222;
inline constexpr int kContained = 226;
inline constexpr int kInvalidHandle = 400;
inline constexpr int kNotFound = 500;
inline constexpr int kNotReady = 600;
inline constexpr int kIllegalAddress = 700;
inline constexpr int kHardwareStack = 714;
inline constexpr int kLaunchFailed = 719;
inline constexpr int kNotSupported = 801;
inline constexpr int kSystemNotReady = 802;
inline constexpr int kSystemDriverMismatch = 803;
inline constexpr int kCaptureUnsupported = 900;
inline constexpr int kCaptureInvalidated = 901;

inline constexpr int kMultiprocessors = 16;  // attributes of a device
inline constexpr int kRdmaOrdering = 118;
inline constexpr int kToOwner = 100;  // a scope in which writes by RDMA are visible
inline constexpr unsigned kStreamNonBlocking = 1;
inline constexpr int kCaptureThreadLocal = 1;

}  // namespace muster::bench::cuda

namespace muster::bench::cublas {

using Handle = struct HandleOpaque*;
using Operation = struct OperationOpaque*;
using Layout = struct LayoutOpaque*;
using Preference = struct PreferenceOpaque*;

inline constexpr int kSuccess = 0;
inline constexpr int kNotInitialised = 1;
inline constexpr int kInvalidValue = 7;
inline constexpr int kArchMismatch = 8;
inline constexpr int kNotSupported = 15;

// Types of numbers, and of their sums.
inline constexpr int kFp32 = 0;
inline constexpr int kFp64 = 1;
inline constexpr int kFp16 = 2;
inline constexpr int kBf16 = 14;
inline constexpr int kFp8 = 28;  // E4M3
inline constexpr int kComputeFp32 = 68;
inline constexpr int kComputeFp64 = 70;
inline constexpr int kComputeTf32 = 77;

inline constexpr int kTransposeFirst = 3;  // attributes of an operation
inline constexpr int kTransposed = 1;
inline constexpr int kMostWorkspace = 1;  // of a preference

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
inline constexpr int kUnhandledCuda = 1;
inline constexpr int kSystem = 2;
inline constexpr int kInternal = 3;
inline constexpr int kInvalidArgument = 4;
inline constexpr int kInvalidUsage = 5;
inline constexpr int kRemote = 6;
inline constexpr int kInProgress = 7;
inline constexpr int kTimeout = 8;

// Types and operations.
inline constexpr int kInt8 = 0;
inline constexpr int kUint8 = 1;
inline constexpr int kInt32 = 2;
inline constexpr int kUint32 = 3;
inline constexpr int kInt64 = 4;
inline constexpr int kUint64 = 5;
inline constexpr int kFloat16 = 6;
inline constexpr int kFloat32 = 7;
inline constexpr int kFloat64 = 8;
inline constexpr int kBfloat16 = 9;
inline constexpr int kFloat8e4m3 = 10;
inline constexpr int kFloat8e5m2 = 11;
inline constexpr int kSum = 0;
inline constexpr int kProd = 1;
inline constexpr int kMax = 2;
inline constexpr int kMin = 3;
inline constexpr int kAvg = 4;

// As of 2.18. A newer library fills in later members; one since 2.14 reads those that it knows.
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
