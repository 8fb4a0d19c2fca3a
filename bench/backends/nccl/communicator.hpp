// SPDX-License-Identifier: Apache-2.0
// NCCL's communicator: checked for asynchronous errors, and aborted from another thread if it
// hangs.
#pragma once

#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/backends/nccl/gpu.hpp"
#include "bench/backends/nccl/library.hpp"
#include "bench/collectives/operation.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/result.hpp"

namespace muster::bench {

// An operation of one rank and its buffers.
struct OperationRun {
  Operation operation;
  Shape shape;
  cuda::Pointer send = 0;
  cuda::Pointer receive = 0;
  std::vector<Segment> expected = {};
};

class Communicator {
 public:
  Communicator(nccl::Library library, int rank, int ranks)
      : library_(std::move(library)), rank_(rank), ranks_(ranks) {}

  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  ~Communicator();

  // Makes the id that all ranks need. One rank calls this.
  [[nodiscard]] Result<std::string> make_id() const;
  // Returns when all ranks have joined, or after the limit. See NcclOptions::forming_limit.
  [[nodiscard]] Result<void> join(const std::string& id,
                                  std::optional<std::chrono::nanoseconds> limit);

  // Registers memory until release_memory() or destruction.
  [[nodiscard]] Result<void> register_memory(cuda::Pointer memory, std::uint64_t bytes);
  void release_memory();

  // Enqueues the operation `times` times, as one group.
  [[nodiscard]] Result<void> enqueue(const OperationRun& run, cuda::Stream stream, int times = 1);

  // Fails if NCCL has reported an error or the communicator was aborted.
  [[nodiscard]] Result<void> healthy();

  // Thread-safe. Returns within seconds even if NCCL hangs.
  void abort() noexcept;

 private:
  [[nodiscard]] int start(const OperationRun& run, cuda::Stream stream, int round = 0);
  // Returns "in progress" if the state cannot be queried.
  [[nodiscard]] int state();
  // Waits for a call that returned "in progress", and aborts it at the deadline.
  [[nodiscard]] Result<void> wait_for_call(std::string_view what, int code,
                                           Clock::time_point until = Clock::time_point::max());
  void leave();

  nccl::Library library_;
  int rank_;
  int ranks_;
  std::atomic<nccl::Communicator> handle_{nullptr};
  std::atomic<bool> given_up_{false};
  bool failed_ = false;
  std::vector<void*> registered_;  // NCCL's handles
  std::mutex asking_;              // held only while the state is queried
};

// The two buffers of a rank's operations on its GPU: the driver's memory, or NCCL's own, which is
// registered with the communicator.
class BufferMemory {
 public:
  struct Area {
    cuda::Pointer begin = 0;
    std::uint64_t bytes = 0;
  };

  // The GPU must live longer. With `registered`, the library must support NCCL's memory.
  BufferMemory(Gpu& gpu, nccl::Library library, bool registered)
      : gpu_(gpu), library_(std::move(library)), registered_(registered) {}

  BufferMemory(const BufferMemory&) = delete;
  BufferMemory& operator=(const BufferMemory&) = delete;

  ~BufferMemory() {
    if (gpu_.use()) release_all();
  }

  [[nodiscard]] const Area& send() const { return send_; }

  [[nodiscard]] const Area& receive() const { return receive_; }

  // Reserves at least this many bytes; the contents are lost. If memory is short, both are freed,
  // so that a smaller request can follow.
  [[nodiscard]] Result<void> reserve(std::uint64_t send, std::uint64_t receive) {
    auto grown = grow(send_, send).and_then([&] { return grow(receive_, receive); });
    if (!grown) release_all();
    return grown;
  }

  // Registers NCCL's memory; does nothing for the driver's.
  [[nodiscard]] Result<void> register_with(Communicator& communicator) const {
    if (!registered_) return {};
    for (const auto& [begin, bytes] : {send_, receive_}) {
      if (bytes > 0) TRY(communicator.register_memory(begin, bytes));
    }
    return {};
  }

 private:
  [[nodiscard]] Result<void> grow(Area& area, std::uint64_t bytes) {
    if (bytes <= area.bytes) return {};
    release(area);
    TRY_ASSIGN(const auto made, allocate(bytes));
    area = {made, bytes};
    return {};
  }

  [[nodiscard]] Result<cuda::Pointer> allocate(std::uint64_t bytes) {
    if (!registered_) return gpu_.allocate(bytes);
    void* memory = nullptr;
    TRY(call(library_, library_.memory_take, &memory, bytes));
    return reinterpret_cast<cuda::Pointer>(memory);
  }

  void release_all() {
    release(send_);
    release(receive_);
  }

  void release(Area& area) {
    const auto memory = std::exchange(area, {}).begin;
    if (!registered_) return gpu_.release(memory);
    // NOLINTNEXTLINE(performance-no-int-to-ptr): of NCCL's interface
    if (memory != 0) library_.memory_free.call(reinterpret_cast<void*>(memory));
  }

  Gpu& gpu_;
  nccl::Library library_;
  bool registered_;
  Area send_, receive_;
};

}  // namespace muster::bench
