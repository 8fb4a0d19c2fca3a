// SPDX-License-Identifier: Apache-2.0
// What stands with the node in Slurm: drains that the history does not know, faults that are found
// later, reboots that Slurm ends by itself, and reasons that are not muster's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "slurm/cluster/node_memory.hpp"
#include "tests/slurm/drains/enforce_fixture.hpp"

namespace muster::slurm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class AdoptingTest : public EnforceTest {
 protected:
  NodeMemory memory() {
    return parse_node_memory(cluster.node("n001").memory).value_or(NodeMemory{});
  }

  // The node gets another disk.
  void lose_history() {
    histories.clear();
    std::filesystem::remove_all(dir.path() / "n001");
  }
};

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

TEST_F(AdoptingTest, ADrainIsRememberedInTheRequestThatDrains) {
  run(sick());
  EXPECT_EQ(count("drain"), 1);
  EXPECT_EQ(count("remember"), 0);
  EXPECT_EQ(memory(), (NodeMemory{.check = "gpu.persistence",
                                  .device = "gpu3",
                                  .remedy = "restart_service",
                                  .at = record()->at,
                                  .boot = "boot-1",
                                  .drains = {record()->at},
                                  .hardware = hash_hardware("GPU-1"),
                                  .reason = short_hash(kReason)}));
  run(healthy());
  EXPECT_EQ(memory().clean, 1);
  run(sick());
  EXPECT_EQ(memory().clean, 0);
  const auto at = memory().at;
  for (int i = 0; i < 3; ++i) run(healthy());
  EXPECT_EQ(cluster.node("n001").state, "idle");
  EXPECT_EQ(memory(), (NodeMemory{.drains = {at}}));
}

TEST_F(AdoptingTest, ATextOfTheSitesOwnIsNeverOverwritten) {
  cluster.node("n001").memory = "rack 7";
  run(sick());
  EXPECT_EQ(cluster.node("n001").state, "drained");
  for (int i = 0; i < 3; ++i) run(healthy());
  EXPECT_EQ(cluster.node("n001").state, "idle");
  EXPECT_EQ(cluster.node("n001").memory, "rack 7");
  EXPECT_EQ(count("remember"), 0);
}

TEST_F(AdoptingTest, WhereTheSiteSaysSoNothingIsRemembered) {
  order.rules.memory = "none";
  run(sick());
  for (int i = 0; i < 3; ++i) run(healthy());
  EXPECT_EQ(cluster.node("n001").state, "idle");
  EXPECT_EQ(cluster.node("n001").memory, "");
  EXPECT_EQ(count("remember"), 0);
}

// An empty state folder and a new boot.
TEST_F(AdoptingTest, ARedeployedNodeIsKnownAndResumedByTheRules) {
  run(sick(Remedy::reboot));
  run(healthy());
  const auto reason = cluster.node("n001").reason;
  lose_history();
  order.boot_id = "boot-2";
  cluster.pass(kInterval);
  const auto enforced = run(healthy());
  EXPECT_THAT(kinds(enforced), ElementsAre("adopted", "kept"));
  EXPECT_EQ(enforced.events[0].reason, reason);
  EXPECT_EQ(enforced.events[0].check, "gpu.persistence");
  EXPECT_EQ(enforced.events[1].message, "gpu.persistence gpu3: clean run 2 of 3");
  EXPECT_THAT(kinds(run(healthy())), ElementsAre("resumed"));
  EXPECT_EQ(cluster.node("n001").state, "idle");
}

TEST_F(AdoptingTest, CleanRunsBeforeTheHistoryWasLostCount) {
  run(sick());
  run(healthy());
  run(healthy());
  lose_history();
  EXPECT_THAT(kinds(run(healthy())), ElementsAre("adopted", "resumed"));
}

TEST_F(AdoptingTest, ARedeployedNodeWithOtherPartsIsAnAdmins) {
  order.identity = "GPU-1 GPU-2";
  run(sick(Remedy::reboot));
  lose_history();
  order.boot_id = "boot-2";
  order.identity = "GPU-1 GPU-3";
  for (int i = 0; i < 5; ++i) run(healthy());
  EXPECT_EQ(cluster.node("n001").state, "drained");
  EXPECT_THAT(history_of("n001").events({})->back().message,
              HasSubstr("are not those that it was drained with"));
}

TEST_F(AdoptingTest, AGpuThatIsBackIsTheSameHardware) {
  order.identity = "GPU-1";
  run(sick(Remedy::reboot));
  lose_history();
  order.boot_id = "boot-2";
  order.identity = "GPU-1 GPU-2";
  for (int i = 0; i < 3; ++i) run(healthy());
  EXPECT_EQ(cluster.node("n001").state, "idle");
}

TEST_F(AdoptingTest, FlapsOutliveTheHistory) {
  for (int i = 0; i < 3; ++i) {
    run(sick());
    for (int j = 0; j < 3; ++j) run(healthy());
    cluster.pass(kInterval);
    lose_history();
    order.boot_id += "'";
    run(healthy());
  }
  EXPECT_EQ(cluster.node("n001").state, "drained");
  EXPECT_EQ(memory().drains.size(), 3);
  EXPECT_THAT(history_of("n001").events({})->back().message, HasSubstr("drain 3 within"));
}

