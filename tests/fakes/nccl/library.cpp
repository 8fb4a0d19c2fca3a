// SPDX-License-Identifier: Apache-2.0
// The functions of NCCL that muster-bench uses, between processes on host memory. They are stricter
// than NVIDIA's: what that may let pass, or would hang in, is an error here.
#include <fmt/format.h>

#include <chrono>
#include <map>
#include <set>
#include <thread>
#include <utility>

#include "bench/backends/nccl/abi.hpp"
#include "tests/fakes/nccl/arithmetic.hpp"
#include "tests/fakes/nccl/exchange.hpp"

using muster::bench::cuda::Stream;
using muster::bench::nccl::Communicator;
using muster::bench::nccl::Config;
using muster::bench::nccl::UniqueId;

namespace muster::fakes::gpu {
namespace {

namespace nccl = bench::nccl;

#ifdef MUSTER_FAKE_OLD
constexpr bool kOld = true;
#else
constexpr bool kOld = false;
#endif

constexpr auto kNap = std::chrono::milliseconds(1);

int version() { return kOld ? 2804 : scenario().nccl_version; }

struct Group {
  int depth = 0;
  Call call;
  Communicator communicator = nullptr;
  Stream stream = nullptr;
  int failed = nccl::kSuccess;
};

struct Library {
  std::map<Communicator, std::shared_ptr<Member>> members;
  Group group;
  std::string last_error;
};

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

Seat& seat_of(const Member& member, int rank) {
  return member.meeting->seats.at(static_cast<std::size_t>(rank));
}

// Whether all ranks have come; then also whether they fit together.
void join(Member& member) {
  for (int rank = 0; rank < member.writer.ranks; ++rank) {
    if (seat_of(member, rank).taken.load(std::memory_order_acquire) != 2) return;
  }
  if (member.asks_left > 0) {
    --member.asks_left;
    return;
  }
  const auto& own = seat_of(member, member.writer.rank);
  for (int rank = 0; rank < member.writer.ranks; ++rank) {
    const auto& seat = seat_of(member, rank);
    if (seat.ranks != member.writer.ranks) {
      return fail(member, nccl::kInvalidUsage, "the ranks do not agree on how many they are");
    }
    if (rank != member.writer.rank && seat.host == own.host && seat.gpu == own.gpu) {
      return fail(
          member,
          nccl::kInvalidUsage,
          fmt::format("Duplicate GPU detected : rank {} and rank {} both on CUDA device {:x}",
                      member.writer.rank,
                      rank,
                      own.gpu + 1));
    }
  }
  member.joined = true;
  log_begin(member.writer);
}

// Moves on what a call has begun.
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

int state_of(const Member& member) {
  if (member.error != 0) return member.error;
  return member.joined && member.begun.empty() ? nccl::kSuccess : nccl::kInProgress;
}

int begin(Communicator* made, int ranks, const UniqueId& id, int rank, bool blocking) {
  if (made == nullptr) return nccl::kInvalidArgument;
  if (ranks < 1 || ranks > static_cast<int>(kMostRanks) || rank < 0 || rank >= ranks) {
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
    seat.host = scenario().host_of(rank);
    seat.gpu = current_gpu();
    seat.taken.store(2, std::memory_order_release);
  }
  *made = reinterpret_cast<Communicator>(member.get());
  library().members[*made] = std::move(member);
  return nccl::kInProgress;
}

// Until the communicator has done what was begun; others may call meanwhile.
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

// What is wrong with the arguments that every operation has.
int examine(const Member* member, int type, std::uint64_t count) {
  if (member == nullptr)
    return refuse(nccl::kInvalidArgument, "comm argument is NULL or corrupted");
  if (member->error != 0) return member->error;
  if (state_of(*member) == nccl::kInProgress) {
    return refuse(nccl::kInvalidArgument,
                  "Attempt to use communicator before the previous operation returned ncclSuccess");
  }
  const bool known = width_of(type) > 0 && (type != nccl::kBfloat16 || version() >= 21000);
  if (!known) return refuse(nccl::kInvalidArgument, fmt::format("invalid type {}", type));
  if (current_gpu() != member->writer.gpu) {
    return refuse(nccl::kInvalidArgument, "the communicator is of another GPU than is current");
  }
  if (count > (1UL << 40)) return refuse(nccl::kInvalidArgument, "count is out of all measure");
  return nccl::kSuccess;
}

int examine_reduction(int reduction) {
  const bool known = (reduction >= 0 && reduction <= nccl::kMin && reduction != 1) ||
                     (reduction == nccl::kAvg && version() >= 21000);
  return known ? nccl::kSuccess
               : refuse(nccl::kInvalidArgument, fmt::format("invalid operation {}", reduction));
}

int examine_memory(const Call& call) {
  for (const auto& gift : call.gifts) {
    if (gift.bytes > 0 && reach(gift.from) < gift.bytes) {
      return refuse(nccl::kInvalidArgument, "sendbuff is not memory of this GPU, or too short");
    }
  }
  for (const auto& taking : call.takings) {
    if (taking.bytes > 0 && reach(taking.to) < taking.bytes) {
      return refuse(nccl::kInvalidArgument, "recvbuff is not memory of this GPU, or too short");
    }
  }
  return nccl::kSuccess;
}

int enqueue(Communicator handle, Stream stream, Call call) {
  const auto member = find(handle);
  if (call.request.count == 0) return nccl::kSuccess;  // nothing to be done, as NVIDIA's
  const int code = examine_memory(call);
  if (code != nccl::kSuccess) return code;
  if (!member->connected) log_connections(member->writer);
  auto work = work_of(member, std::move(call));
  const auto go = [stream, work] { return put(stream, work); };
  if (member->blocking) {
    member->connected = true;
    return go() == 0 ? nccl::kSuccess : refuse(nccl::kUnhandledCuda, "invalid resource handle");
  }
  member->asks_left = member->connected ? 0 : 3;
  member->connected = true;
  member->begun.emplace_back(go);
  return nccl::kInProgress;
}

// What all collectives have in common. `sizes`: how many counts each buffer holds.
struct Collective {
  Kind kind = Kind::all_reduce;
  const void* send = nullptr;
  void* receive = nullptr;
  std::size_t count = 0;
  int type = 0;
  int reduction = 0;
  int root = 0;
};

std::vector<Gift> gifts_of(const Collective& asked, const Writer& writer, std::uint64_t bytes) {
  const auto* from = static_cast<const std::byte*>(asked.send);
  if (asked.kind == Kind::broadcast && writer.rank != asked.root) return {};
  if (asked.kind != Kind::reduce_scatter) return {{.peer = -1, .from = from, .bytes = bytes}};
  std::vector<Gift> gifts;
  for (int peer = 0; peer < writer.ranks; ++peer) {
    gifts.push_back({peer, from + static_cast<std::uint64_t>(peer) * bytes, bytes});
  }
  return gifts;
}

std::vector<Taking> takings_of(const Collective& asked, const Writer& writer, std::uint64_t bytes) {
  auto* to = static_cast<std::byte*>(asked.receive);
  if (asked.kind == Kind::reduce && writer.rank != asked.root) return {};
  if (asked.kind == Kind::broadcast) return {{.peer = asked.root, .to = to, .bytes = bytes}};
  if (asked.kind != Kind::all_gather) return {{.peer = -1, .to = to, .bytes = bytes}};
  std::vector<Taking> takings;
  for (int peer = 0; peer < writer.ranks; ++peer) {
    takings.push_back({peer, to + static_cast<std::uint64_t>(peer) * bytes, bytes});
  }
  return takings;
}

int collective(const char* function, Communicator handle, Stream stream, const Collective& asked) {
  const std::scoped_lock guard(lock());
  if (const int code = answer(function); code != 0) return code;
  if (library().group.depth > 0) {
    return refuse(nccl::kInvalidUsage, "this fake has no collectives in groups");
  }
  const auto member = find(handle);
  int code = examine(member.get(), asked.type, asked.count);
  if (code == nccl::kSuccess) code = examine_reduction(asked.reduction);
  if (code != nccl::kSuccess) return code;
  if (asked.root < 0 || asked.root >= member->writer.ranks) {
    return refuse(nccl::kInvalidArgument, fmt::format("invalid root {}", asked.root));
  }
  const auto bytes = asked.count * width_of(asked.type);
  return enqueue(handle,
                 stream,
                 {.kind = asked.kind,
                  .request = {.kind = static_cast<int>(asked.kind),
                              .type = asked.type,
                              .reduction = asked.reduction,
                              .root = asked.root,
                              .count = asked.count},
                  .gifts = gifts_of(asked, member->writer, bytes),
                  .takings = takings_of(asked, member->writer, bytes)});
}

// One send or receive of a group; outside of one it is a group of its own.
int in_group(Communicator handle, Stream stream, int peer, int type, std::uint64_t count) {
  auto& group = library().group;
  if (group.depth == 0) return refuse(nccl::kInvalidUsage, "this fake sends in groups only");
  const auto member = find(handle);
  int code = examine(member.get(), type, count);
  if (code == nccl::kSuccess && (peer < 0 || peer >= member->writer.ranks)) {
    code = refuse(nccl::kInvalidArgument, fmt::format("invalid peer {}", peer));
  }
  if (code == nccl::kSuccess && group.communicator != nullptr &&
      (group.communicator != handle || group.stream != stream)) {
    code = refuse(nccl::kInvalidUsage, "one group is of two communicators or streams");
  }
  if (code != nccl::kSuccess) {
    group.failed = code;
    return code;
  }
  group.communicator = handle;
  group.stream = stream;
  group.call.kind = Kind::parts;
  group.call.request = {.kind = static_cast<int>(Kind::parts), .type = type, .count = count};
  return nccl::kSuccess;
}

}  // namespace
}  // namespace muster::fakes::gpu

