// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>

#include "bench/collectives/number.hpp"
#include "bench/collectives/pattern.hpp"
#include "lib/base/mixing.hpp"

namespace muster::bench {
namespace {

constexpr std::uint64_t kPeriod = 509;
// Used instead of a rank for values that all ranks share.
constexpr std::uint64_t kAll = ~std::uint64_t{0};

std::uint64_t random_at(std::uint64_t element, std::uint64_t rank) {
  return mixed(mixed(element) ^ mixed(~rank));
}

// Returns a number from `low` to `high`, both included.
int between(std::uint64_t random, int low, int high) {
  const auto count = static_cast<std::uint64_t>(std::max(1, high - low + 1));
  return low + static_cast<int>((random >> 20U) % count);
}

// A normal number with a random fraction.
std::uint64_t floating(const NumberFormat& format, std::uint64_t random, int exponent,
                       bool negative) {
  const auto fraction = random & ((std::uint64_t{1} << format.fraction_bits()) - 1);
  const auto field = static_cast<std::uint64_t>(exponent - format.least_exponent + 1);
  const std::uint64_t sign = negative ? std::uint64_t{1} << (format.bits - 1) : 0;
  return sign | field << format.fraction_bits() | fraction;
}

bool is_negative(std::uint64_t random) { return (random >> 60U & 1U) != 0; }

int bits_in(std::uint64_t number) { return static_cast<int>(std::bit_width(number)); }

// Any bits except NaN, for operations that only move data and for min and max.
class AnyBits final : public Inputs {
 public:
  AnyBits(const Operation& operation, std::uint64_t ranks)
      : Inputs(kPeriod),
        type_(operation.type),
        format_(format_of(operation.type)),
        moved_(!reduces(operation.collective)),
        smallest_(operation.reduction == Reduction::min),
        ranks_(ranks) {}

  [[nodiscard]] std::uint64_t input(std::uint64_t element, std::uint64_t rank) const override {
    const auto own = random_at(element, rank);
    // To reduce, all ranks share the upper bits of every other element: otherwise the extremes of
    // many ranks would be close to the limits of the type.
    const auto upper = moved_ || element % 2 != 0 ? own : random_at(element, kAll);
    if (format_.is_floating()) {
      const auto exponent = between(upper, format_.least_exponent, format_.most_exponent - 1);
      return floating(format_, mixed(own), exponent, is_negative(upper));
    }
    const auto lower_half = format_.mask() >> format_.bits / 2;
    const auto bits = ((mixed(upper) & ~lower_half) | (mixed(own) & lower_half)) & format_.mask();
    return moved_ && bits == format_.mask() ? bits - 1 : bits;  // all ones: not written
  }

  [[nodiscard]] BitRange result(std::uint64_t element) const override {
    auto extreme = input(element, 0);
    for (std::uint64_t rank = 1; rank < ranks_; ++rank) {
      const auto bits = input(element, rank);
      if (smallest_ ? is_less(bits, extreme) : is_less(extreme, bits)) extreme = bits;
    }
    return {extreme, extreme};
  }

 private:
  [[nodiscard]] bool is_less(std::uint64_t one, std::uint64_t other) const {
    if (format_.is_floating()) return value_of(type_, one) < value_of(type_, other);
    if (format_.kind == NumberFormat::Kind::unsigned_integer) return one < other;
    const auto unused = 64 - format_.bits;
    return static_cast<std::int64_t>(one << unused) < static_cast<std::int64_t>(other << unused);
  }

  Type type_;
  NumberFormat format_;
  bool moved_;
  bool smallest_;
  std::uint64_t ranks_;
};

// The ranks that contribute to an element: few enough for a predictable result. The others put in
// neutral values. The step is odd, so that each rank contributes to some elements.
class Contributors {
 public:
  Contributors(std::uint64_t ranks, std::uint64_t most)
      : ranks_(ranks), step_((ranks + most - 1) / std::max<std::uint64_t>(1, most) | 1U) {}

  [[nodiscard]] bool is_one(std::uint64_t place, std::uint64_t rank) const {
    return (place + rank) % step_ == 0;
  }

  // The largest number of contributors.
  [[nodiscard]] std::uint64_t count() const { return (ranks_ + step_ - 1) / step_; }

  template <class Each>
  void visit(std::uint64_t place, Each each) const {
    for (auto rank = (step_ - place % step_) % step_; rank < ranks_; rank += step_) each(rank);
  }

