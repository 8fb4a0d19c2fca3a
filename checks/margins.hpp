// SPDX-License-Identifier: Apache-2.0
// The numbers that a check compares with limits, on healthy nodes too; for metrics.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace muster {

enum class MarginUnit { any, per_second, per_bit };

// A value and one of its limits.
struct Margin {
  std::string device;
  std::string kind;  // what was measured, if the check measures several things: "inodes"
  double observed = 0;
  double limit = 0;
  MarginUnit unit = MarginUnit::any;
  bool is_minimum = false;  // the limit is a lower bound

  bool operator==(const Margin&) const = default;
};

class Margins {
 public:
  // Values and limits of what is added next are divided by `per`, such as kHour.
  Margins& in(double per, MarginUnit unit) {
    per_ = per;
    unit_ = unit;
    return *this;
  }

  // Adds a value that may be at most `limit`, or at least. Does nothing without a limit.
  template <class Limit>
  void at_most(std::string_view device, std::string_view kind, double observed,
               const Limit& limit) {
    if (limit) add_margin(device, kind, observed, number_of(*limit), false);
  }
  template <class Limit>
  void at_least(std::string_view device, std::string_view kind, double observed,
                const Limit& limit) {
    if (limit) add_margin(device, kind, observed, number_of(*limit), true);
  }

  void append(const Margins& more) { all_.insert(all_.end(), more.all_.begin(), more.all_.end()); }

  [[nodiscard]] const std::vector<Margin>& all() const { return all_; }

 private:
  template <class Number>
  static double number_of(const Number& number) {
    if constexpr (std::is_arithmetic_v<Number>) {
      return static_cast<double>(number);
    } else {
      return number.value;
    }
  }

  void add_margin(std::string_view device, std::string_view kind, double observed, double limit,
                  bool is_minimum) {
    all_.push_back({.device = std::string(device),
                    .kind = std::string(kind),
                    .observed = observed / per_,
                    .limit = limit / per_,
                    .unit = unit_,
                    .is_minimum = is_minimum});
  }

  std::vector<Margin> all_;
  double per_ = 1;
  MarginUnit unit_ = MarginUnit::any;
};

}  // namespace muster