TEST_F(AdoptingTest, ADrainWithoutAMemoryIsTakenOverByItsReason) {
  cluster.drain("n001", kReason);
  EXPECT_THAT(kinds(run(sick())), ElementsAre("adopted", "kept"));
  EXPECT_EQ(record()->check, "gpu.persistence");
  EXPECT_EQ(record()->remedy, Remedy::restart_service);
  EXPECT_EQ(memory().check, "gpu.persistence");
  for (int i = 0; i < 3; ++i) run(healthy());
  EXPECT_EQ(cluster.node("n001").state, "idle");
}

TEST_F(AdoptingTest, ADryRunTakesNothingOver) {
  cluster.drain("n001", kReason);
  order.dry_run = true;
  EXPECT_THAT(kinds(run(healthy())), ElementsAre("kept"));
  EXPECT_EQ(record(), std::nullopt);
  EXPECT_EQ(cluster.node("n001").memory, "");
}

TEST_F(AdoptingTest, AnAdminsOwnReasonIsLeftAlone) {
  struct Case {
    std::string reason, user;
  };

  for (const auto& [reason, user] :
       {Case{"muster: leave it, bob", "root"}, Case{std::string(kReason), "alice"},
        Case{"muster: gpu.persistence gpu3: mine now", "alice"}}) {
    cluster = FakeCluster(4);
    lose_history();
    cluster.drain("n001", reason, user);
    const auto before = cluster.node("n001");
    EXPECT_THAT(kinds(run(sick())), ElementsAre("refused")) << reason;
    for (int i = 0; i < 5; ++i) run(healthy());
    EXPECT_EQ(cluster.node("n001"), before) << reason;
    EXPECT_EQ(record(), std::nullopt);
  }
}

// With the memory of our drain still there.
TEST_F(AdoptingTest, AReasonThatWasPutOverOursIsNotTakenOver) {
  run(sick());
  cluster.drain("n001", "muster: gpu.persistence gpu3: mine; reboot the node", "root");
  for (const bool lost : {false, true}) {
    if (lost) lose_history();
    for (int i = 0; i < 5; ++i) run(healthy());
    EXPECT_EQ(cluster.node("n001").state, "drained");
    EXPECT_EQ(count("resume"), 0);
  }
}

TEST_F(AdoptingTest, AWorseFaultChangesTheReasonAndIsAnEvent) {
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
  EXPECT_EQ(memory().remedy, "report_to_provider");
  for (int i = 0; i < 5; ++i) run(well_again());
  EXPECT_EQ(cluster.node("n001").state, "drained");
  EXPECT_EQ(history_of("n001").events({})->back().message,
            "gpu.ecc_remapped_rows gpu5: the remedy is to report to the provider: drained until an "
            "admin says muster resume n001");
  EXPECT_EQ(count("drain"), 2);
}

TEST_F(AdoptingTest, AWorseFaultDoesNotChangeAReasonThatIsNotOurs) {
  run(sick());
  cluster.drain("n001", "bob looks at it", "bob");
  run(remapped(sick()));
  EXPECT_EQ(cluster.node("n001").reason, "bob looks at it");
  EXPECT_EQ(count("drain"), 1);
}

TEST_F(AdoptingTest, AWorseFaultThatSlurmDidNotHearOfIsToldLater) {
  run(sick());
  cluster.be(FakeCluster::Health::dead);
  run(remapped(sick()));
  cluster.be(FakeCluster::Health::well);
  run(well_again());
  EXPECT_EQ(
      cluster.node("n001").reason,
      "muster: gpu.ecc_remapped_rows: found while the node was drained; report to the provider");
}

// Slurm put the node back when it came up: nobody looked at it.
TEST_F(AdoptingTest, AfterARebootBySlurmDrainsStillCount) {
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
  EXPECT_EQ(history_of("n001").drains_of("n001")->size(), 3);
}

TEST_F(AdoptingTest, ADrainThatOutlivesARebootIsOursWithSlurmsWordsBehindIt) {
  run(sick(Remedy::reboot));
  cluster.node("n001").reason += " : reboot complete";
  order.boot_id = "boot-2";
  for (int i = 0; i < 3; ++i) run(healthy());
  EXPECT_EQ(cluster.node("n001").state, "idle");
}

TEST_F(AdoptingTest, AnAdminsResumeAfterARebootIsToldByTheEmptyMemory) {
  run(sick());
  cluster.resume("n001");
  cluster.node("n001").memory = "";
  order.boot_id = "boot-2";
  EXPECT_EQ(run(healthy()).events.front().message, "somebody else resumed the node");
  EXPECT_THAT(*history_of("n001").drains_of("n001"), IsEmpty());
}

TEST_F(AdoptingTest, AMemoryOfADrainThatSomebodyEndedIsCleared) {
  run(sick());
  cluster.resume("n001");
  lose_history();
  run(healthy());
  EXPECT_EQ(cluster.node("n001").memory, "");
}

TEST_F(AdoptingTest, ANodeReservedForMaintenanceIsNotResumed) {
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
