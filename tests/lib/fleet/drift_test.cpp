// SPDX-License-Identifier: Apache-2.0
// Years of simulated nodes, and a slow second implementation.
#include "lib/fleet/drift.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <set>

namespace muster::fleet {
namespace {

constexpr std::size_t kDays = 365;
constexpr float kNone = std::numeric_limits<float>::quiet_NaN();

// A year of nodes that differ by 0.8% and by 0.5% from day to day, with a season of 1% and wild
// days: 1% of the values are up to 20% too low.
struct Year {
  std::size_t nodes = 512;
  double correlation = 0;  // of the noise of neighbouring days
  unsigned seed = 1;
  std::map<std::size_t, double> fleet_steps = {{120, -0.015}, {250, 0.01}};
  std::set<std::size_t> ramps;          // 0.03% a day from day 60 on
  std::map<std::size_t, double> steps;  // on day 150
};

DailyValues make_year(const Year& year) {
  DailyValues values{.series = year.nodes, .days = kDays};
  values.values.resize(year.nodes * kDays);
  std::mt19937 random(year.seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  for (std::size_t node = 0; node < year.nodes; ++node) {
    const double own = 1 + 0.008 * normal(random);
    double noise = normal(random), fleet = 1;
    for (std::size_t day = 0; day < kDays; ++day) {
      noise = year.correlation * noise +
              std::sqrt(1 - year.correlation * year.correlation) * normal(random);
      if (const auto step = year.fleet_steps.find(day); step != year.fleet_steps.end()) {
        fleet *= 1 + step->second;
      }
      double value = 400 * own * fleet * (1 + 0.005 * noise) *
                     (1 + 0.01 * std::sin(static_cast<double>(day) * 2 * M_PI / kDays));
      if (uniform(random) < 0.01) value *= 1 - 0.2 * uniform(random);
      if (year.ramps.contains(node) && day > 60) {
        value *= 1 - 0.0003 * static_cast<double>(day - 60);
      }
      if (const auto step = year.steps.find(node); step != year.steps.end() && day >= 150) {
        value *= 1 + step->second;
      }
      values.values[day * year.nodes + node] = static_cast<float>(value);
    }
  }
  return values;
}

std::set<std::size_t> accused(const DriftResult& result) {
  std::set<std::size_t> series;
  for (const auto& drift : result.drifts) series.insert(drift.series);
  return series;
}

TEST(DriftTest, FindsRampsAndStepsAndAccusesNoOtherNode) {
  Year year{.ramps = {3, 60, 100, 150, 200, 260, 300, 500},
            .steps = {{10, -0.03}, {70, -0.03}, {400, -0.03}, {511, -0.03}}};
  std::set<std::size_t> bad = year.ramps;
  for (const auto& [node, size] : year.steps) bad.insert(node);
  const auto result = find_drift(make_year(year), {});
  EXPECT_EQ(accused(result), bad);
  EXPECT_EQ(result.compared, 512);
  for (const auto& drift : result.drifts) {
    const bool ramp = year.ramps.contains(drift.series);
    EXPECT_GE(drift.found, ramp ? 60 + 40 : 150 + 3) << drift.series;
    EXPECT_LE(drift.found, ramp ? 60 + 75 : 150 + 14) << drift.series;
    EXPECT_NEAR(drift.share, ramp ? -0.09 : -0.03, 0.008) << drift.series;
    EXPECT_EQ(drift.until, kDays - 1);
    EXPECT_EQ(drift.weeks.size(), 53);
    EXPECT_NEAR(drift.weeks[51] - drift.weeks[4], ramp ? -0.085 : -0.03, 0.01);
    EXPECT_FALSE(drift.recovered);
  }
}

TEST(DriftTest, AStepOfTheFleetAccusesNoNode) {
  const auto result = find_drift(make_year({.nodes = 500, .seed = 2}), {});
  EXPECT_THAT(result.drifts, testing::IsEmpty());
  ASSERT_EQ(result.steps.size(), 2);
  EXPECT_EQ(result.steps[0].day, 120);
  EXPECT_NEAR(result.steps[0].share, -0.015, 0.003);
  EXPECT_EQ(result.steps[1].day, 250);
  EXPECT_NEAR(result.steps[1].share, 0.01, 0.003);
}

// 0 of 4,000 series-years with independent days; 1.5 of 1,000 with correlated ones.
TEST(DriftTest, AccusesFewHealthyNodesOfCorrelatedDays) {
  std::size_t independent = 0, correlated = 0;
  for (unsigned seed = 10; seed < 12; ++seed) {
    independent += find_drift(make_year({.nodes = 1000, .seed = seed}), {}).drifts.size();
    correlated +=
        find_drift(make_year({.nodes = 1000, .correlation = 0.5, .seed = seed}), {}).drifts.size();
  }
  EXPECT_EQ(independent, 0);
  EXPECT_LE(correlated, 6);
}

DailyValues steady(std::size_t series) {
  return {.series = series, .days = kDays, .values = std::vector<float>(series * kDays, 100)};
}

TEST(DriftTest, WithFewPeersNothingIsCompared) {
  auto values = steady(7);
  for (std::size_t day = 100; day < kDays; ++day) values.values[day * 7] = 80;
  const auto result = find_drift(values, {});
  EXPECT_THAT(result.drifts, testing::IsEmpty());
  EXPECT_EQ(result.compared, 0);
}

// An upgrade slows down half of the nodes, and the others must not look faster in comparison.
TEST(DriftTest, ComparesNodesOfOneStack) {
  auto values = steady(40);
  for (std::uint32_t i = 0; i < 25; ++i) {
    values.restarts.push_back({.day = 100, .series = i, .stack = 1});
    for (std::size_t day = 100; day < kDays; ++day) values.values[day * 40 + i] = 103;
  }
  const auto result = find_drift(values, {});
  EXPECT_THAT(result.drifts, testing::IsEmpty());
  EXPECT_EQ(result.compared, 40);
  EXPECT_EQ(result.steps, (std::vector{GroupStep{100, static_cast<double>(1.03F - 1)}}));
}

TEST(DriftTest, AReplacedPartStartsAnew) {
  auto values = steady(20);
  values.restarts.push_back({.day = 200, .series = 4});
  for (std::size_t day = 100; day < 200; ++day) values.values[day * 20 + 4] = 95;
  for (std::size_t day = 200; day < kDays; ++day) values.values[day * 20 + 4] = 96;
  const auto result = find_drift(values, {});
  ASSERT_EQ(result.drifts.size(), 1);
  const auto& drift = result.drifts.front();
  EXPECT_EQ(drift.since, 100);
  EXPECT_EQ(drift.until, 199);
  EXPECT_NEAR(drift.share, -0.05, 1e-6);
  EXPECT_FALSE(drift.recovered);
}

TEST(DriftTest, SeesARecovery) {
  auto values = steady(20);
  for (std::size_t day = 100; day < 200; ++day) values.values[day * 20 + 4] = 95;
  const auto result = find_drift(values, {});
  ASSERT_EQ(result.drifts.size(), 1);
  EXPECT_TRUE(result.drifts.front().recovered);
}

TEST(DriftTest, MayLookForHigherValues) {
  auto values = steady(20);
  for (std::size_t day = 100; day < kDays; ++day) {
    values.values[day * 20 + 3] = 90;   // cooler
    values.values[day * 20 + 4] = 110;  // hotter
    values.values[day * 20 + 5] = 102;  // by too little
  }
  const auto result = find_drift(values, {.worse = Side::above, .least_change = 3});
  ASSERT_EQ(result.drifts.size(), 1);
  EXPECT_EQ(result.drifts.front().series, 4);
  EXPECT_NEAR(result.drifts.front().share, 0.1, 1e-6);
}

// The second implementation: handles each series on its own, in plain steps.
class SlowDrift {
 public:
  SlowDrift(const DailyValues& values, const DriftRule& rule) : values_(values), rule_(rule) {}

  std::vector<Drift> run() {
    std::vector<std::vector<double>> distances(values_.series);
    std::vector<double> of_bases;
    std::vector<std::vector<std::pair<std::size_t, std::size_t>>> spans(values_.series);
    for (std::size_t i = 0; i < values_.series; ++i) {
      for (std::size_t day = 0; day < values_.days; ++day) {
        if (day == 0 || starts(i, day)) spans[i].emplace_back(day, day);
        spans[i].back().second = day + 1;
        distances[i].push_back(distance(i, day));
      }
      for (const auto& span : spans[i]) {
        const auto base = base_of(distances[i], span);
        if (base.size() < rule_.fewest_values) continue;
        for (const double each : base) of_bases.push_back(std::abs(each - median_of(base)));
      }
    }
    if (of_bases.empty()) return {};
    const double deviation = std::max(0.001, 1.4826 * median_of(of_bases));
    std::vector<Drift> drifts;
    for (std::size_t i = 0; i < values_.series; ++i) {
      for (const auto& span : spans[i]) {
        auto drift = judge(distances[i], span, deviation);
        if (!drift) continue;
        drift->series = i;
        drifts.push_back(*drift);
      }
    }
    return drifts;
  }

 private:
  bool starts(std::size_t series, std::size_t day) const {
    return std::ranges::any_of(values_.restarts, [&](const Restart& each) {
      return each.series == series && each.day == day;
    });
  }

  std::uint32_t stack(std::size_t series, std::size_t day) const {
    std::uint32_t stack = 0;
    std::size_t newest = 0;
    for (const auto& each : values_.restarts) {
      if (each.series != series || each.day > day || each.day < newest) continue;
      newest = each.day;
      stack = each.stack;
    }
    return stack;
  }

  double value(std::size_t series, std::size_t day) const {
    return static_cast<double>(values_.values[day * values_.series + series]);
  }

  double distance(std::size_t series, std::size_t day) const {
    std::vector<double> peers;
    for (std::size_t i = 0; i < values_.series; ++i) {
      if (!std::isnan(value(i, day)) && stack(i, day) == stack(series, day)) {
        peers.push_back(value(i, day));
      }
    }
    if (peers.size() < rule_.fewest || median_of(peers) <= 0) return std::nan("");
    const double share = value(series, day) / median_of(peers) - 1;
    return rule_.worse == Side::below ? -share : share;
  }

  std::vector<double> base_of(const std::vector<double>& days,
                              std::pair<std::size_t, std::size_t> span) {
    std::vector<double> base;
    std::optional<std::size_t> first;
    for (end_of_base_ = span.first; end_of_base_ < span.second; ++end_of_base_) {
      if (first && end_of_base_ - *first >= rule_.base_days && base.size() >= rule_.fewest_values) {
        break;
      }
      if (std::isnan(days[end_of_base_])) continue;
      if (!first) first = end_of_base_;
      base.push_back(days[end_of_base_]);
    }
    return base;
  }

  static double week(const std::vector<double>& days, std::size_t last) {
    std::vector<double> values;
    for (std::size_t day = last < 6 ? 0 : last - 6; day <= last; ++day) {
      if (!std::isnan(days[day])) values.push_back(days[day]);
    }
    return values.size() < 3 ? std::nan("") : median_of(values);
  }

  std::optional<Drift> judge(const std::vector<double>& days,
                             std::pair<std::size_t, std::size_t> span, double deviation) {
    const auto base = base_of(days, span);
    if (base.size() < rule_.fewest_values) return std::nullopt;
    double sum = 0;
    std::size_t since = 0, last = 0;
    std::optional<Drift> found;
    for (std::size_t day = end_of_base_; day < span.second; ++day) {
      if (std::isnan(days[day])) continue;
      last = day;
      if (found) continue;
      if (sum == 0) since = day;
      const double by = std::clamp((days[day] - median_of(base)) / deviation, -3.0, 3.0);
      sum = std::max(0.0, sum + by - 1.5);
      if (sum > 12 && week(days, day) - median_of(base) >= rule_.least_share) {
        found = Drift{.since = since, .found = day};
      }
    }
    if (!found) return found;
    const double by = week(days, last) - median_of(base);
    found->until = last;
    found->share = rule_.worse == Side::below ? -by : by;
    found->recovered = by < rule_.least_share / 2;
    return found;
  }

  const DailyValues& values_;
  const DriftRule& rule_;
  std::size_t end_of_base_ = 0;
};

TEST(DriftTest, EqualsASlowImplementation) {
  std::size_t found = 0;
  for (unsigned seed = 0; seed < 40; ++seed) {
    std::mt19937 random(seed);
    const auto any = [&](std::size_t below) { return random() % below; };
    DailyValues values{.series = 8 + any(25), .days = 60 + any(80)};
    std::normal_distribution<double> normal;
    for (std::size_t i = 0; i < values.series * values.days; ++i) {
      values.values.push_back(any(12) == 0 ? kNone
                                           : static_cast<float>(100 + 0.7 * normal(random)));
    }
    for (std::size_t i = 0; i < any(6); ++i) {  // slow ones, some of them only for a while
      const auto series = any(values.series), from = any(values.days);
      const auto until = any(2) == 0 ? values.days : from + any(values.days - from);
      const float times = any(2) == 0 ? 0.96F : 1.03F;
      for (std::size_t day = from; day < until; ++day) {
        values.values[day * values.series + series] *= times;
      }
    }
    std::set<std::pair<std::size_t, std::size_t>> restarted;
    for (std::size_t i = 0; i < any(10); ++i) {
      const auto day = any(values.days), series = any(values.series);
      if (!restarted.emplace(day, series).second) continue;
      values.restarts.push_back({.day = static_cast<std::uint32_t>(day),
                                 .series = static_cast<std::uint32_t>(series),
                                 .stack = static_cast<std::uint32_t>(any(2))});
    }
    const DriftRule rule{.worse = any(2) == 0 ? Side::below : Side::above, .fewest = 4 + any(5)};
    auto expected = SlowDrift(values, rule).run();
    auto drifts = find_drift(values, rule).drifts;
    ASSERT_EQ(drifts.size(), expected.size()) << seed;
    for (std::size_t i = 0; i < drifts.size(); ++i) {
      EXPECT_NEAR(drifts[i].share, expected[i].share, 1e-5) << seed;
      drifts[i].share = expected[i].share;
      drifts[i].weeks.clear();
      EXPECT_EQ(drifts[i], expected[i]) << seed;
    }
    found += drifts.size();
  }
  EXPECT_GT(found, 20);
}

}  // namespace
}  // namespace muster::fleet
