// SPDX-License-Identifier: Apache-2.0
// The GPUs that this process may use, each with two streams, the tests' kernels, and host memory
// near it.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/backends/nccl/gpu.hpp"
#include "bench/backends/nccl/library.hpp"
#include "bench/node/test.hpp"
#include "lib/base/result.hpp"

namespace muster::bench::node {

// The kernels of the tests: the embedded text of kernels.ptx.
[[nodiscard]] std::string_view kernels_ptx();

// The differences that comparing kernels found since the counts were cleared.
struct Counts {
  std::uint64_t wrong = 0;
  std::uint64_t first = ~std::uint64_t{0};  // the least index
  std::uint64_t bits = 0;                   // all that differed
};

// Word i of memory: the seed, or with `spread` its own index in all bits.
struct MemoryPattern {
  std::uint64_t seed = 0;
  std::uint64_t spread = 0;
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
  // The same GPU twice, each with its own stream and events.
  [[nodiscard]] Gpu& gpu() const { return *first_; }
  [[nodiscard]] Gpu& second() const { return *second_; }
  // The number of blocks that keeps the GPU busy.
  [[nodiscard]] std::uint64_t blocks() const { return blocks_; }
  [[nodiscard]] Result<cuda::Pointer> allocate(std::uint64_t bytes);
  // Allocates `bytes` for each of `memories`.
  [[nodiscard]] Result<void> allocate(std::initializer_list<cuda::Pointer*> memories,
                                      std::uint64_t bytes);
  void release_all();
  // These wait until they are done. `bits` are the elements of memory, over and over.
  [[nodiscard]] Result<void> poison(cuda::Pointer memory, std::uint64_t bytes);
  [[nodiscard]] Result<void> fill(cuda::Pointer memory, std::uint64_t count, std::size_t width,
                                  const std::vector<std::uint64_t>& bits);
  [[nodiscard]] Result<Wrong> verify(cuda::Pointer memory, std::uint64_t count, std::size_t width,
                                     const std::vector<std::uint64_t>& bits);
  // Allocates host memory that the GPU reads and writes itself, on the NUMA node that is local to
  // the GPU if the kernel reports it.
  [[nodiscard]] Result<std::span<std::uint64_t>> pin(std::uint64_t bytes);

  // Copy on the first stream, and wait for it.
  [[nodiscard]] Result<void> copy_to_gpu(cuda::Pointer to, const void* from, std::uint64_t bytes);
  [[nodiscard]] Result<void> copy_to_host(void* to, cuda::Pointer from, std::uint64_t bytes);

  // These enqueue their work on the first stream. `count`: of floats, a multiple of 4.
  [[nodiscard]] Result<void> triad(cuda::Pointer c, cuda::Pointer a, cuda::Pointer b,
                                   std::uint64_t count);
  [[nodiscard]] Result<void> write_pattern(cuda::Pointer words, std::uint64_t count,
                                           const MemoryPattern& pattern);
  // Compares the words with the pattern, and replaces them with its inverse.
  [[nodiscard]] Result<void> check_pattern(cuda::Pointer words, std::uint64_t count,
                                           const MemoryPattern& pattern);
  // `copies` of c = a b of n x n floats each, each computed `repeats` times.
  [[nodiscard]] Result<void> product(cuda::Pointer a, cuda::Pointer b, cuda::Pointer c,
                                     std::uint64_t n, std::uint64_t copies, std::uint64_t repeats);
  // Compares 4-byte words with the `period` words of `expected`, over and over.
  [[nodiscard]] Result<void> compare(cuda::Pointer seen, cuda::Pointer expected,
                                     std::uint64_t count, std::uint64_t period);
  [[nodiscard]] Result<void> clear_counts();
  // Waits for the stream.
  [[nodiscard]] Result<Counts> counts();
  [[nodiscard]] Result<void> wait() const;
  // Returns the seconds, by the GPU's clock, of the work that `work` enqueues on the first stream.
  [[nodiscard]] Result<double> timed(const std::function<Result<void>()>& work);
  // The same in two steps, between which other GPUs can start.
  [[nodiscard]] Result<void> begin_timed(const std::function<Result<void>()>& work);
  [[nodiscard]] Result<double> end_timed();

 private:
  NodeGpu(cuda::Library library, std::string name)
      : library_(std::move(library)), name_(std::move(name)) {}

  [[nodiscard]] Result<void> set_up(int ordinal);
  template <class... Arguments>
  [[nodiscard]] Result<void> launch(cuda::Kernel kernel, std::uint64_t blocks,
                                    Arguments... arguments);

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
  std::vector<void*> pinned_;
};

struct NodeGpus {
  std::vector<std::unique_ptr<NodeGpu>> gpus;
  std::vector<Finding> refused;  // unknown, for GPUs that could not be opened

  // Runs `work` on each GPU. One that it fails on is unknown.
  void on_each(TestResult& result, const std::function<Result<void>(NodeGpu&)>& work) const;
};

// Returns distinct words for a buffer to repeat, which depend on the seed. Their number is a prime,
// unlike the length of a row of memory.
[[nodiscard]] std::vector<std::uint64_t> varied_words(std::uint64_t seed);

inline constexpr std::uint64_t kQuickCopy = 64UL << 20U;

// The bytes that tests of links copy.
[[nodiscard]] std::uint64_t copied_bytes(const TestInput& input);

// Opens all visible GPUs. The error is `missing` if there is no driver or no GPU.
[[nodiscard]] Result<NodeGpus> open_gpus(const TestInput& input);

// A watch for waits that need none.
[[nodiscard]] inline Result<void> no_watch() { return {}; }

}  // namespace muster::bench::node
