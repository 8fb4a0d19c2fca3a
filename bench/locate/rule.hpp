// SPDX-License-Identifier: Apache-2.0
// Decides when a bandwidth is low among its peers, and how certain that is.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace muster::bench::locate {

// A low value is below the median of its peers by this many deviations, and by this share of it.
inline constexpr double kDeviations = 5;
inline constexpr double kTolerance = 0.05;
inline constexpr double kCloseTolerance = 0.02;  // if a job misses its limit for no known reason
inline constexpr std::size_t kEnough = 4;        // values to compare

// The least rate of a healthy pair of nodes, in GB/s; empty if unknown.
using Floor = std::optional<double>;

// The healthy values of a round.
struct Scale {
  std::size_t count = 0;
  double median = 0;
  double deviation = 0;  // of one value
  double limit = 0;      // lower values are low

  // A group that did not finish is low.
  [[nodiscard]] bool low(const std::optional<double>& value) const {
    return !value || *value < limit;
  }

  // Whether a value is nearer to the median than to the limit. A value that is neither low nor fine
  // is measured again.
  [[nodiscard]] bool fine(const std::optional<double>& value) const {
    return value && 2 * *value >= median + limit;
  }

  [[nodiscard]] double share(const std::optional<double>& value) const {
    return value.value_or(0) / median;
  }

  // Returns the scale for rates that are `factor` times those of this scale.
  [[nodiscard]] Scale times(double factor) const {
    return {count, factor * median, factor * deviation, factor * limit};
  }
};

// `noise` is the deviation of a value that follows from its repeats, as a share. Low values do not
// count for the deviation. Empty if there are too few values.
[[nodiscard]] std::optional<Scale> scale_of(const std::vector<double>& values, double noise,
                                            double tolerance = kTolerance);

// Makes a scale with a known deviation, as a share of the median.
[[nodiscard]] std::optional<Scale> scale_around(const std::vector<double>& values, double deviation,
                                                double tolerance);

// Makes a scale for too few values to compare, from the usual one.
[[nodiscard]] Scale scale_about(double usual, double noise, double limit, std::size_t count);

// Makes a scale of fewer values than kEnough: a value is low if it is far below the best of them,
// or below the floor if the best reaches it.
[[nodiscard]] Scale scale_of_few(double best, double noise, std::size_t count, const Floor& floor);

// The scale of the first values of a search, by comparison with each other. Only if a minority
// reaches the floor, far above the others, the floor decides which ones are good. Too few values
// are compared with the best of them; empty without a floor.
[[nodiscard]] std::optional<Scale> first_scale(const std::vector<double>& values, double noise,
                                               const Floor& floor, double tolerance = kTolerance);

// Formats a rate in GB/s: "93.5", "187.0", "0.0118".
[[nodiscard]] std::string rate_text(double gbps);

// Returns the deviation of one repeat as a share, judging by how much consecutive repeats of all
// groups differ; 0 if nothing was repeated.
[[nodiscard]] double noise_of(const std::vector<std::vector<double>>& repeats);

// Returns how many repeats make the noise of a median small enough for the tolerance.
[[nodiscard]] int repeats_for(double noise, double tolerance = kTolerance);

inline constexpr int kFirstRepeats = 3;

[[nodiscard]] double noise_of_median(double noise, std::size_t repeats);

// Returns how many deviations the limit must be below the median so that any of `values` healthy
// values is low with probability `chance`.
[[nodiscard]] double deviations_for(std::size_t values, double chance);

// How much more likely the value is for a slow unit than for a healthy one, at most 10,000: the
// tails of measurements are not normal.
[[nodiscard]] double odds_of(const std::optional<double>& value, const Scale& scale);

// The probability that a unit is slow, from the odds of all its measurements.
[[nodiscard]] double probability_of(const std::vector<double>& odds);

}  // namespace muster::bench::locate