namespace fake = muster::fakes::gpu;
namespace nccl = muster::bench::nccl;

#define FAKE_NCCL extern "C" MUSTER_FAKE_API
#define FAKE_BEGIN(function)                      \
  const std::scoped_lock fake_lock(fake::lock()); \
  if (const int wanted = fake::answer(function); wanted != 0) return wanted;

FAKE_NCCL int ncclGetVersion(int* version) {
  FAKE_BEGIN("ncclGetVersion")
  if (version == nullptr) return nccl::kInvalidArgument;
  *version = fake::version();
  return nccl::kSuccess;
}

FAKE_NCCL int ncclGetUniqueId(UniqueId* id) {
  FAKE_BEGIN("ncclGetUniqueId")
  if (id == nullptr) return nccl::kInvalidArgument;
  return fake::open_meeting(*id) ? nccl::kSuccess : nccl::kSystem;
}

FAKE_NCCL const char* ncclGetErrorString(int code) {
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

FAKE_NCCL int ncclCommInitRank(Communicator* made, int ranks, UniqueId id, int rank) {
  int code = nccl::kSuccess;
  {
    FAKE_BEGIN("ncclCommInitRank")
    code = fake::begin(made, ranks, id, rank, true);
  }
  return code == nccl::kInProgress ? fake::wait_for(*made) : code;
}

#ifndef MUSTER_FAKE_OLD
FAKE_NCCL const char* ncclGetLastError(Communicator handle) {
  const std::scoped_lock guard(fake::lock());
  const auto member = fake::find(handle);
  if (member != nullptr && !member->text.empty()) return member->text.c_str();
  return fake::library().last_error.c_str();
}

FAKE_NCCL int ncclCommInitRankConfig(
    Communicator* made, int ranks, UniqueId id, int rank, Config* config) {
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

FAKE_NCCL int ncclCommFinalize(Communicator handle) {
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

FAKE_NCCL int ncclCommGetAsyncError(Communicator handle, int* error) {
  FAKE_BEGIN("ncclCommGetAsyncError")
  const auto member = fake::find(handle);
  if (member == nullptr || error == nullptr) return nccl::kInvalidArgument;
  fake::progress(*member);
  *error = fake::state_of(*member);
  return nccl::kSuccess;
}

FAKE_NCCL int ncclCommDestroy(Communicator handle) {
  FAKE_BEGIN("ncclCommDestroy")
  const auto member = fake::find(handle);
  if (member == nullptr) return nccl::kInvalidArgument;
  if (fake::state_of(*member) == nccl::kInProgress) return nccl::kInvalidUsage;
  fake::leave_meeting(member->meeting);
  fake::library().members.erase(handle);
  return nccl::kSuccess;
}

FAKE_NCCL int ncclCommAbort(Communicator handle) {
  while (fake::scenario().abort_hangs) std::this_thread::sleep_for(fake::kNap);
  FAKE_BEGIN("ncclCommAbort")
  const auto member = fake::find(handle);
  if (member == nullptr) return nccl::kInvalidArgument;
  member->given_up = true;  // what still lies on a stream ends by it
  fake::library().members.erase(handle);
  return nccl::kSuccess;
}

FAKE_NCCL int ncclAllReduce(const void* send,
                            void* receive,
                            std::size_t count,
                            int type,
                            int reduction,
                            Communicator handle,
                            Stream stream) {
  return fake::collective("ncclAllReduce",
                          handle,
                          stream,
                          {fake::Kind::all_reduce, send, receive, count, type, reduction, 0});
}

FAKE_NCCL int ncclAllGather(const void* send,
                            void* receive,
                            std::size_t count,
                            int type,
                            Communicator handle,
                            Stream stream) {
  return fake::collective(
      "ncclAllGather", handle, stream, {fake::Kind::all_gather, send, receive, count, type, 0, 0});
}

FAKE_NCCL int ncclReduceScatter(const void* send,
                                void* receive,
                                std::size_t count,
                                int type,
                                int reduction,
                                Communicator handle,
                                Stream stream) {
  return fake::collective("ncclReduceScatter",
                          handle,
                          stream,
                          {fake::Kind::reduce_scatter, send, receive, count, type, reduction, 0});
}

FAKE_NCCL int ncclBroadcast(const void* send,
                            void* receive,
                            std::size_t count,
                            int type,
                            int root,
                            Communicator handle,
                            Stream stream) {
  return fake::collective("ncclBroadcast",
                          handle,
                          stream,
                          {fake::Kind::broadcast, send, receive, count, type, 0, root});
}

FAKE_NCCL int ncclReduce(const void* send,
                         void* receive,
                         std::size_t count,
                         int type,
                         int reduction,
                         int root,
                         Communicator handle,
                         Stream stream) {
  return fake::collective("ncclReduce",
                          handle,
                          stream,
                          {fake::Kind::reduce, send, receive, count, type, reduction, root});
}

FAKE_NCCL int ncclSend(
    const void* from, std::size_t count, int type, int peer, Communicator handle, Stream stream) {
  FAKE_BEGIN("ncclSend")
  const int code = fake::in_group(handle, stream, peer, type, count);
  if (code != nccl::kSuccess) return code;
  fake::library().group.call.gifts.push_back(
      {peer, static_cast<const std::byte*>(from), count * fake::width_of(type)});
  return nccl::kSuccess;
}

FAKE_NCCL int ncclRecv(
    void* to, std::size_t count, int type, int peer, Communicator handle, Stream stream) {
  FAKE_BEGIN("ncclRecv")
  const int code = fake::in_group(handle, stream, peer, type, count);
  if (code != nccl::kSuccess) return code;
  fake::library().group.call.takings.push_back(
      {peer, static_cast<std::byte*>(to), count * fake::width_of(type)});
  return nccl::kSuccess;
}

FAKE_NCCL int ncclGroupStart() {
  FAKE_BEGIN("ncclGroupStart")
  ++fake::library().group.depth;
  return nccl::kSuccess;
}

FAKE_NCCL int ncclGroupEnd() {
  FAKE_BEGIN("ncclGroupEnd")
  auto& group = fake::library().group;
  if (group.depth == 0) {
    return fake::refuse(nccl::kInvalidUsage, "ncclGroupEnd: not in a group call.");
  }
  if (--group.depth > 0) return nccl::kSuccess;
  auto ended = std::exchange(group, {});
  if (ended.failed != nccl::kSuccess) return ended.failed;
  if (ended.communicator == nullptr) return nccl::kSuccess;
  return fake::enqueue(ended.communicator, ended.stream, std::move(ended.call));
}
