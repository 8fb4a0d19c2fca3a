// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>

#include "bench/collectives/pattern.hpp"
#include "tests/bench/collectives/every.hpp"

namespace muster::bench {
namespace {

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
