// SPDX-License-Identifier: Apache-2.0

#include "slurm/drains/admin.hpp"

#include <gmock/gmock.h>

#include "slurm/policy/limits.hpp"
#include "tests/slurm/drains/enforce_fixture.hpp"

namespace muster::slurm {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Health = FakeCluster::Health;

class AdminTest : public EnforceTest {
 protected:
  std::vector<AdminAnswer> drain(std::vector<std::string> nodes, bool dry_run = false) {
    return change(drain_nodes, std::move(nodes), dry_run);
  }

  std::vector<AdminAnswer> resume(std::vector<std::string> nodes) {
    return change(resume_nodes, std::move(nodes), false);
  }

  std::vector<AdminAnswer> change(decltype(drain_nodes) how, std::vector<std::string> nodes,
                                  bool dry_run) {
    const auto hear = [this](const Event& event) {
      heard.push_back(fmt::format("{} {}: {}", event.kind, event.node, event.message));
    };
    const auto answers = how({.nodes = std::move(nodes),
                              .user = "alice",
                              .text = "cable",
                              .now = cluster.now(),
                              .dry_run = dry_run,
                              .tell = hear},
                             controller, &history_of("n001"));
    EXPECT_TRUE(answers) << answers.error().message;
    return answers.value_or(std::vector<AdminAnswer>{});
  }

