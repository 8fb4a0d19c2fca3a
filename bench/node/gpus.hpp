// SPDX-License-Identifier: Apache-2.0
// The GPUs that this process may use, each with two streams, the tests' kernels, and host memory
// near it.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/backends/nccl/gpu.hpp"
#include "bench/backends/nccl/library.hpp"
#include "bench/node/test.hpp"
#include "lib/base/result.hpp"

namespace muster::bench::node {

// The kernels of the tests, as the driver takes them: kernels.ptx, held by the program.
[[nodiscard]] std::string_view kernels_ptx();

// What kernels that compare have found since the counts were cleared.
struct Counts {
  std::uint64_t wrong = 0;
  std::uint64_t first = ~std::uint64_t{0};  // the least index
  std::uint64_t bits = 0;                   // all that differed
};

// Word i of memory: the seed, or with `spread` its own number in all bits.
struct MemoryPattern {
  std::uint64_t seed = 0;
  std::uint64_t spread = 0;
};

// Memory of the host that the GPU reads and writes itself.
class PinnedMemory {
 public:
  PinnedMemory(cuda::Library library, void* memory, std::uint64_t bytes)
      : library_(std::move(library)), memory_(memory), bytes_(bytes) {}

  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;

  ~PinnedMemory() { library_.host_free.call(memory_); }

  [[nodiscard]] std::uint64_t* words() const { return static_cast<std::uint64_t*>(memory_); }

  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  cuda::Library library_;
  void* memory_;
  std::uint64_t bytes_;
};

class NodeGpu {
 public:
  [[nodiscard]] static Result<std::unique_ptr<NodeGpu>> open(const cuda::Library& library,
                                                             int ordinal, std::string name);
  NodeGpu(const NodeGpu&) = delete;
  NodeGpu& operator=(const NodeGpu&) = delete;
  ~NodeGpu();

  [[nodiscard]] const std::string& name() const { return name_; }

  [[nodiscard]] int device() const { return device_; }

  [[nodiscard]] const cuda::Library& library() const { return library_; }

  // The GPU, which is there twice: each has a stream and events of its own.
  [[nodiscard]] Gpu& gpu() const { return *first_; }

  [[nodiscard]] Gpu& second() const { return *second_; }

  // Blocks that keep all of it busy.
  [[nodiscard]] std::uint64_t blocks() const { return blocks_; }

  [[nodiscard]] Result<cuda::Pointer> allocate(std::uint64_t bytes);
  // So much for each of these.
  [[nodiscard]] Result<void> allocate(std::initializer_list<cuda::Pointer*> memories,
                                      std::uint64_t bytes);
  void release_all();
  // Pins memory on the NUMA node that is local to the GPU, where the kernel tells which that is.
  [[nodiscard]] Result<std::unique_ptr<PinnedMemory>> pin(std::uint64_t bytes) const;

  // The work of each is put on the first stream. `count` is of floats, a multiple of 4.
  [[nodiscard]] Result<void> triad(cuda::Pointer c, cuda::Pointer a, cuda::Pointer b,
                                   std::uint64_t count);
  [[nodiscard]] Result<void> write_pattern(cuda::Pointer words, std::uint64_t count,
                                           const MemoryPattern& pattern);
  // Compares the words with the pattern, and leaves its inverse in their place.
  [[nodiscard]] Result<void> check_pattern(cuda::Pointer words, std::uint64_t count,
                                           const MemoryPattern& pattern);
  // `copies` of c = a b of n x n floats each, each computed `repeats` times.
  [[nodiscard]] Result<void> product(cuda::Pointer a, cuda::Pointer b, cuda::Pointer c,
                                     std::uint64_t n, std::uint64_t copies, std::uint64_t repeats);
  // Compares words of 4 bytes with the `period` words of `expected`, again and again.
  [[nodiscard]] Result<void> compare(cuda::Pointer seen, cuda::Pointer expected,
                                     std::uint64_t count, std::uint64_t period);
  [[nodiscard]] Result<void> clear_counts();
  // Waits for the stream.
  [[nodiscard]] Result<Counts> counts();
  [[nodiscard]] Result<void> wait() const;
  // Seconds of the GPU's own clock that `work`, which puts something on the first stream, took.
  [[nodiscard]] Result<double> timed(const std::function<Result<void>()>& work);
  // Times the work in two steps, between which other GPUs begin.
  [[nodiscard]] Result<void> begin_timed(const std::function<Result<void>()>& work);
  [[nodiscard]] Result<double> end_timed();

 private:
  NodeGpu(cuda::Library library, std::string name)
      : library_(std::move(library)), name_(std::move(name)) {}

  [[nodiscard]] Result<void> set_up(int ordinal);
  [[nodiscard]] Result<void> launch(cuda::Kernel kernel, std::uint64_t blocks, void** arguments);

  cuda::Library library_;
  std::string name_;
  int device_ = 0;
  std::uint64_t blocks_ = 1;
  std::unique_ptr<Gpu> first_, second_;
  cuda::Module module_ = nullptr;
  cuda::Kernel triad_ = nullptr, write_ = nullptr, check_ = nullptr, product_ = nullptr,
               compare_ = nullptr;
  cuda::Pointer result_ = 0;
  std::array<std::uint64_t, 3> counts_{};
  std::vector<cuda::Pointer> memory_;
};

struct NodeGpus {
  std::vector<std::unique_ptr<NodeGpu>> gpus;
  std::vector<Finding> refused;  // GPUs that could not be opened: unknown, with the reason
};

// All that are visible. An error whose `missing` is set: there is no driver, or no GPU.
[[nodiscard]] Result<NodeGpus> open_gpus(const TestInput& input);

}  // namespace muster::bench::node
