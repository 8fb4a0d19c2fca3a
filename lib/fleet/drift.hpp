// SPDX-License-Identifier: Apache-2.0
// Values that get worse over weeks: of one device against its peers, or of all of them at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lib/statistics/statistics.hpp"

namespace muster::fleet {

// From this day on, the series is compared with those of the same stack, from a new base. Also a
// device that was replaced restarts its series.
struct Restart {
  std::uint32_t day = 0;
  std::uint32_t series = 0;
  std::uint32_t stack = 0;  // any number that tells it from the others
};

// One quantity of equal devices by day: values[day * series + i], NaN if there is none. All series
// begin with stack 0, unless they restart on day 0.
struct DailyValues {
  std::size_t series = 0;
  std::size_t days = 0;
  std::vector<float> values;
  std::vector<Restart> restarts;
};

struct DriftRule {
  Side worse = Side::below;
  double least_share = 0.015;     // smaller changes are of no interest
  double least_change = 0;        // the same in the unit of the quantity
  std::size_t fewest = 8;         // peers; with fewer of them no value is compared
  std::size_t base_days = 30;     // from the first value after a restart
  std::size_t fewest_values = 7;  // of a base
  // The cumulated sum, in pooled deviations: a day adds what exceeds `slack`, at most `most` minus
  // that; a drift begins at `sum`.
  double slack = 1.5, most = 3, sum = 12;
};

// A series that got worse than its peers.
struct Drift {
  std::size_t series = 0;
  std::size_t since = 0;  // the day on which it began
  std::size_t found = 0;  // the day on which it was certain
  std::size_t until = 0;  // its last day, or the last one before it restarts
  double share = 0;       // by how much it has changed against its peers by then
  bool recovered = false;
  std::vector<double> weeks = {};  // medians against its peers, of all days; NaN without values

  bool operator==(const Drift&) const = default;
};

// A change of the median of all series from one day to the next. It accuses no device.
struct GroupStep {
  std::size_t day = 0;  // the first one after it
  double share = 0;

  bool operator==(const GroupStep&) const = default;
};

struct DriftResult {
  std::vector<Drift> drifts;  // at most one of a series from a restart to the next
  std::vector<GroupStep> steps;
  std::size_t compared = 0;  // series with a base
};

// Each value is divided by the median of its peers on the same day; a drift is a cumulated sum of
// what remains, against the first weeks of the same series, and a week's median that is worse by
// the least change.
[[nodiscard]] DriftResult find_drift(DailyValues values, const DriftRule& rule);

}  // namespace muster::fleet
