// SPDX-License-Identifier: Apache-2.0
// The test cluster itself: what its nodes say, and that nothing of it is left.
#include "tests/e2e/slurm/cluster.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

#include "slurm/policy/node_memory.hpp"

namespace muster::e2e {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::Pair;

class ClusterTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!why_no_cluster().empty()) GTEST_SKIP() << why_no_cluster();
  }
};

TEST_F(ClusterTest, HasFourIdleNodesWithoutAReason) {
  Cluster cluster;
  ASSERT_EQ(cluster.trouble(), "");
  const auto nodes = cluster.nodes();
  EXPECT_THAT(nodes, ElementsAre(Key("n1"), Key("n2"), Key("n3"), Key("n4")));
  EXPECT_THAT(nodes, Each(Pair(::testing::_, AllOf(Field(&SlurmNode::state, "idle"),
                                                   Field(&SlurmNode::reason, "")))));
  EXPECT_THAT(cluster.stop(), IsEmpty());
}

TEST_F(ClusterTest, ShowsADrainWithReasonUserAndTimeInSeconds) {
  Cluster cluster({.nodes = 2});
  ASSERT_EQ(cluster.trouble(), "");
  const auto before = std::time(nullptr);
  ASSERT_EQ(cluster
                .scontrol({"update", "nodename=n2", "state=drain",
                           "reason=muster: gpu.present gpu3: lost; reboot the node"})
                .status,
            0);
  ASSERT_TRUE(cluster.wait_until("n2", [](const auto& node) { return node.is("drained"); }));
  const auto nodes = cluster.nodes();
  EXPECT_EQ(nodes.at("n2").reason, "muster: gpu.present gpu3: lost; reboot the node");
  EXPECT_EQ(nodes.at("n2").user, "root");
  EXPECT_THAT(nodes.at("n2").since, ::testing::MatchesRegex("[0-9]+"));
  const auto since = std::strtoll(nodes.at("n2").since.c_str(), nullptr, 10);
  EXPECT_GE(since, before - 1);
  EXPECT_LE(since, std::time(nullptr) + 1);
  EXPECT_EQ(nodes.at("n1").state, "idle");
}

TEST_F(ClusterTest, TellsTheTimeOfADrainInSecondsBySlurmTimeFormat) {
  Cluster cluster({.nodes = 1});
  ASSERT_EQ(cluster.trouble(), "");
  ASSERT_EQ(cluster.scontrol({"update", "nodename=n1", "state=drain", "reason=a|b"}).status, 0);
  const auto ran =
      cluster.run({"sinfo", "-h", "-N", "-o", "%N|%R|%T|%u|%H|%E"}, {{"SLURM_TIME_FORMAT", "%s"}});
  EXPECT_THAT(ran.out, ::testing::MatchesRegex("n1.main.drained.root.[0-9]+.a.b\n")) << ran.err;
}

// The requests of muster to sinfo and scontrol.
TEST_F(ClusterTest, KeepsAMemoryWithTheNode) {
  Cluster cluster({.nodes = 2});
  ASSERT_EQ(cluster.trouble(), "");
  const auto nodes = [&](std::string_view field) {
    const auto ran = cluster.run({"sinfo", "-h", "-N", "-O", slurm::sinfo_format(field, "5eed")},
                                 {{"SLURM_TIME_FORMAT", "%s"}});
    const auto parsed = slurm::parse_sinfo(ran.out, "5eed");
    EXPECT_TRUE(parsed) << ran.out << ran.err;
    return parsed.value_or(std::vector<slurm::NodeState>(2));
  };
  const auto text = slurm::to_text({.check = "a.b", .boot = "b-1", .drains = {slurm::Time{}}});
  const std::string reason(190, 'r');
  for (const std::string field : {"Extra", "Comment"}) {
    EXPECT_EQ(nodes(field)[0].memory, "");
    ASSERT_EQ(cluster
                  .scontrol({"update", "nodename=n1", "state=drain",
                             "reason=" + reason + "\nn2|main|idle", field + "=" + text})
                  .status,
              0);
    const auto seen = nodes(field);
    ASSERT_EQ(seen.size(), 2);
    EXPECT_EQ(seen[0].name, "n1");
    EXPECT_EQ(seen[0].memory, text);
    EXPECT_EQ(seen[0].reason, reason + "\nn2|main|idle");
    EXPECT_EQ(seen[0].user, "root");
    EXPECT_TRUE(seen[0].since);
    EXPECT_EQ(seen[1], (slurm::NodeState{.name = "n2", .partitions = {"main"}, .state = "idle"}));
    ASSERT_EQ(cluster.scontrol({"update", "nodename=n1", "state=resume", field + "="}).status, 0);
    ASSERT_EQ(nodes(field)[0].memory, "");
  }
  EXPECT_EQ(nodes("").size(), 2);
}

