// SPDX-License-Identifier: Apache-2.0
// Robust statistics: the median, how well it is known, which values are outliers, and what a count
// of rare events says about their rate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace muster {

// Values must not be empty unless a comment says otherwise.
[[nodiscard]] double median_of(std::vector<double> values);

// 1.4826 times the median absolute deviation from `center`: the standard deviation of normal
// values.
[[nodiscard]] double deviation_of(const std::vector<double>& values, double center);

struct Interval {
  double low = 0;
  double high = 0;

  bool operator==(const Interval&) const = default;
};

// The 95% confidence interval of the median. It assumes no distribution and allows for correlated
// neighbours; empty for fewer than six independent values.
[[nodiscard]] std::optional<Interval> median_interval_of(std::vector<double> values);

// The effective sample size of a series whose neighbours are correlated: count * (1 - r) / (1 + r),
// where r is the rank correlation of neighbours. Ranks, because one outlier would hide the
// correlation of the values.
[[nodiscard]] double independent_values(const std::vector<double>& values);

// The statistics of many times of the same operation.
struct Statistics {
  std::size_t count = 0;
  double median = 0;
  double p5 = 0;
  double p95 = 0;
  double min = 0;
  double mean = 0;
  std::optional<Interval> confidence;  // of the median

  bool operator==(const Statistics&) const = default;
};

// `shared`: the number of consecutive values that are the same mean, as for pipelined iterations,
// and count as one independent value. `values` must not be empty.
[[nodiscard]] Statistics statistics_of(const std::vector<double>& values, std::size_t shared = 1);

// Whether half the confidence interval is at most this share of the median.
[[nodiscard]] bool narrow_enough(const Statistics& statistics, double share);

// The center and the scatter of the values of equal devices.
struct Spread {
  std::size_t count = 0;
  double center = 0;
  double deviation = 0;

  bool operator==(const Spread&) const = default;
};

// Equal values would make any difference an outlier, so the deviation of a spread is at least this
// share of its center.
inline constexpr double kMinDeviation = 0.005;

// Returns the median and the median absolute deviation. Finds outliers as long as few values are
// bad.
[[nodiscard]] Spread spread_of(const std::vector<double>& values);

// Like spread_of(), but uses only healthy values, for a group of which up to 40% may be bad: the
// mean of the shortest half of the values, and their scatter on the side away from the faults.
// "Faults make slow, never fast" is Side::below.
enum class Side { below, above };

[[nodiscard]] Spread one_sided_spread_of(std::vector<double> values, Side faults = Side::below);

// An outlier is further from the center than this many deviations and than this share of the
// center.
struct OutlierRule {
  double share = 0;
  double deviations = 5;
  std::size_t fewest = 4;  // peers; with fewer of them there are no outliers
  Side side = Side::below;
};

// Values beyond it are outliers.
[[nodiscard]] double outlier_limit(const Spread& peers, const OutlierRule& rule);

// False for too few peers and for a center that is not positive.
[[nodiscard]] bool is_outlier(double value, const Spread& peers, const OutlierRule& rule);

// Against spread_of(peers), which may be empty. The value may be one of the peers.
[[nodiscard]] bool is_outlier(double value, const std::vector<double>& peers,
                              const OutlierRule& rule);

// The functions below are about events that are independent and come at a constant rate.

// The mean number of events that `events` or fewer contradict with this confidence: half a
// quantile of chi-square.
[[nodiscard]] double highest_mean(std::int64_t events, double confidence);

// The mean number of events that `events` or more contradict with this confidence.
[[nodiscard]] double lowest_mean(std::int64_t events, double confidence);

// The probability of at most `events` events if `expected` are expected.
[[nodiscard]] double share_of_at_most(std::int64_t events, double expected);

// The probability that the rate of a unit is above `factor` times the mean rate of its kind, with
// `events` of it where `expected` are the mean, if rates of the kind are spread as a Gamma
// distribution of this shape.
[[nodiscard]] double share_of_rates_above(double factor, std::int64_t events, double expected,
                                          double shape);

}  // namespace muster
