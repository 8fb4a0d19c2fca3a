// SPDX-License-Identifier: Apache-2.0
#include "lib/fleet/drift.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <span>
#include <utility>

namespace muster::fleet {
namespace {

constexpr std::size_t kWeek = 7;
constexpr std::size_t kFewestOfWeek = 3;
constexpr float kNone = std::numeric_limits<float>::quiet_NaN();

// Returns the median. Reorders the values, of which there must be at least one.
float fast_median(std::span<float> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

// The medians of a day, by stack and of all.
class DayMedians {
 public:
  DayMedians(std::span<const float> day, std::span<const std::uint32_t> stacks,
             std::size_t fewest) {
    std::map<std::uint32_t, std::vector<float>> by_stack;
    std::vector<float> all;
    for (std::size_t i = 0; i < day.size(); ++i) {
      if (std::isnan(day[i])) continue;
      all.push_back(day[i]);
      if (last_ != stacks[i] || values_ == nullptr) {
        last_ = stacks[i];
        values_ = &by_stack[last_];
      }
      values_->push_back(day[i]);
    }
    if (all.size() < fewest) return;
    of_all = by_stack.size() == 1 ? kNone : fast_median(all);
    for (auto& [stack, values] : by_stack) {
      if (values.size() >= fewest) medians_[stack] = fast_median(values);
    }
    if (by_stack.size() == 1) of_all = medians_.begin()->second;
  }

  float of_all = kNone;

  [[nodiscard]] float of(std::uint32_t stack) const {
    const auto found = medians_.find(stack);
    return found == medians_.end() || found->second <= 0 ? kNone : found->second;
  }

 private:
  std::map<std::uint32_t, float> medians_;
  std::uint32_t last_ = 0;
  std::vector<float>* values_ = nullptr;
};

// Replaces each value by its relative distance from the median of its peers, positive if worse.
// Returns the medians of all series by day.
std::vector<float> compare_with_peers(DailyValues& values, const DriftRule& rule) {
  std::vector<float> medians(values.days, kNone);
  std::vector<std::uint32_t> stacks(values.series);
  auto restart = values.restarts.begin();
  const float sign = rule.worse == Side::below ? -1.F : 1.F;
  for (std::size_t day = 0; day < values.days; ++day) {
    for (; restart != values.restarts.end() && restart->day <= day; ++restart) {
      stacks[restart->series] = restart->stack;
    }
    const std::span row(values.values.data() + day * values.series, values.series);
    const DayMedians of_day(row, stacks, rule.fewest);
    medians[day] = of_day.of_all;
    std::uint32_t stack = 0;
    float median = of_day.of(stack);
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (stacks[i] != stack) median = of_day.of(stack = stacks[i]);
      row[i] = sign * (row[i] / median - 1);
    }
  }
  return medians;
}

// The days from a restart of a series to its next one.
struct Segment {
  std::size_t begin = 0, end = 0;
  float base = kNone;
  std::size_t judged_from = 0;
};

float median_of_week(std::span<const float> days, std::size_t end) {
  std::array<float, kWeek> week{};
  std::size_t count = 0;
  for (std::size_t day = end - std::min(end, kWeek); day < end; ++day) {
    if (!std::isnan(days[day])) week.at(count++) = days[day];
  }
  return count < kFewestOfWeek ? kNone : fast_median(std::span(week).first(count));
}

// Sets the base of a segment, and adds the distances of its values from that base.
void find_base(Segment& segment, std::span<const float> days, const DriftRule& rule,
               std::vector<float>& distances) {
  std::vector<float> base;
  std::size_t first = segment.end;
  std::size_t day = segment.begin;
  for (; day < segment.end; ++day) {
    if (day >= first + rule.base_days && base.size() >= rule.fewest_values) break;
    if (std::isnan(days[day])) continue;
    first = std::min(first, day);
    base.push_back(days[day]);
  }
  segment.judged_from = day;
  if (base.size() < rule.fewest_values) return;
  segment.base = fast_median(base);
  for (const float value : base) distances.push_back(std::abs(value - segment.base));
}

// Returns the first drift of a segment. A series that recovered and got worse again counts from the
// first time.
std::optional<Drift> judge(const Segment& segment, std::span<const float> days, double deviation,
                           double least, const DriftRule& rule) {
  double sum = 0;
  std::optional<Drift> found;
  std::size_t since = segment.judged_from;
  for (std::size_t day = segment.judged_from; day < segment.end && !found; ++day) {
    if (std::isnan(days[day])) continue;
    if (sum <= 0) since = day;
    const auto distance = static_cast<double>(days[day] - segment.base) / deviation;
    sum = std::max(0.0, sum + std::clamp(distance, -rule.most, rule.most) - rule.slack);
    if (sum <= rule.sum) continue;
    const double week = static_cast<double>(median_of_week(days.first(day + 1), day + 1));
    if (week - static_cast<double>(segment.base) >= least)
      found = Drift{.since = since, .found = day};
  }
  if (!found) return found;
  auto end = segment.end;
  while (std::isnan(days[end - 1])) --end;
  const double last = static_cast<double>(median_of_week(days.first(end), end));
  const double worst = last - static_cast<double>(segment.base);
  found->until = end - 1;
  found->share = rule.worse == Side::below ? -worst : worst;
  found->recovered = worst < least / 2;
  return found;
}

std::vector<double> weeks_of(std::span<const float> days, Side worse) {
  std::vector<double> weeks;
  for (std::size_t begin = 0; begin < days.size(); begin += kWeek) {
    const auto week = days.subspan(begin, std::min(kWeek, days.size() - begin));
    const auto median = static_cast<double>(median_of_week(week, week.size()));
    weeks.push_back(worse == Side::below ? -median : median);
  }
  return weeks;
}

// Returns the change of the median between the week before and the week after each day.
std::vector<float> weekly_changes(const std::vector<float>& medians) {
  const std::span all(medians);
  std::vector<float> changes(medians.size(), 0);
  for (std::size_t day = kFewestOfWeek; day + kFewestOfWeek <= medians.size(); ++day) {
    const float before = median_of_week(all.first(day), day);
    const auto end = std::min(day + kWeek, medians.size());
    const float after = median_of_week(all.first(end).subspan(day), end - day);
    if (before > 0 && after > 0) changes[day] = after / before - 1;
  }
  return changes;
}

std::vector<GroupStep> find_steps(const std::vector<float>& medians, float least) {
  const auto changes = weekly_changes(medians);
  // Returns how much the median jumps on a day, in the direction of its weekly change.
  const auto jump = [&](std::size_t day) {
    const float change = medians[day] / medians[day - 1] - 1;
    return std::isnan(change) ? 0 : std::copysign(1.F, changes[day]) * change;
  };
  std::vector<GroupStep> steps;
  for (std::size_t day = 0; day < changes.size(); ++day) {
    if (std::abs(changes[day]) < least) continue;
    // Several days in a row have a weekly change. The step is on the day with the largest jump.
    const bool up = changes[day] > 0;
    auto [largest, change] = std::pair(day, changes[day]);
    for (; day < changes.size() && std::abs(changes[day]) >= least && (changes[day] > 0) == up;
         ++day) {
      if (jump(day) > jump(largest)) largest = day;
      if (std::abs(changes[day]) > std::abs(change)) change = changes[day];
    }
    steps.push_back({.day = largest, .share = static_cast<double>(change)});
    --day;
  }
  return steps;
}

// Copies some series, each with its days side by side.
constexpr std::size_t kBlock = 16;

class SeriesBlock {
 public:
  SeriesBlock(const DailyValues& values, std::size_t first)
      : days_(values.days), copy_(kBlock * values.days) {
    const auto count = std::min(kBlock, values.series - first);
    for (std::size_t day = 0; day < days_; ++day) {
      const float* const row = values.values.data() + day * values.series + first;
      for (std::size_t i = 0; i < count; ++i) copy_[i * days_ + day] = row[i];
    }
  }

