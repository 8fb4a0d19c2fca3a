// SPDX-License-Identifier: Apache-2.0
// The CPUs that this process may use, by NUMA node, threads bound to them, and memory near them.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
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

// How this process is kept from using all CPUs for all of the time, "8 of 96 CPUs"; empty if it is
// not.
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

}  // namespace muster::bench::node
