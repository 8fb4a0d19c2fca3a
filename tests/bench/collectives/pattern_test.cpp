// SPDX-License-Identifier: Apache-2.0
#include "bench/collectives/pattern.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>
#include <set>
#include <utility>

#include "tests/bench/collectives/every.hpp"

namespace muster::bench {
namespace {

constexpr std::array kRanks{1, 2, 3, 4, 5, 6, 7, 8, 9, 128, 1000};

// All ranks' inputs as raw bits, and the bounds of their reduction.
class AllInputs {
 public:
  AllInputs(const Operation& operation, int ranks)
      : inputs_(inputs_of(operation, static_cast<std::uint64_t>(ranks))) {}

  [[nodiscard]] BitRange at(int rank, std::uint64_t element) const {
    const auto bits = inputs_->input(element % inputs_->period(), static_cast<std::uint64_t>(rank));
    return {bits, bits};
  }

  [[nodiscard]] BitRange reduced(std::uint64_t element) const {
    return inputs_->result(element % inputs_->period());
  }

 private:
  std::unique_ptr<Inputs> inputs_;
};

// The units that a rank sends to another.
std::uint64_t share(int from, int to, int ranks) {
  return 1 + static_cast<std::uint64_t>((to - from + ranks) % ranks) % 4;
}

// The sender of an element of unequal parts, and its index there.
std::pair<int, std::uint64_t> origin(int rank, int ranks, std::uint64_t unit,
                                     std::uint64_t element) {
  int from = 0;
  for (; element >= share(from, rank, ranks) * unit; ++from) {
    element -= share(from, rank, ranks) * unit;
  }
  for (int to = 0; to < rank; ++to) element += share(from, to, ranks) * unit;
  return {from, element};
}

// The right element of a receive buffer, by definition of the collective.
BitRange by_definition(const AllInputs& inputs, const Operation& operation, int rank, int ranks,
                       std::uint64_t element) {
  const auto count = shape_of(operation, rank, ranks).count;
  const auto part = static_cast<std::uint64_t>(rank) * count;
  switch (operation.collective) {
    case Collective::all_reduce:
    case Collective::reduce:
      return inputs.reduced(element);
    case Collective::reduce_scatter:
      return inputs.reduced(part + element);
    case Collective::broadcast:
      return inputs.at(operation.root, element);
    case Collective::scatter:
      return inputs.at(operation.root, part + element);
    case Collective::sendrecv:
      return inputs.at((rank + ranks - 1) % ranks, element);
    case Collective::pingpong:
    case Collective::uniband:
    case Collective::biband:
      return inputs.at((rank + ranks / 2) % ranks, element);
    case Collective::barrier:
      break;
    case Collective::all_gather:
    case Collective::hypercube:
    case Collective::gather:
      return inputs.at(static_cast<int>(element / count), element % count);
    case Collective::alltoall:
      return inputs.at(static_cast<int>(element / count), part + element % count);
    case Collective::alltoallv: {
      const auto [from, sent] = origin(rank, ranks, count, element);
      return inputs.at(from, sent);
    }
  }
  return {};
}

void expect_definition(const Operation& operation, int rank, int ranks, const AllInputs& inputs) {
  const auto shape = shape_of(operation, rank, ranks);
  std::uint64_t element = 0;
  for (const auto& segment : expected_of(operation, rank, ranks)) {
    ASSERT_EQ(segment.first, element);
    ASSERT_EQ(segment.low.size(), segment.high.size());
    for (std::uint64_t i = 0; i < segment.count; ++i, ++element) {
      // A prime step covers all residues.
      if (shape.receive > 5000 && element % 97 != 0) continue;
      const auto entry = (i + segment.shift) % segment.low.size();
      const auto [low, high] = by_definition(inputs, operation, rank, ranks, element);
      ASSERT_EQ(segment.low[entry], low) << "element " << element;
      ASSERT_EQ(segment.high[entry], high) << "element " << element;
    }
  }
  ASSERT_EQ(element, shape.receive);
}

class PatternTest : public ::testing::TestWithParam<int> {};

void expect_definition_of_all_types(Operation operation, int ranks) {
  for (const auto type : every_type()) {
    // With many ranks, test only the smallest type.
    if (ranks > 9 && !reduces(operation.collective) && type != Type::u8) continue;
    if (reduces(operation.collective) && !can_verify(type, operation.reduction)) continue;
    operation.type = type;
    // About 60 elements per rank and part.
    const auto parts = reduces(operation.collective) && ranks > 9 ? 4 : ranks;
    const auto several = operation.collective == Collective::alltoallv ? 3 : 1;
    operation.bytes = size_of(type) * 60 * static_cast<std::uint64_t>(parts * several) + 7;
    const AllInputs inputs(operation, ranks);
    for (const int rank : std::set{0, ranks / 2, ranks - 1}) {
      SCOPED_TRACE(::testing::Message()
                   << to_string(operation.collective) << " " << to_string(operation.reduction)
                   << " " << to_string(type) << ", rank " << rank << " of " << ranks);
      ASSERT_NO_FATAL_FAILURE(expect_definition(operation, rank, ranks, inputs));
    }
  }
}

TEST_P(PatternTest, ExpectsMovedData) {
  const int ranks = GetParam();
  for (const auto collective :
       {Collective::all_gather, Collective::broadcast, Collective::alltoall, Collective::alltoallv,
        Collective::hypercube, Collective::pingpong, Collective::uniband, Collective::biband,
        Collective::sendrecv, Collective::gather, Collective::scatter}) {
    if (!can_run({.collective = collective}, ranks)) continue;
    expect_definition_of_all_types({.collective = collective, .root = ranks / 2}, ranks);
  }
}

TEST_P(PatternTest, ExpectsReductions) {
  const int ranks = GetParam();
  for (const auto reduction : every_reduction(Type::f32)) {
    expect_definition_of_all_types(
        {.collective = Collective::reduce_scatter, .reduction = reduction}, ranks);
    if (ranks > 9) continue;
    for (const auto collective : {Collective::all_reduce, Collective::reduce}) {
      expect_definition_of_all_types(
          {.collective = collective, .reduction = reduction, .root = ranks / 2}, ranks);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, PatternTest, ::testing::ValuesIn(kRanks));

TEST(PatternTest, ExpectsNothingWithoutAReceiveBuffer) {
  EXPECT_TRUE(expected_of({.collective = Collective::reduce, .bytes = 64}, 1, 2).empty());
  EXPECT_TRUE(expected_of({.collective = Collective::gather, .bytes = 64}, 1, 2).empty());
  EXPECT_TRUE(expected_of({.collective = Collective::all_gather, .bytes = 8}, 1, 2).empty());
}

TEST_P(PatternTest, PoisonsEveryElement) {
  for (const auto type : every_type()) {
    if (GetParam() > 9 && size_of(type) > 1) continue;  // narrow types have the fewest wrong values
    for (const auto reduction : every_reduction(type)) {
      for (const auto collective : {Collective::all_reduce, Collective::alltoall}) {
        const Operation operation{.collective = collective,
                                  .type = type,
                                  .reduction = reduction,
                                  .bytes = std::uint64_t{1} << 16U};
        for (const auto& segment : expected_of(operation, 0, GetParam())) {
          const auto poison = poison_of(segment, size_of(type));
          ASSERT_EQ(poison.shift, segment.shift);
          ASSERT_EQ(poison.bits.size(), segment.low.size());
          for (std::size_t i = 0; i < poison.bits.size(); ++i) {
            ASSERT_LE(poison.bits[i], format_of(type).mask());
            ASSERT_TRUE(poison.bits[i] < segment.low[i] || poison.bits[i] > segment.high[i])
                << to_string(type) << " " << to_string(reduction) << " element " << i;
          }
        }
      }
    }
  }
}

constexpr std::uint64_t kLarge = 20000;  // elements: several blocks and a rest

std::uint64_t read(const std::vector<std::byte>& buffer, std::size_t width, std::uint64_t element) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, buffer.data() + element * width, width);
  return bits;
}

void write(std::vector<std::byte>& buffer, std::size_t width, std::uint64_t element,
           std::uint64_t bits) {
  std::memcpy(buffer.data() + element * width, &bits, width);
}

// A receive buffer as a collective of two ranks leaves it.
std::vector<std::byte> right_buffer(const std::vector<Segment>& segments, std::size_t width) {
  std::vector<std::byte> buffer;
  for (const auto& segment : segments) {
    buffer.resize((segment.first + segment.count) * width);
    fill_host(buffer.data() + segment.first * width, segment.count, width,
              {.bits = segment.low, .shift = segment.shift});
  }
  return buffer;
}

Wrong verified(const std::vector<std::byte>& buffer, std::size_t width,
               const std::vector<Segment>& segments) {
  Wrong wrong{.rank = 1};
  verify_host(buffer.data(), width, segments, wrong);
  return wrong;
}

TEST(OnHostTest, FillsFromTheShift) {
  for (const auto type : every_type()) {
    const auto width = size_of(type);
    for (const std::uint64_t count : {0U, 1U, 6U, 7U, 8U, 4096U, 20000U}) {
      const Fill fill{.bits = {3, 1, 4, 1, 5, 9, 2}, .shift = 5};
      std::vector<std::byte> buffer((count + 1) * width, std::byte{0xee});
      fill_host(buffer.data(), count, width, fill);
      for (std::uint64_t i = 0; i < count; ++i) {
        ASSERT_EQ(read(buffer, width, i), fill.bits[(i + 5) % 7]) << count << " " << i;
      }
      EXPECT_EQ(buffer.back(), std::byte{0xee});
    }
  }
}

TEST(OnHostTest, AcceptsRightBuffers) {
  for (const auto type : every_type()) {
    for (const auto reduction : every_reduction(type)) {
      for (const auto collective :
           {Collective::all_reduce, Collective::reduce_scatter, Collective::alltoall}) {
        const Operation operation{.collective = collective,
                                  .type = type,
                                  .reduction = reduction,
                                  .bytes = kLarge * size_of(type)};
        const auto segments = expected_of(operation, 1, 3);
        const auto buffer = right_buffer(segments, size_of(type));
        EXPECT_EQ(verified(buffer, size_of(type), segments), Wrong{.rank = 1});
      }
    }
  }
}

TEST(OnHostTest, FindsAFlippedBitAnywhere) {
  for (const auto type : every_type()) {
    const auto width = size_of(type);
    const Operation operation{
        .collective = Collective::broadcast, .type = type, .bytes = kLarge * width};
    const auto segments = expected_of(operation, 0, 2);
    auto buffer = right_buffer(segments, width);
    for (const std::uint64_t element : {std::uint64_t{0}, std::uint64_t{4095}, kLarge - 1}) {
      for (std::size_t bit = 0; bit < 8 * width; ++bit) {
        const auto right = read(buffer, width, element);
        const auto flipped = right ^ (std::uint64_t{1} << bit);
        write(buffer, width, element, flipped);
        EXPECT_EQ(verified(buffer, width, segments), (Wrong{.rank = 1,
                                                            .elements = 1,
                                                            .first = element,
                                                            .observed = flipped,
                                                            .low = right,
                                                            .high = right}));
        write(buffer, width, element, right);
      }
    }
  }
}

struct Special {
  Type type;
  std::uint64_t bits;
};

class SpecialTest : public ::testing::TestWithParam<Special> {};

TEST_P(SpecialTest, IsNeverRight) {
  const auto& [type, bits] = GetParam();
  const auto width = size_of(type);
  for (const auto reduction : {Reduction::sum, Reduction::min, Reduction::avg}) {
    const Operation operation{.type = type, .reduction = reduction, .bytes = 100 * width};
    const auto segments = expected_of(operation, 0, 2);
    const auto right = right_buffer(segments, width);
    for (std::uint64_t element = 0; element < 100; ++element) {
      auto buffer = right;
      write(buffer, width, element, bits);
      const auto wrong = verified(buffer, width, segments);
      EXPECT_EQ(wrong.elements, 1) << element;
      EXPECT_EQ(wrong.first, element);
      EXPECT_EQ(wrong.observed, bits);
    }
  }
}

// NaN, minus zero, and infinity.
INSTANTIATE_TEST_SUITE_P(
    Bits, SpecialTest,
    ::testing::Values(Special{Type::f32, 0x7fc00000}, Special{Type::f32, 0xffc00000},
                      Special{Type::f32, 0x7f800001}, Special{Type::f64, 0x7ff8000000000000},
                      Special{Type::f16, 0x7e00}, Special{Type::bf16, 0x7fc0},
                      Special{Type::f32, 0x80000000}, Special{Type::f64, 0x8000000000000000},
                      Special{Type::f16, 0x8000}, Special{Type::bf16, 0x8000},
                      Special{Type::f32, 0x7f800000}, Special{Type::f32, 0xff800000},
                      Special{Type::f64, 0x7ff0000000000000}, Special{Type::f16, 0x7c00},
                      Special{Type::bf16, 0x7f80}));

TEST(OnHostTest, HasExactBounds) {
  const std::vector<Segment> segments{
      {.first = 2, .count = 3, .shift = 1, .low = {10, 20}, .high = {12, 20}}};
  for (const auto& [bits, right] :
       {std::pair{9U, false}, std::pair{10U, true}, std::pair{12U, true}, std::pair{13U, false}}) {
    std::vector<std::byte> buffer(20);  // five elements
    write(buffer, 4, 2, 20);
    write(buffer, 4, 3, bits);
    write(buffer, 4, 4, 20);
    const Wrong expected{
        .rank = 1, .elements = 1, .first = 3, .observed = bits, .low = 10, .high = 12};
    EXPECT_EQ(verified(buffer, 4, segments), right ? Wrong{.rank = 1} : expected);
  }
}

TEST(OnHostTest, CountsEveryWrongElementAndKeepsTheFirst) {
  const Operation operation{.collective = Collective::alltoall, .bytes = 4096};
  const auto segments = expected_of(operation, 0, 4);
  auto buffer = right_buffer(segments, 4);
  for (const std::uint64_t element : {300U, 301U, 900U}) write(buffer, 4, element, 0xffffffff);
  const auto wrong = verified(buffer, 4, segments);
  EXPECT_EQ(wrong.elements, 3);
  EXPECT_EQ(wrong.first, 300);
}

}  // namespace
}  // namespace muster::bench
