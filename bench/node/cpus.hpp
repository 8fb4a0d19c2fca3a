// SPDX-License-Identifier: Apache-2.0
// The CPUs that this process may use, by NUMA node, and threads that stay on one of them.
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
  std::vector<unsigned> cpus;  // those of this process; none for a node of memory only

  bool operator==(const NumaCpus&) const = default;
};

[[nodiscard]] Result<std::vector<unsigned>> own_cpus();

// The processors of each node, in ascending order. A kernel without NUMA has one node, 0.
[[nodiscard]] Result<std::vector<NumaCpus>> numa_cpus(const Root& root,
                                                      const std::vector<unsigned>& own);

// Bytes of all last-level caches that these CPUs reach; 0 where the kernel does not tell.
[[nodiscard]] std::uint64_t cache_bytes(const Root& root, const std::vector<unsigned>& cpus);

// Bytes that can be taken without pushing others out: the kernel's estimate, and no more than what
// the control groups of this process leave it. Zero where nobody tells.
[[nodiscard]] std::uint64_t memory_available(const Root& root);

// Runs `work(index)` on one thread for each CPU, each on its own, and waits for all. The first
// error of any.
[[nodiscard]] Result<void> on_each(std::span<const unsigned> cpus,
                                   const std::function<void(std::size_t)>& work);

// Holds threads until all have come. They spin: who sleeps comes late to what is timed.
class Gate {
 public:
  explicit Gate(std::size_t threads) : threads_(threads) {}

  void pass();

 private:
  std::size_t threads_;
  std::atomic<std::size_t> waiting_{0};
  std::atomic<std::size_t> round_{0};
};

// Memory whose pages nobody has touched yet; large pages where the kernel gives them.
class FreshMemory {
 public:
  [[nodiscard]] static Result<FreshMemory> reserve(std::uint64_t bytes);
  FreshMemory(FreshMemory&& other) noexcept;
  FreshMemory(const FreshMemory&) = delete;
  FreshMemory& operator=(const FreshMemory&) = delete;
  ~FreshMemory();

  // Pages that are touched from now on come from this NUMA node.
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
