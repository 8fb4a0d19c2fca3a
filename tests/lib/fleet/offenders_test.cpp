// SPDX-License-Identifier: Apache-2.0
// A year of a simulated fleet with lemons, and a slow second implementation.
#include "lib/fleet/offenders.hpp"

#include <cmath>
#include <optional>
#include <random>
#include <set>

#include "lib/statistics/statistics.hpp"
#include "tests/support/matchers.hpp"

namespace muster::fleet {
namespace {

constexpr double kWindow_days = 180;

// Days of the incidents of nodes with 6.5 failures in 1,000 days, of which 2% have ten times more.
std::vector<std::vector<double>> year_of(std::size_t nodes, std::size_t lemons, unsigned seed) {
  std::mt19937 random(seed);
  std::exponential_distribution<double> wait(0.0065);
  std::vector<std::vector<double>> incidents(nodes);
  for (std::size_t node = 0; node < nodes; ++node) {
    const double times = node < lemons ? 10 : 1;
    for (double day = wait(random) / times; day < 365; day += wait(random) / times) {
      incidents[node].push_back(day);
    }
  }
  return incidents;
}

// Each boot has one incident.
std::vector<Offender> offenders_at(const std::vector<std::vector<double>>& nodes, double now) {
  std::vector<Suspect> suspects;
  std::vector<SuspectedIncident> incidents;
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    suspects.push_back({SuspectKind::node, 0, 24 * std::min(now, kWindow_days)});
    for (const double day : nodes[node]) {
      if (day > now - kWindow_days && day <= now) incidents.push_back({incidents.size(), {node}});
    }
  }
  return find_offenders(suspects, incidents);
}

// 10,000 nodes as the store asks once a month: nearly all lemons are found, and the good ones
// accused are a tenth of those by "3 incidents in 30 days" (326).
TEST(OffendersTest, FindsLemonsAndAccusesFewOthers) {
  constexpr std::size_t kNodes = 10'000, kLemons = 200;
  const auto nodes = year_of(kNodes, kLemons, 4);
  std::set<std::size_t> found, accused;
  for (double now = 30; now <= 365; now += 30) {
    for (const auto& offender : offenders_at(nodes, now)) {
      (offender.suspect < kLemons ? found : accused).insert(offender.suspect);
      EXPECT_GT(offender.probability, 0.8);
      EXPECT_GE(offender.incidents, 3);
    }
  }
  EXPECT_GE(found.size(), 197);
  EXPECT_LE(accused.size(), 45);
}

TEST(OffendersTest, NeedsSeveralBootsAndIncidents) {
  std::vector<Suspect> suspects(1000, {SuspectKind::node, 0, 4320});
  std::vector<SuspectedIncident> incidents{{1, {0}}, {1, {0}}, {1, {0}}, {1, {0}}};
  EXPECT_THAT(find_offenders(suspects, incidents), IsEmpty());
  incidents.push_back({2, {0}});
  ASSERT_EQ(find_offenders(suspects, incidents).size(), 1);
  EXPECT_THAT(find_offenders(suspects, {{1, {0}}, {2, {0}}}), IsEmpty());
}

// Each of 8,000 parts has an incident in about seven years. Three in one of them are still chance.
TEST(OffendersTest, NamesNoPartForChance) {
  std::vector<Suspect> suspects(8000, {SuspectKind::part, 0, 4320});
  std::vector<SuspectedIncident> incidents;
  for (std::size_t i = 0; i < 580; ++i) incidents.push_back({i, {1000 + i}});
  for (std::size_t i = 0; i < 3; ++i) incidents.push_back({1000 + i, {7}});
  EXPECT_THAT(find_offenders(suspects, incidents), IsEmpty());
  incidents.push_back({2000, {7}});
  EXPECT_EQ(find_offenders(suspects, incidents).size(), 1);
}

// Nodes 0 to 99 with 8 GPUs in as many seats each, and the incidents of some.
struct Fleet {
  std::vector<Suspect> suspects;
  std::vector<SuspectedIncident> incidents;

  static std::size_t node(std::size_t at) { return at; }
  static std::size_t seat(std::size_t node, std::size_t slot) { return 100 + node * 8 + slot; }
  static std::size_t part(std::size_t at) { return 900 + at; }

  Fleet() {
    for (int i = 0; i < 100; ++i) suspects.push_back({SuspectKind::node, 0, 4320});
    for (int i = 0; i < 800; ++i) suspects.push_back({SuspectKind::seat, 0, 4320});
    for (int i = 0; i < 900; ++i) suspects.push_back({SuspectKind::part, 0, 4320});
    for (std::size_t i = 50; i < 60; ++i) add(i, 0, 8 * i);  // the rate of the fleet
  }

  void add(std::size_t at_node, std::size_t slot, std::size_t at_part) {
    incidents.push_back({incidents.size(), {node(at_node), seat(at_node, slot), part(at_part)}});
  }

