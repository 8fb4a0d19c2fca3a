// SPDX-License-Identifier: Apache-2.0
// Memory that an HCA reads and writes: of the host, or of the GPU near it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/backends/nccl/gpu.hpp"
#include "bench/node/rdma/hca.hpp"
#include "lib/base/result.hpp"

namespace muster::bench::node {

// The words of a memory that are not as expected.
struct Difference {
  std::uint64_t words = 0;
  std::uint64_t first_byte = 0;
};

class RdmaMemory {
 public:
  // Reserves host memory near the HCA.
  [[nodiscard]] static Result<std::unique_ptr<RdmaMemory>> reserve(const Hca& hca,
                                                                   std::uint64_t bytes);
  // Reserves memory of the GPU, which must outlive it: by a dma-buf, else by the driver's peer
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
  // Each word gets a distinct number, which also depends on the seed.
  [[nodiscard]] virtual Result<void> fill(std::uint64_t seed) = 0;
  // Overwrites the first `bytes`, so that words that are not written later are noticed.
  [[nodiscard]] virtual Result<void> clear(std::uint64_t bytes) = 0;
  // Compares the first `bytes` with those of `fill(seed)`; empty if they are equal.
  [[nodiscard]] virtual Result<std::optional<Difference>> compare(std::uint64_t seed,
                                                                  std::uint64_t bytes) = 0;

 protected:
  RdmaMemory(const Hca& hca, std::uint64_t bytes) : hca_(hca), bytes_(bytes) {}
  // Called before the memory is freed.
  void deregister();

  const Hca& hca_;
  std::uint64_t bytes_;
  std::uint64_t address_ = 0;
  ibv_mr* region_ = nullptr;
};

// The GPU near each HCA.
class NearGpus {
 public:
  // If no GPU can be used, trouble() is the reason.
  explicit NearGpus(const TestInput& input);

  // Returns the GPU that shares most of its path through the PCI bus with the HCA; of several, by
  // `index`. Null if there is none, or it cannot be opened.
  [[nodiscard]] Gpu* near(const std::string& hca, std::size_t index);

  [[nodiscard]] const cuda::Library& cuda() const { return cuda_; }
  [[nodiscard]] const Error& trouble() const { return trouble_; }

 private:
  struct KnownGpu {
    std::string path;  // of the device in sysfs; empty if unknown
    std::unique_ptr<Gpu> gpu;
  };

  [[nodiscard]] Result<void> find(const TestInput& input);

  cuda::Library cuda_;
  std::vector<KnownGpu> gpus_;
  Error trouble_;
};

// Returns how many leading folders two paths share.
[[nodiscard]] std::size_t common_folders(std::string_view one, std::string_view other);

}  // namespace muster::bench::node