  std::vector<std::string> heard;
};

constexpr std::string_view kAdminsReason = "cable; muster-admin: alice";

TEST_F(AdminTest, DrainsOnlyNodesInServiceOrDrainedByMuster) {
  cluster.drain("n002", "NHC: check_hw_ib");
  cluster.drain("n003", kReason);
  EXPECT_THAT(
      drain({"n001", "n002", "n003", "n9"}),
      ElementsAre(
          AdminAnswer{"n001", true, "drained"},
          AdminAnswer{"n002", false, "left alone: it is drained by root: \"NHC: check_hw_ib\""},
          AdminAnswer{"n003", true, "drained"},
          AdminAnswer{"n9", false, "left alone: no Slurm partition has this node"}));
  EXPECT_EQ(cluster.node("n001").reason, kAdminsReason);
  EXPECT_EQ(cluster.node("n002").reason, "NHC: check_hw_ib");
  EXPECT_EQ(cluster.node("n003").reason, kAdminsReason);
  EXPECT_THAT(remembered(), ElementsAre("drained", "refused", "drained", "refused"));
  EXPECT_THAT(
      heard,
      ElementsAre("drained n001: alice: drained",
                  "refused n002: alice: not drained: left alone: it is drained by root: "
                  "\"NHC: check_hw_ib\"",
                  "drained n003: alice: drained",
                  "refused n9: alice: not drained: left alone: no Slurm partition has this node"));
}

TEST_F(AdminTest, ResumesNodesDrainedByMusterOrAnAdmin) {
  run(sick());
  cluster.drain("n002", kAdminsReason);
  cluster.drain("n003", "NHC: check_hw_ib");
  EXPECT_THAT(
      resume({"n001", "n002", "n003", "n004"}),
      ElementsAre(
          AdminAnswer{"n001", true, "resumed"}, AdminAnswer{"n002", true, "resumed"},
          AdminAnswer{"n003", false, "left alone: it is drained by root: \"NHC: check_hw_ib\""},
          AdminAnswer{"n004", false, "left alone: it is in service"}));
  EXPECT_EQ(cluster.drained(), 1);
  EXPECT_EQ(cluster.node("n001").memory, "");
  EXPECT_THAT(remembered(), ElementsAre("drained", "resumed", "resumed", "refused", "refused"));
  EXPECT_EQ(heard.back(), "refused n004: alice: not resumed: left alone: it is in service");
}

TEST_F(AdminTest, ANodeThatIsNamedTwiceIsChangedOnce) {
  EXPECT_THAT(drain({"n001", "n002", "n001"}), ElementsAre(AdminAnswer{"n001", true, "drained"},
                                                           AdminAnswer{"n002", true, "drained"}));
  EXPECT_THAT(resume({"n001", "n001"}), ElementsAre(AdminAnswer{"n001", true, "resumed"}));
}

TEST_F(AdminTest, ResumesAndDrainsNodesThatArePoweredDown) {
  run(sick());
  cluster.node("n001").state = "drained~";
  cluster.node("n002").state = "idle~";
  EXPECT_THAT(resume({"n001", "n002"}),
              ElementsAre(AdminAnswer{"n001", true, "resumed"},
                          AdminAnswer{"n002", false, "left alone: it is idle~, and not drained"}));
  EXPECT_THAT(drain({"n002"}), ElementsAre(AdminAnswer{"n002", true, "drained"}));
}

// Slurm drops the reason when it powers a node up.
TEST_F(AdminTest, DrainsWithoutTheirReasonAreKnownByTheNodesMemory) {
  const auto power_up = [&](std::string_view name) {
    auto& node = cluster.node(name);
    node.state = "drained";
    node.reason = node.user = "";
    node.since.reset();
  };
  run(sick());
  EXPECT_THAT(drain({"n002"}), ElementsAre(AdminAnswer{"n002", true, "drained"}));
  cluster.drain("n003", "cable", "bob");
  for (const auto* const name : {"n001", "n002", "n003"}) power_up(name);
  EXPECT_THAT(
      resume({"n001", "n002", "n003"}),
      ElementsAre(AdminAnswer{"n001", true, "resumed"}, AdminAnswer{"n002", true, "resumed"},
                  AdminAnswer{"n003", false, "left alone: it is drained"}));
}

// A reason that begins like muster's, but was written by an admin.
TEST_F(AdminTest, LeavesAnotherReasonThatBeginsLikeMustersAlone) {
  run(sick());
  cluster.drain("n001", "muster: gpu.persistence gpu3: waits for a part, bob");
  cluster.drain("n002", "muster: leave it, bob");
  cluster.drain("n003", kReason, "alice");
  for (const auto& answer : resume({"n001", "n002", "n003"})) {
    EXPECT_FALSE(answer.done) << answer.node;
    EXPECT_THAT(answer.what, HasSubstr("left alone: it is drained by ")) << answer.node;
  }
  for (const auto& answer : drain({"n001", "n002", "n003"})) EXPECT_FALSE(answer.done);
  EXPECT_EQ(cluster.drained(), 3);
  EXPECT_EQ(cluster.node("n002").reason, "muster: leave it, bob");
}

// Resuming a node resets its history; a drain that another one replaced is no longer muster's.
TEST_F(AdminTest, UpdatesTheMemoryOfTheNode) {
  run(sick());
  const auto text = cluster.node("n001").memory;
  ASSERT_NE(text, "");
  drain({"n001"});
  EXPECT_EQ(memory().check, "");
  EXPECT_EQ(memory().drains.size(), 1);
  cluster.node("n002").memory = "rack 7";
  cluster.drain("n002", kReason);
  resume({"n001", "n002"});
  EXPECT_EQ(cluster.node("n001").memory, "");
  EXPECT_EQ(cluster.node("n002").memory, "rack 7");
}

TEST_F(AdminTest, AnEventNamesTheAdminAndGivesARefusalNoReason) {
  cluster.drain("n002", "NHC: check_hw_ib");
  drain({"n001", "n002"});
  const auto events = history_of("n001").events({});
  ASSERT_TRUE(events) << events.error().message;
  ASSERT_EQ(events->size(), 2U);
  EXPECT_EQ(events->front().context, "admin");
  EXPECT_EQ(events->front().reason, kAdminsReason);
  EXPECT_EQ(events->back().node, "n002");
  EXPECT_EQ(events->back().reason, "");
}

TEST_F(AdminTest, ARefusedCommandIsNoRefusalOfAHook) {
  order.rules.drain = false;
  run(sick());
  resume({"n001"});
  run(sick());
  EXPECT_THAT(remembered(), ElementsAre("refused", "refused"));
  EXPECT_THAT(kinds(run(healthy())), ElementsAre("over"));
}

TEST_F(AdminTest, KeepsADrainThatAnotherAdminMadeMeanwhile) {
  controller.after_drain = [&] { cluster.drain("n002", "swapping a cable", "bob"); };
  EXPECT_THAT(drain({"n001", "n002"}),
              ElementsAre(AdminAnswer{"n001", true, "drained"},
                          AdminAnswer{"n002", false,
                                      "left alone: it is drained by bob: \"swapping a cable\""}));
  EXPECT_EQ(cluster.node("n002").reason, "swapping a cable");
}

TEST_F(AdminTest, ADrainThatSlurmDoesNotShowIsNotDone) {
  controller.after_drain = [&] { cluster.resume("n001"); };
  EXPECT_THAT(drain({"n001"}), ElementsAre(AdminAnswer{
                                   "n001", false, "sent, and Slurm does not show it: it is idle"}));
  controller.after_drain = [&] { cluster.be(Health::dead); };
  EXPECT_THAT(drain({"n001"}),
              ElementsAre(AdminAnswer{"n001", false,
                                      "sent, and Slurm does not show it: sinfo ended with status "
                                      "1: Unable to contact slurm controller"}));
  EXPECT_THAT(remembered(), ElementsAre("trouble", "trouble"));
}

TEST_F(AdminTest, AResumeThatFailsLeavesTheMemory) {
  run(sick());
  controller.before_resume = [&] { cluster.be(Health::dead); };
  EXPECT_THAT(resume({"n001"}),
              ElementsAre(AdminAnswer{"n001", false,
                                      "not done: scontrol ended with status 1: Unable to contact "
                                      "slurm controller"}));
  EXPECT_EQ(memory().check, "gpu.persistence");
  EXPECT_THAT(remembered(), ElementsAre("drained", "trouble"));
}

TEST_F(AdminTest, ADryRunDoesNothing) {
  EXPECT_THAT(drain({"n001"}, true), ElementsAre(AdminAnswer{"n001", true, "would be drained"}));
  cluster.drain("n002", "NHC: check_hw_ib");
  EXPECT_FALSE(drain({"n002"}, true).front().done);
  EXPECT_EQ(cluster.drained(), 1);
  EXPECT_THAT(heard, IsEmpty());
  EXPECT_THAT(remembered(), IsEmpty());
}

TEST_F(AdminTest, DoesNothingIfSlurmDoesNotAnswer) {
  cluster.be(Health::dead);
  EXPECT_FALSE(drain_nodes({.nodes = {"n001"}, .user = "alice", .text = "cable"}, controller,
                           &history_of("n001")));
  EXPECT_EQ(count("drain"), 0);
}

// An admin on a node with a dead disk.
TEST_F(AdminTest, WorksWithoutAHistoryAndReportsIt) {
  const AdminRequest spoken{
      .nodes = {"n001"}, .user = "alice", .text = "cable", .now = cluster.now()};
  EXPECT_THAT(*drain_nodes(spoken, controller, nullptr),
              ElementsAre(AdminAnswer{"n001", true, "drained (not in the history)"}));
  EXPECT_EQ(cluster.node("n001").reason, kAdminsReason);
  EXPECT_THAT(*resume_nodes(spoken, controller, nullptr),
              ElementsAre(AdminAnswer{"n001", true, "resumed (not in the history)"}));
  EXPECT_EQ(cluster.node("n001").state, "idle");
}

constexpr const char* kCheck = "gpu.persistence";

class AcceptingTest : public EnforceTest {
 protected:
  AcceptingTest() {
    cluster = FakeCluster(100);
    for (int i = 1; i <= 6; ++i) run(sick(), fmt::format("n{:03}", i));
  }

