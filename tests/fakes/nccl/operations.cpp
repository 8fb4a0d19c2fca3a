// SPDX-License-Identifier: Apache-2.0
// The operations of the fake NCCL, and groups of sends and receives.
#include <fmt/format.h>

#include <utility>

#include "tests/fakes/nccl/library.hpp"

using muster::bench::cuda::Stream;
using muster::bench::nccl::Communicator;

namespace muster::fakes::gpu {
namespace {

namespace nccl = bench::nccl;

// Checks the arguments that every operation has.
int examine(const Member* member, int type, std::uint64_t count) {
  if (member == nullptr)
    return refuse(nccl::kInvalidArgument, "comm argument is NULL or corrupted");
  if (member->error != 0) return member->error;
  if (state_of(*member) == nccl::kInProgress) {
    return refuse(nccl::kInvalidArgument,
                  "Attempt to use communicator before the previous operation returned ncclSuccess");
  }
  const bool new_enough = type < nccl::kBfloat16 || version() >= 22400 ||
                          (type == nccl::kBfloat16 && version() >= 21000);
  if (width_of(type) == 0 || !new_enough)
    return refuse(nccl::kInvalidArgument, fmt::format("invalid type {}", type));
  if (current_gpu() != member->writer.gpu) {
    return refuse(nccl::kInvalidArgument, "the communicator is of another GPU than is current");
  }
  if (count > (1UL << 40)) return refuse(nccl::kInvalidArgument, "count is out of all measure");
  return nccl::kSuccess;
}

int examine_reduction(int reduction) {
  const bool known = (reduction >= 0 && reduction <= nccl::kMin) ||
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
  const auto& hang = scenario().hang;
  const auto number = member->enqueued++;
  if (hang && number == member->executed && hang->is(member->writer.rank, number)) stop(stream);
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

// The common part of all collectives.
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

// A group has one communicator and one stream.
int join_group(Communicator handle, Stream stream) {
  auto& group = library().group;
  if (group.communicator != nullptr && (group.communicator != handle || group.stream != stream)) {
    return refuse(nccl::kInvalidUsage, "one group is of two communicators or streams");
  }
  group.communicator = handle;
  group.stream = stream;
  return nccl::kSuccess;
}

int collective(const char* function, Communicator handle, Stream stream, const Collective& asked) {
  const std::scoped_lock guard(lock());
  if (const int code = answer(function); code != 0) return code;
  const auto member = find(handle);
  int code = examine(member.get(), asked.type, asked.count);
  if (code == nccl::kSuccess) code = examine_reduction(asked.reduction);
  if (code != nccl::kSuccess) return code;
  if (asked.root < 0 || asked.root >= member->writer.ranks) {
    return refuse(nccl::kInvalidArgument, fmt::format("invalid root {}", asked.root));
  }
  const auto bytes = asked.count * width_of(asked.type);
  Call call{.kind = asked.kind,
            .request = {.kind = static_cast<int>(asked.kind),
                        .type = asked.type,
                        .reduction = asked.reduction,
                        .root = asked.root,
                        .count = asked.count},
            .gifts = gifts_of(asked, member->writer, bytes),
            .takings = takings_of(asked, member->writer, bytes)};
  auto& group = library().group;
  if (group.depth == 0) return enqueue(handle, stream, std::move(call));
  const int joined = join_group(handle, stream);
  if (joined == nccl::kSuccess) group.calls.push_back(std::move(call));
  return joined;
}

// A send or receive in a group.
int in_group(Communicator handle, Stream stream, int peer, int type, std::uint64_t count) {
  auto& group = library().group;
  if (group.depth == 0) return refuse(nccl::kInvalidUsage, "this fake sends in groups only");
  const auto member = find(handle);
  int code = examine(member.get(), type, count);
  if (code == nccl::kSuccess && (peer < 0 || peer >= member->writer.ranks)) {
    code = refuse(nccl::kInvalidArgument, fmt::format("invalid peer {}", peer));
  }
  if (code == nccl::kSuccess) code = join_group(handle, stream);
  if (code != nccl::kSuccess) {
    group.failed = code;
    return code;
  }
  group.call.kind = Kind::parts;
  // Counts in a group may differ; uses the largest.
  const auto most = std::max<std::uint64_t>(group.call.request.count, count);
  group.call.request = {.kind = static_cast<int>(Kind::parts), .type = type, .count = most};
  return nccl::kSuccess;
}

}  // namespace
}  // namespace muster::fakes::gpu

namespace fake = muster::fakes::gpu;
namespace nccl = muster::bench::nccl;

FAKE_CALL int ncclAllReduce(const void* send, void* receive, std::size_t count, int type,
                            int reduction, Communicator handle, Stream stream) {
  return fake::collective("ncclAllReduce", handle, stream,
                          {fake::Kind::all_reduce, send, receive, count, type, reduction, 0});
}

FAKE_CALL int ncclAllGather(const void* send, void* receive, std::size_t count, int type,
                            Communicator handle, Stream stream) {
  return fake::collective("ncclAllGather", handle, stream,
                          {fake::Kind::all_gather, send, receive, count, type, 0, 0});
}

FAKE_CALL int ncclReduceScatter(const void* send, void* receive, std::size_t count, int type,
                                int reduction, Communicator handle, Stream stream) {
  return fake::collective("ncclReduceScatter", handle, stream,
                          {fake::Kind::reduce_scatter, send, receive, count, type, reduction, 0});
}

FAKE_CALL int ncclBroadcast(const void* send, void* receive, std::size_t count, int type, int root,
                            Communicator handle, Stream stream) {
  return fake::collective("ncclBroadcast", handle, stream,
                          {fake::Kind::broadcast, send, receive, count, type, 0, root});
}

FAKE_CALL int ncclReduce(const void* send, void* receive, std::size_t count, int type,
                         int reduction, int root, Communicator handle, Stream stream) {
  return fake::collective("ncclReduce", handle, stream,
                          {fake::Kind::reduce, send, receive, count, type, reduction, root});
}

FAKE_CALL int ncclSend(const void* from, std::size_t count, int type, int peer, Communicator handle,
                       Stream stream) {
  FAKE_BEGIN("ncclSend")
  const int code = fake::in_group(handle, stream, peer, type, count);
  if (code != nccl::kSuccess) return code;
  fake::library().group.call.gifts.push_back(
      {peer, static_cast<const std::byte*>(from), count * fake::width_of(type)});
  return nccl::kSuccess;
}

FAKE_CALL int ncclRecv(void* to, std::size_t count, int type, int peer, Communicator handle,
                       Stream stream) {
  FAKE_BEGIN("ncclRecv")
  const int code = fake::in_group(handle, stream, peer, type, count);
  if (code != nccl::kSuccess) return code;
  fake::library().group.call.takings.push_back(
      {peer, static_cast<std::byte*>(to), count * fake::width_of(type)});
  return nccl::kSuccess;
}

FAKE_CALL int ncclGroupStart() {
  FAKE_BEGIN("ncclGroupStart")
  ++fake::library().group.depth;
  return nccl::kSuccess;
}

FAKE_CALL int ncclGroupEnd() {
  FAKE_BEGIN("ncclGroupEnd")
  auto& group = fake::library().group;
  if (group.depth == 0) {
    return fake::refuse(nccl::kInvalidUsage, "ncclGroupEnd: not in a group call.");
  }
  if (--group.depth > 0) return nccl::kSuccess;
  auto ended = std::exchange(group, {});
  if (ended.failed != nccl::kSuccess) return ended.failed;
  if (ended.communicator == nullptr) return nccl::kSuccess;
  if (ended.calls.empty()) {
    return fake::enqueue(ended.communicator, ended.stream, std::move(ended.call));
  }
  int code = nccl::kSuccess;
  for (auto& call : ended.calls) {
    code = fake::enqueue(ended.communicator, ended.stream, std::move(call));
    if (code != nccl::kSuccess && code != nccl::kInProgress) return code;
  }
  return code;
}
