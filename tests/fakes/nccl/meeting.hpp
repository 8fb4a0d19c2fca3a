// SPDX-License-Identifier: Apache-2.0
// The shared memory in which the ranks of a fake communicator meet. The maker of the unique id
// holds it as an unnamed file, which the others open through /proc, so that nothing is left behind.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "bench/backends/nccl/abi.hpp"
#include "tests/fakes/cuda/state.hpp"

namespace muster::fakes::gpu {

inline constexpr std::size_t kMostRanks = 64;
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
  std::array<Part, kMostRanks> part;
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
  std::array<Seat, kMostRanks> seats;
  std::array<std::array<Slot, kMostRanks>, 2> slots;  // of two operations, by turns
};

// Makes a meeting and its id.
[[nodiscard]] bool open_meeting(bench::nccl::UniqueId& id);
// Null if the id is not that of a living process.
[[nodiscard]] Meeting* join_meeting(const bench::nccl::UniqueId& id);
void leave_meeting(Meeting* meeting);

}  // namespace muster::fakes::gpu
