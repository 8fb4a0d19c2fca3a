// SPDX-License-Identifier: Apache-2.0
// muster's types and reductions as NCCL numbers them.
#pragma once

#include "bench/backends/nccl/abi.hpp"
#include "bench/collectives/operation.hpp"

namespace muster::bench::nccl {

[[nodiscard]] constexpr int type_of(Type type) {
  switch (type) {
    case Type::f32:
      return kFloat32;
    case Type::f64:
      return kFloat64;
    case Type::f16:
      return kFloat16;
    case Type::bf16:
      return kBfloat16;
    case Type::f8e4m3:
      return kFloat8e4m3;
    case Type::f8e5m2:
      return kFloat8e5m2;
    case Type::i8:
      return kInt8;
    case Type::i32:
      return kInt32;
    case Type::i64:
      return kInt64;
    case Type::u8:
      return kUint8;
    case Type::u32:
      return kUint32;
    case Type::u64:
      return kUint64;
  }
  return kUint8;
}

[[nodiscard]] constexpr int reduction_of(Reduction reduction) {
  switch (reduction) {
    case Reduction::sum:
      return kSum;
    case Reduction::prod:
      return kProd;
    case Reduction::min:
      return kMin;
    case Reduction::max:
      return kMax;
    case Reduction::avg:
      return kAvg;
  }
  return kSum;
}

}  // namespace muster::bench::nccl
