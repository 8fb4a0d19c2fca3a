// SPDX-License-Identifier: Apache-2.0
// `muster status` reports the state of a cluster, and no more than is known.
#include "slurm/status/status.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "lib/base/clock.hpp"
#include "lib/base/text.hpp"
#include "slurm/policy/reason.hpp"
#include "tests/slurm/policy/situation.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::slurm {
namespace {

using std::chrono::hours;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

const std::string kRate =
    "muster: ib.rate mlx5_ib5: 200 Gb/s (2X NDR), expected 400 Gb/s (4X NDR): half the lanes; "
    "report to the provider";

class StatusTest : public ::testing::Test {
 protected:
  NodeState& drain(std::size_t i, const std::string& reason, hours ago, NodeMemory memory = {}) {
    nodes[i] = drained(nodes[i], reason, kNow - ago);
    memory.at = kNow - ago;
    memory.reason = short_hash(reason);
    if (!memory.check.empty()) nodes[i].memory = to_text(memory);
    return nodes[i];
  }

  [[nodiscard]] ClusterStatus status(const std::vector<std::string>& wanted = {},
                                     const History* history = nullptr) const {
    return status_of(nodes, wanted, rules, kNow, history);
  }

  [[nodiscard]] std::string until(std::string_view node) const {
    for (const auto& each : status().drained) {
      if (each.node.name == node) return each.until;
    }
    return "not drained";
  }

