// SPDX-License-Identifier: Apache-2.0
// Memory that an HCA reads and writes: of the host, or of a GPU.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "bench/backends/nccl/gpu.hpp"
#include "bench/node/rdma/hca.hpp"
#include "lib/base/result.hpp"

namespace muster::bench::node {

// Bytes that came over changed.
struct Difference {
  std::uint64_t words = 0;
  std::uint64_t first_byte = 0;
};

class RdmaMemory {
 public:
  // Reserves memory of the host, near the HCA.
  [[nodiscard]] static Result<std::unique_ptr<RdmaMemory>> reserve(const Hca& hca,
                                                                   std::uint64_t bytes);
  // Reserves memory of this GPU, which lives longer: by a dma-buf, else by the driver's peer
  // memory.
  [[nodiscard]] static Result<std::unique_ptr<RdmaMemory>> reserve_on(const Hca& hca, Gpu& gpu,
                                                                      const cuda::Library& cuda,
                                                                      std::uint64_t bytes);
  RdmaMemory(const RdmaMemory&) = delete;
  RdmaMemory(RdmaMemory&&) = delete;
  RdmaMemory& operator=(const RdmaMemory&) = delete;
  RdmaMemory& operator=(RdmaMemory&&) = delete;
  virtual ~RdmaMemory();

  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

  [[nodiscard]] std::uint64_t address() const { return address_; }

  [[nodiscard]] std::uint32_t local_key() const { return region_->lkey; }

  [[nodiscard]] std::uint32_t remote_key() const { return region_->rkey; }

  // Every word has a number of its own, and those of other seeds have others.
  [[nodiscard]] virtual Result<void> fill(std::uint64_t seed) = 0;
  // Overwrites the first `bytes`, so that what is not written afterwards is seen.
  [[nodiscard]] virtual Result<void> clear(std::uint64_t bytes) = 0;
  // What of the first `bytes` is not what `fill(seed)` writes; empty where all is.
  [[nodiscard]] virtual Result<std::optional<Difference>> compare(std::uint64_t seed,
                                                                  std::uint64_t bytes) = 0;

 protected:
  RdmaMemory(const Hca& hca, std::uint64_t bytes) : hca_(hca), bytes_(bytes) {}

  // Before the memory is given back.
  void deregister();

  const Hca& hca_;
  std::uint64_t bytes_;
  std::uint64_t address_ = 0;
  ibv_mr* region_ = nullptr;
};

}  // namespace muster::bench::node