  [[nodiscard]] std::span<const float> series(std::size_t at) const {
    return std::span(copy_).subspan(at % kBlock * days_, days_);
  }

 private:
  std::size_t days_;
  std::vector<float> copy_;
};

std::vector<std::vector<Segment>> segments_of(const DailyValues& values) {
  std::vector<std::vector<Segment>> segments(values.series);
  for (const auto& restart : values.restarts) {
    auto& own = segments[restart.series];
    if (own.empty() && restart.day > 0) own.push_back({.begin = 0});
    if (!own.empty()) own.back().end = restart.day;
    own.push_back({.begin = restart.day});
  }
  for (auto& own : segments) {
    if (own.empty()) own.push_back({});
    own.back().end = values.days;
  }
  return segments;
}

}  // namespace

DriftResult find_drift(DailyValues values, const DriftRule& rule) {
  std::ranges::stable_sort(values.restarts, {}, &Restart::day);
  const auto medians = compare_with_peers(values, rule);
  auto segments = segments_of(values);
  std::vector<float> distances;
  DriftResult result;
  for (std::size_t first = 0; first < values.series; first += kBlock) {
    const SeriesBlock block(values, first);
    for (std::size_t i = first; i < std::min(first + kBlock, values.series); ++i) {
      for (auto& segment : segments[i]) find_base(segment, block.series(i), rule, distances);
    }
  }
  const auto known = std::ranges::find_if(medians, [](float each) { return each > 0; });
  if (known == medians.end() || distances.empty()) return result;
  constexpr double kOfNormal = 1.4826, kLeastDeviation = 0.001;
  const double deviation =
      std::max(kLeastDeviation, kOfNormal * static_cast<double>(fast_median(distances)));
  const double least = std::max(rule.least_share, rule.least_change / static_cast<double>(*known));
  result.steps = find_steps(medians, static_cast<float>(least / 2));
  for (std::size_t first = 0; first < values.series; first += kBlock) {
    const SeriesBlock block(values, first);
    for (std::size_t i = first; i < std::min(first + kBlock, values.series); ++i) {
      bool compared = false;
      for (const auto& segment : segments[i]) {
        if (std::isnan(segment.base)) continue;
        compared = true;
        auto drift = judge(segment, block.series(i), deviation, least, rule);
        if (!drift) continue;
        drift->series = i;
        drift->weeks = weeks_of(block.series(i), rule.worse);
        result.drifts.push_back(*std::move(drift));
      }
      result.compared += compared ? 1 : 0;
    }
  }
  return result;
}

}  // namespace muster::fleet
