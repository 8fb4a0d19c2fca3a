// SPDX-License-Identifier: Apache-2.0
// On random stores, the store's answers equal those of slow second implementations.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "fleet/ask.hpp"
#include "fleet/causes.hpp"
#include "fleet/node_intervals.hpp"
#include "fleet/readings.hpp"
#include "fleet/store.hpp"
#include "fleet/whatif.hpp"
#include "lib/node/snapshot.hpp"
#include "tests/fleet/year_store.hpp"

namespace muster::fleet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Twelve nodes that fail often.
class RandomStoreTest : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  RandomStoreTest()
      : store_({.nodes = 12, .days = 45, .seed = GetParam(), .failures = 80, .planted = false}) {}

  Database& database() { return store_.database(); }

  // A key and two numbers of each row.
  std::map<std::string, std::pair<double, double>> rows(std::string_view sql) {
    std::map<std::string, std::pair<double, double>> found;
    const auto read = database().each(sql, [&](const Row& row) {
      found[std::string(row.text(0))] = {row.number(1), row.number(2)};
    });
    EXPECT_TRUE(read) << (read ? "" : read.error().message);
    return found;
  }

  // Each value of a quantity, in order of time.
  struct Value {
    std::int64_t at = 0, node = 0;
    std::string device;
    float value = 0;
  };

  std::vector<Value> values_of(const std::string& quantity) {
    std::map<std::int64_t, std::vector<std::pair<std::string, std::string>>> layouts;
    EXPECT_TRUE(database().each(
        "SELECT layout, quantity, device FROM position ORDER BY layout, place",
        [&](const Row& row) { layouts[row.whole(0)].emplace_back(row.text(1), row.text(2)); }));
    std::vector<Value> values;
    EXPECT_TRUE(database().each(
        "SELECT at, node, layout, vals FROM reading ORDER BY at, node", [&](const Row& row) {
          const auto& layout = layouts[row.whole(2)];
          for (std::size_t i = 0; i < layout.size(); ++i) {
            if (layout[i].first != quantity) continue;
            Value value{.at = row.whole(0), .node = row.whole(1), .device = layout[i].second};
            std::memcpy(&value.value, row.text(3).data() + i * sizeof(float), sizeof(float));
            values.push_back(value);
          }
        }));
    return values;
  }

  YearStore store_;
};

TEST_P(RandomStoreTest, CausesEqualThoseOfSql) {
  const auto by = [&](CausesBy what) {
    std::map<std::string, std::pair<double, double>> found;
    const auto causes = ask_causes(database(), store_.nodes, what, 0);
    EXPECT_TRUE(causes) << (causes ? "" : causes.error().message);
    for (const auto& row : causes->rows) {
      found[row.key] = {static_cast<double>(row.incidents), row.mtbf.exposure_h};
    }
    return found;
  };
  const auto expect_equal = [](const auto& found, const auto& expected) {
    ASSERT_EQ(found.size(), expected.size());
    for (const auto& [key, numbers] : expected) {
      ASSERT_TRUE(found.contains(key)) << key;
      EXPECT_EQ(found.at(key).first, numbers.first) << key;
      EXPECT_NEAR(found.at(key).second, numbers.second, 1e-6) << key;
    }
  };
  expect_equal(by(CausesBy::check),
               rows("SELECT cause, count(*), (SELECT sum(ended - started) / 3600.0 FROM uptime) "
                    "FROM incident GROUP BY cause"));
  expect_equal(by(CausesBy::model),
               rows("SELECT kind || ' ' || model, (SELECT count(*) FROM incident JOIN part AS p ON "
                    "p.id = part WHERE p.kind = part.kind), sum(ended - started) / 3600.0 "
                    "FROM part JOIN part_uptime ON part_uptime.part = part.id WHERE kind <> 'host' "
                    "GROUP BY kind, model"));
  expect_equal(by(CausesBy::host),
               rows("SELECT serial, (SELECT count(*) FROM incident WHERE node = part_uptime.node), "
                    "sum(ended - started) / 3600.0 FROM part JOIN part_uptime ON part = part.id "
                    "WHERE kind = 'host' AND EXISTS (SELECT * FROM incident WHERE node = "
                    "part_uptime.node) GROUP BY serial"));
}

