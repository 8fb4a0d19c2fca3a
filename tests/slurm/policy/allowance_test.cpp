// SPDX-License-Identifier: Apache-2.0
// How many nodes muster may drain, and that nodes which do not know of each other agree which.
#include "slurm/policy/allowance.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "slurm/policy/reason.hpp"
#include "tests/slurm/policy/situation.hpp"

namespace muster::slurm {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

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

std::vector<NodeState> so_many_nodes(std::size_t count) {
  std::vector<NodeState> nodes;
  nodes.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    nodes.push_back({.name = fmt::format("n{}", i), .partitions = {"main"}, .state = "idle"});
  }
  return nodes;
}

std::size_t count_covered(const std::vector<NodeState>& nodes, const Rules& rules) {
  return static_cast<std::size_t>(std::ranges::count_if(nodes, [&](const NodeState& node) {
    return !node.reason.empty() && within_allowance(node, nodes, rules);
  }));
}

TEST(WithinAllowanceTest, OfAHundredDrainedAtOnceTenStay) {
  auto nodes = so_many_nodes(100);
  for (auto& node : nodes) node = drained(node, kOurReason, kNow);
  EXPECT_EQ(count_covered(nodes, shares()), 10U);
}

// Most of a partition in the cloud is not there: a wrong limit would take all that is.
TEST(WithinAllowanceTest, OfNodesThatAreNotUpThereIsNoShare) {
  for (const auto* const state : {"idle~", "idle#", "idle%", "powered_down", "future", "down*"}) {
    auto nodes = so_many_nodes(100);
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
TEST(WithinAllowanceTest, NoMoreThanHalfStandDrainedSinceWhenever) {
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
    auto nodes = so_many_nodes(100);
    for (std::size_t i = 0; i < test.standing; ++i) {
      nodes[i] = drained(nodes[i], kOurReason, kNow - minutes(61 * i + 61));
    }
    EXPECT_EQ(used_up_share(nodes[99], nodes, rules, kNow, kCause), test.used_up) << test.standing;
    // And once it is drained all the same, at once with others.
    nodes[99] = drained(nodes[99], kOurReason, kNow);
    EXPECT_EQ(beyond_share(nodes[99], nodes, rules), test.used_up) << test.standing;
    for (std::size_t i = 0; i < test.standing; ++i) nodes[i].reason = "Not responding";
    EXPECT_EQ(beyond_share(nodes[99], nodes, rules), "") << test.standing;
  }
}

TEST(WithinAllowanceTest, NeverCoversMoreWhateverTheOrder) {
  std::mt19937 random(7);  // NOLINT(cert-msc51-cpp): the same every time
  for (int round = 0; round < 20; ++round) {
    auto nodes = so_many_nodes(30);
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

TEST(WithinAllowanceTest, NewNodesThatWaitToBeAcceptedUseUpNoShare) {
  auto nodes = ten_nodes();
  for (std::size_t i = 1; i < nodes.size(); ++i) {
    nodes[i] = drained(nodes[i], std::string(kNewNode), kNow);
  }
  EXPECT_EQ(used_up_share(nodes[0], nodes, Rules{}, kNow, kCause), "");
  nodes[1].reason += " : reboot issued";
  EXPECT_EQ(used_up_share(nodes[0], nodes, Rules{}, kNow, kCause), "");
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

TEST(WithinAllowanceTest, TakesATimeThatSlurmDoesNotTellForAnEarlierOne) {
  auto other = drained(ten_nodes()[1], kOurReason, std::nullopt);
  EXPECT_FALSE(covers_n0(kNow, other));
  EXPECT_TRUE(covers_n0(std::nullopt, other));  // by name
  other.name = "m1";
  EXPECT_FALSE(covers_n0(std::nullopt, other));
  other.since = kNow;
  EXPECT_TRUE(covers_n0(std::nullopt, other));
}

TEST(WithinAllowanceTest, HoldsInEachPartition) {
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
