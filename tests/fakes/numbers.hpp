// SPDX-License-Identifier: Apache-2.0
// Number formats of the fakes, by their definitions. They share nothing with the benchmark's, so
// that an error in one shows.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace muster::fakes {

// A floating-point format of at most 16 bits: its non-negative numbers in ascending order, so that
// the index of a number is its code.
class SmallFormat {
 public:
  // Without infinity, the largest code is not a number, and the one before it is the largest one.
  SmallFormat(unsigned bits, unsigned exponent_bits, bool has_infinity)
      : sign_(1U << (bits - 1)), has_infinity_(has_infinity) {
    const unsigned fraction_bits = bits - 1 - exponent_bits;
    const unsigned steps = 1U << fraction_bits;
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const unsigned exponents = (1U << exponent_bits) - (has_infinity ? 1 : 0);
    for (unsigned exponent = 0; exponent < exponents; ++exponent) {
      const double step = std::pow(
          2.0, static_cast<int>(std::max(exponent, 1U)) - bias - static_cast<int>(fraction_bits));
      for (unsigned i = 0; i < steps; ++i) {
        numbers_.push_back((exponent == 0 ? i : steps + i) * step);
      }
    }
    if (!has_infinity) numbers_.pop_back();
  }

  [[nodiscard]] double number(std::uint32_t code) const {
    const auto size = code & (sign_ - 1);
    double number = std::numeric_limits<double>::quiet_NaN();
    if (size < numbers_.size()) number = numbers_[size];
    if (size == numbers_.size() && has_infinity_) number = std::numeric_limits<double>::infinity();
    return (code & sign_) == 0 ? number : -number;
  }

  // The code of the nearest number; of two equally near ones, the even code.
  [[nodiscard]] std::uint32_t code(double number) const {
    const auto sign = std::signbit(number) ? sign_ : 0;
    const auto beyond = static_cast<std::uint32_t>(numbers_.size());
    if (std::isnan(number)) return sign | (sign_ - 1);
    const double size = std::abs(number);
    const auto above = static_cast<std::uint32_t>(
        std::lower_bound(numbers_.begin(), numbers_.end(), size) - numbers_.begin());
    if (above < beyond && numbers_[above] == size) return sign | above;
    const double below = numbers_[above - 1];
    const double next =
        above < beyond ? numbers_[above] : 2 * below - numbers_[above - 2];  // the next, if it were
    const bool up = size - below > next - size || (size - below == next - size && above % 2 == 0);
    return sign | (up ? above : above - 1);
  }

 private:
  std::uint32_t sign_;
  bool has_infinity_;
  std::vector<double> numbers_;
};

inline const SmallFormat kHalf(16, 5, true);
inline const SmallFormat kBfloat16(16, 8, true);
inline const SmallFormat kFloat8e4m3(8, 4, false);
inline const SmallFormat kFloat8e5m2(8, 5, true);

}  // namespace muster::fakes
