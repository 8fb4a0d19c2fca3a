// SPDX-License-Identifier: Apache-2.0
// The functions of NCCL that muster-bench uses, between processes on host memory. They are stricter
// than NVIDIA's: where that may ignore an error or hang, these fail.
#include "tests/fakes/nccl/library.hpp"

#include <thread>

using muster::bench::cuda::Pointer;
using muster::bench::nccl::Communicator;
using muster::bench::nccl::UniqueId;

namespace fake = muster::fakes::gpu;
namespace nccl = muster::bench::nccl;

// The fake driver's.
extern "C" int cuMemAlloc_v2(Pointer* memory, std::size_t bytes);
extern "C" int cuMemFree_v2(Pointer memory);

FAKE_CALL int ncclGetVersion(int* version) {
  FAKE_BEGIN("ncclGetVersion")
  if (version == nullptr) return nccl::kInvalidArgument;
  *version = fake::version();
  return nccl::kSuccess;
}

FAKE_CALL int ncclGetUniqueId(UniqueId* id) {
  FAKE_BEGIN("ncclGetUniqueId")
  if (id == nullptr) return nccl::kInvalidArgument;
  return fake::open_meeting(*id) ? nccl::kSuccess : nccl::kSystem;
}

FAKE_CALL const char* ncclGetErrorString(int code) {
  switch (code) {
    case nccl::kSuccess:
      return "no error";
    case nccl::kUnhandledCuda:
      return "unhandled cuda error (run with NCCL_DEBUG=INFO for details)";
    case nccl::kSystem:
      return "unhandled system error (run with NCCL_DEBUG=INFO for details)";
    case nccl::kInternal:
      return "internal error - please report this issue to the NCCL developers";
    case nccl::kInvalidArgument:
      return "invalid argument (run with NCCL_DEBUG=WARN for details)";
    case nccl::kInvalidUsage:
      return "invalid usage (run with NCCL_DEBUG=WARN for details)";
    case nccl::kRemote:
      return "remote process exited or there was a network error";
    case nccl::kInProgress:
      return "NCCL operation in progress";
    default:
      return "unknown result code";
  }
}

FAKE_CALL int ncclCommInitRank(Communicator* made, int ranks, UniqueId id, int rank) {
  int code = nccl::kSuccess;
  {
    FAKE_BEGIN("ncclCommInitRank")
    code = fake::begin(made, ranks, id, rank, true);
  }
  return code == nccl::kInProgress ? fake::wait_for(*made) : code;
}

#ifndef MUSTER_FAKE_OLD
FAKE_CALL void ncclResetDebugInit() {
  const std::scoped_lock guard(fake::lock());
  fake::forget_log_settings();
}

FAKE_CALL const char* ncclGetLastError(Communicator handle) {
  const std::scoped_lock guard(fake::lock());
  const auto member = fake::find(handle);
  const bool own = member != nullptr && !member->text.empty();
  const auto& text = own ? member->text : fake::library().last_error;
  return text.c_str();
}

FAKE_CALL int ncclCommInitRankConfig(Communicator* made, int ranks, UniqueId id, int rank,
                                     nccl::Config* config) {
  int code = nccl::kSuccess;
  bool blocking = true;
  {
    FAKE_BEGIN("ncclCommInitRankConfig")
    if (config == nullptr || config->magic != 0xcafebeef || config->size < 24) {
      return fake::refuse(nccl::kInvalidArgument,
                          "ncclConfig_t argument not initialized via NCCL_CONFIG_INITIALIZER");
    }
    blocking = config->blocking != 0;
    code = fake::begin(made, ranks, id, rank, blocking);
  }
  return code == nccl::kInProgress && blocking ? fake::wait_for(*made) : code;
}

FAKE_CALL int ncclMemAlloc(void** memory, std::size_t bytes) {
  FAKE_BEGIN("ncclMemAlloc")
  Pointer address = 0;
  if (memory == nullptr || cuMemAlloc_v2(&address, bytes) != 0) {
    return fake::refuse(nccl::kUnhandledCuda, "Cuda failure 2 'out of memory'");
  }
  *memory = fake::pointer_to(address);
  return nccl::kSuccess;
}

FAKE_CALL int ncclMemFree(void* memory) {
  FAKE_BEGIN("ncclMemFree")
  for (const auto& [handle, member] : fake::library().members) {
    if (member->registered.count(memory) == 0) continue;
    return fake::refuse(nccl::kInvalidUsage, "the memory is still registered");
  }
  return cuMemFree_v2(reinterpret_cast<Pointer>(memory)) == 0 ? nccl::kSuccess
                                                              : nccl::kInvalidArgument;
}

FAKE_CALL int ncclCommRegister(Communicator handle, void* memory, std::size_t bytes, void** made) {
  FAKE_BEGIN("ncclCommRegister")
  const auto member = fake::find(handle);
  if (member == nullptr || made == nullptr || fake::reach(memory) < bytes) {
    return fake::refuse(nccl::kInvalidArgument, "the registered memory is not memory of this GPU");
  }
  member->registered.insert(memory);
  *made = memory;
  return nccl::kSuccess;
}

FAKE_CALL int ncclCommDeregister(Communicator handle, void* registered) {
  FAKE_BEGIN("ncclCommDeregister")
  const auto member = fake::find(handle);
  const bool known = member != nullptr && member->registered.erase(registered) == 1;
  return known ? nccl::kSuccess : nccl::kInvalidArgument;
}

FAKE_CALL int ncclCommFinalize(Communicator handle) {
  FAKE_BEGIN("ncclCommFinalize")
  const auto member = fake::find(handle);
  if (member == nullptr) return nccl::kInvalidArgument;
  if (member->error != 0) return member->error;
  if (fake::state_of(*member) == nccl::kInProgress) return nccl::kInvalidArgument;
  if (member->blocking) return nccl::kSuccess;
  member->asks_left = 1;
  member->begun.emplace_back([] { return 0; });
  return nccl::kInProgress;
}
#endif

FAKE_CALL int ncclCommGetAsyncError(Communicator handle, int* error) {
  FAKE_BEGIN("ncclCommGetAsyncError")
  const auto member = fake::find(handle);
  if (member == nullptr || error == nullptr) return nccl::kInvalidArgument;
  fake::progress(*member);
  *error = fake::state_of(*member);
  return nccl::kSuccess;
}

FAKE_CALL int ncclCommDestroy(Communicator handle) {
  FAKE_BEGIN("ncclCommDestroy")
  const auto member = fake::find(handle);
  if (member == nullptr) return nccl::kInvalidArgument;
  if (fake::state_of(*member) == nccl::kInProgress) return nccl::kInvalidUsage;
  if (!member->registered.empty()) {
    return fake::refuse(nccl::kInvalidUsage, "memory is still registered");
  }
  fake::leave_meeting(member->meeting);
  fake::library().members.erase(handle);
  return nccl::kSuccess;
}

FAKE_CALL int ncclCommAbort(Communicator handle) {
  while (fake::scenario().abort_hangs) std::this_thread::sleep_for(fake::kNap);
  FAKE_BEGIN("ncclCommAbort")
  const auto member = fake::find(handle);
  if (member == nullptr) return nccl::kInvalidArgument;
  member->given_up = true;  // what still lies on a stream ends by it
  fake::library().members.erase(handle);
  return nccl::kSuccess;
}
