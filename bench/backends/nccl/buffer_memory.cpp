// SPDX-License-Identifier: Apache-2.0
#include "bench/backends/nccl/buffer_memory.hpp"

#include <utility>

#include "bench/backends/nccl/errors.hpp"

namespace muster::bench {

BufferMemory::~BufferMemory() {
  if (!gpu_.use()) return;
  release(send_);
  release(receive_);
}

Result<void> BufferMemory::reserve(std::uint64_t send, std::uint64_t receive) {
  auto grown = grow(send_, send);
  if (grown) grown = grow(receive_, receive);
  if (!grown) {
    release(send_);
    release(receive_);
  }
  return grown;
}

Result<void> BufferMemory::grow(Area& area, std::uint64_t bytes) {
  if (bytes <= area.bytes) return {};
  release(area);
  const auto made = allocate(bytes);
  if (!made) return tl::unexpected(made.error());
  area = {*made, bytes};
  return {};
}

Result<cuda::Pointer> BufferMemory::allocate(std::uint64_t bytes) {
  if (!registered_) return gpu_.allocate(bytes);
  void* memory = nullptr;
  const int code = library_.memory_take.call(&memory, bytes);
  if (code != nccl::kSuccess) {
    return tl::unexpected(trouble(library_, library_.memory_take.name, code, nullptr));
  }
  return reinterpret_cast<cuda::Pointer>(memory);
}

void BufferMemory::release(Area& area) {
  const auto memory = std::exchange(area, {}).begin;
  if (!registered_) return gpu_.release(memory);
  // NOLINTNEXTLINE(performance-no-int-to-ptr): as NCCL takes it
  if (memory != 0) library_.memory_free.call(reinterpret_cast<void*>(memory));
}

Result<void> BufferMemory::register_with(Communicator& communicator) const {
  if (!registered_) return {};
  for (const auto& [begin, bytes] : {send_, receive_}) {
    if (bytes == 0) continue;
    if (auto done = communicator.register_memory(begin, bytes); !done) return done;
  }
  return {};
}

}  // namespace muster::bench
