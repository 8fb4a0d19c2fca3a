// SPDX-License-Identifier: Apache-2.0
// What buffers hold before a collective and must hold after it. The values repeat, so that a table
// of one period says what every element is, and filling and verifying are the same on a GPU and a
// CPU.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "bench/collectives/number.hpp"
#include "bench/collectives/operation.hpp"

namespace muster::bench {

// What ranks put into a collective, element by element, and what a reduction over them must give.
// The values look random, use every bit of their type, and repeat after a period.

// Raw bits: right is what lies between the two, both unsigned. They are equal where the result does
// not depend on the order in which a library adds.
struct BitRange {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
};

class Inputs {
 public:
  Inputs() = default;
  Inputs(const Inputs&) = delete;
  Inputs& operator=(const Inputs&) = delete;
  virtual ~Inputs() = default;

  // Odd: libraries cut messages at powers of two, where a period should not end.
  [[nodiscard]] virtual std::uint64_t period() const = 0;
  // Raw bits. `element` is below the period.
  [[nodiscard]] virtual std::uint64_t input(std::uint64_t element, std::uint64_t rank) const = 0;
  // The range of the result of all ranks' inputs; called only where the operation reduces.
  [[nodiscard]] virtual BitRange result(std::uint64_t element) const = 0;
};

[[nodiscard]] std::unique_ptr<Inputs> inputs_of(const Operation& operation, std::uint64_t ranks);

// False for averages of 8-bit floating-point numbers, which are off by as much as the type can tell
// apart.
[[nodiscard]] bool can_verify(Type type, Reduction reduction);

// Element i holds table entry (i + shift) % period, as raw bits in the low bytes of the word.
struct Fill {
  std::vector<std::uint64_t> bits;  // one period
  std::uint64_t shift = 0;
};

// What rank `rank` puts into its send buffer.
[[nodiscard]] Fill input_of(const Operation& operation, int rank, int ranks);

// A stretch of the receive buffer. An element is right when low <= its raw bits <= high, both
// unsigned: exact values have low == high, and no NaN is ever within.
struct Segment {
  std::uint64_t first = 0;  // element of the receive buffer
  std::uint64_t count = 0;
  std::uint64_t shift = 0;
  std::vector<std::uint64_t> low, high;  // one period each
};

// What rank `rank` must have received, over its whole receive buffer; empty where it gets nothing.
[[nodiscard]] std::vector<Segment> expected_of(const Operation& operation, int rank, int ranks);

// The first element that is wrong, and how many are.
struct Wrong {
  int rank = 0;
  std::uint64_t elements = 0;
  std::uint64_t first = 0;     // index in the receive buffer
  std::uint64_t observed = 0;  // raw bits
  std::uint64_t low = 0, high = 0;
  bool timed = false;  // found after the timed operations, and not before

  bool operator==(const Wrong&) const = default;
};

// On host memory. `width` is the size of an element in bytes.
void fill_host(void* buffer, std::uint64_t count, std::size_t width, const Fill& fill);
// Adds to `wrong`.
void verify_host(const void* buffer, std::size_t width, const std::vector<Segment>& segments,
                 Wrong& wrong);

}  // namespace muster::bench
