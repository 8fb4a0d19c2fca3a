// SPDX-License-Identifier: Apache-2.0
// The buffers of one rank in host memory: reserved and touched once, filled and verified for each
// operation.
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
  // `room`: the bytes that this rank may take, where that is known.
  HostMemory(int rank, int ranks, std::optional<std::uint64_t> room = {})
      : rank_(rank), ranks_(ranks), room_(room) {}

  [[nodiscard]] std::optional<std::uint64_t> room() const { return room_; }

  [[nodiscard]] Result<void> reserve(const Operation& largest);

  // Where an operation finds its data. A broadcast has one buffer, out of place, too: the root has
  // nothing to receive. `send` and `receive` are valid addresses even where nothing is sent.
  struct Buffers {
    Shape shape;
    std::byte* send = nullptr;
    std::byte* receive = nullptr;
    std::byte* whole = nullptr;  // in place: the one buffer from its begin; else as `receive`
  };

  [[nodiscard]] Result<Buffers> lay_out(const Operation& operation) const;

  // Overwrites what may be a right result from before, and then fills what is sent.
  void poison_and_fill(const Operation& operation, const Buffers& buffers) const;
  // Empty when every element is right.
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

// The job of an operation that runs over connections between ranks.
[[nodiscard]] HostJob job_of(const Operation& operation, const HostMemory::Buffers& buffers);

// The bytes that Linux can give on this machine without swapping; empty where it does not say. They
// shrink while other ranks reserve theirs: to be asked before any of them does.
[[nodiscard]] std::optional<std::uint64_t> host_memory_available();

// This process as the member of a back end on host memory.
[[nodiscard]] Member host_member(int rank);

}  // namespace muster::bench
