// SPDX-License-Identifier: Apache-2.0
// Matrix products on a GPU by cuBLASLt, in one number type.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/backends/nccl/library.hpp"
#include "bench/collectives/number.hpp"
#include "bench/node/gpus.hpp"
#include "bench/node/products.hpp"
#include "lib/base/result.hpp"

namespace muster::bench::node {

// Returns the bits of number i of a series of test data: its absolute value is from 0.5 to 2, of
// either sign, and it uses all bits of its fraction.
[[nodiscard]] std::uint64_t varied_number(Type type, std::uint64_t i);

struct GemmKind {
  std::string_view name;  // as in a profile's limit
  Type in = Type::f32, out = Type::f32;
  int compute = cublas::kComputeFp32, scale = cublas::kFp32;  // as cuBLAS numbers them
  std::uint64_t size = 8192;                                  // of the square matrices
  double tolerance = 0.015;  // as a share of the usual size of such a sum
};

// All kinds. A limit is for the first one, unless it names another.
[[nodiscard]] std::span<const GemmKind> gemm_kinds();

// The sizes of one product: a matrix of rows x depth times one of depth x columns. All are
// multiples of 64.
struct GemmShape {
  std::uint64_t rows = 0, columns = 0, depth = 0;

  [[nodiscard]] double operations() const {
    return 2.0 * static_cast<double>(rows * columns * depth);
  }

  bool operator==(const GemmShape&) const = default;
};

// The size of a kind's square matrices if `bytes` are wanted for one; 0: the kind's own size.
[[nodiscard]] std::uint64_t matrix_size(const GemmKind& kind, std::uint64_t bytes);

class Gemm final : public GpuLoad {
 public:
  // The error is `missing` if the chip or the library lacks the type. The GPU's release_all() frees
  // the memory.
  [[nodiscard]] static Result<std::unique_ptr<Gemm>> prepare(NodeGpu& gpu,
                                                             const cublas::Library& library,
                                                             const GemmKind& kind,
                                                             const GemmShape& shape);
  ~Gemm() override;

  [[nodiscard]] std::string_view name() const override { return kind_.name; }
  [[nodiscard]] Result<void> adjust_to(double seconds) override;
  [[nodiscard]] Result<void> start() override;
  [[nodiscard]] double operations() const override { return repeats_ * shape_.operations(); }
  // Compares some numbers of the last product with the host's, and all bits with the first product.
  // Then poisons the result and does the same with one more product, since the result may be left
  // from an earlier one.
  [[nodiscard]] Result<std::optional<std::string>> wrong() override;

 private:
  using Algorithm = cublas::Algorithm;

  Gemm(NodeGpu& gpu, cublas::Library library, const GemmKind& kind, const GemmShape& shape)
      : GpuLoad(gpu), library_(std::move(library)), kind_(kind), shape_(shape) {}

  [[nodiscard]] Result<void> describe();
  [[nodiscard]] Result<void> fill();
  [[nodiscard]] std::uint64_t out_bytes() const {
    return shape_.rows * shape_.columns * size_of(kind_.out);
  }
  [[nodiscard]] Result<cuda::Pointer> matrix_of(std::uint64_t first, std::uint64_t count);
  // Chooses the library's fastest algorithm.
  [[nodiscard]] Result<void> choose();
  [[nodiscard]] Result<void> multiply(const Algorithm& algorithm, cuda::Pointer to);
  void compute_sums();
  [[nodiscard]] Result<std::optional<std::string>> wrong_in_last();
  [[nodiscard]] Result<std::optional<std::string>> wrong_number();

  cublas::Library library_;
  const GemmKind& kind_;
  GemmShape shape_;
  int repeats_ = 1;  // products of a launch
  cublas::Handle handle_ = nullptr;
  cublas::Operation operation_ = nullptr;
  cublas::Layout first_in_ = nullptr, second_in_ = nullptr, out_ = nullptr;
  cublas::Preference preference_ = nullptr;
  Algorithm algorithm_{};
  cuda::Pointer a_ = 0, b_ = 0, first_ = 0, last_ = 0, workspace_ = 0;
  std::vector<unsigned char> numbers_;  // the host's end of copies
  std::vector<double> sums_;  // the beginning of the first column, as the host computes it
};

}  // namespace muster::bench::node
