// SPDX-License-Identifier: Apache-2.0
// The buffers of a rank in host memory: reserved once, filled and verified for each operation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "bench/backends/backend.hpp"
#include "bench/collectives/host_algorithms.hpp"
#include "bench/collectives/operation.hpp"
#include "bench/collectives/pattern.hpp"
#include "lib/base/result.hpp"

namespace muster::bench {

class HostMemory {
 public:
  // `room`: the bytes that this rank may allocate, if that is known.
  HostMemory(int rank, int ranks, std::optional<std::uint64_t> room = {})
      : rank_(rank), ranks_(ranks), room_(room) {}

  [[nodiscard]] std::optional<std::uint64_t> room() const { return room_; }

  [[nodiscard]] Result<void> reserve(const Operation& largest);

  // The buffers of an operation. `send` and `receive` are valid addresses even if they are empty.
  struct Buffers {
    Shape shape;
    std::byte* send = nullptr;
    std::byte* receive = nullptr;
    std::byte* whole = nullptr;  // in place: the start of the shared buffer; else as `receive`
  };

  [[nodiscard]] Result<Buffers> lay_out(const Operation& operation) const;

  // Poisons the receive buffer, then fills the send buffer.
  void poison_and_fill(const Operation& operation, const Buffers& buffers) const;
  // Empty if every element is right.
  [[nodiscard]] std::vector<Wrong> verify(const Operation& operation, const Buffers& buffers) const;

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };

  struct Area {
    std::unique_ptr<std::byte, Free> memory;
    std::size_t bytes = 0;
  };

  struct Pair {
    Area send, receive;
  };

  [[nodiscard]] static Result<Area> allocate(std::uint64_t bytes, std::size_t page);
  [[nodiscard]] static Result<Pair> allocate_pair(std::uint64_t send, std::uint64_t receive,
                                                  std::size_t page);

  int rank_, ranks_;
  std::optional<std::uint64_t> room_;
  Pair short_, long_;
};

[[nodiscard]] HostJob job_of(const Operation& operation, const HostMemory::Buffers& buffers);

// The bytes that are available on this machine without swapping. Call this before any rank reserves
// its buffers.
[[nodiscard]] std::optional<std::uint64_t> host_memory_available();

// This process as a member of a back end on host memory.
[[nodiscard]] Member host_member(int rank);

}  // namespace muster::bench
