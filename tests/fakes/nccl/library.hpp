// SPDX-License-Identifier: Apache-2.0
// The internals of the fake NCCL: where ranks meet, its log, its arithmetic, and its communicators.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "bench/backends/nccl/abi.hpp"
#include "tests/fakes/cuda/state.hpp"

namespace muster::fakes::gpu {

// In bytes; 0 for an unknown type.
[[nodiscard]] std::size_t width_of(int type);

// Reduces all inputs, each of `count` elements.
void reduce(int type, int reduction, std::uint64_t count,
            const std::vector<const std::byte*>& inputs, std::byte* output);

// The log, in the format of the real one.

// The rank that writes.
struct Writer {
  int rank = 0;
  int ranks = 1;
  int gpu = 0;
};

void log_warning(const Writer& writer, std::string_view text);
// When a rank arrives at a communicator.
void log_arrival(const Writer& writer);
// When a communicator is complete: the network.
void log_begin(const Writer& writer);
// At the first operation: the connections between ranks.
void log_connections(const Writer& writer);
// At every operation, if TUNING is enabled.
void log_operation(const Writer& writer, std::string_view name, std::uint64_t bytes);

// The next line reads the environment again.
void forget_log_settings();

// The shared memory in which the ranks of a fake communicator meet. The maker of the unique id
// holds it as an unnamed file, which the others open through /proc, so that nothing is left behind.

inline constexpr std::size_t kMaxRanks = 64;
inline constexpr std::uint64_t kSlotBytes = kReal;

// A part of a rank's input to an operation: for one peer, or for all.
struct Part {
  std::int32_t peer = 0;
  std::uint64_t bytes = 0;
  std::uint64_t real = 0;  // how many of its first bytes lie in the slot
  std::uint64_t at = 0;    // where in the slot
};

// The operation that a rank calls, which must be the same on all ranks.
struct Request {
  std::int32_t kind = 0;
  std::int32_t type = 0;
  std::int32_t reduction = 0;
  std::int32_t root = 0;
  std::uint64_t count = 0;

  bool operator==(const Request&) const = default;
};

struct Slot {
  Request request;
  Time ready = 0;
  std::uint64_t parts = 0;
  std::array<Part, kMaxRanks> part;
  std::array<std::byte, kSlotBytes> data;
};

struct Seat {
  std::atomic<std::uint32_t> taken;
  std::int32_t ranks;
  std::int32_t host;
  std::int32_t gpu;
  std::atomic<std::uint64_t> arrived;   // operations that the rank has come to
  std::atomic<std::uint64_t> finished;  // and those it needs no more of
};

struct Meeting {
  std::array<Seat, kMaxRanks> seats;
  std::array<std::array<Slot, kMaxRanks>, 2> slots;  // of two operations, by turns
};

// Communicators, and how their operations run.

enum class Kind { all_reduce, all_gather, reduce_scatter, broadcast, reduce, parts };

struct Member {
  Writer writer;
  Meeting* meeting = nullptr;
  bool blocking = true;
  bool joined = false;
  bool connected = false;
  bool given_up = false;
  int asks_left = 0;  // before what was begun is done
  std::deque<std::function<int()>> begun;
  int error = 0;  // asynchronous, and for good
  std::string text;
  std::uint64_t enqueued = 0;  // less those of graphs
  std::uint64_t executed = 0;
  std::set<void*> registered;  // memory
};

// The number of its ranks on a node, or on one GPU of it.
[[nodiscard]] int ranks_on(const Member& member, int host, std::optional<int> gpu = {});

// Data that a rank sends to a peer or receives from it; with peer -1, to or from all.
struct Gift {
  int peer = -1;
  const std::byte* from = nullptr;
  std::uint64_t bytes = 0;
};

struct Taking {
  int peer = -1;
  std::byte* to = nullptr;
  std::uint64_t bytes = 0;
};

struct Call {
  Kind kind = Kind::all_reduce;
  Request request;
  std::vector<Gift> gifts;
  std::vector<Taking> takings;
};

// The operation as work for a stream.
[[nodiscard]] Work work_of(const std::shared_ptr<Member>& member, Call call);

void fail(Member& member, int code, std::string text);

struct Group {
  int depth = 0;
  Call call;                // of sends and receives
  std::vector<Call> calls;  // collectives, in their order
  bench::nccl::Communicator communicator = nullptr;
  bench::cuda::Stream stream = nullptr;
  int failed = bench::nccl::kSuccess;
};

struct Library {
  std::map<bench::nccl::Communicator, std::shared_ptr<Member>> members;
  Group group;
  std::string last_error;
};

[[nodiscard]] Library& library();
[[nodiscard]] int version();
// Null if the handle is invalid.
[[nodiscard]] std::shared_ptr<Member> find(bench::nccl::Communicator handle);
// Records the text as the last error and returns the code.
[[nodiscard]] int refuse(int code, std::string text);
[[nodiscard]] int state_of(const Member& member);

}  // namespace muster::fakes::gpu