 private:
  std::uint64_t ranks_;
  std::uint64_t step_;
};

constexpr std::uint64_t kMaxContributors = 256;

// Integers whose sum or product does not overflow.
class Integers final : public Inputs {
 public:
  // The period is long enough for each rank to contribute to some element.
  Integers(Type type, Reduction reduction, std::uint64_t ranks)
      : Inputs(std::max(kPeriod, ranks | 1U)),
        format_(format_of(type)),
        reduction_(reduction),
        ranks_(ranks),
        contributors_(ranks, most_contributors(format_, reduction)) {
    const auto most = format_.exact_up_to();
    const auto count = contributors_.count();
    bound_ = most / count;
    if (reduction == Reduction::prod) {
      bound_ = static_cast<std::uint64_t>(
          std::pow(static_cast<double>(most), 1 / static_cast<double>(count)) * 0.999);
    }
  }

  [[nodiscard]] std::uint64_t input(std::uint64_t element, std::uint64_t rank) const override {
    return static_cast<std::uint64_t>(number(element, rank)) & format_.mask();
  }

  [[nodiscard]] BitRange result(std::uint64_t element) const override {
    const bool multiplies = reduction_ == Reduction::prod;
    std::uint64_t all = multiplies ? 1 : 0;
    contributors_.visit(element, [&](std::uint64_t rank) {
      const auto bits = static_cast<std::uint64_t>(number(element, rank));
      all = multiplies ? all * bits : all + bits;
    });
    if (reduction_ == Reduction::avg) all /= ranks_;
    return {all & format_.mask(), all & format_.mask()};
  }

 private:
  static std::uint64_t most_contributors(const NumberFormat& format, Reduction reduction) {
    constexpr std::uint64_t kMinNumbers = 8;  // to choose from
    if (reduction == Reduction::prod) return std::max(1U, format.precision / 3);
    return std::min(kMaxContributors, format.exact_up_to() / kMinNumbers);
  }

  // Averages have no negative numbers, since their rounding is not specified.
  [[nodiscard]] std::int64_t number(std::uint64_t element, std::uint64_t rank) const {
    const bool multiplies = reduction_ == Reduction::prod;
    if (!contributors_.is_one(element, rank)) return multiplies ? 1 : 0;
    const auto random = random_at(element, rank);
    const auto size = multiplies ? 2 + random % (bound_ - 1) : random % bound_;
    const bool negative = format_.kind == NumberFormat::Kind::signed_integer &&
                          reduction_ != Reduction::avg && is_negative(mixed(random));
    return static_cast<std::int64_t>(negative ? 0 - size : size);
  }

  NumberFormat format_;
  Reduction reduction_;
  std::uint64_t ranks_;
  Contributors contributors_;
  std::uint64_t bound_ = 0;  // of the size of a number
};

// Sums, products and averages of floating-point numbers. Elements are of three kinds in turn:
// 0. One rank has a number with any bits, the others neutral values. The result is exact.
// 1. Whole numbers times a power of two (in products, powers of two): exact in any order.
// 2. Numbers of one sign and size with any fraction: right within the rounding of every addition.
class Floating final : public Inputs {
 public:
  Floating(Type type, Reduction reduction, std::uint64_t ranks)
      : Inputs(std::max(kPeriod, (3 * ranks) | 1U)),
        type_(type),
        format_(format_of(type)),
        reduction_(reduction),
        ranks_(ranks),
        whole_(ranks, most_whole()),
        rounded_(ranks, most_rounded()) {}

  [[nodiscard]] std::uint64_t input(std::uint64_t element, std::uint64_t rank) const override {
    const auto place = element / 3;
    switch (kind_of(element)) {
      case 0:
        return rank == place % ranks_ ? alone(element) : neutral();
      case 1:
        return whole_.is_one(place, rank) ? bits_of(type_, whole(element, rank)) : neutral();
      default:
        return rounded_.is_one(place, rank) ? rounded(element, rank) : neutral();
    }
  }

  [[nodiscard]] BitRange result(std::uint64_t element) const override {
    const auto place = element / 3;
    if (kind_of(element) == 0) return average(value_of(type_, alone(element)), 1, 0);
    const bool exact = kind_of(element) == 1;
    const auto& contributors = exact ? whole_ : rounded_;
    long double all = multiplies() ? 1 : 0;
    std::uint64_t terms = 0;
    contributors.visit(place, [&](std::uint64_t rank) {
      const auto number = static_cast<long double>(exact ? whole(element, rank)
                                                         : value_of(type_, rounded(element, rank)));
      all = multiplies() ? all * number : all + number;
      ++terms;
    });
    const auto roundings = exact || terms == 0 ? 0 : terms - 1;
    return average(static_cast<double>(all), terms, roundings);
  }

 private:
  [[nodiscard]] bool multiplies() const { return reduction_ == Reduction::prod; }

  [[nodiscard]] bool averages() const { return reduction_ == Reduction::avg; }

  // With too little precision for kind 2, uses kind 0.
  [[nodiscard]] std::uint64_t kind_of(std::uint64_t element) const {
    const auto kind = element % 3;
    return kind == 2 && most_rounded() < 2 ? 0 : kind;
  }

