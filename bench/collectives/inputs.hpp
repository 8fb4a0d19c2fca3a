// SPDX-License-Identifier: Apache-2.0
// What ranks put into a collective, element by element, and what a reduction over them must give.
// The values look random, use every bit of their type, and repeat after a period.
#pragma once

#include <cstdint>
#include <memory>

#include "bench/collectives/operation.hpp"

namespace muster::bench {

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
  // Of the inputs of all ranks; only where the operation reduces.
  [[nodiscard]] virtual BitRange result(std::uint64_t element) const = 0;
};

[[nodiscard]] std::unique_ptr<Inputs> inputs_of(const Operation& operation, std::uint64_t ranks);

// Averages of 8-bit floating-point numbers are off by as much as these can tell apart.
[[nodiscard]] bool can_verify(Type type, Reduction reduction);

}  // namespace muster::bench
