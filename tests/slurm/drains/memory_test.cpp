// SPDX-License-Identifier: Apache-2.0
// The memory of a node in Slurm: it outlives the node's disk, follows worse faults and reboots, and
// yields to the reasons of others.
#include <gmock/gmock.h>

#include "tests/slurm/drains/enforce_fixture.hpp"

namespace muster::slurm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class MemoryTest : public EnforceTest {};

Report remapped(Report report) {
  report.verdict = Verdict::unhealthy;
  report.checks.push_back({"gpu.ecc_remapped_rows", Outcome::fail});
  report.findings.push_back({.check = "gpu.ecc_remapped_rows",
                             .device = "gpu5",
                             .outcome = Outcome::fail,
                             .message = "row remapping failed",
                             .remedy = Remedy::report_to_provider});
  return report;
}

Report well_again() {
  auto report = healthy();
  report.checks.push_back({"gpu.ecc_remapped_rows", Outcome::pass});
  return report;
}

TEST_F(MemoryTest, IsWrittenInTheRequestThatDrainsAndSettledAfterIt) {
  controller.after_drain = [&] {
    EXPECT_EQ(memory().check, "gpu.persistence");
    EXPECT_FALSE(memory().settled);
  };
  run(sick());
  EXPECT_EQ(count("drain"), 1);
  EXPECT_EQ(count("remember"), 1);
  EXPECT_TRUE(memory().settled);
  EXPECT_EQ(memory().check, "gpu.persistence");
  run(healthy());
  EXPECT_EQ(memory().clean, 1);
  run(sick());
  EXPECT_EQ(memory().clean, 0);
  const auto at = memory().at;
  for (int i = 0; i < 3; ++i) run(healthy());
  EXPECT_EQ(cluster.node("n001").state, "idle");
  EXPECT_EQ(memory(), (NodeMemory{.drains = {at}}));
}

// Without a memory clean runs cannot be counted.
TEST_F(MemoryTest, ADrainStaysUntilAnAdminResumesIfMusterMayNotWrite) {
  struct Case {
    std::string memory, text, why;
  };

  for (const auto& [memory, text, why] :
       {Case{"extra", "rack 7",
             "the node's field in Slurm (memory: extra) holds text that muster did"},
        Case{"none", "", "memory: none in muster.yaml"}}) {
    cluster = FakeCluster(4);
    controller.calls.clear();
    order.rules.memory = memory;
    cluster.node("n001").memory = text;
    EXPECT_THAT(kinds(run(sick())), ElementsAre("drained"));
    HookResult last;
    for (int i = 0; i < 4; ++i) last = run(healthy());
    EXPECT_THAT(last.decision.why, HasSubstr(why));
    EXPECT_THAT(last.decision.why, HasSubstr("until an admin runs muster resume n001"));
    EXPECT_EQ(cluster.node("n001").state, "drained");
    EXPECT_EQ(cluster.node("n001").memory, text);
    EXPECT_EQ(count("remember"), 0);
  }
}

TEST_F(MemoryTest, ASlurmWithoutTheFieldIsNamed) {
  controller.forgets = true;
  run(sick());
  const auto kept = run(healthy());
  EXPECT_THAT(kinds(kept), ElementsAre("kept"));
  EXPECT_THAT(kept.events[0].message, HasSubstr("Slurm does not store the node's memory"));
  EXPECT_THAT(run(healthy()).events, IsEmpty());
}

// An empty state folder and a new boot.
TEST_F(MemoryTest, ARedeployedNodeIsResumedAfterCleanRuns) {
  run(sick(Remedy::reboot));
  run(healthy());
  lose_state();
  order.boot_id = "boot-2";
  cluster.pass(kInterval);
  const auto enforced = run(healthy());
  EXPECT_THAT(kinds(enforced), ElementsAre("kept"));
  EXPECT_EQ(enforced.events[0].message, "gpu.persistence gpu3: clean run 2 of 3");
  EXPECT_THAT(kinds(run(healthy())), ElementsAre("resumed"));
  EXPECT_EQ(cluster.node("n001").state, "idle");
}

// A node of the cloud: Slurm powered it down and up again, dropped the reason, and kept the drain.
class CloudNodeTest : public EnforceTest {
 protected:
  void power_cycle() {
    lose_state();
    order.boot_id += "'";
    auto& node = cluster.node("n001");
    node.state = "drained";
    node.reason = node.user = "";
    node.since.reset();
    cluster.pass(kInterval);
  }
};

