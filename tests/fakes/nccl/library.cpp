// SPDX-License-Identifier: Apache-2.0
// The functions of NCCL that muster-bench uses, between processes on host memory. They are stricter
// than NVIDIA's: where that may ignore an error or hang, these fail. First how ranks join.
#include "tests/fakes/nccl/library.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "lib/base/descriptor.hpp"

namespace muster::fakes::gpu {
namespace {

namespace nccl = bench::nccl;
using nccl::Communicator;
using nccl::UniqueId;

#ifdef MUSTER_FAKE_OLD
constexpr bool kOld = true;
#else
constexpr bool kOld = false;
#endif

constexpr auto kNap = std::chrono::milliseconds(1);
constexpr std::string_view kPrefix = "/proc/";

Seat& seat_of(const Member& member, int rank) {
  return member.meeting->seats.at(static_cast<std::size_t>(rank));
}

// Checks that the ranks fit together, once all have arrived.
void join(Member& member) {
  for (int rank = 0; rank < member.writer.ranks; ++rank) {
    if (seat_of(member, rank).taken.load(std::memory_order_acquire) != 2) return;
  }
  if (member.asks_left > 0) {
    --member.asks_left;
    return;
  }
  const auto& apart = scenario().apart;
  if (apart && ranks_on(member, apart->first) > 0 && ranks_on(member, apart->second) > 0) return;
  const auto& own = seat_of(member, member.writer.rank);
  for (int rank = 0; rank < member.writer.ranks; ++rank) {
    const auto& seat = seat_of(member, rank);
    if (seat.ranks != member.writer.ranks) {
      return fail(member, nccl::kInvalidUsage, "the ranks do not agree on how many they are");
    }
    if (rank != member.writer.rank && seat.host == own.host && seat.gpu == own.gpu) {
      return fail(
          member, nccl::kInvalidUsage,
          fmt::format("Duplicate GPU detected : rank {} and rank {} both on CUDA device {:x}",
                      member.writer.rank, rank, own.gpu + 1));
    }
  }
  member.joined = true;
  log_begin(member.writer);
  const char* asked = std::getenv("NCCL_RUN_DIAGNOSTICS");  // NOLINT(concurrency-mt-unsafe)
  if (asked == nullptr || version() < 23100 || member.writer.rank != 0) return;
  for (const auto& line : scenario().diagnosis) std::printf("%s\n", line.c_str());
}

// In a communicator of some ranks the scenario's list of hosts is not valid: uses the number at the
// end of the node's name.
int own_host(int rank) {
  const char* name =
      std::getenv("MUSTER_HOSTNAME");  // NOLINT(concurrency-mt-unsafe): nothing sets it
  const std::string_view text = name == nullptr ? "" : name;
  const auto digits = text.substr(text.find_last_not_of("0123456789") + 1);
  const bool says = scenario().hosts.empty() && !digits.empty() && digits != text;
  return says ? std::stoi(std::string(digits)) : scenario().host_of(rank);
}

// Null if the id is not that of a living process.
Meeting* join_meeting(const bench::nccl::UniqueId& id) {
  if (id.bytes.back() != '\0' || !std::string_view(id.bytes.data()).starts_with(kPrefix)) {
    return nullptr;
  }
  const Descriptor file(::open(id.bytes.data(), O_RDWR | O_CLOEXEC));
  if (!file.is_open()) return nullptr;
  void* memory =
      ::mmap(nullptr, sizeof(Meeting), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-cstyle-cast,performance-no-int-to-ptr): the macro's
  if (memory == MAP_FAILED) return nullptr;
  return static_cast<Meeting*>(memory);
}

// Makes a meeting and its id.
bool open_meeting(bench::nccl::UniqueId& id) {
  const int file = ::memfd_create("muster-fake-nccl", MFD_CLOEXEC);
  if (file < 0 || ::ftruncate(file, sizeof(Meeting)) != 0) return false;
  const auto path = fmt::format("{}{}/fd/{}", kPrefix, ::getpid(), file);
  id.bytes.fill('\0');
  std::memcpy(id.bytes.data(), path.data(), path.size());
  return true;
}

// Advances a call in progress.
void progress(Member& member) {
  if (member.error != 0) return;
  if (!member.joined) return join(member);
  if (member.begun.empty()) return;
  if (member.asks_left > 0) {
    --member.asks_left;
    return;
  }
  const int code = member.begun.front()();
  member.begun.pop_front();
  if (code != nccl::kSuccess) fail(member, nccl::kUnhandledCuda, "the stream cannot be used");
}

// Takes a seat in the meeting. Returns "in progress" unless there is an error.
int begin(Communicator* made, int ranks, const UniqueId& id, int rank, bool blocking) {
  if (ranks < 1 || ranks > static_cast<int>(kMaxRanks) || rank < 0 || rank >= ranks) {
    return refuse(nccl::kInvalidArgument,
                  fmt::format("Invalid rank requested : {}/{}", rank, ranks));
  }
  if (current_gpu() < 0) return refuse(nccl::kUnhandledCuda, "no context is current");
  auto* meeting = join_meeting(id);
  if (meeting == nullptr) return refuse(nccl::kSystem, "the unique id leads nowhere");
  auto member = std::make_shared<Member>();
  member->writer = {.rank = rank, .ranks = ranks, .gpu = current_gpu()};
  member->meeting = meeting;
  member->blocking = blocking;
  member->asks_left = 2;
  if (scenario().absent != rank) {
    auto& seat = seat_of(*member, rank);
    if (seat.taken.exchange(1) != 0) {
      return refuse(nccl::kInvalidUsage, fmt::format("rank {} is there twice", rank));
    }
    seat.ranks = ranks;
    seat.host = own_host(rank);
    seat.gpu = current_gpu();
    seat.taken.store(2, std::memory_order_release);
    log_arrival(member->writer);
  }
  *made = reinterpret_cast<Communicator>(member.get());
  library().members[*made] = std::move(member);
  return nccl::kInProgress;
}

// Waits until the communicator has done its call. Others may call at the same time.
int wait_for(Communicator handle) {
  for (;;) {
    {
      const std::scoped_lock guard(lock());
      const auto member = find(handle);
      if (member == nullptr) return nccl::kInvalidArgument;
      progress(*member);
      if (state_of(*member) != nccl::kInProgress) return state_of(*member);
    }
    std::this_thread::sleep_for(kNap);
  }
}

}  // namespace

int version() { return kOld ? 2804 : scenario().nccl_version; }

Library& library() {
  static Library one;
  return one;
}

std::shared_ptr<Member> find(Communicator handle) {
  const auto found = library().members.find(handle);
  return found == library().members.end() ? nullptr : found->second;
}

int refuse(int code, std::string text) {
  library().last_error = std::move(text);
  return code;
}

int state_of(const Member& member) {
  if (member.error != 0) return member.error;
  return member.joined && member.begun.empty() ? nccl::kSuccess : nccl::kInProgress;
}

}  // namespace muster::fakes::gpu

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
  *version = fake::version();
  return nccl::kSuccess;
}

FAKE_CALL int ncclGetUniqueId(UniqueId* id) {
  FAKE_BEGIN("ncclGetUniqueId")
  return fake::open_meeting(*id) ? nccl::kSuccess : nccl::kSystem;
}

FAKE_CALL const char* ncclGetErrorString(int code) {
  constexpr std::array<const char*, 8> kTexts{
      "no error",
      "unhandled cuda error (run with NCCL_DEBUG=INFO for details)",
      "unhandled system error (run with NCCL_DEBUG=INFO for details)",
      "internal error - please report this issue to the NCCL developers",
      "invalid argument (run with NCCL_DEBUG=WARN for details)",
      "invalid usage (run with NCCL_DEBUG=WARN for details)",
      "remote process exited or there was a network error",
      "NCCL operation in progress"};
  const auto index = static_cast<std::size_t>(code);
  return index < kTexts.size() ? kTexts.at(index) : "unknown result code";
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
  ::munmap(member->meeting, sizeof(fake::Meeting));
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