TEST_P(RandomStoreTest, DailyReadingsAreThoseOfTheBlobs) {
  const auto newest = newest_of(store_.nodes);
  const auto readings =
      read_daily(database(), store_.nodes, {.from = newest - 20 * kDay_s, .until = newest + 1});
  ASSERT_TRUE(readings) << readings.error().message;
  std::size_t count = 0;
  for (const auto& quantity : readings->quantities) {
    std::map<std::tuple<std::int64_t, std::string, std::int64_t>, float> expected;
    for (const auto& each : values_of(quantity.quantity)) {
      expected[{each.node, each.device, each.at / kDay_s}] = each.value;
    }
    for (std::size_t i = 0; i < quantity.series.size(); ++i) {
      const auto& series = quantity.series[i];
      for (std::size_t day = 0; day < quantity.days.size(); ++day) {
        const auto value = quantity.at(day, i);
        const auto known = expected.find({series.node, readings->devices[series.device],
                                          readings->first_day + static_cast<std::int64_t>(day)});
        if (std::isnan(value)) continue;
        ASSERT_NE(known, expected.end());
        EXPECT_EQ(known->second, value);
        ++count;
      }
    }
  }
  EXPECT_GE(count, 7U * 8 * 12 * 20);  // quantities, devices, nodes and days
}

TEST_P(RandomStoreTest, MediansAreThoseOfTheDailyReadings) {
  const auto newest = newest_of(store_.nodes);
  const ReadingsFilter filter{.from = newest - 7 * kDay_s, .until = newest + 1};
  const auto readings = read_daily(database(), store_.nodes, filter);
  const auto medians = read_medians(database(), store_.nodes, filter);
  ASSERT_TRUE(readings && medians);
  using Key = std::tuple<std::string, std::string, std::int64_t, std::string>;
  std::map<Key, double> expected, found;
  for (const auto& quantity : readings->quantities) {
    for (std::size_t i = 0; i < quantity.series.size(); ++i) {
      std::vector<double> days;
      for (std::size_t day = 0; day < quantity.days.size(); ++day) {
        const float value = quantity.at(day, i);
        if (!std::isnan(value)) days.push_back(static_cast<double>(value));
      }
      const auto& [node, device] = quantity.series[i];
      if (days.empty()) continue;
      expected[{quantity.quantity, quantity.conditions, node, readings->devices[device]}] =
          median_of(days);
    }
  }
  for (const auto& quantity : medians->quantities) {
    for (const auto& [node, device, value] : quantity.medians) {
      found[{quantity.quantity, quantity.conditions, node, medians->devices[device]}] = value;
    }
  }
  EXPECT_GE(found.size(), 7U * 8 * 12);
  EXPECT_EQ(found, expected);
}

TEST_P(RandomStoreTest, WhatifEqualsASlowImplementation) {
  for (const bool above : {true, false}) {
    const ValueLimit limit{.check = "gpu.temperature",
                           .setting = "gpu.temperature.warn_above=46",
                           .limit = above ? 48.0 : 40.0,
                           .above = above};
    const auto answer = whatif_by_values(database(), store_.nodes, limit, 0);
    ASSERT_TRUE(answer) << answer.error().message;
    std::map<std::pair<std::int64_t, std::string>, std::vector<Value>> by_device;
    for (const auto& each : values_of(limit.check)) {
      by_device[{each.node, each.device}].push_back(each);
    }
    std::vector<std::tuple<std::int64_t, std::string, std::int64_t>> incidents;
    ASSERT_TRUE(database().each("SELECT node, device, started FROM incident", [&](const Row& row) {
      incidents.emplace_back(row.whole(0), row.text(1), row.whole(2));
    }));
    std::size_t alarms = 0, without = 0, judged = 0;
    std::set<std::string> failing;
    std::set<std::tuple<std::int64_t, std::string, std::int64_t>> announced;
    for (const auto& [key, values] : by_device) {
      judged += values.size();
      if (limit.is_beyond(static_cast<double>(values.back().value))) {
        failing.insert(store_.nodes.at(key.first).name);
      }
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (!limit.is_beyond(static_cast<double>(values[i].value))) continue;
        if (i > 0 && limit.is_beyond(static_cast<double>(values[i - 1].value))) continue;
        ++alarms;
        bool has_incident = false;
        for (const auto& incident : incidents) {
          const auto& [node, device, at] = incident;
          const bool is_its = node == key.first && device == key.second;
          if (!is_its || at < values[i].at || at - values[i].at > 30 * kDay_s) continue;
          has_incident = true;
          announced.insert(incident);
        }
        without += has_incident ? 0 : 1;
      }
    }
    EXPECT_GT(alarms, 10);
    EXPECT_EQ(answer->judged, judged);
    EXPECT_EQ(answer->alarms, alarms);
    EXPECT_EQ(answer->without_incident, without);
    EXPECT_EQ(answer->announced, announced.size());
    EXPECT_THAT(answer->newly_failing, testing::ElementsAreArray(failing));
    std::uint64_t newly = 0;
    for (const auto& month : answer->months) newly += month.newly;
    EXPECT_EQ(newly, alarms);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomStoreTest, ::testing::Values(1, 2));

