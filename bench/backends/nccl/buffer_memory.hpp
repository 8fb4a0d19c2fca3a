// SPDX-License-Identifier: Apache-2.0
// The two buffers that operations of a rank use, on its GPU: the driver's memory, or NCCL's own,
// which is registered with the communicator.
#pragma once

#include <cstdint>

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

  // The GPU must live longer. `registered`: NCCL's memory, which its library must have.
  BufferMemory(Gpu& gpu, nccl::Library library, bool registered)
      : gpu_(gpu), library_(std::move(library)), registered_(registered) {}

  BufferMemory(const BufferMemory&) = delete;
  BufferMemory& operator=(const BufferMemory&) = delete;
  ~BufferMemory();

  [[nodiscard]] const Area& send() const { return send_; }

  [[nodiscard]] const Area& receive() const { return receive_; }

  // At least so many bytes of each; what they held is lost. Where there is too little, there is
  // nothing then: a smaller request may follow, and has all the room.
  [[nodiscard]] Result<void> reserve(std::uint64_t send, std::uint64_t receive);
  // NCCL's memory alone; nothing is to be done for the driver's.
  [[nodiscard]] Result<void> register_with(Communicator& communicator) const;

 private:
  [[nodiscard]] Result<void> grow(Area& area, std::uint64_t bytes);
  [[nodiscard]] Result<cuda::Pointer> allocate(std::uint64_t bytes);
  void release(Area& area);

  Gpu& gpu_;
  nccl::Library library_;
  bool registered_;
  Area send_, receive_;
};

}  // namespace muster::bench