// An older Slurm may not know the field.
TEST_F(ClusterTest, AFieldThatItDoesNotKnowIsNoMemory) {
  Cluster cluster({.nodes = 1});
  ASSERT_EQ(cluster.trouble(), "");
  const auto ran = cluster.run({"sinfo", "-h", "-N", "-O", slurm::sinfo_format("Nonsense", "5eed")},
                               {{"SLURM_TIME_FORMAT", "%s"}});
  const auto nodes = slurm::parse_sinfo(ran.out, "5eed");
  ASSERT_TRUE(nodes) << ran.out << ran.err;
  ASSERT_EQ(nodes->size(), 1);
  EXPECT_EQ(nodes->front().memory, "") << ran.out;
  const auto update =
      cluster.scontrol({"update", "nodename=n1", "state=drain", "reason=x", "Nonsense=y"});
  EXPECT_NE(update.status, 0);
  EXPECT_THAT(update.out + update.err, HasSubstr("Request aborted"));
  EXPECT_TRUE(cluster.nodes().at("n1").is("idle"));
}

TEST_F(ClusterTest, RunsAJobOnItsNodesAndTellsItsStatus) {
  Cluster cluster({.nodes = 2});
  ASSERT_EQ(cluster.trouble(), "");
  const auto script =
      cluster.write("job", "#!/bin/sh\nsrun hostname\necho $CUDA_VISIBLE_DEVICES\nexit 7\n");
  const auto id = cluster.submit(script, {"--nodes=2", "--ntasks-per-node=1", "--gres=gpu:2"});
  ASSERT_NE(id, "") << cluster.refusal();
  const auto job = cluster.wait_for_job(id);
  ASSERT_TRUE(job);
  EXPECT_EQ(job->state, "FAILED");
  EXPECT_EQ(job->exit_code, "7:0");
  EXPECT_EQ(job->nodes, "n[1-2]");
  EXPECT_THAT(cluster.output_of(id),
              AllOf(HasSubstr("n1\n"), HasSubstr("n2\n"), HasSubstr("0,1\n")));
}

TEST_F(ClusterTest, RunsTheHooksThatItIsGiven) {
  constexpr const char* kHook =
      "#!/bin/sh\n"
      "echo \"${SLURM_SCRIPT_CONTEXT:-health} $SLURMD_NODENAME\" >>\"${0%/*}/log\"\n";
  Cluster cluster({.nodes = 1,
                   .programs = {{"hook", kHook}},
                   .prolog = "hook",
                   .epilog = "hook",
                   .health_check = "hook",
                   .health_interval_s = 2});
  ASSERT_EQ(cluster.trouble(), "");
  const auto id = cluster.submit(cluster.write("job", "#!/bin/sh\ntrue\n"));
  EXPECT_EQ(cluster.wait_for_job(id).value_or(SlurmJob{}).state, "COMPLETED");
  EXPECT_TRUE(cluster.wait_until("n1", [](const auto& node) { return node.is("idle"); }));
  const auto log = cluster.folder() / "programs/log";
  for (const auto* word : {"health", "epilog_slurmd"}) {
    EXPECT_TRUE(wait_for([&] { return content_of(log).find(word) != std::string::npos; })) << word;
  }
  EXPECT_THAT(content_of(log), AllOf(HasSubstr("health n1\n"), HasSubstr("prolog_slurmd n1\n"),
                                     HasSubstr("epilog_slurmd n1\n")));
}

TEST_F(ClusterTest, KeepsADrainWhileTheControllerIsKilledAndRestarted) {
  Cluster cluster({.nodes = 2});
  ASSERT_EQ(cluster.trouble(), "");
  ASSERT_EQ(
      cluster.scontrol({"update", "nodename=n1", "state=drain", "reason=swap a cable"}).status, 0);
  ASSERT_TRUE(cluster.wait_until_saved("swap a cable"));
  cluster.kill_controller();
  EXPECT_THAT(cluster.nodes(), IsEmpty());
  ASSERT_TRUE(cluster.start_controller());
  ASSERT_TRUE(cluster.wait_until("n1", [](const auto& node) { return node.is("drained"); }));
  EXPECT_EQ(cluster.nodes().at("n1").reason, "swap a cable");
}

TEST_F(ClusterTest, CanHangTheController) {
  Cluster cluster({.nodes = 1});
  ASSERT_EQ(cluster.trouble(), "");
  cluster.stop_controller();
  const auto ran = cluster.scontrol({"show", "node", "n1"});
  EXPECT_NE(ran.status, 0) << ran.out;
  cluster.continue_controller();
  EXPECT_TRUE(cluster.wait_until("n1", [](const auto& node) { return node.is("idle"); }));
}

TEST_F(ClusterTest, LeavesNoProcessAndNoFileBehind) {
  std::filesystem::path folder;
  {
    Cluster cluster({.nodes = 2});
    ASSERT_EQ(cluster.trouble(), "");
    folder = cluster.folder();
    const auto script = cluster.write("job", "#!/bin/sh\nsleep 1000\n");
    const auto id = cluster.submit(script);
    ASSERT_TRUE(cluster.wait_until("n1", [](const auto& node) { return node.is("mixed"); }));
  }
  EXPECT_THAT(other_processes(), IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(folder));
}

}  // namespace
}  // namespace muster::e2e
