// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstring>
#include <type_traits>

#include "tests/fakes/nccl/library.hpp"
#include "tests/fakes/numbers.hpp"

namespace muster::fakes::gpu {
namespace {

namespace nccl = bench::nccl;

// In the order of NCCL's numbers.
constexpr std::array<std::size_t, 12> kWidths{1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};

template <class Number>
Number combine(int reduction, Number a, Number b) {
  if (reduction == nccl::kMin) return b < a ? b : a;
  if (reduction == nccl::kMax) return a < b ? b : a;
  if constexpr (std::is_integral_v<Number>) {
    // Without a sign, numbers may overflow.
    const auto left = static_cast<std::uint64_t>(a);
    const auto right = static_cast<std::uint64_t>(b);
    return static_cast<Number>(reduction == nccl::kProd ? left * right : left + right);
  } else {
    return reduction == nccl::kProd ? a * b : a + b;
  }
}

using Inputs = std::vector<const std::byte*>;

// From the last rank to the first. As NCCL's, averages of integers are divided sums, those of other
// numbers are sums of numbers that are multiplied by 1/n before.
template <class Stored, class Load, class Store>
void reduce_by(int reduction, std::uint64_t count, const Inputs& inputs, std::byte* output,
               Load load, Store store) {
  using Number = decltype(load(Stored{}));
  constexpr bool kWhole = std::is_integral_v<Number>;
  const auto ranks = static_cast<std::int64_t>(inputs.size());
  const bool averages = reduction == nccl::kAvg;
  const auto factor =
      kWhole ? Number{1} : load(store(static_cast<Number>(1.0 / static_cast<double>(ranks))));
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto read = [&](std::size_t rank) {
      Stored stored{};
      std::memcpy(&stored, inputs[rank] + i * sizeof stored, sizeof stored);
      return averages && !kWhole ? load(store(load(stored) * factor)) : load(stored);
    };
    auto all = read(inputs.size() - 1);
    for (auto rank = inputs.size() - 1; rank-- > 0;) {
      all = load(store(combine(reduction, all, read(rank))));
    }
    if constexpr (kWhole) {
      using Wide = std::conditional_t<std::is_signed_v<Number>, std::int64_t, std::uint64_t>;
      if (averages) all = static_cast<Number>(static_cast<Wide>(all) / static_cast<Wide>(ranks));
    }
    const Stored stored = store(all);
    std::memcpy(output + i * sizeof stored, &stored, sizeof stored);
  }
}

template <class Number>
void reduce_native(int reduction, std::uint64_t count, const Inputs& inputs, std::byte* output) {
  const auto same = [](Number number) { return number; };
  reduce_by<Number>(reduction, count, inputs, output, same, same);
}

template <class Stored, const SmallFormat& format>
void reduce_small(int reduction, std::uint64_t count, const Inputs& inputs, std::byte* output) {
  reduce_by<Stored>(
      reduction, count, inputs, output, [](Stored code) { return format.number(code); },
      [](double number) { return static_cast<Stored>(format.code(number)); });
}

}  // namespace

std::size_t width_of(int type) {
  const auto index = static_cast<std::size_t>(type);
  return index < kWidths.size() ? kWidths.at(index) : 0;
}

void reduce(int type, int reduction, std::uint64_t count, const Inputs& inputs, std::byte* output) {
  constexpr std::array kAll{reduce_native<std::int8_t>,
                            reduce_native<std::uint8_t>,
                            reduce_native<std::int32_t>,
                            reduce_native<std::uint32_t>,
                            reduce_native<std::int64_t>,
                            reduce_native<std::uint64_t>,
                            reduce_small<std::uint16_t, kHalf>,
                            reduce_native<float>,
                            reduce_native<double>,
                            reduce_small<std::uint16_t, kBfloat16>,
                            reduce_small<std::uint8_t, kFloat8e4m3>,
                            reduce_small<std::uint8_t, kFloat8e5m2>};
  kAll.at(static_cast<std::size_t>(type))(reduction, count, inputs, output);
}

}  // namespace muster::fakes::gpu
