// SPDX-License-Identifier: Apache-2.0
// The contents of buffers before a collective, and the contents expected after it. The values
// repeat, so a table of one period describes all elements, for a GPU as well as for a CPU.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "bench/collectives/number.hpp"
#include "bench/collectives/operation.hpp"
#include "lib/base/fields.hpp"

namespace muster::bench {

// The bounds of a right result as unsigned raw bits. They are equal if the result does not depend
// on the order in which a library adds.
struct BitRange {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
};

// The inputs of all ranks, and the result of reducing them. The values look random, use every bit
// of their type, and repeat after a period.
class Inputs {
 public:
  explicit Inputs(std::uint64_t period) : period_(period) {}

  Inputs(const Inputs&) = delete;
  Inputs& operator=(const Inputs&) = delete;
  virtual ~Inputs() = default;

  // Odd, since libraries split messages at powers of two, where a period should not end.
  [[nodiscard]] std::uint64_t period() const { return period_; }

  // Raw bits. `element` is below the period.
  [[nodiscard]] virtual std::uint64_t input(std::uint64_t element, std::uint64_t rank) const = 0;
  // The result of reducing all ranks' inputs; only for operations that reduce.
  [[nodiscard]] virtual BitRange result(std::uint64_t element) const = 0;

 private:
  std::uint64_t period_;
};

[[nodiscard]] std::unique_ptr<Inputs> inputs_of(const Operation& operation, std::uint64_t ranks);

// False for averages of 8-bit floating-point numbers, whose error is as large as their resolution.
[[nodiscard]] bool can_verify(Type type, Reduction reduction);

// Element i is bits[(i + shift) % period], as raw bits in the low bytes of the word.
struct Fill {
  std::vector<std::uint64_t> bits;  // one period
  std::uint64_t shift = 0;
};

// The contents of a rank's send buffer.
[[nodiscard]] Fill input_of(const Operation& operation, int rank, int ranks);

// A part of the receive buffer. An element is right if low <= its raw bits <= high, as unsigned
// numbers; NaN never is.
struct Segment {
  std::uint64_t first = 0;  // element of the receive buffer
  std::uint64_t count = 0;
  std::uint64_t shift = 0;
  std::vector<std::uint64_t> low, high;  // one period each
};

// Bits that are wrong for every element of the segment: an element that is never written shows.
[[nodiscard]] Fill poison_of(const Segment& segment, std::size_t width);

// The expected contents of a rank's receive buffer.
[[nodiscard]] std::vector<Segment> expected_of(const Operation& operation, int rank, int ranks);

// The first wrong element, and the number of wrong ones.
struct Wrong {
  MUSTER_DESCRIBED(Wrong);
  MUSTER_REQUIRED(int, rank, "") = 0;
  MUSTER_REQUIRED(std::uint64_t, elements, "") = 0;
  MUSTER_REQUIRED(std::uint64_t, first, "index in the receive buffer") = 0;
  MUSTER_REQUIRED(std::uint64_t, observed, "raw bits") = 0;
  MUSTER_REQUIRED(std::uint64_t, low, "lower end of the range of right bits") = 0;
  MUSTER_REQUIRED(std::uint64_t, high, "upper end of it") = 0;
  MUSTER_REQUIRED(bool, timed, "found only after the timed operations") = false;
};

// In host memory. `width` is the size of an element in bytes.
void fill_host(void* buffer, std::uint64_t count, std::size_t width, const Fill& fill);
// Counts wrong elements in `wrong`.
void verify_host(const void* buffer, std::size_t width, const std::vector<Segment>& segments,
                 Wrong& wrong);

}  // namespace muster::bench
