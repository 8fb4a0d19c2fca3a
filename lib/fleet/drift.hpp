// SPDX-License-Identifier: Apache-2.0
// Finds values that get worse over weeks: on one device compared with its peers, or on all devices
// at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lib/statistics/statistics.hpp"

namespace muster::fleet {

// From this day, the series has a new base, and is compared with series of the same stack. A
// replaced device also restarts its series.
struct Restart {
  std::uint32_t day = 0;
  std::uint32_t series = 0;
  std::uint32_t stack = 0;  // any number that identifies the software stack
};

// One quantity of identical devices by day: values[day * series + i], NaN if there is no value. All
// series begin with stack 0, unless they restart on day 0.
struct DailyValues {
  std::size_t series = 0;
  std::size_t days = 0;
  std::vector<float> values;
  std::vector<Restart> restarts;
};

struct DriftRule {
  Side worse = Side::below;
  double least_share = 0.015;     // smaller changes are ignored
  double least_change = 0;        // the same, in the unit of the quantity
  std::size_t fewest = 8;         // with fewer peers, no value is compared
  std::size_t base_days = 30;     // length of the base, from the first value after a restart
  std::size_t fewest_values = 7;  // number of values that a base needs
  // The cumulative sum, in pooled deviations: each day adds its deviation, capped at `most`, minus
  // `slack`. A drift is found when the sum reaches `sum`.
  double slack = 1.5, most = 3, sum = 12;
};

// A series that got worse than its peers.
struct Drift {
  std::size_t series = 0;
  std::size_t since = 0;  // the day it began
  std::size_t found = 0;  // the day it became certain
  std::size_t until = 0;  // its last day, or the last day before it restarts
  double share = 0;       // how much it had changed by then, relative to its peers
  bool recovered = false;
  std::vector<double> weeks = {};  // weekly medians relative to its peers; NaN without values

  bool operator==(const Drift&) const = default;
};

// A change of the median of all series from one day to the next. No device is accused.
struct GroupStep {
  std::size_t day = 0;  // the first day after it
  double share = 0;

  bool operator==(const GroupStep&) const = default;
};

struct DriftResult {
  std::vector<Drift> drifts;  // at most one per series between two restarts
  std::vector<GroupStep> steps;
  std::size_t compared = 0;  // series with a base
};

// Divides each value by the median of its peers on the same day, and compares the result with the
// first weeks of the same series. It is a drift if the cumulative sum reaches the rule's `sum` and
// a week's median is worse by at least the least change.
[[nodiscard]] DriftResult find_drift(DailyValues values, const DriftRule& rule);

}  // namespace muster::fleet
