// SPDX-License-Identifier: Apache-2.0
// When a bandwidth is low among its equals, and how sure that is.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace muster::bench::locate {

struct Rule {
  double deviations = 5;       // the least that a low value is below the median, in deviations
  double tolerance = 0.05;     // and the least share of the median
  double family_error = 0.01;  // chance that any of a round's healthy values is low
  std::size_t enough = 4;      // values to compare
  int first_repeats = 3;
  int most_repeats = 16;
  std::optional<double> floor_gbps;  // what a healthy pair reaches at least
};

// The rule for one of so many devices that make up a node's rate.
[[nodiscard]] Rule rule_of_device(Rule rule, int devices);

// The values of a round that are compared with one another.
struct Scale {
  std::size_t count = 0;
  double median = 0;
  double deviation = 0;  // of a healthy value
  double limit = 0;      // below it a value is low

  // What did not finish is low, too.
  [[nodiscard]] bool low(const std::optional<double>& value) const {
    return !value || *value < limit;
  }

  // Nearer to the median than to the limit. What is neither low nor fine is measured again.
  [[nodiscard]] bool fine(const std::optional<double>& value) const {
    return value && 2 * *value >= median + limit;
  }

  [[nodiscard]] double share(const std::optional<double>& value) const {
    return value.value_or(0) / median;
  }
};

// `noise`: the deviation of a value that its own repeats make, as a share of it. What is low does
// not count for the deviation of the rest. Nothing where too few are there to compare.
[[nodiscard]] std::optional<Scale> scale_of(const std::vector<double>& values, double noise,
                                            const Rule& rule);

// The scale with a deviation that is known, as a share of the median: that of few values is luck.
[[nodiscard]] std::optional<Scale> scale_around(const std::vector<double>& values, double deviation,
                                                const Rule& rule);

// A scale from what is usual, where there are too few values to compare.
[[nodiscard]] Scale scale_about(double usual, double noise, double limit, std::size_t count);

// A rate in GB/s: "93.5", "187.0", "0.0118".
[[nodiscard]] std::string rate_text(double gbps);

// How much two repeats in a row differ, as a share: the deviation of one repeat, from all groups
// together. 0 where nothing was repeated.
[[nodiscard]] double noise_of(const std::vector<std::vector<double>>& repeats);

// How many repeats give a median known well enough for the tolerance; at most `most_repeats`.
[[nodiscard]] int repeats_for(double noise, const Rule& rule);

// The deviation of the median of so many repeats.
[[nodiscard]] double noise_of_median(double noise, std::size_t repeats);

// How many deviations below the median a limit must be, so that the probability that any of so many
// healthy values lies below it is `chance`.
[[nodiscard]] double deviations_for(std::size_t values, double chance);

// How much more likely this value is for a slow unit than for a healthy one. Measurements are no
// bell curve far out, so no single one counts for more than 10,000.
[[nodiscard]] double odds_of(const std::optional<double>& value, const Scale& scale);

// The probability that a unit is slow, from the odds (see odds_of) of all its measurements.
[[nodiscard]] double probability_of(const std::vector<double>& odds);

}  // namespace muster::bench::locate
