// SPDX-License-Identifier: Apache-2.0
// A seeded year with planted faults: each is the answer to one question, and no other node is
// named.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "fleet/causes.hpp"
#include "fleet/diff.hpp"
#include "fleet/drift.hpp"
#include "fleet/odd.hpp"
#include "fleet/offenders.hpp"
#include "fleet/page.hpp"
#include "tests/fleet/year_store.hpp"

namespace muster::fleet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAre;
using P = PlantedFaults;

// The faulty nodes of a hundred and some others; all of a thousand with MUSTER_FLEET_NODES=1000.
YearStore* make_year() {
  if (const char* const nodes = std::getenv("MUSTER_FLEET_NODES")) {
    return new YearStore({.nodes = std::atoi(nodes)});
  }
  std::vector<int> some(20);
  std::iota(some.begin(), some.end(), 0);
  for (const int node : {P::kLemonNodeLater, P::kSlotNode, P::kRampNode}) some.push_back(node);
  return new YearStore({.nodes = 100}, some);
}

class PlantedFaultsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { year_ = make_year(); }

  static void TearDownTestSuite() { delete year_; }

  static std::int64_t time(int day) { return Year::time(0, day); }

  static Database& database() { return year_->database(); }

  static const Nodes& nodes() { return year_->nodes; }

  static inline YearStore* year_ = nullptr;
};

TEST_F(PlantedFaultsTest, ALemonThatMovedAndABadSlotAreOffenders) {
  // The lemon has been in both nodes; the slot has had three GPUs.
  const auto offenders = ask_offenders(database(), nodes(), time(240));
  ASSERT_TRUE(offenders) << offenders.error().message;
  std::vector<std::string> names;
  for (const auto& row : *offenders) {
    names.push_back(fmt::format("{} {}", to_string(row.kind), row.name));
  }
  EXPECT_THAT(names, UnorderedElementsAre(
                         fmt::format("part gpu {}", P::kLemon),
                         fmt::format("seat {} gpu{}", Year::name(P::kSlotNode), P::kSlotGpu)));
}

TEST_F(PlantedFaultsTest, ARampIsADriftAndAStepOfTheFleetIsNot) {
  const auto drift = ask_drift(database(), nodes(), 0);
  ASSERT_TRUE(drift) << drift.error().message;
  // Once before the driver changed, and again after.
  ASSERT_EQ(drift->drifts.size(), 2);
  for (const auto& ramp : drift->drifts) {
    EXPECT_EQ(ramp.node, Year::name(P::kRampNode));
    EXPECT_EQ(ramp.device, fmt::format("gpu{}", P::kRampGpu));
    EXPECT_EQ(ramp.quantity, "gpu.products");
  }
  EXPECT_TRUE(drift->drifts[0].current);
  EXPECT_EQ(drift->drifts[1].until, date_of(time(P::kDriverFrom - 1)));
  ASSERT_EQ(drift->steps.size(), 1);
  const auto& step = drift->steps.front();
  EXPECT_EQ(step.day, date_of(time(P::kDriverFrom)));
  EXPECT_NEAR(step.shares.at("gpu.products"), -0.015, 0.003);
  EXPECT_THAT(step.changes, ElementsAre(HasSubstr("driver 570.172.08 became 580.105.08 on")));
}

TEST_F(PlantedFaultsTest, OnlyTheRampIsOdd) {
  const auto odd = ask_odd(database(), nodes());
  ASSERT_TRUE(odd) << odd.error().message;
  ASSERT_EQ(odd->odd_values.size(), 1);
  EXPECT_EQ(odd->odd_values.front().node, Year::name(P::kRampNode));
  ASSERT_EQ(odd->odd_facts.size(), 1);
  EXPECT_EQ(odd->odd_facts.front().fact, "hca firmware");
  EXPECT_EQ(odd->odd_facts.front().value, "28.44.1036");
}

