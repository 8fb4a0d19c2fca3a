// SPDX-License-Identifier: Apache-2.0
// The CUDA driver, NCCL and cuBLASLt, loaded at run time. Functions that a version lacks are null.
// Error codes are turned into messages with the known causes.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "bench/backends/nccl/abi.hpp"
#include "lib/base/result.hpp"

namespace muster::bench {

template <class Signature>
struct Symbol {
  std::string_view name;
  bool required = false;
  Signature* call = nullptr;
};

// The functions of each library: member, whether it is required, name, signature. Where the driver
// has two versions of a function, the name is that of the 64-bit one.
// clang-format off
#define MUSTER_CUDA_FUNCTIONS(X) \
  X(init, true, cuInit, int(unsigned)) \
  X(version, true, cuDriverGetVersion, int(int*)) \
  X(error_name, true, cuGetErrorName, int(int, const char**)) \
  X(error_string, true, cuGetErrorString, int(int, const char**)) \
  X(device_count, true, cuDeviceGetCount, int(int*)) \
  X(device, true, cuDeviceGet, int(int*, int)) \
  X(device_name, true, cuDeviceGetName, int(char*, int, int)) \
  X(device_pci, true, cuDeviceGetPCIBusId, int(char*, int, int)) \
  X(device_attribute, true, cuDeviceGetAttribute, int(int*, int, int)) \
  X(retain, true, cuDevicePrimaryCtxRetain, int(Context*, int)) \
  X(release, true, cuDevicePrimaryCtxRelease_v2, int(int)) \
  X(set_current, true, cuCtxSetCurrent, int(Context)) \
  X(memory_info, true, cuMemGetInfo_v2, int(std::size_t*, std::size_t*)) \
  X(allocate, true, cuMemAlloc_v2, int(Pointer*, std::size_t)) \
  X(free, true, cuMemFree_v2, int(Pointer)) \
  X(copy_in, true, cuMemcpyHtoDAsync_v2, int(Pointer, const void*, std::size_t, Stream)) \
  X(copy_out, true, cuMemcpyDtoHAsync_v2, int(void*, Pointer, std::size_t, Stream)) \
  X(set_bytes, true, cuMemsetD8Async, int(Pointer, unsigned char, std::size_t, Stream)) \
  X(stream_create, true, cuStreamCreate, int(Stream*, unsigned)) \
  X(stream_destroy, true, cuStreamDestroy_v2, int(Stream)) \
  X(stream_query, true, cuStreamQuery, int(Stream)) \
  X(stream_wait, true, cuStreamWaitEvent, int(Stream, Event, unsigned)) \
  X(event_create, true, cuEventCreate, int(Event*, unsigned)) \
  X(event_destroy, true, cuEventDestroy_v2, int(Event)) \
  X(event_record, true, cuEventRecord, int(Event, Stream)) \
  X(event_query, true, cuEventQuery, int(Event)) \
  X(event_elapsed, true, cuEventElapsedTime, int(float*, Event, Event)) \
  X(module_load, true, cuModuleLoadData, int(Module*, const void*)) \
  X(module_unload, true, cuModuleUnload, int(Module)) \
  X(module_function, true, cuModuleGetFunction, int(Kernel*, Module, const char*)) \
  X(launch, true, cuLaunchKernel, int(Kernel, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Stream, void**, void**)) \
  X(range_handle, false, cuMemGetHandleForAddressRange, int(void*, Pointer, std::size_t, int, unsigned long long)) \
  X(flush_rdma, false, cuFlushGPUDirectRDMAWrites, int(int, int)) \
  X(host_allocate, false, cuMemHostAlloc, int(void**, std::size_t, unsigned)) \
  X(host_free, false, cuMemFreeHost, int(void*)) \
  X(copy_peer, false, cuMemcpyPeerAsync, int(Pointer, Context, Pointer, Context, std::size_t, Stream)) \
  X(can_access, false, cuDeviceCanAccessPeer, int(int*, int, int)) \
  X(peer_attribute, false, cuDeviceGetP2PAttribute, int(int*, int, int, int)) \
  X(enable_peer, false, cuCtxEnablePeerAccess, int(Context, unsigned)) \
  X(capture_begin, false, cuStreamBeginCapture_v2, int(Stream, int)) \
  X(capture_end, false, cuStreamEndCapture, int(Stream, Graph*)) \
  X(graph_instantiate, false, cuGraphInstantiateWithFlags, int(GraphRun*, Graph, unsigned long long)) \
  X(graph_launch, false, cuGraphLaunch, int(GraphRun, Stream)) \
  X(graph_destroy, false, cuGraphDestroy, int(Graph)) \
  X(graph_run_destroy, false, cuGraphExecDestroy, int(GraphRun))

#define MUSTER_NCCL_FUNCTIONS(X) \
  X(version, true, ncclGetVersion, int(int*)) \
  X(unique_id, true, ncclGetUniqueId, int(UniqueId*)) \
  X(error_string, true, ncclGetErrorString, const char*(int)) \
  X(last_error, false, ncclGetLastError, const char*(Communicator)) \
  X(init, true, ncclCommInitRank, int(Communicator*, int, UniqueId, int)) \
  X(init_config, false, ncclCommInitRankConfig, int(Communicator*, int, UniqueId, int, Config*)) \
  X(reset_debug, false, ncclResetDebugInit, void()) \
  X(finalize, false, ncclCommFinalize, int(Communicator)) \
  X(destroy, true, ncclCommDestroy, int(Communicator)) \
  X(abort, true, ncclCommAbort, int(Communicator)) \
  X(async_error, true, ncclCommGetAsyncError, int(Communicator, int*)) \
  X(all_reduce, true, ncclAllReduce, int(const void*, void*, std::size_t, int, int, Communicator, cuda::Stream)) \
  X(all_gather, true, ncclAllGather, int(const void*, void*, std::size_t, int, Communicator, cuda::Stream)) \
  X(reduce_scatter, true, ncclReduceScatter, int(const void*, void*, std::size_t, int, int, Communicator, cuda::Stream)) \
  X(broadcast, true, ncclBroadcast, int(const void*, void*, std::size_t, int, int, Communicator, cuda::Stream)) \
  X(reduce, true, ncclReduce, int(const void*, void*, std::size_t, int, int, int, Communicator, cuda::Stream)) \
  X(send, false, ncclSend, int(const void*, std::size_t, int, int, Communicator, cuda::Stream)) \
  X(receive, false, ncclRecv, int(void*, std::size_t, int, int, Communicator, cuda::Stream)) \
  X(memory_take, false, ncclMemAlloc, int(void**, std::size_t)) \
  X(memory_free, false, ncclMemFree, int(void*)) \
  X(register_memory, false, ncclCommRegister, int(Communicator, void*, std::size_t, void**)) \
  X(deregister_memory, false, ncclCommDeregister, int(Communicator, void*)) \
  X(group_start, true, ncclGroupStart, int()) \
  X(group_end, true, ncclGroupEnd, int())

#define MUSTER_CUBLAS_FUNCTIONS(X) \
  X(create, true, cublasLtCreate, int(Handle*)) \
  X(destroy, true, cublasLtDestroy, int(Handle)) \
  X(status_text, false, cublasLtGetStatusString, const char*(int)) \
  X(operation_create, true, cublasLtMatmulDescCreate, int(Operation*, int, int)) \
  X(operation_set, true, cublasLtMatmulDescSetAttribute, int(Operation, int, const void*, std::size_t)) \
  X(operation_destroy, true, cublasLtMatmulDescDestroy, int(Operation)) \
  X(layout_create, true, cublasLtMatrixLayoutCreate, int(Layout*, int, std::uint64_t, std::uint64_t, std::int64_t)) \
  X(layout_destroy, true, cublasLtMatrixLayoutDestroy, int(Layout)) \
  X(preference_create, true, cublasLtMatmulPreferenceCreate, int(Preference*)) \
  X(preference_set, true, cublasLtMatmulPreferenceSetAttribute, int(Preference, int, const void*, std::size_t)) \
  X(preference_destroy, true, cublasLtMatmulPreferenceDestroy, int(Preference)) \
  X(heuristic, true, cublasLtMatmulAlgoGetHeuristic, int(Handle, Operation, Layout, Layout, Layout, Layout, Preference, int, Choice*, int*)) \
  X(multiply, true, cublasLtMatmul, int(Handle, Operation, const void*, const void*, Layout, const void*, Layout, const void*, const void*, Layout, void*, Layout, const Algorithm*, void*, std::size_t, cuda::Stream))

// clang-format on

#define MUSTER_BENCH_MEMBER(member, required, name, ...) \
  Symbol<__VA_ARGS__> member{#name, required};

namespace cuda {

struct Library {
  std::string path;
  MUSTER_CUDA_FUNCTIONS(MUSTER_BENCH_MEMBER)
};

// Loads the named file, by default libcuda.so.1. The error is `missing` if there is none. Never
// unloaded: a thread may hang in it.
[[nodiscard]] Result<Library> open_library(const std::string& named);

}  // namespace cuda

namespace nccl {

struct Library {
  std::string path;
  MUSTER_NCCL_FUNCTIONS(MUSTER_BENCH_MEMBER)
};

[[nodiscard]] Result<Library> open_library(const std::string& named);

}  // namespace nccl

namespace cublas {

struct Library {
  std::string path;
  MUSTER_CUBLAS_FUNCTIONS(MUSTER_BENCH_MEMBER)
};

// The usual file names of every version since CUDA 11 that this driver can run. A newer version
// would load, but fail later.
[[nodiscard]] std::vector<std::string> files_for(int driver_version);

// Loads the named file, by default the newest version that the driver can run.
[[nodiscard]] Result<Library> open_library(const std::string& named, const cuda::Library& driver);

}  // namespace cublas

#undef MUSTER_BENCH_MEMBER

// "cuInit: system not yet initialized (CUDA 802): the Fabric Manager …"
[[nodiscard]] Error trouble(const cuda::Library& library, std::string_view call, int code);

// "ncclCommInitRank: invalid usage (NCCL 5): Duplicate GPU detected …". The communicator may be
// null.
[[nodiscard]] Error trouble(const nccl::Library& library, std::string_view call, int code,
                            nccl::Communicator communicator = nullptr);

// "cublasLtMatmul: the requested functionality is not supported (cuBLAS 15)".
[[nodiscard]] Error trouble(const cublas::Library& library, std::string_view call, int code);

// Calls a function that returns a code. Success is 0 in all three libraries.
template <class Library, class... Parameters>
[[nodiscard]] Result<void> call(const Library& library, const Symbol<int(Parameters...)>& symbol,
                                std::type_identity_t<Parameters>... arguments) {
  const int code = symbol.call(arguments...);
  if (code == cuda::kSuccess) return {};
  return tl::unexpected(trouble(library, symbol.name, code));
}

}  // namespace muster::bench