  std::vector<AdminAnswer> accept(std::string_view check = kCheck) {
    request.now = cluster.now();
    auto answers = accept_drains(request, check, controller, &history_of("login"));
    EXPECT_TRUE(answers);
    return answers.value_or(std::vector<AdminAnswer>());
  }

  AdminRequest request{.user = "alice"};
};

TEST_F(AcceptingTest, LetsTheCheckDrainAgainAndKeepsItsDrains) {
  ASSERT_EQ(cluster.drained(), 5U);
  ASSERT_THAT(stopped_checks(cluster.nodes(), order.rules), SizeIs(1));
  const auto answers = accept();
  EXPECT_THAT(answers, SizeIs(5));
  EXPECT_THAT(answers, Each(Field(&AdminAnswer::done, true)));
  EXPECT_EQ(cluster.drained(), 5U);
  EXPECT_EQ(cluster.node("n001").reason, kReason);
  EXPECT_THAT(stopped_checks(cluster.nodes(), order.rules), IsEmpty());
  EXPECT_TRUE(run(sick(), "n007").drained);
  EXPECT_THAT(remembered("login"), Each(std::string("accepted")));
}

TEST_F(AcceptingTest, AcceptsOnlyNamedNodes) {
  request.nodes = {"n002", "n050", "n002", "n9"};
  EXPECT_THAT(
      accept(),
      ElementsAre(Field(&AdminAnswer::done, true),
                  AdminAnswer{"n050", false, "left alone: it is not drained for gpu.persistence"},
                  AdminAnswer{"n9", false, "left alone: no Slurm partition has this node"}));
  EXPECT_TRUE(shown_drain(cluster.node("n002")).accepted);
  EXPECT_FALSE(shown_drain(cluster.node("n001")).accepted);
}

TEST_F(AcceptingTest, AcceptsNoDrainOfAnotherCheckOrAdmin) {
  EXPECT_THAT(accept("host.limits"), IsEmpty());
  cluster.drain("n001", "disk swap", "bob");
  EXPECT_THAT(accept(), SizeIs(4));
  EXPECT_EQ(cluster.node("n001").reason, "disk swap");
}

TEST_F(AcceptingTest, KeepsATextOfTheSite) {
  cluster.node("n001").memory = "rack 7";
  const auto answers = accept();
  ASSERT_THAT(answers, SizeIs(5));
  EXPECT_FALSE(answers[0].done);
  EXPECT_THAT(answers[0].what, HasSubstr("holds text that muster did not write"));
  EXPECT_EQ(cluster.node("n001").memory, "rack 7");
}

TEST_F(AcceptingTest, KeepsTheRestOfTheMemory) {
  auto memory = parse_node_memory(cluster.node("n001").memory).value_or(NodeMemory());
  EXPECT_EQ(memory.check, kCheck);
  memory.clean = 2;
  cluster.node("n001").memory = to_text(memory);
  accept();
  memory.accepted = true;
  EXPECT_EQ(parse_node_memory(cluster.node("n001").memory), memory);
}

TEST_F(AcceptingTest, ADryRunWritesNothing) {
  request.dry_run = true;
  controller.calls.clear();  // the node that was refused has said so
  EXPECT_THAT(accept(), Each(Field(&AdminAnswer::what, "would be accepted")));
  EXPECT_EQ(count("remember"), 0U);
}

// As the real run.
TEST_F(AcceptingTest, ADryRunLeavesANodeAloneThatCannotRemember) {
  request.dry_run = true;
  cluster.node("n001").memory = "rack 7";
  EXPECT_FALSE(accept().front().done);
  request.rules.memory = "none";
  for (const auto& answer : accept()) {
    EXPECT_FALSE(answer.done);
    EXPECT_THAT(answer.what, HasSubstr("left alone: "));
  }
}

}  // namespace
}  // namespace muster::slurm
