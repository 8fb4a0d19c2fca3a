// SPDX-License-Identifier: Apache-2.0

#include "slurm/policy/limits.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <random>

#include "slurm/policy/reason.hpp"
#include "tests/slurm/policy/situation.hpp"

namespace muster::slurm {
namespace {

using std::chrono::days;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string kLimits = "muster: host.limits: memlock is 64 KiB; fix the configuration";
const std::string kRepair = "muster: gpu.ecc_remapped_rows gpu3: failed; report to the provider";
const std::string kReplace = "muster: ib.rate mlx5_ib5: slow; reseat or replace the part";

// A drain with this reason.
std::string remembered(const std::string& reason, Remedy remedy, bool accepted) {
  return to_text({.check = "host.limits",
                  .remedy = remedy,
                  .at = kNow,
                  .accepted = accepted,
                  .reason = short_hash(reason)});
}

class BreakerTest : public ::testing::Test {
 protected:
  // A hundred nodes, five of which may be drained for one check, at intervals of `apart`.
  void drain_some(std::size_t count, seconds apart) {
    for (std::size_t i = 0; i < count; ++i) {
      nodes[i] = drained(nodes[i], kLimits, kNow + static_cast<int>(i) * apart);
    }
  }

  [[nodiscard]] std::string refusal(std::string check) const {
    const auto now = kNow + days(3);
    return used_up_share(nodes[99], nodes, rules, now,
                         {.check = std::move(check), .remedy = Remedy::fix_config});
  }

