// SPDX-License-Identifier: Apache-2.0
// Cloud nodes, which Slurm powers down and up: each row of the table in docs/slurm.md. Slurm
// keeps the drain of a node that it powers down for being idle, and drops the reason when it powers
// the node up.

#include <chrono>
#include <thread>

#include "tests/e2e/slurm/cloud_in_slurm.hpp"
#include "tests/support/matchers.hpp"

namespace muster::e2e {
namespace {

namespace fs = std::filesystem;

TEST_F(CloudInSlurm, OnTheSameHostANodeIsResumedAfterCleanRuns) {
  render_booted("booted");
  begin(1, ", clean_runs: 2");
  drain_and_power_down();
  EXPECT_THAT(muster("status").out,
              AllOf(HasSubstr("1 drained by muster, 0 by others"), HasSubstr("  c1 drained~ "),
                    HasSubstr("state=power_up")));
  become("c1", "booted");
  ASSERT_TRUE(cluster().power_up("c1")) << logs();
  EXPECT_TRUE(cluster().wait_until("c1", is_idle)) << state() << events_of("c1");
  EXPECT_TRUE(says("c1", " resumed c1 "));  // written after Slurm was asked
  EXPECT_THAT(events_of("c1"), AllOf(HasSubstr(" clean run 1 of 2"),
                                     HasSubstr(" resumed c1 periodic: clean run 2 of 2: ")));
}

TEST_F(CloudInSlurm, OnTheSameHostASickNodeStaysDrained) {
  begin(1, ", clean_runs: 1");
  drain_and_power_down();
  become("c1", "sick");
  ASSERT_TRUE(cluster().power_up("c1")) << logs();
  EXPECT_TRUE(says("c1", " still fails")) << events_of("c1");
  EXPECT_EQ(state(), "drained");
  EXPECT_THAT(muster("status").out, AllOf(HasSubstr("1 drained by muster, 0 by others"),
                                          HasSubstr("  c1 drained since 2")));
  EXPECT_EQ(muster("resume", {"c1"}).out, "c1: resumed\n");
}

TEST_F(CloudInSlurm, OnAnotherHostTheDrainIsVoid) {
  render_booted("other");
  begin(1, ", clean_runs: 100");
  drain_and_power_down();
  become("c1", "other");
  ASSERT_TRUE(cluster().power_up("c1")) << logs();
  EXPECT_TRUE(cluster().wait_until("c1", is_idle)) << state() << events_of("c1");
  EXPECT_TRUE(says("c1", " resumed c1 periodic: the name belongs to another host by now, "))
      << events_of("c1");
  EXPECT_THAT(cluster().scontrol({"show", "node", "c1"}).out, Not(HasSubstr("Extra={")));
}

TEST_F(CloudInSlurm, OnAnotherSickHostTheDrainIsForItsOwnFault) {
  render_booted("other");
  render_booted("other_sick", kPassing);
  begin(1, ", clean_runs: 2");
  drain_and_power_down();
  become("c1", "other_sick");
  ASSERT_TRUE(cluster().power_up("c1")) << logs();
  EXPECT_TRUE(says("c1", "; the drain for host.limits was that of another host with this name"))
      << events_of("c1");
  EXPECT_EQ(state(), "drained");
  EXPECT_THAT(node().reason, StartsWith("muster: host.limits "));
  become("c1", "other");
  EXPECT_TRUE(cluster().wait_until("c1", is_idle)) << state() << events_of("c1");
  EXPECT_TRUE(says("c1", " resumed c1 periodic: clean run 2 of 2: ")) << events_of("c1");
}

TEST_F(CloudInSlurm, AnAdminsDrainIsNeverReleased) {
  render_booted("other");
  begin(1, ", clean_runs: 1");
  ASSERT_TRUE(cluster().power_up("c1")) << logs();
  become("c1", "sick");
  ASSERT_TRUE(cluster().wait_until("c1", is_drained)) << events_of("c1");
  // Replaces muster's own drain.
  ASSERT_EQ(cluster().scontrol({"update", "nodename=c1", "state=drain", "reason=ask alice"}).status,
            0);
  EXPECT_TRUE(wait_for([&] {
    return cluster().scontrol({"show", "node", "c1"}).out.find("\"overruled\":true") !=
           std::string::npos;
  })) << events_of("c1");
  ASSERT_TRUE(cluster().power_down("c1")) << logs();
  lose_disk();
  become("c1", "other");
  ASSERT_TRUE(cluster().power_up("c1")) << logs();
  std::this_thread::sleep_for(std::chrono::seconds(6));  // for some health checks
  EXPECT_EQ(state(), "drained") << events_of("c1");
  // 22.05 drops the reason, 24.11 keeps it.
  EXPECT_EQ(node().reason, is_before("23.02") ? "" : "ask alice");
  EXPECT_THAT(muster("status").out, HasSubstr("0 drained by muster, 1 by others"));
  EXPECT_THAT(muster("resume", {"c1"}).out, StartsWith("c1: left alone: it is drained"));

  // A drain by `muster drain`, which `muster resume` recognises.
  ASSERT_EQ(cluster().scontrol({"update", "nodename=c1", "state=resume"}).status, 0);
  ASSERT_TRUE(cluster().wait_until("c1", is_idle)) << state();
  ASSERT_EQ(muster("drain", {"c1", "--reason", "cable"}).out, "c1: drained\n");
  ASSERT_TRUE(cluster().power_down("c1")) << logs();
  ASSERT_TRUE(cluster().power_up("c1")) << logs();
  std::this_thread::sleep_for(std::chrono::seconds(6));
  EXPECT_EQ(state(), "drained") << events_of("c1");
  EXPECT_EQ(muster("resume", {"c1"}).out, "c1: resumed\n");
}

// Before 23.02 sinfo does not list the node.
TEST_F(CloudInSlurm, WithoutPrivateDataANodeIsShownAndResumed) {
  more_ = {};
  begin(1, ", clean_runs: 1");
  drain_and_power_down();
  EXPECT_EQ(cluster().nodes().contains("c1"), !is_before("23.02"));
  EXPECT_THAT(muster("status").out, AllOf(HasSubstr("2 nodes: 1 in service, 1 drained by muster"),
                                          HasSubstr("  c1 drained~ ")));
  EXPECT_EQ(muster("resume", {"c1"}).out, "c1: resumed\n");
  EXPECT_EQ(state(), "idle~");
  EXPECT_THAT(muster("status").out,
              HasSubstr("2 nodes: 2 in service (1 of them powered down), 0 drained by muster"));
  EXPECT_THAT(muster("resume", {"c1"}).out,
              HasSubstr("c1: left alone: it is idle~, and not drained"));
  EXPECT_EQ(muster("drain", {"c1", "--reason", "cable"}).out, "c1: drained\n");
  EXPECT_EQ(state(), "drained~");
  EXPECT_EQ(muster("resume", {"c1"}).out, "c1: resumed\n");
}

// `scontrol update state=power_down` takes the drain away, and so does idle_on_node_suspend.
TEST_F(CloudInSlurm, ANodeThatAPowerDownPutBackIsJudgedAgain) {
  begin(1, "");
  ASSERT_TRUE(cluster().power_up("c1")) << logs();
  become("c1", "sick");
  ASSERT_TRUE(cluster().wait_until("c1", is_drained)) << events_of("c1");
  ASSERT_EQ(cluster().scontrol({"update", "nodename=c1", "state=power_down"}).status, 0);
  ASSERT_TRUE(cluster().wait_until("c1", [](const auto& each) { return each.is("idle~"); }))
      << state();
  EXPECT_THAT(muster("status").out, HasSubstr("(1 of them powered down), 0 drained by muster"));
  lose_disk();
  ASSERT_EQ(cluster().scontrol({"update", "nodename=c1", "state=power_up"}).status, 0);
  EXPECT_TRUE(says("c1", " drained c1 periodic: host.limits")) << events_of("c1");
  EXPECT_THAT(events_of("c1"), HasSubstr(" released c1 "));
}

// slurmd's own check at its start is the only one here: Slurm gives the machine back soon.
TEST_F(CloudInSlurm, TheCheckAtTheStartOfSlurmdAcceptsOrRefusesNewNodes) {
  render_booted("other");
  cloud_nodes_ = 2;
  begin(1, ", gate_new_nodes: true", true);
  become("c2", "sick");
  const auto on = [&](std::string_view node) {
    return cluster().submit(cluster().write("job", "#!/bin/sh\necho ran on $SLURMD_NODENAME\n"),
                            {fmt::format("--nodelist={}", node)});
  };
  const auto id = on("c1");
  ASSERT_NE(id, "") << cluster().refusal();
  const auto job = cluster().wait_for_job(id);
  ASSERT_TRUE(job);
  EXPECT_EQ(job->state, "COMPLETED") << events_of("c1");
  EXPECT_EQ(job->restarts, 0) << events_of("c1");
  EXPECT_TRUE(says("c1", " resumed c1 periodic: accepted after ")) << events_of("c1");

  const auto other = on("c2");
  ASSERT_NE(other, "") << cluster().refusal();
  EXPECT_TRUE(cluster().wait_until("c2", is_drained)) << events_of("c2");
  EXPECT_TRUE(says("c2", " drained c2 periodic: a new node, drained until a clean boot check"));
  EXPECT_EQ(cluster().nodes().at("c2").reason, "muster: new node; not accepted yet");
  ASSERT_EQ(cluster().scontrol({"update", fmt::format("jobid={}", other), "nodelist="}).status, 0);

  // Given back and taken again, it is still a new node, and accepted by the next check.
  ASSERT_TRUE(cluster().power_down("c2"));
  fs::remove_all(trees_.path() / "state-c2");
  become("c2", "other");
  ASSERT_TRUE(cluster().power_up("c2"));
  EXPECT_TRUE(cluster().wait_until("c2", is_idle)) << events_of("c2");
  EXPECT_TRUE(says("c2", " resumed c2 periodic: accepted after ")) << events_of("c2");
}

TEST_F(CloudInSlurm, CheckSetupNamesWhatHappensToADrainedNode) {
  more_ = {"SlurmctldParameters=idle_on_node_suspend"};
  partition_ = "SuspendTime=3600";
  begin(1, "", true);
  ASSERT_TRUE(cluster().power_up("c1")) << logs();
  const auto tree = trees_.path() / "on-c1";
  std::ofstream(tree / "etc/muster/muster.yaml")
      << "schema: muster.site/1\nslurm: {controller_deadline: 15 s, conf: "
      << (cluster().folder() / "etc/slurm.conf").string() << "}\n";
  const auto check = [&] {
    return cluster()
        .run({MUSTER_PROGRAM, "hook", "--check-setup", "--profile=nd96isr_h100_v5",
              fmt::format("--root={}", tree.string()),
              fmt::format("--nvml={}/nvml/libnvidia-ml.so.1", tree.string()),
              fmt::format("--state={}/state-c1", trees_.path().string())},
             {{"SLURMD_NODENAME", "c1"}})
        .out;
  };
  const auto found = check();
  EXPECT_THAT(found, AllOf(HasSubstr("warning   SuspendTime: is 3600 s in partition main: "),
                           HasSubstr("warning   SlurmctldParameters: has idle_on_node_suspend")));
  EXPECT_EQ(found.find("warning   PrivateData: lacks cloud") != std::string::npos,
            is_before("23.02"))
      << found;
}

}  // namespace
}  // namespace muster::e2e