TEST_F(PlantedFaultsTest, AFaultAfterAnUpgradeShowsByFirmware) {
  const auto causes = ask_causes(database(), nodes(), CausesBy::firmware, time(P::kFirmwareFrom));
  ASSERT_TRUE(causes) << causes.error().message;
  const auto mtbf = [&](std::string_view key) {
    const auto row = std::ranges::find(causes->rows, key, &CauseRow::key);
    EXPECT_NE(row, causes->rows.end()) << key;
    return row == causes->rows.end() ? Mtbf() : row->mtbf;
  };
  const auto before = mtbf("hca MT4129 28.39.1002"), after = mtbf("hca MT4129 28.44.1036");
  EXPECT_LT(after.high_h.value_or(0), before.low_h);
}

TEST_F(PlantedFaultsTest, CausesAddUpToAllIncidents) {
  for (const auto by : {CausesBy::check, CausesBy::part_kind, CausesBy::model, CausesBy::firmware,
                        CausesBy::host, CausesBy::provider}) {
    const auto causes = ask_causes(database(), nodes(), by, 0);
    ASSERT_TRUE(causes) << causes.error().message;
    std::int64_t incidents = 0;
    for (const auto& row : causes->rows) incidents += row.incidents;
    EXPECT_EQ(incidents, causes->all.incidents) << to_string(by);
    const auto nodes_h = 24.0 * static_cast<double>(nodes().size());
    EXPECT_NEAR(causes->all.exposure_h, 364 * nodes_h, 30 * nodes_h);
  }
}

TEST_F(PlantedFaultsTest, DiffMeasuresTheDriver) {
  const auto diff = ask_diff(database(), nodes(), date_of(time(P::kDriverFrom - 10)),
                             date_of(time(P::kDriverFrom + 5)));
  ASSERT_TRUE(diff) << diff.error().message;
  const auto& products = diff->quantities.front();
  EXPECT_EQ(products.quantity, "gpu.products");
  EXPECT_TRUE(products.paired);
  EXPECT_EQ(products.count, 8U * nodes().size());
  ASSERT_TRUE(products.low);
  EXPECT_LE(*products.low, -0.015);
  EXPECT_GE(*products.high, -0.015);
  EXPECT_LT(*products.high - *products.low, 0.002);
  EXPECT_EQ(diff->changes.front().text, "driver 570.172.08 became 580.105.08");
  EXPECT_EQ(diff->changes.front().nodes.size(), nodes().size());
  const auto of_some = ask_diff(database(), nodes(), "gpu-0000[1-3]@2026-03-01", "2026-04-01");
  ASSERT_TRUE(of_some) << of_some.error().message;
  EXPECT_EQ(of_some->quantities.front().count, 24);
  EXPECT_THAT(ask_diff(database(), nodes(), "2026-03-01", "before").error().message,
              HasSubstr("\"before\" is neither a date"));
}

TEST_F(PlantedFaultsTest, ThePageShowsAllWithoutScriptsOrReferences) {
  const auto answers = ask_all(database(), nodes());
  ASSERT_TRUE(answers) << answers.error().message;
  auto named = nodes();
  named.begin()->second.name = "<script>alert('\"&')</script>";
  const auto page = fleet_page(named, *answers, "<b>");
  EXPECT_THAT(page, HasSubstr(P::kLemon));
  EXPECT_THAT(page, HasSubstr(Year::name(P::kRampNode)));
  EXPECT_THAT(page, HasSubstr("28.44.1036"));
  EXPECT_THAT(page, HasSubstr("driver 570.172.08 became 580.105.08 on"));
  for (const auto* const text : {"<script", "http", "<b>b", "<img", "url(", "@import"}) {
    EXPECT_THAT(page, Not(HasSubstr(text)));
  }
  EXPECT_LE(page.size(), 200U * nodes().size() + 60'000);
}

}  // namespace
}  // namespace muster::fleet
