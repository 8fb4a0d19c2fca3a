// SPDX-License-Identifier: Apache-2.0
// Matrix products on a GPU by cuBLASLt, in one type of numbers.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/backends/nccl/library.hpp"
#include "bench/node/gemm/numbers.hpp"
#include "bench/node/gpus.hpp"
#include "lib/base/result.hpp"

namespace muster::bench::node {

struct GemmKind {
  std::string_view name;  // as a profile's limit has it
  NumberType in, out;
  int in_type = 0, out_type = 0, compute = 0, scale = 0;  // as cuBLAS numbers them
  std::uint64_t size = 8192;                              // of the square matrices
  double tolerance = 0.015;  // of what a sum of so many numbers usually is
};

// The one that limits are for first.
[[nodiscard]] std::span<const GemmKind> gemm_kinds();

class Gemm {
 public:
  // An error whose `missing` is set: the chip, or the library, does not have this type. The memory
  // is the GPU's: release_all() frees it. `n` is a multiple of 256.
  [[nodiscard]] static Result<std::unique_ptr<Gemm>> prepare(NodeGpu& gpu,
                                                             const cublas::Library& library,
                                                             const GemmKind& kind,
                                                             std::uint64_t n);
  Gemm(const Gemm&) = delete;
  Gemm& operator=(const Gemm&) = delete;
  ~Gemm();

  // Puts one product on the GPU's stream.
  [[nodiscard]] Result<void> start();

  [[nodiscard]] double operations() const;

  // What is wrong of the last product: by numbers that the host computes, and bit by bit by the
  // first, which it must repeat. Waits for it.
  [[nodiscard]] Result<std::optional<std::string>> wrong();

 private:
  using Algorithm = cublas::Algorithm;

  Gemm(NodeGpu& gpu, cublas::Library library, const GemmKind& kind, std::uint64_t n)
      : gpu_(gpu), library_(std::move(library)), kind_(kind), n_(n) {}

  [[nodiscard]] Result<void> describe();
  [[nodiscard]] Result<void> fill();
  [[nodiscard]] Result<cuda::Pointer> matrix_of(std::uint64_t first);
  // The fastest of those that the library offers.
  [[nodiscard]] Result<void> choose();
  [[nodiscard]] Result<void> multiply(const Algorithm& algorithm, cuda::Pointer to);
  [[nodiscard]] Result<std::optional<std::string>> wrong_number();

  NodeGpu& gpu_;
  cublas::Library library_;
  const GemmKind& kind_;
  std::uint64_t n_;
  cublas::Handle handle_ = nullptr;
  cublas::Operation operation_ = nullptr;
  cublas::Layout in_ = nullptr, out_ = nullptr;
  cublas::Preference preference_ = nullptr;
  Algorithm algorithm_{};
  cuda::Pointer a_ = 0, b_ = 0, first_ = 0, last_ = 0, workspace_ = 0;
  std::vector<unsigned char> numbers_;  // what copies read and write
};

}  // namespace muster::bench::node
