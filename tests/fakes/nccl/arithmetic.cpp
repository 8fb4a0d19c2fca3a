// SPDX-License-Identifier: Apache-2.0
#include "tests/fakes/nccl/arithmetic.hpp"

#include <array>
#include <cstring>

#include "bench/collectives/host_algorithms.hpp"

namespace muster::fakes::gpu {
namespace {

using bench::Reduction;
using bench::Type;

// In the order of NCCL's numbers.
constexpr std::array kTypes{Type::i8,  Type::u8,   Type::i32,    Type::u32,
                            Type::i64, Type::u64,  Type::f16,    Type::f32,
                            Type::f64, Type::bf16, Type::f8e4m3, Type::f8e5m2};
constexpr std::array kReductions{Reduction::sum, Reduction::prod, Reduction::max, Reduction::min,
                                 Reduction::avg};

}  // namespace

std::size_t width_of(int type) {
  const auto index = static_cast<std::size_t>(type);
  return index < kTypes.size() ? bench::size_of(kTypes.at(index)) : 0;
}

void reduce(int type, int reduction, std::uint64_t count,
            const std::vector<const std::byte*>& inputs, std::byte* output) {
  const auto numbers = kTypes.at(static_cast<std::size_t>(type));
  const auto by = kReductions.at(static_cast<std::size_t>(reduction));
  std::memcpy(output, inputs.front(), count * bench::size_of(numbers));
  for (std::size_t rank = 1; rank < inputs.size(); ++rank) {
    bench::combine_of(numbers, by)(inputs[rank], output, count);
  }
  if (by == Reduction::avg) bench::divide(numbers, output, count, static_cast<int>(inputs.size()));
}

}  // namespace muster::fakes::gpu