  [[nodiscard]] std::vector<std::size_t> offenders() const {
    std::vector<std::size_t> places;
    for (const auto& each : find_offenders(suspects, incidents)) places.push_back(each.suspect);
    return places;
  }
};

TEST(OffendersTest, ABadPartThatMovedDoesNotAccuseItsNodes) {
  Fleet fleet;
  for (int i = 0; i < 3; ++i) fleet.add(7, 3, 800);
  for (int i = 0; i < 3; ++i) fleet.add(9, 1, 800);
  fleet.add(7, 5, 61);
  EXPECT_THAT(fleet.offenders(), ElementsAre(Fleet::part(800)));
}

TEST(OffendersTest, ABadSlotDoesNotAccuseItsParts) {
  Fleet fleet;
  for (int i = 0; i < 3; ++i) fleet.add(7, 3, 801);
  for (int i = 0; i < 3; ++i) fleet.add(7, 3, 802);
  EXPECT_THAT(fleet.offenders(), ElementsAre(Fleet::seat(7, 3)));
}

TEST(OffendersTest, ABadNodeFailsInManySeats) {
  Fleet fleet;
  for (std::size_t slot = 0; slot < 6; ++slot) fleet.add(7, slot, 56 + slot);
  EXPECT_THAT(fleet.offenders(), ElementsAre(Fleet::node(7)));
}

TEST(OffendersTest, APartThatNeverMovedIsNamedBeforeItsSeat) {
  Fleet fleet;
  for (int i = 0; i < 4; ++i) fleet.add(7, 3, 59);
  fleet.add(7, 5, 61);
  EXPECT_THAT(fleet.offenders(), ElementsAre(Fleet::part(59)));
}

// The second implementation: counts everything anew for each suspect and offender.
std::vector<Offender> slow_offenders(const std::vector<Suspect>& suspects,
                                     const std::vector<SuspectedIncident>& incidents) {
  std::vector<double> expected;
  for (const auto& suspect : suspects) {
    double count = 0, exposure_h = 0;
    for (std::size_t i = 0; i < suspects.size(); ++i) {
      if (suspects[i].kind != suspect.kind || suspects[i].peers != suspect.peers) continue;
      exposure_h += suspects[i].exposure_h;
      for (const auto& incident : incidents) {
        for (const auto at : incident.suspects) count += at == i ? 1 : 0;
      }
    }
    expected.push_back(count / exposure_h * suspect.exposure_h);
  }
  std::vector<Offender> offenders;
  std::vector<bool> explained(incidents.size());
  for (;;) {
    std::optional<Offender> best;
    double best_gain = 0;
    for (std::size_t i = 0; i < suspects.size(); ++i) {
      Offender each{.suspect = i};
      std::set<std::size_t> boots;
      for (std::size_t k = 0; k < incidents.size(); ++k) {
        const auto& of = incidents[k].suspects;
        if (explained[k] || std::find(of.begin(), of.end(), i) == of.end()) continue;
        ++each.incidents;
        boots.insert(incidents[k].boot);
      }
      each.boots = static_cast<std::int64_t>(boots.size());
      if (each.incidents < 3 || each.boots < 2) continue;
      const auto count = static_cast<double>(each.incidents);
      each.factor = count / expected[i];
      each.probability = share_of_rates_above(3, each.incidents, expected[i], 0.5);
      if (each.probability <= 0.8) continue;
      double fewer = 0, term = std::exp(-expected[i]), peers = 0;
      for (std::int64_t k = 0; k < each.incidents; ++k) {
        fewer += term;
        term *= expected[i] / static_cast<double>(k + 1);
      }
      for (const auto& peer : suspects) {
        peers += peer.kind == suspects[i].kind && peer.peers == suspects[i].peers ? 1 : 0;
      }
      const bool is_node = suspects[i].kind == SuspectKind::node;
      const bool is_host = suspects[i].kind == SuspectKind::host;
      if (!is_node && !is_host && peers * (1 - fewer) > 0.1) continue;
      const double gain = count * std::log(each.factor) - count + expected[i];
      const bool better =
          !best || gain > best_gain + 1e-9 ||
          (gain > best_gain - 1e-9 && suspects[i].kind < suspects[best->suspect].kind);
      if (!better) continue;
      best = each;
      best_gain = gain;
    }
    if (!best) return offenders;
    offenders.push_back(*best);
    for (std::size_t k = 0; k < incidents.size(); ++k) {
      for (const auto at : incidents[k].suspects) {
        if (at == best->suspect) explained[k] = true;
      }
    }
  }
}

TEST(OffendersTest, EqualsASlowImplementation) {
  std::size_t found = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const std::size_t count = 20 + random() % 40;
    std::vector<Suspect> suspects;
    for (std::size_t i = 0; i < count; ++i) {
      suspects.push_back({static_cast<SuspectKind>(random() % 4), random() % 3 == 0 ? 0U : 1U,
                          static_cast<double>(100 + random() % 4000)});
    }
    std::vector<SuspectedIncident> incidents;
    for (std::size_t i = 0; i < 5 + random() % 30; ++i) {
      std::set<std::size_t> of;
      const auto most = random() % 4;
      for (std::size_t k = 0; k < most; ++k) of.insert(random() % (random() % 2 == 0 ? 4 : count));
      incidents.push_back({random() % 6, {of.begin(), of.end()}});
    }
    auto offenders = find_offenders(suspects, incidents);
    const auto expected = slow_offenders(suspects, incidents);
    ASSERT_EQ(offenders.size(), expected.size()) << seed;
    for (std::size_t i = 0; i < offenders.size(); ++i) {
      EXPECT_NEAR(offenders[i].factor, expected[i].factor, 1e-9);
      EXPECT_NEAR(offenders[i].probability, expected[i].probability, 1e-9);
      offenders[i].factor = expected[i].factor;
      offenders[i].probability = expected[i].probability;
    }
    EXPECT_EQ(offenders, expected) << seed;
    found += offenders.size();
  }
  EXPECT_GT(found, 30);
}

}  // namespace
}  // namespace muster::fleet