  [[nodiscard]] std::uint64_t neutral() const { return bits_of(type_, multiplies() ? 1.0 : 0.0); }

  // Keeps sums of whole numbers below 2^precision, with at least four to choose from.
  [[nodiscard]] std::uint64_t most_whole() const {
    if (multiplies()) {
      return std::min(kMaxContributors, static_cast<std::uint64_t>(format_.most_exponent - 1));
    }
    const auto most = std::min(kMaxContributors, format_.exact_up_to() / 4);
    return averages() ? std::min(most, most_rounded()) : most;
  }

  // Keeps all roundings together below an eighth.
  [[nodiscard]] std::uint64_t most_rounded() const {
    constexpr unsigned kEighth = 3;
    constexpr std::uint64_t kMaxFactors = 8;
    if (format_.precision <= kEighth + 1) return 1;
    const auto most = std::uint64_t{1} << (format_.precision - 1 - kEighth);
    return std::min(most, multiplies() ? kMaxFactors : kMaxContributors);
  }

  // Keeps averages from becoming subnormal.
  [[nodiscard]] int least_exponent() const {
    return format_.least_exponent + (averages() ? bits_in(ranks_) + 1 : 0);
  }

  [[nodiscard]] std::uint64_t alone(std::uint64_t element) const {
    const auto random = random_at(element, kAll);
    const int most = format_.most_exponent - 1;
    const auto exponent = between(random, std::min(least_exponent(), most), most);
    return floating(format_, mixed(random), exponent, is_negative(random));
  }

  [[nodiscard]] double whole(std::uint64_t element, std::uint64_t rank) const {
    const auto shared = random_at(element, kAll);
    const auto own = random_at(element, rank);
    const double sign = is_negative(multiplies() ? own : shared) ? -1 : 1;
    if (multiplies()) {
      const auto most = (format_.most_exponent - 1) / static_cast<int>(whole_.count());
      return sign * std::ldexp(1.0, between(own, 0, std::max(0, most)));
    }
    const auto numbers = format_.exact_up_to() / whole_.count();
    const auto number = static_cast<double>(own % numbers);
    const int most = format_.most_exponent - 1 - static_cast<int>(format_.precision);
    const int power = between(shared, std::min(least_exponent(), most), most);
    return number == 0 ? 0 : sign * std::ldexp(number, power);
  }

  [[nodiscard]] std::uint64_t rounded(std::uint64_t element, std::uint64_t rank) const {
    const auto shared = random_at(element, kAll);
    const int room = multiplies() ? 0 : bits_in(rounded_.count());
    const int most = format_.most_exponent - 1 - room;
    const int exponent = multiplies() ? 0 : between(shared, std::min(least_exponent(), most), most);
    return floating(format_, random_at(element, rank), exponent, is_negative(shared));
  }

  // The bounds after this many roundings. An average also rounds 1/n, each product with it, and a
  // division.
  [[nodiscard]] BitRange average(double all, std::uint64_t terms, std::uint64_t roundings) const {
    constexpr std::uint64_t kOfAverage = 3;
    if (averages()) {
      all /= static_cast<double>(ranks_);
      roundings = terms + kOfAverage;
    }
    if (all == 0) return {0, 0};
    const auto exact = bits_of(type_, all);
    if (roundings == 0) return {exact, exact};
    const double unit = std::ldexp(1.0, 1 - static_cast<int>(format_.precision));
    const double each = static_cast<double>(roundings) * unit;
    const double most = each / (1 - each);
    const auto low = bits_of(type_, all * (1 - most));
    const auto high = bits_of(type_, all * (1 + most));
    // The bounds of f64 are rounded themselves.
    const std::uint64_t own = type_ == Type::f64 ? 1 : 0;
    return {low - own, high + own};
  }

  Type type_;
  NumberFormat format_;
  Reduction reduction_;
  std::uint64_t ranks_;
  Contributors whole_, rounded_;
};

}  // namespace

std::unique_ptr<Inputs> inputs_of(const Operation& operation, std::uint64_t ranks) {
  const auto type = operation.type;
  const auto reduction = operation.reduction;
  if (!reduces(operation.collective) || reduction == Reduction::min ||
      reduction == Reduction::max) {
    return std::make_unique<AnyBits>(operation, ranks);
  }
  if (format_of(type).is_floating()) return std::make_unique<Floating>(type, reduction, ranks);
  return std::make_unique<Integers>(type, reduction, ranks);
}

bool can_verify(Type type, Reduction reduction) {
  return reduction != Reduction::avg || (type != Type::f8e4m3 && type != Type::f8e5m2);
}

}  // namespace muster::bench