TEST_F(CloudNodeTest, OnTheSameHostIsResumedAfterCleanRuns) {
  run(sick());
  power_cycle();
  EXPECT_THAT(kinds(run(sick())), ElementsAre("kept"));
  for (int i = 1; i <= 2; ++i) {
    EXPECT_THAT(kinds(run(healthy())), ElementsAre("kept")) << i;
    power_cycle();
  }
  EXPECT_THAT(kinds(run(healthy())), ElementsAre("resumed"));
  EXPECT_EQ(cluster.node("n001").state, "idle");
}

TEST_F(CloudNodeTest, OnAnotherHostIsResumedAtOnceAndWithoutFlaps) {
  run(sick(Remedy::report_to_provider));
  power_cycle();
  order.identity = "GPU-2";
  const auto enforced = run(healthy());
  EXPECT_THAT(kinds(enforced), ElementsAre("resumed"));
  EXPECT_THAT(enforced.events[0].message, HasSubstr("the name belongs to another host by now"));
  EXPECT_EQ(cluster.node("n001").state, "idle");
  EXPECT_EQ(cluster.node("n001").memory, "");
}

TEST_F(CloudNodeTest, OnAnotherSickHostIsDrainedForThatOnesFault) {
  run(sick(Remedy::report_to_provider));
  power_cycle();
  order.identity = "GPU-2";
  EXPECT_THAT(kinds(run(sick())), ElementsAre("drained", "kept"));
  EXPECT_EQ(cluster.node("n001").reason, kReason);
  EXPECT_EQ(memory().hardware, hash_hardware("GPU-2"));
  EXPECT_EQ(memory().drains.size(), 1);
  EXPECT_EQ(memory().remedy, Remedy::restart_service);
  for (int i = 0; i < 3; ++i) run(healthy());
  EXPECT_EQ(cluster.node("n001").state, "idle");
}

TEST_F(CloudNodeTest, IsJudgedWhileItStillPowersUp) {
  run(sick());
  power_cycle();
  order.identity = "GPU-2";
  cluster.node("n001").state = "drained#";
  EXPECT_THAT(kinds(run(healthy())), ElementsAre("resumed"));
  cluster.node("n001").state = "mixed#";
  EXPECT_THAT(kinds(run(sick())), ElementsAre("drained"));
}

TEST_F(CloudNodeTest, AnAdminsDrainIsNotReleased) {
  run(sick());
  cluster.drain("n001", "swapping a cable", "alice");
  run(healthy());
  power_cycle();
  order.identity = "GPU-2";
  for (int i = 0; i < 5; ++i) run(healthy());
  EXPECT_EQ(cluster.node("n001").state, "drained");
  EXPECT_EQ(count("resume"), 0);
}

TEST_F(CloudNodeTest, WithoutALineOfMustersIsNotReleased) {
  cluster.drain("n001", "");
  cluster.node("n001").user = "";
  for (int i = 0; i < 5; ++i) run(healthy());
  EXPECT_EQ(cluster.node("n001").state, "drained");
  EXPECT_EQ(count("resume") + count("remember"), 0);
}

// `scontrol update state=power_down` takes the drain away, and leaves its reason.
TEST_F(CloudNodeTest, PutBackByAPowerDownIsReleasedWithItsFlaps) {
  run(sick());
  power_cycle();
  cluster.node("n001").state = "idle";
  EXPECT_THAT(kinds(run(healthy())), ElementsAre("released"));
  EXPECT_EQ(memory().drains.size(), 1);
  EXPECT_THAT(kinds(run(sick())), ElementsAre("drained"));
  EXPECT_EQ(memory().drains.size(), 2);
}

TEST_F(MemoryTest, FlapsOutliveTheState) {
  for (int i = 0; i < 3; ++i) {
    run(sick());
    for (int j = 0; j < 3; ++j) run(healthy());
    cluster.pass(kInterval);
    lose_state();
    order.boot_id += "'";
    run(healthy());
  }
  EXPECT_EQ(cluster.node("n001").state, "drained");
  EXPECT_EQ(memory().drains.size(), 3);
  EXPECT_THAT(history_of("n001").events({})->back().message, HasSubstr("3 drains within"));
}

TEST_F(MemoryTest, ADrainWithoutAMemoryIsKnownByItsReason) {
  cluster.drain("n001", kReason);
  EXPECT_THAT(kinds(run(sick())), ElementsAre("kept"));
  EXPECT_EQ(memory().check, "gpu.persistence");
  EXPECT_EQ(memory().remedy, Remedy::restart_service);
  EXPECT_EQ(memory().boot, "boot-1");
  for (int i = 0; i < 3; ++i) run(healthy());
  EXPECT_EQ(cluster.node("n001").state, "idle");
}