  Rules rules;
  std::vector<NodeState> nodes = idle_nodes(100);
};

TEST_F(BreakerTest, StopsOnlyThisCheck) {
  drain_some(4, seconds(1));
  EXPECT_EQ(refusal("host.limits"), "");
  EXPECT_THAT(stopped_checks(nodes, rules), IsEmpty());
  drain_some(5, seconds(1));
  EXPECT_EQ(refusal("host.limits"),
            "host.limits has drained 5 nodes of partition main within 1 h, which looks like a bad "
            "limit: it drains no more there until an admin runs muster resume --check host.limits");
  EXPECT_EQ(refusal("ib.rate"), "");
  EXPECT_THAT(stopped_checks(nodes, rules),
              ElementsAre(StoppedCheck{
                  .check = "host.limits", .partition = "main", .drains = 5, .most = 5}));
}

TEST_F(BreakerTest, CountsDrainsThatBeganWithinAnHourOfEachOther) {
  drain_some(50, minutes(15));  // four in each hour
  EXPECT_EQ(refusal("host.limits").find("host.limits has drained"), std::string::npos);
  drain_some(50, minutes(14));
  EXPECT_THAT(refusal("host.limits"), HasSubstr("host.limits has drained 5 nodes"));
}

TEST_F(BreakerTest, CountsNoAcceptedDrainAndNoNodeInService) {
  drain_some(5, seconds(1));
  nodes[0].memory = remembered(kLimits, Remedy::fix_config, false);
  EXPECT_NE(refusal("host.limits"), "");
  nodes[0].memory = remembered(kLimits, Remedy::fix_config, true);
  EXPECT_EQ(refusal("host.limits"), "");
  // Another drain than the current one.
  nodes[0].memory = remembered(kRepair, Remedy::fix_config, true);
  EXPECT_NE(refusal("host.limits"), "");
  nodes[1].state = "idle";
  EXPECT_EQ(refusal("host.limits"), "");
  nodes[1].state = "down*";
  EXPECT_NE(refusal("host.limits"), "");
}

TEST_F(BreakerTest, OfManyAtOnceTheAllowedStayAndOneReportsTheStop) {
  drain_some(100, seconds(0));
  const auto stays = [&](const NodeState& node) {
    return beyond_share(node, nodes, rules).empty();
  };
  EXPECT_EQ(std::ranges::count_if(nodes, stays), 5);
  const auto says = [&](const NodeState& node) {
    return stays(node) && !stopped_by(node, nodes, rules).empty();
  };
  EXPECT_EQ(std::ranges::count_if(nodes, says), 1);
}

TEST_F(BreakerTest, AcceptsAWindowOfNoTime) {
  rules.drain_window = Seconds{0};
  drain_some(5, seconds(1));
  EXPECT_THAT(stopped_checks(nodes, rules), IsEmpty());
}

// Whether one more of `size` nodes may be drained, of which `standing` were drained weeks ago.
std::string one_more(std::size_t size, const std::vector<std::string>& standing, Remedy remedy) {
  auto nodes = idle_nodes(size);
  for (std::size_t i = 0; i < standing.size(); ++i) {
    nodes[i] = drained(nodes[i], standing[i], kNow - days(7 + static_cast<int>(i)));
  }
  return used_up_share(nodes.back(), nodes, {}, kNow, {.check = "gpu.count", .remedy = remedy});
}

TEST(RepairTest, DrainsAThirdOfFourNodesIfTwoAreInRepair) {
  EXPECT_EQ(one_more(4, {kRepair, kReplace}, Remedy::fix_config), "");
  EXPECT_EQ(one_more(4, {kRepair, kRepair}, Remedy::report_to_provider), "");
  EXPECT_EQ(one_more(4, {kRepair, kRepair, kRepair}, Remedy::report_to_provider),
            "3 of 3 nodes that may be drained for repair at a time in partition main are drained");
  EXPECT_EQ(one_more(4, {kRepair, kRepair, kRepair}, Remedy::reboot), "");
  EXPECT_EQ(one_more(4, {kLimits, kLimits}, Remedy::report_to_provider), "");
  EXPECT_EQ(one_more(4, {kLimits, kLimits}, Remedy::reboot),
            "2 of 2 nodes that may be drained by muster at a time in partition main are drained");
}

// A node whose fault worsens stays drained, but frees no room for others.
TEST(RepairTest, NodesBeyondTheLimitTakeTheRoomOfOtherDrains) {
  Rules rules;
  rules.most_in_repair = "10%";
  auto nodes = idle_nodes(4);
  for (std::size_t i = 0; i < 2; ++i) nodes[i] = drained(nodes[i], kRepair, kNow - days(7));
  const auto one_more = [&](Remedy remedy) {
    return used_up_share(nodes[3], nodes, rules, kNow, {.check = "gpu.count", .remedy = remedy});
  };
  EXPECT_EQ(one_more(Remedy::reboot), "");
  nodes[2] = drained(nodes[2], kLimits, kNow - days(6));
  EXPECT_EQ(one_more(Remedy::reboot),
            "2 of 2 nodes that may be drained by muster at a time in partition main are drained");
  EXPECT_NE(one_more(Remedy::report_to_provider), "");
}

TEST(RepairTest, LimitsSmallPartitions) {
  EXPECT_EQ(one_more(2, {kRepair}, Remedy::fix_config), "");
  EXPECT_NE(one_more(2, {kRepair}, Remedy::report_to_provider), "");  // one is left
  EXPECT_NE(one_more(2, {kLimits}, Remedy::fix_config), "");
  EXPECT_EQ(one_more(3, {kRepair}, Remedy::report_to_provider), "");
  EXPECT_EQ(one_more(3, {kRepair, kRepair}, Remedy::fix_config), "");
  EXPECT_NE(one_more(3, {kRepair, kRepair}, Remedy::reseat_or_replace), "");
  EXPECT_NE(one_more(3, {kLimits}, Remedy::fix_config), "");
}

TEST(DrainCauseTest, ComesFromTheMemoryOfTheDrainOrElseFromTheReason) {
  auto node = drained(idle_nodes(1)[0], kRepair, kNow);
  EXPECT_EQ(shown_drain(node).check, "gpu.ecc_remapped_rows");
  EXPECT_EQ(shown_drain(node).remedy, Remedy::report_to_provider);
  node.reason = kLimits;
  EXPECT_EQ(shown_drain(node).check, "host.limits");
  EXPECT_EQ(shown_drain(node).remedy, Remedy::fix_config);
  node.memory = remembered(kLimits, Remedy::reseat_or_replace, false);
  EXPECT_EQ(shown_drain(node).remedy, Remedy::reseat_or_replace);
  node.memory = remembered(kRepair, Remedy::reseat_or_replace, false);
  EXPECT_EQ(shown_drain(node).remedy, Remedy::fix_config);
  node.reason = "";  // dropped by Slurm
  EXPECT_EQ(shown_drain(node).check, "host.limits");
  for (const auto* const reason : {"muster: ", "muster: :", "muster:  : ", "disk swap"}) {
    node.reason = reason;
    EXPECT_EQ(shown_drain(node).remedy, Remedy::none) << reason;
    EXPECT_EQ(shown_drain(node).check, "") << reason;
  }
}

TEST(AllowanceTest, IsTheSmallerOfAShareAndANumberAndAtLeastOne) {
  struct Case {
    std::size_t size;
    std::string share;
    int nodes;
    std::size_t allowed;
  };

  for (const auto& test :
       {Case{100, "10%", 0, 10}, Case{109, "10 %", 0, 10}, Case{9, "10%", 0, 1},
        Case{0, "10%", 0, 1}, Case{100, "0%", 0, 1}, Case{10000, "0.29%", 0, 29},
        Case{1000, "2.3%", 0, 23}, Case{4, "100%", 0, 4}, Case{1000, "10%", 20, 20},
        Case{100, "10%", 20, 10}, Case{1000, "100%", 1, 1}}) {
    EXPECT_EQ(allowance(test.size, test.share, test.nodes), test.allowed)
        << test.share << " of " << test.size;
  }
  EXPECT_EQ(allowance(4, "5%", 10, 3), 3U);
  EXPECT_EQ(allowance(1000, "5%", 10, 3), 10U);
  EXPECT_EQ(allowance(1000, "5%", 2, 3), 2U);
}

const NodeMemory kCause{.check = "ib.rate", .remedy = Remedy::fix_config};

bool within_allowance(const NodeState& node, const std::vector<NodeState>& nodes,
                      const Rules& rules) {
  return beyond_share(node, nodes, rules).empty();
}

// The share only: no check is stopped.
Rules shares() {
  Rules rules;
  rules.most_by_check = "100%";
  rules.most_by_check_nodes = 0;
  return rules;
}

std::size_t count_covered(const std::vector<NodeState>& nodes, const Rules& rules) {
  return static_cast<std::size_t>(std::ranges::count_if(nodes, [&](const NodeState& node) {
    return !node.reason.empty() && within_allowance(node, nodes, rules);
  }));
}

TEST(WithinAllowanceTest, TenOfAHundredDrainedAtOnceStay) {
  auto nodes = idle_nodes(100);
  for (auto& node : nodes) node = drained(node, kOurReason, kNow);
  EXPECT_EQ(count_covered(nodes, shares()), 10U);
}

// Most nodes of a cloud partition do not exist: a wrong limit would drain all nodes that do.
TEST(WithinAllowanceTest, CountsOnlyNodesThatAreUp) {
  for (const auto* const state : {"idle~", "idle#", "idle%", "powered_down", "future", "down*"}) {
    auto nodes = idle_nodes(100);
    for (std::size_t i = 10; i < nodes.size(); ++i) nodes[i].state = state;
    EXPECT_EQ(used_up_share(nodes[0], nodes, {}, kNow, kCause), "") << state;
    nodes[1] = drained(nodes[1], kOurReason, kNow);
    EXPECT_EQ(used_up_share(nodes[0], nodes, {}, kNow, kCause),
              "1 of 1 nodes that muster may drain in partition main within 1 h are drained")
        << state;
    for (std::size_t i = 0; i < 10; ++i) nodes[i] = drained(nodes[i], kOurReason, kNow);
    EXPECT_EQ(count_covered(nodes, shares()), 1U) << state;
  }
}

// Ten more in each hour would be all of them in the end.
TEST(WithinAllowanceTest, AtMostHalfAreDrainedAtATime) {
  struct Case {
    std::size_t standing;
    std::string most;
    std::string used_up;
  };

  const std::string fifty =
      "50 of 50 nodes that may be drained by muster at a time in partition main are drained";
  const std::string one =
      "1 of 1 nodes that may be drained by muster at a time in partition main are drained";
  for (const auto& test : {Case{49, "50%", ""}, Case{50, "50%", fifty}, Case{51, "50%", fifty},
                           Case{50, "60%", ""}, Case{1, "0%", one}, Case{0, "0%", ""}}) {
    auto rules = shares();
    rules.most_standing = test.most;
    auto nodes = idle_nodes(100);
    for (std::size_t i = 0; i < test.standing; ++i) {
      nodes[i] = drained(nodes[i], kOurReason, kNow - minutes(61 * i + 61));
    }
    EXPECT_EQ(used_up_share(nodes[99], nodes, rules, kNow, kCause), test.used_up) << test.standing;
    // Once it is drained anyway, at the same time as others.
    nodes[99] = drained(nodes[99], kOurReason, kNow);
    EXPECT_EQ(beyond_share(nodes[99], nodes, rules), test.used_up) << test.standing;
    for (std::size_t i = 0; i < test.standing; ++i) nodes[i].reason = "Not responding";
    EXPECT_EQ(beyond_share(nodes[99], nodes, rules), "") << test.standing;
  }
}

TEST(WithinAllowanceTest, NeverCoversMoreWhateverTheOrder) {
  std::mt19937 random(7);  // NOLINT(cert-msc51-cpp): the same every time
  for (int round = 0; round < 20; ++round) {
    auto nodes = idle_nodes(30);
    for (auto& node : nodes) {
      if (random() % 3 == 0) continue;
      node = drained(node, kOurReason, kNow + seconds(random() % 4));
    }
    const auto drains = static_cast<std::size_t>(
        std::ranges::count_if(nodes, [](const NodeState& node) { return !node.reason.empty(); }));
    EXPECT_EQ(count_covered(nodes, shares()), std::min<std::size_t>(3, drains));
    std::ranges::shuffle(nodes, random);
    EXPECT_EQ(count_covered(nodes, shares()), std::min<std::size_t>(3, drains));
  }
}

// n0, and n1 of the ten, of which one may be drained.
bool covers_n0(std::optional<Time> since, const NodeState& other) {
  auto nodes = ten_nodes();
  nodes[0] = drained(nodes[0], kOurReason, since);
  nodes[1] = other;
  return within_allowance(nodes[0], nodes, {});
}

TEST(WithinAllowanceTest, NewNodesUseUpNoShare) {
  auto nodes = ten_nodes();
  for (std::size_t i = 1; i < nodes.size(); ++i) {
    nodes[i] = drained(nodes[i], std::string(kNewNode), kNow);
  }
  EXPECT_EQ(used_up_share(nodes[0], nodes, Rules{}, kNow, kCause), "");
  nodes[1].reason += " : reboot issued";
  EXPECT_EQ(used_up_share(nodes[0], nodes, Rules{}, kNow, kCause), "");
}

TEST(WithinAllowanceTest, DrainsOfAdminsInMustersWordsUseUpNoShare) {
  auto nodes = ten_nodes();
  for (const auto* const reason :
       {"muster: keep this (alice)", "muster: host.limits: low; alice keeps it"}) {
    for (const auto* const state : {"drained", "down*"}) {
      nodes[1] = drained(nodes[1], reason, kNow);
      nodes[1].state = state;
      EXPECT_EQ(used_up_share(nodes[0], nodes, Rules{}, kNow, kCause), "") << reason;
    }
  }
}

TEST(WithinAllowanceTest, RanksByTimeThenByName) {
  auto other = drained(ten_nodes()[1], kOurReason, kNow);
  EXPECT_TRUE(covers_n0(kNow, other));
  EXPECT_TRUE(covers_n0(kNow - seconds(1), other));
  EXPECT_FALSE(covers_n0(kNow + seconds(1), other));
  other.name = "m1";
  EXPECT_FALSE(covers_n0(kNow, other));
  EXPECT_TRUE(covers_n0(kNow - seconds(1), other));
}

TEST(WithinAllowanceTest, CountsWhatMusterDrainedWithinTheWindow) {
  const auto since = kNow + seconds(1);
  auto other = drained(ten_nodes()[1], kOurReason, since - minutes(60) + seconds(1));
  EXPECT_FALSE(covers_n0(since, other));
  other.since = since - minutes(60);
  EXPECT_TRUE(covers_n0(since, other));
  other.since = kNow;
  other.state = "down*";
  EXPECT_FALSE(covers_n0(since, other));
  other.state = "idle";
  EXPECT_TRUE(covers_n0(since, other));
  other.state = "drained";
  other.reason = "muster-admin: alice: cable";
  EXPECT_TRUE(covers_n0(since, other));
}

TEST(WithinAllowanceTest, AnUnknownTimeComesFirst) {
  auto other = drained(ten_nodes()[1], kOurReason, std::nullopt);
  EXPECT_FALSE(covers_n0(kNow, other));
  EXPECT_TRUE(covers_n0(std::nullopt, other));  // by name
  other.name = "m1";
  EXPECT_FALSE(covers_n0(std::nullopt, other));
  other.since = kNow;
  EXPECT_TRUE(covers_n0(std::nullopt, other));
}

TEST(WithinAllowanceTest, AppliesToEachPartition) {
  auto nodes = ten_nodes();
  Rules rules;
  rules.most_drained = "50%";
  nodes[0].partitions = nodes[1].partitions = {"main", "small"};
  nodes[0] = drained(nodes[0], kOurReason, kNow);
  nodes[1] = drained(nodes[1], kOurReason, kNow);
  EXPECT_TRUE(within_allowance(nodes[0], nodes, rules));
  EXPECT_FALSE(within_allowance(nodes[1], nodes, rules));
  nodes[0].partitions = {"main"};
  EXPECT_TRUE(within_allowance(nodes[1], nodes, rules));
}

}  // namespace
}  // namespace muster::slurm