TEST(ValueLimitTest, IsALimitOfAStoredQuantity) {
  YearStore store({.nodes = 1, .days = 1, .planted = false});
  const auto limit_of = [&](std::string_view setting) {
    return *value_limit(store.database(), setting);
  };
  for (const auto* const setting :
       {"gpu.temperature.warn_above=80", "gpu.temperature.fail_above=80 C",
        "gpu.temperature.warn_above=80C"}) {
    const auto limit = limit_of(setting);
    ASSERT_TRUE(limit) << setting;
    EXPECT_EQ(limit->check, "gpu.temperature");
    EXPECT_EQ(limit->limit, 80);
    EXPECT_TRUE(limit->above);
  }
  EXPECT_FALSE(limit_of("ib.rate.fail_below=300 Gb/s")->above);
  for (const auto* const setting :
       {"gpu.temperature.gpu.speed=80", "host.load.warn_above=8", "gpu.temperature.warn_above=hot",
        "gpu.temperature.warn_above", "warn_above=3"}) {
    EXPECT_FALSE(limit_of(setting)) << setting;
  }
}

TEST(AnswerTest, TimesAreDatesOrBeforeTheNewestReport) {
  EXPECT_EQ(parse_time("", 5), 0);
  EXPECT_EQ(parse_time("1970-01-02", 0), kDay_s);
  EXPECT_EQ(parse_time("1970-01-01T00:01:00Z", 0), 60);
  EXPECT_EQ(parse_time("2d", 3 * kDay_s), kDay_s);
  EXPECT_THAT(parse_time("yesterday", 0).error().message, HasSubstr("invalid time \"yesterday\""));
}

TEST(AnswerTest, AScreenHasFortyRowsAndAFileAll) {
  const std::vector<std::string> lines(200, std::string(30, 'x') + " " + std::string(60, 'y'));
  const auto shown = screen(lines, 80);
  EXPECT_LE(std::ranges::count(shown, '\n'), 40);
  EXPECT_THAT(shown, HasSubstr("more lines; use a file or pipe to see them all\n"));
  EXPECT_EQ(std::ranges::count(screen(lines, 0), '\n'), 200);
  EXPECT_EQ(screen({"a  b"}, 80), "a  b\n");
}

// Three nodes with two snapshots each. Their labels name the limit that they fail.
TEST(WhatifBySnapshotsTest, JudgesTheNewestOfEachNodeOrAll) {
  constexpr std::int64_t kDay = 1'767'225'600;  // 2026-01-01
  YearStore store({.nodes = 3, .days = 2, .planted = false});
  const auto add = [&](std::int64_t node, std::int64_t at, std::string label) {
    Snapshot snapshot;
    snapshot.taken = std::move(label);
    ASSERT_TRUE(store.database().run("INSERT INTO snapshot VALUES(?, ?, ?, 0, 0, '', 0, ?)", node,
                                     at, at, Blob{compressed(to_json(snapshot))}));
  };
  std::vector<std::int64_t> ids;
  for (const auto& [id, node] : store.nodes) ids.push_back(id);
  ASSERT_EQ(ids.size(), 3U);
  add(ids[0], kDay, "both");
  add(ids[0], kDay + 40 * kDay_s, "after");
  add(ids[1], kDay, "after");
  add(ids[1], kDay + 40 * kDay_s, "before");
  add(ids[2], kDay, "before");
  add(ids[2], kDay + 40 * kDay_s, "both");
  using Findings = std::vector<Finding>;
  const auto judge = [](const Snapshot& snapshot) -> Result<std::pair<Findings, Findings>> {
    const auto findings = [&](std::string_view when) {
      const bool fails = snapshot.taken == when || snapshot.taken == "both";
      return Findings{{.check = "a.b", .outcome = fails ? Outcome::fail : Outcome::pass}};
    };
    return std::pair(findings("before"), findings("after"));
  };
  const auto newest = whatif_by_snapshots(store.database(), store.nodes, judge, false, 0);
  ASSERT_TRUE(newest) << newest.error().message;
  EXPECT_EQ(newest->judged, 3U);
  EXPECT_THAT(newest->newly_failing, ElementsAre(store.nodes.at(ids[0]).name));
  EXPECT_THAT(newest->cured, ElementsAre(store.nodes.at(ids[1]).name));
  EXPECT_THAT(newest->months, ElementsAre());
  const auto all = whatif_by_snapshots(store.database(), store.nodes, judge, true, 0);
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(all->judged, 6U);
  EXPECT_EQ(all->newly_failing, newest->newly_failing);
  EXPECT_EQ(all->cured, newest->cured);
  EXPECT_THAT(all->months, ElementsAre(WhatifMonth{"2026-01", 1, 1}, WhatifMonth{"2026-02", 1, 1}));
  const auto unreadable = whatif_by_snapshots(
      store.database(), store.nodes,
      [](const Snapshot& /*snapshot*/) -> Result<std::pair<Findings, Findings>> {
        return make_error("gpu.temperature: unknown key");
      },
      false, 0);
  ASSERT_FALSE(unreadable);
  EXPECT_THAT(unreadable.error().message, HasSubstr("unknown key"));
}

}  // namespace
}  // namespace muster::fleet