// By `muster drain --report` on a login node, which knows neither the node's boot nor its GPUs.
TEST_F(MemoryTest, ADrainSentFromElsewhereLearnsItsHostFromTheNode) {
  const auto order_of_node = order;
  const auto run_elsewhere = [&] {
    order = {.context = "sweep", .is_remote = true};
    run(sick(Remedy::reboot));
    order = order_of_node;
  };
  run_elsewhere();
  EXPECT_EQ(memory().boot, "");
  run(healthy());
  EXPECT_EQ(memory().boot, "boot-1");
  EXPECT_EQ(memory().hardware, hash_hardware("GPU-1"));
  order.boot_id = "boot-2";
  run(healthy());
  run_elsewhere();
  EXPECT_EQ(memory().last_boot, "boot-2");
}

TEST_F(MemoryTest, ADryRunWritesNoMemory) {
  cluster.drain("n001", kReason);
  order.dry_run = true;
  EXPECT_THAT(kinds(run(healthy())), ElementsAre("kept"));
  EXPECT_EQ(cluster.node("n001").memory, "");
}

TEST_F(MemoryTest, AnAdminsOwnReasonIsLeftAlone) {
  struct Case {
    std::string reason, user;
  };

  for (const auto& [reason, user] :
       {Case{"muster: leave it, bob", "root"}, Case{std::string(kReason), "alice"},
        Case{"muster: gpu.persistence gpu3: mine now", "alice"},
        Case{"swapping a cable", "alice"}}) {
    cluster = FakeCluster(4);
    lose_state();
    cluster.drain("n001", reason, user);
    const auto before = cluster.node("n001");
    EXPECT_THAT(kinds(run(sick())), ElementsAre("refused")) << reason;
    for (int i = 0; i < 5; ++i) run(healthy());
    EXPECT_EQ(cluster.node("n001"), before) << reason;
    EXPECT_EQ(record(), std::nullopt);
  }
}

// Holds although the memory of our drain remains. One event reports it.
TEST_F(MemoryTest, AReasonThatWasPutOverOursIsNotTakenOver) {
  run(sick());
  cluster.drain("n001", "muster: gpu.persistence gpu3: mine; reboot the node", "root");
  for (const bool lost : {false, true}) {
    if (lost) lose_state();
    std::vector<std::string> said;
    for (int i = 0; i < 5; ++i) {
      for (const auto& event : run(healthy()).events) said.push_back(event.message);
    }
    EXPECT_THAT(said, ElementsAre("the node was drained by root with the reason \"muster: "
                                  "gpu.persistence gpu3: mine; reboot the node\""));
    EXPECT_EQ(cluster.node("n001").state, "drained");
    EXPECT_EQ(count("resume"), 0);
  }
}

TEST_F(MemoryTest, TheReasonCountsTheFaultsThatAreThere) {
  auto two = sick(Remedy::report_to_provider);
  two.findings.push_back({.check = "host.limits",
                          .device = "node",
                          .outcome = Outcome::fail,
                          .message = "64 locked pages",
                          .remedy = Remedy::fix_config});
  two.checks.push_back({"host.limits", Outcome::fail});
  run(two);
  const auto with = [](std::string_view more) {
    return fmt::format(
        "muster: gpu.persistence gpu3: persistence mode is off{}; report to the provider", more);
  };
  EXPECT_EQ(cluster.node("n001").reason, with(", and 1 more"));
  run(sick(Remedy::report_to_provider));
  EXPECT_EQ(cluster.node("n001").reason, with(""));
  EXPECT_EQ(record()->check, "gpu.persistence");
  EXPECT_TRUE(record()->settled);
  EXPECT_EQ(record()->drains.size(), 1);
  run(two);
  EXPECT_EQ(cluster.node("n001").reason, with(", and 1 more"));
  for (int i = 0; i < 3; ++i) run(two);
  EXPECT_EQ(count("drain"), 3);
}