  Rules rules;
  std::vector<NodeState> nodes = ten_nodes();
  TempDir dir;
};

TEST_F(StatusTest, CountsEachNodeOnce) {
  drain(0, kRate, hours(2));
  drain(1, "disk swap", hours(1));
  nodes[2].state = "down*";
  nodes[3].state = "maint";
  const auto now = status();
  EXPECT_EQ(now.nodes, 10U);
  EXPECT_EQ(now.in_service, 6U);
  EXPECT_EQ(now.drained_by_others, 1U);
  EXPECT_EQ(now.down, 1U);
  EXPECT_EQ(now.unavailable, 1U);
  ASSERT_THAT(now.drained, SizeIs(1));
  EXPECT_EQ(now.drained[0].drain.check, "ib.rate");
  EXPECT_EQ(now.drained[0].drain.device, "mlx5_ib5");
  EXPECT_EQ(now.drained[0].drain.remedy, Remedy::report_to_provider);
  ASSERT_THAT(now.not_responding, SizeIs(1));
  EXPECT_EQ(now.not_responding[0].name, "n2");
}

// Limits count the nodes that are listed as drained by muster, and no others.
TEST_F(StatusTest, AnAdminsTextAfterMustersPrefixIsADrainByOthers) {
  drain(0, "muster: keep this (alice)", hours(0));
  drain(1, "muster: host.limits: low; alice keeps it", hours(0));
  const auto now = status();
  EXPECT_EQ(now.drained_by_others, 2U);
  EXPECT_THAT(now.drained, IsEmpty());
  EXPECT_THAT(now.used_up, IsEmpty());
}

// A rack of new nodes is not an outbreak.
TEST_F(StatusTest, NewNodesAreListedAndUseUpNoLimit) {
  for (std::size_t i = 0; i < 8; ++i) drain(i, std::string(kNewNode), hours(0));
  const auto now = status();
  EXPECT_THAT(now.kept_out, SizeIs(8));
  EXPECT_EQ(now.drained_by_others, 0U);
  EXPECT_THAT(now.used_up, IsEmpty());
  EXPECT_THAT(now.drained, IsEmpty());
  const auto text = to_text(now, rules);
  EXPECT_THAT(text, HasSubstr("8 new, 0 down"));
  EXPECT_THAT(text, HasSubstr("New, and not accepted yet: 8\n  n0 "));
  EXPECT_EQ(nlohmann::json::parse(to_json(now)).at("new").size(), 8U);
}

TEST_F(StatusTest, NamesWhatMustHappenBeforeANodeReturns) {
  drain(0, kRate, hours(2));
  drain(1, "muster: host.limits: low; fix the configuration", hours(1),
        {.check = "host.limits", .remedy = Remedy::fix_config, .clean = 1});
  drain(2, "muster: gpu.driver: gone; reboot the node", hours(1),
        {.check = "gpu.driver", .remedy = Remedy::reboot, .clean = 0});
  drain(3, "muster: host.limits: low; fix the configuration", hours(1),
        {.check = "host.limits",
         .remedy = Remedy::fix_config,
         .drains = {kNow - hours(1), kNow - hours(2), kNow - hours(3)}});
  drain(4, "muster: host.limits: low; fix the configuration", hours(1));
  EXPECT_EQ(until("n0"), "it is repaired, then muster resume n0");
  EXPECT_EQ(until("n1"), "clean run 3 of 3 (1 so far)");
  EXPECT_EQ(until("n2"), "a reboot, and clean run 3 of 3 (0 so far)");
  EXPECT_EQ(until("n3"), "an admin runs muster resume n3: 3 drains within 1 d");
  EXPECT_EQ(until("n4"), "clean run 3 of 3");
  rules.resume = false;
  EXPECT_EQ(until("n1"), "an admin runs muster resume n1 (resume: false)");
}

// The hooks keep such a node, too, however many runs are clean.
TEST_F(StatusTest, ANodeWhoseCleanRunsAreNotCountedWaitsForAnAdmin) {
  for (const auto* const text : {"site text", R"({"muster":2,"check":"host.limits"})"}) {
    drain(0, "muster: host.limits: low; fix the configuration", hours(1)).memory = text;
    EXPECT_EQ(until("n0"),
              "an admin runs muster resume n0: the node's field in Slurm (memory: extra) holds "
              "text that muster did not write");
  }
  rules.memory = "none";
  nodes[0].memory = "";
  EXPECT_EQ(until("n0"),
            "an admin runs muster resume n0: memory: none in muster.yaml, so clean runs are not "
            "counted");
  drain(0, "muster: gpu.processes gpu3: python; end or restart the application", hours(1));
  EXPECT_EQ(until("n0"), "the leftover of an ended job is gone");
}

TEST_F(StatusTest, KnowsNodesThatArePoweredDownOrLostTheirReason) {
  const std::string reason = "muster: host.limits: low; fix the configuration";
  const NodeMemory memory{.check = "host.limits", .remedy = Remedy::fix_config, .clean = 4};
  for (const auto& [i, state] :
       {std::pair{0, "drained~"}, std::pair{1, "drained%"}, std::pair{2, "drained#"}}) {
    drain(static_cast<std::size_t>(i), reason, hours(1), memory).state = state;
  }
  auto& up = drain(3, reason, hours(2), memory);
  up.reason = up.user = "";
  up.since.reset();
  auto waits = memory;
  waits.admin = "its GPUs are not those that it was drained with";
  drain(4, reason, hours(1), waits);
  nodes[5].state = "idle~";
  nodes[5].reason = reason;
  nodes[6].state = "idle#";
  const auto now = status();
  EXPECT_EQ(now.in_service, 4U);
  EXPECT_EQ(now.asleep, 1U);
  EXPECT_EQ(now.down, 0U);
  EXPECT_EQ(now.drained_by_others, 0U);
  ASSERT_THAT(now.drained, SizeIs(5));
  const auto powered_up = [](std::string_view node) {
    return fmt::format(
        "it is powered up (scontrol update nodename={} state=power_up), and on the "
        "same host clean run 3 of 3 (4 so far)",
        node);
  };
  EXPECT_EQ(until("n0"), powered_up("n0"));
  EXPECT_EQ(until("n1"), powered_up("n1"));
  EXPECT_EQ(until("n2"), "it is up, and then clean run 3 of 3 (4 so far)");
  EXPECT_EQ(until("n3"), "clean run 3 of 3 (4 so far)");
  EXPECT_EQ(until("n4"),
            "an admin runs muster resume n4: its GPUs are not those that it was drained with");
  const auto text = to_text(now, rules);
  EXPECT_THAT(text, HasSubstr("4 in service (1 of them powered down), 5 drained by muster"));
  EXPECT_THAT(text, HasSubstr(fmt::format("  n3 drained since {}\n    host.limits\n",
                                          utc(kNow - hours(2)))));
}

TEST_F(StatusTest, NamesStoppedChecksAndUsedUpLimits) {
  EXPECT_THAT(status().stopped, IsEmpty());
  EXPECT_THAT(status().used_up, IsEmpty());
  for (std::size_t i = 0; i < 3; ++i) {
    drain(i, "muster: host.limits: low; fix the configuration", hours(2));
  }
  const auto now = status();
  ASSERT_THAT(now.stopped, SizeIs(1));
  EXPECT_EQ(now.stopped[0].check, "host.limits");
  EXPECT_THAT(to_text(now, rules), HasSubstr("muster resume --check"));
  EXPECT_EQ(nlohmann::json::parse(to_json(now))["stopped"][0]["check"], "host.limits");
  EXPECT_THAT(now.used_up, IsEmpty());
  drain(3, "muster: ib.rate: low; fix the configuration", hours(0));
  const auto later = status();
  ASSERT_THAT(later.used_up, SizeIs(1));
  EXPECT_EQ(later.used_up[0].limit, "most_drained");
  EXPECT_EQ(later.used_up[0].most, 1U);
}

TEST_F(StatusTest, ListsLastingRefusalsOfTheHistory) {
  EXPECT_EQ(status().history, "no history on this machine");
  auto history = History::open(dir.path() / "events.jsonl");
  ASSERT_TRUE(history) << history.error().message;
  Event event{.at = kNow - hours(30),
              .node = "n5",
              .kind = "refused",
              .context = "periodic",
              .check = "ib.rate",
              .device = "mlx5_ib5",
              .message = "ib.rate mlx5_ib5: no room"};
  ASSERT_TRUE(history->add(event));
  EXPECT_THAT(status({}, &*history).refused, IsEmpty());  // of the day before
  event.at = kNow - hours(1);
  ASSERT_TRUE(history->add(event));
  EXPECT_THAT(status({}, &*history).refused, SizeIs(1));
  EXPECT_THAT(status({"n6"}, &*history).refused, IsEmpty());
  EXPECT_THAT(to_text(status({}, &*history), rules), HasSubstr("ib.rate mlx5_ib5: no room"));
  for (const auto* end : {"over", "drained"}) {
    auto ended = event;
    ended.kind = end;
    ended.context = "admin";
    ASSERT_TRUE(history->add(ended));
    EXPECT_THAT(status({}, &*history).refused, IsEmpty()) << end;
    ASSERT_TRUE(history->add(event));
    EXPECT_THAT(status({}, &*history).refused, SizeIs(1));
  }
  EXPECT_EQ(status({}, &*history).history, "");
}

// The history of a login node, which no hook of the node writes.
TEST_F(StatusTest, ARefusedDrainOfASweepLastsForTwoHours) {
  auto history = History::open(dir.path() / "events.jsonl");
  ASSERT_TRUE(history) << history.error().message;
  Event event{.at = kNow - hours(3),
              .node = "n5",
              .kind = "refused",
              .context = "sweep",
              .check = "bench.locate",
              .message = "bench.locate: drain: false in muster.yaml"};
  ASSERT_TRUE(history->add(event));
  EXPECT_THAT(status({}, &*history).refused, IsEmpty());
  event.at = kNow - hours(1);
  ASSERT_TRUE(history->add(event));
  EXPECT_THAT(status({}, &*history).refused, SizeIs(1));
}

TEST_F(StatusTest, ListsRefusalsStoredInSlurm) {
  const auto note = [&](std::size_t i, hours ago) {
    nodes[i].memory = to_text(
        NodeMemory{.refused = Refusal{.at = kNow - ago, .check = "ib.rate", .device = "mlx5_ib5"}});
  };
  note(4, hours(1));
  note(5, hours(3));  // it would have been written again
  note(6, hours(1));
  nodes[6].state = "drained";
  nodes[6].reason = "cable";
  const auto now = status();
  ASSERT_THAT(now.refused, SizeIs(1));
  EXPECT_EQ(now.refused[0].node, "n4");
  EXPECT_EQ(now.refused[0].check, "ib.rate");
  EXPECT_THAT(to_text(now, rules), HasSubstr("Sick and not drained: 1\n  n4 at "));
  EXPECT_THAT(status({"n3"}).refused, IsEmpty());
}

TEST_F(StatusTest, LimitsAreTheClustersEvenForSomeNodes) {
  for (std::size_t i = 0; i < 3; ++i) drain(i, kRate, hours(2));
  const auto some = status({"n0", "n9"});
  EXPECT_EQ(some.nodes, 2U);
  EXPECT_THAT(some.drained, SizeIs(1));
  EXPECT_THAT(some.stopped, SizeIs(1));
}

TEST_F(StatusTest, FitsInEightyColumnsWithAnyReason) {
  nodes[0].name = std::string(100, 'n');
  drain(0, "muster: gpu." + std::string(150, 'x') + " \x1b[31m\xff: a\nb", hours(2));
  drain(1, kRate, hours(2));
  nodes[2].state = "idle*";
  nodes[2].reason = std::string(300, 'r');
  const auto text = to_text(status(), rules);
  for (const auto line : split_lines(text)) EXPECT_LE(line.size(), 80U) << line;
  EXPECT_THAT(text, AllOf(HasSubstr("half"), Not(HasSubstr("\x1b")), Not(HasSubstr("\xff"))));
  const auto json = nlohmann::json::parse(to_json(status()));
  EXPECT_EQ(json["schema"], "muster.status/1");
  EXPECT_EQ(json["drained"][1]["until"], "it is repaired, then muster resume n1");
  EXPECT_TRUE(json["drained"][1]["clean_runs"].is_null());
}

}  // namespace
}  // namespace muster::slurm
