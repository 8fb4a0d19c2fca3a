// SPDX-License-Identifier: Apache-2.0
// Rates of rare events that are independent and come at a constant rate: what a count of them says.
#pragma once

#include <cstdint>

namespace muster {

// The mean number of events that `events` or fewer contradict with this confidence: half a
// quantile of chi-square.
[[nodiscard]] double highest_mean(std::int64_t events, double confidence);

// The mean number of events that `events` or more contradict with this confidence.
[[nodiscard]] double lowest_mean(std::int64_t events, double confidence);

// The probability of at most so many events if this many are expected.
[[nodiscard]] double share_of_at_most(std::int64_t events, double expected);

// The probability that the rate of a unit is above `factor` times the mean rate of its kind, with
// `events` of it where `expected` are the mean, if rates of the kind are spread as a Gamma
// distribution of this shape.
[[nodiscard]] double share_of_rates_above(double factor, std::int64_t events, double expected,
                                          double shape);

}  // namespace muster