TEST_F(MemoryTest, AWorseFaultChangesTheReasonAndIsAnEvent) {
  run(sick());
  const auto enforced = run(remapped(sick()));
  EXPECT_THAT(kinds(enforced), ElementsAre("worsened", "kept"));
  EXPECT_EQ(enforced.events[0].check, "gpu.ecc_remapped_rows");
  EXPECT_EQ(enforced.events[0].device, "gpu5");
  EXPECT_EQ(
      enforced.events[0].message,
      "gpu.ecc_remapped_rows gpu5: row remapping failed; report to the provider; the node was "
      "drained for gpu.persistence");
  EXPECT_EQ(cluster.node("n001").reason,
            "muster: gpu.ecc_remapped_rows gpu5: row remapping failed, and 1 more; report to the "
            "provider");
  EXPECT_EQ(memory().check, "gpu.ecc_remapped_rows");
  EXPECT_EQ(memory().device, "gpu5");
  EXPECT_EQ(memory().remedy, Remedy::report_to_provider);
  for (int i = 0; i < 5; ++i) run(well_again());
  EXPECT_EQ(cluster.node("n001").state, "drained");
  EXPECT_EQ(history_of("n001").events({})->back().message,
            "gpu.ecc_remapped_rows gpu5: the remedy is to report to the provider: drained until an "
            "admin runs muster resume n001");
  EXPECT_EQ(count("drain"), 2);
}

TEST_F(MemoryTest, AWorseFaultDoesNotChangeAReasonThatIsNotOurs) {
  run(sick());
  cluster.drain("n001", "bob looks at it", "bob");
  run(remapped(sick()));
  EXPECT_EQ(cluster.node("n001").reason, "bob looks at it");
  EXPECT_EQ(count("drain"), 1);
}

// Slurm put the node back when it came up: no admin looked at it.
TEST_F(MemoryTest, AfterARebootBySlurmDrainsStillCount) {
  for (int i = 1; i <= 3; ++i) {
    run(sick(Remedy::reboot));
    auto& node = cluster.node("n001");
    ASSERT_EQ(node.state, "drained");
    node.state = "reboot^";
    node.reason += " : reboot issued";
    EXPECT_THAT(kinds(run(sick(Remedy::reboot))), ElementsAre("refused"));
    if (i == 3) break;
    cluster.resume("n001");
    order.boot_id = fmt::format("boot-{}", i + 1);
    cluster.pass(kInterval);
    EXPECT_THAT(kinds(run(healthy())), ElementsAre("released"));
    EXPECT_EQ(memory().check, "");
    EXPECT_EQ(memory().drains.size(), i);
  }
}

// slurmd checks the node before it registers.
TEST_F(MemoryTest, AFaultThatOutlivesARebootBySlurmDrainsAgain) {
  for (const auto* state : {"reboot^", "drained^"}) {
    cluster = FakeCluster(4);
    lose_state();
    order.boot_id = "boot-1";
    run(sick(Remedy::reboot));
    run(healthy());
    cluster.node("n001").state = state;
    cluster.node("n001").reason += " : reboot issued";
    order.boot_id = "boot-2";
    run(sick(Remedy::reboot));
    cluster.resume("n001");
    cluster.pass(kInterval);
    const auto again = run(sick(Remedy::reboot));
    ASSERT_THAT(kinds(again), ElementsAre("released", "drained")) << state;
    EXPECT_THAT(again.events[0].message, HasSubstr("was rebooted")) << state;
    EXPECT_EQ(memory().drains.size(), 2) << state;
  }
}

TEST_F(MemoryTest, ADrainThatOutlivesARebootIsOursWithSlurmsWordsBehindIt) {
  run(sick(Remedy::reboot));
  cluster.node("n001").reason += " : reboot complete";
  order.boot_id = "boot-2";
  for (int i = 0; i < 3; ++i) run(healthy());
  EXPECT_EQ(cluster.node("n001").state, "idle");
}

// The node had booted, and stayed drained, before the admin resumed it.
TEST_F(MemoryTest, AnAdminsResumeAfterARebootEndsTheCountOfDrains) {
  run(sick(Remedy::reboot));
  order.boot_id = "boot-2";
  run(healthy());
  cluster.resume("n001");
  EXPECT_EQ(run(healthy()).events.front().message, "the node was resumed, but not by muster");
  EXPECT_EQ(cluster.node("n001").memory, "");
}

TEST_F(MemoryTest, AnEarlierFormIsReplaced) {
  cluster.node("n001").memory = "muster/1 check=host.limits device=-";
  run(sick());
  EXPECT_EQ(memory().check, "gpu.persistence");
}

TEST_F(MemoryTest, ANodeReservedForMaintenanceIsNotResumed) {
  run(sick());
  cluster.node("n001").state = "drained$";
  for (int i = 0; i < 5; ++i) run(healthy());
  EXPECT_EQ(cluster.node("n001").state, "drained$");
  EXPECT_EQ(history_of("n001").events({})->back().message,
            "gpu.persistence gpu3: the node is reserved for maintenance");
  cluster.node("n001").state = "drained";
  run(healthy());
  EXPECT_EQ(cluster.node("n001").state, "idle");
}

}  // namespace
}  // namespace muster::slurm
