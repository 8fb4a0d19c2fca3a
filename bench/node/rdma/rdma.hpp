// SPDX-License-Identifier: Apache-2.0
// RDMA within a node: its HCAs, memory that they read and write, and queue pairs between two of
// them.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/backends/nccl/gpu.hpp"
#include "bench/node/host.hpp"
#include "bench/node/test.hpp"
#include "lib/base/result.hpp"
#include "lib/probes/verbs/library.hpp"

namespace muster::bench::node {

// One HCA with an active port.
class Hca {
 public:
  // The error is `missing` if the HCA has no port of the tested kind.
  [[nodiscard]] static Result<std::unique_ptr<Hca>> open(const VerbsLibrary& library,
                                                         ibv_device* device, bool ethernet_too);
  Hca(const Hca&) = delete;
  Hca& operator=(const Hca&) = delete;
  ~Hca();

  [[nodiscard]] const VerbsLibrary& library() const { return library_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] ibv_context* context() const { return context_; }
  [[nodiscard]] ibv_pd* domain() const { return domain_; }
  [[nodiscard]] const ibv_device_attr& limits() const { return limits_; }
  [[nodiscard]] const ibv_port_attr& port() const { return port_; }
  [[nodiscard]] std::uint8_t port_number() const { return port_number_; }
  [[nodiscard]] std::uint16_t pkey_index() const { return pkey_index_; }
  // The address of this HCA for a queue pair of another one with the same kind of port.
  [[nodiscard]] ibv_ah_attr address() const;

  // HCAs of one model are compared.
  [[nodiscard]] std::string model() const;
  // Empty if the kernel does not report it.
  [[nodiscard]] std::optional<unsigned> numa_node() const;

 private:
  Hca(const VerbsLibrary& library, std::string name) : library_(library), name_(std::move(name)) {}
  [[nodiscard]] Result<void> choose_port(bool ethernet_too);
  [[nodiscard]] Result<void> choose_address();

  VerbsLibrary library_;
  std::string name_;
  ibv_context* context_ = nullptr;
  ibv_pd* domain_ = nullptr;
  ibv_device_attr limits_{};
  ibv_port_attr port_{};
  std::uint8_t port_number_ = 1;
  std::uint8_t gid_index_ = 0;
  std::uint16_t pkey_index_ = 0;
  ibv_gid gid_{};
};

struct OpenHcas {
  std::vector<std::unique_ptr<Hca>> hcas;  // by name
  std::vector<Finding> refused;            // unknown, with the reason
};

// Opens all HCAs with an InfiniBand port, and others that NCCL_IB_HCA names. The error is `missing`
// if there is none, or no libibverbs.
[[nodiscard]] Result<OpenHcas> open_hcas(const TestInput& input);

// "post a transfer: Connection refused": the operation that failed, and an errno.
[[nodiscard]] tl::unexpected<Error> verbs_error(std::string_view operation, int error);

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
  RdmaMemory& operator=(const RdmaMemory&) = delete;
  ~RdmaMemory();

  [[nodiscard]] std::uint64_t address() const { return address_; }
  [[nodiscard]] std::uint32_t local_key() const { return region_->lkey; }
  [[nodiscard]] std::uint32_t remote_key() const { return region_->rkey; }
  // Each word gets a distinct number, which also depends on the seed.
  [[nodiscard]] Result<void> fill(std::uint64_t seed);
  // Overwrites the first `bytes`, so that words that are not written later are noticed.
  [[nodiscard]] Result<void> clear(std::uint64_t bytes);
  // Compares the first `bytes` with those of `fill(seed)`; empty if they are equal.
  [[nodiscard]] Result<std::optional<Difference>> compare(std::uint64_t seed, std::uint64_t bytes);

 private:
  RdmaMemory(const Hca& hca, std::uint64_t bytes) : hca_(hca), bytes_(bytes) {}

  [[nodiscard]] std::span<std::uint64_t> words(std::uint64_t bytes);
  [[nodiscard]] Result<void> read_gpu(std::span<std::uint64_t> words);
  [[nodiscard]] ibv_mr* register_dma_buf(std::uint64_t whole) const;

  const Hca& hca_;
  std::uint64_t bytes_;
  std::uint64_t address_ = 0;
  ibv_mr* region_ = nullptr;
  std::optional<FreshMemory> host_;
  Gpu* gpu_ = nullptr;  // null for memory of the host
  cuda::Library cuda_;
  std::vector<std::uint64_t> copy_;  // the host's end of copies from and to the GPU
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

// Messages from the beginning of one memory to the beginning of the other, each to its own place.
struct Transfers {
  ibv_wr_opcode kind = IBV_WR_RDMA_WRITE;
  const RdmaMemory* local = nullptr;
  const RdmaMemory* remote = nullptr;
  std::uint64_t message = 0;  // bytes
  std::uint64_t count = 0;
};

class RdmaPath {
 public:
  // A transfer fails if nothing completes for `patience`.
  [[nodiscard]] static Result<std::unique_ptr<RdmaPath>> connect(const Hca& from, const Hca& to,
                                                                 std::chrono::nanoseconds patience);
  RdmaPath(const RdmaPath&) = delete;
  RdmaPath& operator=(const RdmaPath&) = delete;
  ~RdmaPath();

  // Moves many messages at a time. Returns the seconds from the first post to the last completion.
  // After an error the path cannot be used.
  [[nodiscard]] Result<double> move(const Transfers& transfers);

 private:
  RdmaPath(const Hca& from, const Hca& to, std::chrono::nanoseconds patience)
      : from_(from), to_(to), patience_(patience) {}

  [[nodiscard]] Result<void> set_up();
  [[nodiscard]] Result<ibv_qp*> make_pair(const Hca& hca, ibv_cq* completions) const;
  [[nodiscard]] Result<void> post(const Transfers& transfers, std::uint64_t index);
  // Returns the number of transfers that completed since the last call.
  [[nodiscard]] Result<std::uint64_t> poll();

  const Hca& from_;
  const Hca& to_;
  std::chrono::nanoseconds patience_;
  ibv_cq* completions_ = nullptr;
  ibv_cq* unused_ = nullptr;  // of the target, which posts nothing
  std::vector<ibv_qp*> local_, remote_;
  std::uint64_t depth_ = 1;
};

}  // namespace muster::bench::node
