// SPDX-License-Identifier: Apache-2.0
// The host's CPUs and memory, and the measurements of its memory and disks. STREAM runs on some of
// the CPUs, and each element of each result is verified. Disks are read past the page cache, many
// reads at a time, by io_uring; nothing is written.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.hpp"
#include "lib/base/root.hpp"

namespace muster::bench::node {

struct NumaCpus {
  unsigned node = 0;
  std::vector<unsigned> cpus;  // that this process may use; empty for a node with memory only

  bool operator==(const NumaCpus&) const = default;
};

// Returns the CPUs of each node, in ascending order. A kernel without NUMA has one node, 0.
[[nodiscard]] Result<std::vector<NumaCpus>> numa_cpus(const Root& root,
                                                      const std::vector<unsigned>& own);

// Returns the bytes of all last-level caches of these CPUs; 0 if unknown.
[[nodiscard]] std::uint64_t cache_bytes(const Root& root, const std::vector<unsigned>& cpus);

// Returns the bytes that can be allocated without swapping: the kernel's estimate, limited by the
// control groups of this process. 0 if unknown.
[[nodiscard]] std::uint64_t memory_available(const Root& root);

// Describes a limit on this process's use of the CPUs, such as "8 of 96 CPUs"; empty if it has
// none.
[[nodiscard]] std::string restriction_of_cpus(const Root& root, const std::vector<unsigned>& own);

// Runs `work(index)` on one thread bound to each CPU, and waits for all. Returns the first error.
[[nodiscard]] Result<void> on_each(std::span<const unsigned> cpus,
                                   const std::function<void(std::size_t)>& work);

// Blocks threads until all have arrived. They spin, because waking up takes time.
class Gate {
 public:
  explicit Gate(std::size_t threads) : threads_(threads) {}
  void pass();

 private:
  std::size_t threads_;
  std::atomic<std::size_t> waiting_{0};
  std::atomic<std::size_t> round_{0};
};

// Memory whose pages are untouched, in huge pages if the kernel provides them.
class FreshMemory {
 public:
  [[nodiscard]] static Result<FreshMemory> reserve(std::uint64_t bytes);
  FreshMemory(FreshMemory&& other) noexcept;
  FreshMemory(const FreshMemory&) = delete;
  FreshMemory& operator=(const FreshMemory&) = delete;
  ~FreshMemory();

  // Takes pages that are touched from now on from this NUMA node.
  [[nodiscard]] Result<void> bind_to(unsigned numa_node);

  template <class T>
  [[nodiscard]] T* as() const {
    return static_cast<T*>(memory_);
  }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  FreshMemory(void* memory, std::uint64_t bytes) : memory_(memory), bytes_(bytes) {}
  void* memory_ = nullptr;
  std::uint64_t bytes_ = 0;
};

inline constexpr double kScalar = 3;

// The arrays of one thread. Each is aligned to 64 bytes, and `count` is a multiple of 8. No kernel
// changes its input, so each can be repeated and verified: b = a, b = 3a, c = a + b, c = b + 3a.
struct StreamArrays {
  double* a = nullptr;
  double* b = nullptr;
  double* c = nullptr;
  std::size_t count = 0;
};

struct StreamKernel {
  std::string_view name;
  double bytes_per_element = 0;  // as STREAM counts: read and written
  bool into_c = false;           // else into b
  void (*ordinary)(const StreamArrays&) = nullptr;
  // With stores that bypass the caches; the same function if the processor has none.
  void (*streaming)(const StreamArrays&) = nullptr;
};

inline constexpr std::size_t kStreamKernels = 4;

// Copy, scale, add, triad, with the widest vectors of this processor. Each uses the results of
// those before it.
[[nodiscard]] const std::array<StreamKernel, kStreamKernels>& stream_kernels();

// Returns element `index` of array a: a 50-bit integer, for which the kernels are exact. The period
// is not that of a page.
[[nodiscard]] double stream_value(std::size_t index);

// Returns the size of an array: four times all caches together, as STREAM requires, and at most a
// sixth of the free memory.
[[nodiscard]] std::uint64_t stream_array_bytes(std::uint64_t caches, std::uint64_t available);

struct LocalDisk {
  std::string name;    // nvme0n1
  std::string device;  // /dev/nvme0n1
  std::uint64_t bytes = 0;
  std::string model;  // disks of one model are compared

  bool operator==(const LocalDisk&) const = default;
};

// Returns the local NVMe disks of this node, by name, without those over a network or without a
// medium.
[[nodiscard]] Result<std::vector<LocalDisk>> local_disks(const Root& root);

struct DiskReadPlan {
  std::string path;         // a block device or a file
  std::uint64_t size = 0;   // bytes of it to read from
  std::uint32_t block = 0;  // bytes of a read; a multiple of 4096
  unsigned depth = 1;       // concurrent reads
  bool random = false;      // else sequential, starting over at the end
  std::chrono::duration<double> time{1};
};

struct DiskReads {
  std::vector<double> bytes_per_second;  // in each tenth of the time
  std::uint64_t reads = 0;
  std::uint64_t failed = 0;   // that returned an error or too few bytes
  std::string first_failure;  // where, and why
};

// An error if the disk cannot be read at all, such as without permission or io_uring.
[[nodiscard]] Result<DiskReads> read_disk(const DiskReadPlan& plan);

}  // namespace muster::bench::node
