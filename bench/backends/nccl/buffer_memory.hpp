// SPDX-License-Identifier: Apache-2.0
// The two buffers of a rank's operations on its GPU: the driver's memory, or NCCL's own, which is
// registered with the communicator.
#pragma once

#include <cstdint>
#include <utility>

#include "bench/backends/nccl/communicator.hpp"
#include "bench/backends/nccl/gpu.hpp"
#include "bench/backends/nccl/library.hpp"
#include "lib/base/result.hpp"

namespace muster::bench {

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
    if (!gpu_.use()) return;
    release(send_);
    release(receive_);
  }

  [[nodiscard]] const Area& send() const { return send_; }

  [[nodiscard]] const Area& receive() const { return receive_; }

  // Reserves at least this many bytes; the contents are lost. If memory is short, both are freed,
  // so that a smaller request can follow.
  [[nodiscard]] Result<void> reserve(std::uint64_t send, std::uint64_t receive) {
    auto grown = grow(send_, send);
    if (grown) grown = grow(receive_, receive);
    if (!grown) {
      release(send_);
      release(receive_);
    }
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
    const int code = library_.memory_take.call(&memory, bytes);
    if (code != nccl::kSuccess) {
      return tl::unexpected(trouble(library_, library_.memory_take.name, code, nullptr));
    }
    return reinterpret_cast<cuda::Pointer>(memory);
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
