// SPDX-License-Identifier: Apache-2.0
// What many times of the same operation say: its median and how well it is known.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace muster::bench {

struct Interval {
  double low = 0;
  double high = 0;

  bool operator==(const Interval&) const = default;
};

struct Statistics {
  std::size_t count = 0;
  double median = 0;
  double p5 = 0;
  double p95 = 0;
  double min = 0;
  double mean = 0;
  // The confidence interval of the median, with 95%, whatever the distribution and though each
  // value may resemble the one before it; empty where that leaves fewer than six independent
  // values.
  std::optional<Interval> confidence;

  bool operator==(const Statistics&) const = default;
};

// `shared`: so many values in a row are one mean, as where iterations are pipelined; they are one
// independent value. The values must not be empty.
[[nodiscard]] Statistics statistics_of(const std::vector<double>& values, std::size_t shared = 1);

// How many independent values a series is worth in which each resembles the one before it: their
// number times (1 - r) / (1 + r), where r is the correlation of the ranks of neighbours. Ranks,
// since one outlier would hide it.
[[nodiscard]] double independent_values(const std::vector<double>& values);

[[nodiscard]] double median_of(std::vector<double> values);  // of at least one

// How the values of equal devices lie: the median absolute deviation is not inflated by
// the outlier that it is to find.
struct Spread {
  std::size_t count = 0;
  double median = 0;
  double deviation = 0;  // as deviation_of, and no less than 0.5% of the median

  bool operator==(const Spread&) const = default;
};

// 1.4826 times the median absolute deviation from their median: the standard deviation, where they
// are normal.
[[nodiscard]] double deviation_of(const std::vector<double>& values, double median);
[[nodiscard]] Spread spread_of(const std::vector<double>& values);  // of at least one

// Whether a value is far below those of its sisters: by more than five deviations, and by more than
// this share of their median. With fewer than four sisters nobody can tell: false.
[[nodiscard]] bool is_far_below(double value, const std::vector<double>& sisters, double share);

// May iterations end? Half the confidence interval is at most this share of the median.
[[nodiscard]] bool narrow_enough(const Statistics& statistics, double share);

}  // namespace muster::bench
