// SPDX-License-Identifier: Apache-2.0
// A check that drains many nodes within a short time is stopped, and repairs that last for weeks
// leave room for others.
#include "slurm/policy/breaker.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "slurm/policy/allowance.hpp"
#include "slurm/policy/node_memory.hpp"
#include "tests/slurm/policy/situation.hpp"

namespace muster::slurm {
namespace {

using std::chrono::days;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kLimits = "muster: host.limits: memlock is 64 KiB; fix the configuration";
const std::string kRepair = "muster: gpu.ecc_remapped_rows gpu3: failed; report to the provider";
const std::string kReplace = "muster: ib.rate mlx5_ib5: slow; reseat or replace the part";

std::vector<NodeState> idle_nodes(int count) {
  std::vector<NodeState> nodes;
  for (int i = 0; i < count; ++i) {
    nodes.push_back({.name = fmt::format("n{}", i), .partitions = {"main"}, .state = "idle"});
  }
  return nodes;
}

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
  // A hundred nodes, five of which may be drained for one check, `apart` from each other.
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

TEST_F(BreakerTest, StopsTheCheckAndNoOther) {
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

TEST_F(BreakerTest, CountsNeitherWhatAnAdminAcceptedNorWhatIsBackInService) {
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

TEST_F(BreakerTest, OfManyAtOnceAsManyStayAsItAllowsAndOneSaysIt) {
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

TEST_F(BreakerTest, HasNoWindowToDivideBy) {
  rules.drain_window = Seconds{0};
  drain_some(5, seconds(1));
  EXPECT_THAT(stopped_checks(nodes, rules), IsEmpty());
}

// Whether one more of `size` nodes may be drained, of which `standing` were drained weeks ago.
std::string one_more(int size, const std::vector<std::string>& standing, Remedy remedy) {
  auto nodes = idle_nodes(size);
  for (std::size_t i = 0; i < standing.size(); ++i) {
    nodes[i] = drained(nodes[i], standing[i], kNow - days(7 + static_cast<int>(i)));
  }
  return used_up_share(nodes.back(), nodes, {}, kNow, {.check = "gpu.count", .remedy = remedy});
}

TEST(RepairTest, OfFourNodesWithTwoAtTheProviderTheThirdSickOneIsDrained) {
  EXPECT_EQ(one_more(4, {kRepair, kReplace}, Remedy::fix_config), "");
  EXPECT_EQ(one_more(4, {kRepair, kRepair}, Remedy::report_to_provider), "");
  EXPECT_EQ(one_more(4, {kRepair, kRepair, kRepair}, Remedy::report_to_provider),
            "3 of 3 nodes that may be drained for repair at a time in partition main are drained");
  EXPECT_EQ(one_more(4, {kRepair, kRepair, kRepair}, Remedy::reboot), "");
  EXPECT_EQ(one_more(4, {kLimits, kLimits}, Remedy::report_to_provider), "");
  EXPECT_EQ(one_more(4, {kLimits, kLimits}, Remedy::reboot),
            "2 of 2 nodes that may be drained by muster at a time in partition main are drained");
}

TEST(RepairTest, InPartitionsOfTwoAndThree) {
  EXPECT_EQ(one_more(2, {kRepair}, Remedy::fix_config), "");
  EXPECT_NE(one_more(2, {kRepair}, Remedy::report_to_provider), "");  // one is left
  EXPECT_NE(one_more(2, {kLimits}, Remedy::fix_config), "");
  EXPECT_EQ(one_more(3, {kRepair}, Remedy::report_to_provider), "");
  EXPECT_EQ(one_more(3, {kRepair, kRepair}, Remedy::fix_config), "");
  EXPECT_NE(one_more(3, {kRepair, kRepair}, Remedy::reseat_or_replace), "");
  EXPECT_NE(one_more(3, {kLimits}, Remedy::fix_config), "");
}

TEST(DrainCauseTest, IsFromTheMemoryOfTheDrainThatStandsElseFromTheReason) {
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
  for (const auto* const reason : {"muster: ", "muster: :", "muster:  : ", "disk swap", ""}) {
    node.reason = reason;
    EXPECT_EQ(shown_drain(node).remedy, Remedy::none) << reason;
    EXPECT_EQ(shown_drain(node).check, "") << reason;
  }
}

}  // namespace
}  // namespace muster::slurm
