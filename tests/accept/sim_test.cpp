// SPDX-License-Identifier: Apache-2.0
// The simulated fleet: what its nodes answer, and its clock.
#include "accept/sim.hpp"

#include <set>
#include <string>

#include "accept/loop.hpp"
#include "accept/run_folder.hpp"
#include "checks/catalogue.hpp"
#include "lib/report/bench_checks.hpp"
#include "tests/accept/fleet_of.hpp"
#include "tests/accept/in_memory.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::accept {
namespace {

constexpr std::int64_t kFar = 4'000'000'000;

std::unique_ptr<Fleet> fleet_of(std::string_view words, int nodes = 8, const Results& so_far = {}) {
  auto fleet = make_sim_fleet(order_of(nodes), words, so_far);
  EXPECT_TRUE(fleet) << fleet.error().message;
  return std::move(fleet).value_or(nullptr);
}

std::string error_of(std::string_view words) {
  const auto fleet = make_sim_fleet(order_of(8), words);
  return fleet ? "" : fleet.error().message;
}

EndedStep run(Fleet& fleet, std::size_t node, Stage stage, std::int64_t number = 1) {
  fleet.start(NodeStart{.node = node, .stage = stage, .number = number});
  for (;;) {
    auto ended = fleet.wait(kFar);
    if (!ended.empty()) return ended.front();
  }
}

EndedStep run(Fleet& fleet, Stage stage, std::vector<std::size_t> nodes) {
  fleet.start(GroupStart{.stage = stage, .number = 1, .nodes = std::move(nodes)});
  return fleet.wait(kFar).at(0);
}

// The findings that are not passes, as "check device outcome".
std::vector<std::string> findings_of(const EndedStep& ended) {
  std::vector<std::string> texts;
  if (!ended.answer) return {ended.why};
  for (const auto& report : ended.answer->reports) {
    for (const auto& each : report.findings) {
      if (each.outcome == Outcome::pass) continue;
      texts.push_back(fmt::format("{} {} {}", each.check, each.device, to_string(each.outcome)));
    }
  }
  return texts;
}

std::vector<std::string> findings_of(std::string_view words, Stage stage, std::size_t node = 3) {
  const auto fleet = fleet_of(words);
  return findings_of(run(*fleet, node, stage));
}

TEST(SimFleetTest, HealthyNodesPassAllStages) {
  const auto fleet = fleet_of("");
  for (const auto stage :
       {Stage::inventory, Stage::check, Stage::node, Stage::soak, Stage::after}) {
    const auto ended = run(*fleet, 5, stage);
    ASSERT_TRUE(ended.answer);
    EXPECT_THAT(findings_of(ended), IsEmpty());
    EXPECT_EQ(ended.answer->reports.empty(), stage == Stage::inventory);
    for (const auto& report : ended.answer->reports) EXPECT_EQ(report.verdict, Verdict::healthy);
  }
  const std::vector<std::size_t> all{0, 1, 2, 3, 4, 5, 6, 7};
  for (const auto stage : {Stage::fabric, Stage::whole, Stage::soak}) {
    const auto ended = run(*fleet, stage, all);
    ASSERT_TRUE(ended.answer);
    EXPECT_THAT(findings_of(ended), IsEmpty());
    EXPECT_EQ(ended.answer->reports[0].nodes.size(), all.size());
  }
}

TEST(SimFleetTest, HardwareFaultsAreInTheCheck) {
  EXPECT_THAT(findings_of("fault=missing_gpu:3:5", Stage::check),
              testing::ElementsAre("gpu.present node fail"));
  EXPECT_THAT(findings_of("fault=row_remap:sim004:2", Stage::check),
              testing::ElementsAre("gpu.ecc_remapped_rows gpu2 fail"));
  EXPECT_THAT(findings_of("fault=busy:3:0", Stage::check),
              testing::ElementsAre("gpu.processes gpu0 fail"));
  EXPECT_THAT(findings_of("fault=row_remap:sim004:2", Stage::check, 4), IsEmpty());
}

TEST(SimFleetTest, SlowPartsAreInTheNodeTests) {
  EXPECT_THAT(findings_of("fault=slow_gpu:3:1:0.8", Stage::node),
              testing::ElementsAre("bench.gemm gpu1 fail", "bench.node_all_reduce node fail"));
  EXPECT_THAT(findings_of("fault=slow_hca:sim004:7:0.5", Stage::node),
              testing::ElementsAre("bench.hca_write mlx5_ib7 fail"));
  EXPECT_EQ(findings_of("fault=limit:0.5", Stage::node).size(), 8U);
}

// The first value of the test, or that of this device.
double value_of(const EndedStep& ended, std::string_view test, std::string_view device = "") {
  for (const auto& report : ended.answer->reports) {
    for (const auto& each : report.measurements) {
      const bool is_it = device.empty() || each.conditions.device == device;
      if (each.conditions.test == test && is_it) return each.value;
    }
  }
  return 0;
}

TEST(SimFleetTest, HardwareOfTheClusterIsInTheNodeTests) {
  const auto inside = run(*fleet_of("inside=100GB/s,noise=0%"), 3, Stage::node);
  EXPECT_NEAR(value_of(inside, "nccl.intra"), 100, 0.01);
  EXPECT_THAT(findings_of(inside), testing::ElementsAre("bench.node_all_reduce node fail"));
  const auto usual = value_of(run(*fleet_of("noise=0%"), 3, Stage::node), "ib.loopback");
  const auto half =
      value_of(run(*fleet_of("hcas=8x200Gb/s,noise=0%"), 3, Stage::node), "ib.loopback");
  EXPECT_NEAR(half, usual / 2, 0.01);
  EXPECT_THAT(findings_of("fault=slow_rail:6:0.5", Stage::node),
              testing::ElementsAre("bench.hca_write mlx5_ib6 fail"));
}

TEST(SimFleetTest, WrongDataNameTheRankThatReceivesThem) {
  const auto fleet = fleet_of("fault=wrong:27:5");  // GPU 3 of the fourth node
  for (const auto stage : {Stage::fabric, Stage::whole, Stage::soak}) {
    EXPECT_THAT(findings_of(run(*fleet, stage, {1, 3, 5})),
                testing::ElementsAre("bench.data sim004/gpu3 fail"));
    EXPECT_THAT(findings_of(run(*fleet, stage, {1, 2, 5})), IsEmpty());
  }
  const auto ended = run(*fleet, Stage::whole, {1, 3, 5});
  EXPECT_EQ(ended.answer->reports[0].measurements[0].wrong_elements, 1);
}

TEST(SimFleetTest, ANodeWithWrongDataIsRejected) {
  const auto order = order_of(4);
  const auto fleet = make_sim_fleet(order, "fault=wrong:3:5").value();
  const auto actions = InMemoryRun(order, *fleet).run();
  EXPECT_TRUE(actions.complete);
  const auto& standing = actions.standings[0];
  EXPECT_EQ(standing.verdict, NodeVerdict::rejected);
  ASSERT_THAT(standing.causes, Not(IsEmpty()));
  EXPECT_EQ(standing.causes[0].check, "bench.data");
  EXPECT_EQ(standing.causes[0].device, "gpu3");
  for (std::size_t i = 1; i < order.nodes.size(); ++i) {
    EXPECT_EQ(actions.standings[i].verdict, NodeVerdict::accepted) << i;
  }
}

TEST(SimFleetTest, ASlowPathIsOnlyInTheSearch) {
  const auto fleet = fleet_of("fault=slow_large:3:2:0.6");
  EXPECT_THAT(findings_of(run(*fleet, 3, Stage::node)), IsEmpty());
  const auto ended = run(*fleet, Stage::fabric, {0, 1, 3, 5, 6, 7});
  ASSERT_TRUE(ended.answer);
  EXPECT_THAT(ended.answer->reports[0].accused, testing::ElementsAre("sim004"));
  EXPECT_THAT(findings_of(run(*fleet, Stage::fabric, {0, 1, 5, 6, 7})), IsEmpty());
  EXPECT_THAT(findings_of(run(*fleet, Stage::whole, {0, 1, 3})),
              testing::Each("bench.job_all_reduce job fail"));
}

TEST(SimFleetTest, TheSearchUsesTheNamesOfTheOrder) {
  const auto fleet = fleet_of("fault=slow_link:2:sim006:0.5");
  const auto ended = run(*fleet, Stage::fabric, {0, 2, 3, 5, 6, 7});
  EXPECT_THAT(findings_of(ended), testing::Contains("bench.locate sim003-sim006 fail"));
}

TEST(SimFleetTest, HungNodesAreNamed) {
  const auto fleet = fleet_of("fault=hang:3");
  EXPECT_THAT(findings_of(run(*fleet, Stage::whole, {0, 1, 3})),
              testing::Each("bench.completion sim004 fail"));
}

TEST(SimFleetTest, IdentityIsInTheInventory) {
  const auto fleet = fleet_of("fault=serial:3:5,fault=driver:2,fault=host:1,fault=missing_gpu:0:7");
  std::vector<StepAnswer> answers;
  for (std::size_t i = 0; i < 6; ++i) answers.push_back(*run(*fleet, i, Stage::inventory).answer);
  EXPECT_EQ(answers[3].parts[0].serial, answers[5].parts[0].serial);
  EXPECT_NE(answers[3].parts[1].serial, answers[5].parts[1].serial);
  EXPECT_NE(answers[2].stack.at("driver"), answers[3].stack.at("driver"));
  EXPECT_NE(answers[1].physical_host,
            run(*fleet_of(""), 1, Stage::inventory).answer->physical_host);
  EXPECT_EQ(answers[0].parts.size(), answers[1].parts.size() - 1);
}

TEST(SimFleetTest, ASeedAndANodeAreNotInterchangeable) {
  const auto serial = [](std::string_view words, std::size_t node) {
    return run(*fleet_of(words), node, Stage::inventory).answer->parts.at(0).serial;
  };
  EXPECT_NE(serial("seed=5", 7), serial("seed=7", 5));
  EXPECT_EQ(serial("seed=5", 7), serial("seed=5", 7));
}

TEST(SimFleetTest, AnXidComesAtItsHourOfLoad) {
  const auto fleet = fleet_of("fault=xid:3:79:0.4");  // in the third slice
  EXPECT_THAT(findings_of(run(*fleet, 3, Stage::soak, 1)), IsEmpty());
  EXPECT_THAT(findings_of(run(*fleet, 3, Stage::soak, 2)), IsEmpty());
  const auto ended = run(*fleet, 3, Stage::soak, 3);
  EXPECT_EQ(findings_of(ended).size(), 1U);
  EXPECT_EQ(ended.answer->reports[0].findings[0].check, "gpu.xid");
  EXPECT_THAT(ended.answer->kernel_lines, testing::ElementsAre(HasSubstr("Xid")));
  EXPECT_THAT(findings_of(run(*fleet, 3, Stage::soak, 4)), IsEmpty());
}

TEST(SimFleetTest, ALostNodeComesBackWithAnotherBoot) {
  const auto fleet = fleet_of("fault=crash:3:0.1,fault=returns:3:20");
  const auto before = run(*fleet, 3, Stage::check).answer->boot_id;
  const auto crash = run(*fleet, 3, Stage::soak);
  EXPECT_TRUE(crash.lost);
  EXPECT_EQ(crash.why, "sim004 stopped answering");
  EXPECT_FALSE(fleet->reachable()[3]);
  const auto lost_at = fleet->now();
  EXPECT_THAT(fleet->wait(kFar), IsEmpty());
  EXPECT_EQ(fleet->now(), lost_at + 20 * 60);
  EXPECT_TRUE(fleet->reachable()[3]);
  EXPECT_NE(run(*fleet, 3, Stage::check).answer->boot_id, before);
  EXPECT_FALSE(run(*fleet, 3, Stage::soak).lost);
}

TEST(SimFleetTest, ANodeThatDiesInAGroupIsNamed) {
  const auto fleet = fleet_of("fault=dies:3:fabric");
  const auto ended = run(*fleet, Stage::fabric, {2, 3, 4});
  EXPECT_FALSE(ended.answer);
  EXPECT_THAT(ended.lost_nodes, testing::ElementsAre(3U));
  EXPECT_FALSE(fleet->reachable()[3]);
}

TEST(SimFleetTest, SilentNodesAreLost) {
  const auto fleet = fleet_of("fault=silent:3");
  EXPECT_TRUE(fleet->reachable()[3]);
  EXPECT_TRUE(run(*fleet, 3, Stage::inventory).lost);
  EXPECT_FALSE(fleet->reachable()[3]);
}

TEST(SimFleetTest, GreetingsDoNoHarmAndCutAnswersAreSeen) {
  const auto fleet = fleet_of("fault=greets:3,fault=cut:4,fault=greets:5,fault=cut:5");
  EXPECT_TRUE(run(*fleet, 3, Stage::check).answer);
  for (const std::size_t node : {4U, 5U}) {
    const auto cut = run(*fleet, node, Stage::check, 1);
    EXPECT_FALSE(cut.answer);
    EXPECT_FALSE(cut.lost);
    EXPECT_NE(cut.why, "");
    EXPECT_TRUE(run(*fleet, node, Stage::check, 2).answer);
  }
}

TEST(SimFleetTest, BusyNodesRefuse) {
  const auto fleet = fleet_of("fault=busy:3:2");
  EXPECT_THAT(run(*fleet, 3, Stage::node).answer->refused, HasSubstr("gpu2 is in use"));
}

TEST(SimFleetTest, ClocksMayBeWrong) {
  const auto fleet = fleet_of("fault=skew:3:-90");
  const auto at = run(*fleet, 3, Stage::check).answer->at;
  EXPECT_EQ(at, fleet->now() - 90);
}

TEST(SimFleetTest, StepsEndInTheOrderOfTimeAndAtTheLatestAtTheGivenTime) {
  const auto fleet = fleet_of("");
  const auto begin = fleet->now();
  fleet->start(NodeStart{.node = 0, .stage = Stage::node});
  fleet->start(NodeStart{.node = 1, .stage = Stage::check});
  EXPECT_THAT(fleet->wait(begin + 1), IsEmpty());
  EXPECT_EQ(fleet->now(), begin + 1);
  EXPECT_EQ(fleet->wait(kFar).at(0).node->node, 1U);
  EXPECT_EQ(fleet->now(), begin + 10);
  fleet->stop();
  const auto stopped = fleet->wait(kFar);
  ASSERT_EQ(stopped.size(), 1U);
  EXPECT_EQ(stopped[0].why, "stopped");
  EXPECT_FALSE(stopped[0].lost);
}

TEST(SimFleetTest, AResumedFleetContinuesWhereTheRecordEnds) {
  const std::string words = "fault=crash:3:0.3,fault=xid:4:48:0.3,fault=returns:3:5";
  Results so_far;
  const auto add = [&](const char* node, Stage stage, std::int64_t number, AttemptEnd end,
                       std::int64_t ended) {
    so_far.attempts.push_back({.node = node,
                               .stage = stage,
                               .number = number,
                               .end = end,
                               .ended = ended,
                               .seconds = end == AttemptEnd::pass ? 600.0 : 0});
  };
  add("sim004", Stage::soak, 1, AttemptEnd::pass, 1'900'000'000);
  add("sim004", Stage::soak, 2, AttemptEnd::lost, 1'900'000'060);
  add("sim005", Stage::soak, 1, AttemptEnd::pass, 1'900'000'000);
  add("sim005", Stage::soak, 2, AttemptEnd::interrupted, 1'900'000'000);
  add("sim006", Stage::node, 1, AttemptEnd::pass, 1'900'000'000);
  const auto fleet = fleet_of(words, 8, so_far);
  EXPECT_EQ(fleet->now(), 1'900'000'060);
  EXPECT_FALSE(fleet->reachable()[3]);
  EXPECT_THAT(findings_of(run(*fleet, 4, Stage::soak, 3)),
              testing::ElementsAre(HasSubstr("gpu.xid gpu")));

  const auto untouched = fleet_of(words);
  (void)run(*untouched, 5, Stage::node);
  const auto value = [](const EndedStep& ended) {
    return ended.answer->reports[0].measurements[0].value;
  };
  EXPECT_EQ(value(run(*fleet, 5, Stage::node, 2)), value(run(*untouched, 5, Stage::node, 2)));
}

// The rounds of the soak wait for nodes whose slices end at another time.
TEST(SimFleetTest, ANodeThatReturnsDoesNotKeepTheOthersFromTheEndOfTheSoak) {
  auto plan = shipped_plan("standard").value();
  plan.slice_s = plan.round_s = plan.gap_s;
  const auto order = order_of(6, plan);
  const auto fleet = make_sim_fleet(order, "fault=crash:5:7,fault=returns:5:10").value();
  const auto actions = InMemoryRun(order, *fleet).run(500);
  EXPECT_TRUE(actions.complete);
  for (const auto& standing : actions.standings) EXPECT_LE(standing.verdict, NodeVerdict::remarks);
}

TEST(SimFleetTest, ATiredGpuIsSlowerOnlyAfterTheSoak) {
  const auto fleet = fleet_of("fault=tired:3:1:0.9");
  const auto gpu1 = [&](Stage stage) {
    return value_of(run(*fleet, 3, stage), "gpu.gemm", "gpu1");
  };
  EXPECT_NEAR(gpu1(Stage::after) / gpu1(Stage::node), 0.9, 0.02);
}

// The driver compares; a run in memory does not.
TEST(SimFleetTest, ATiredGpuIsARemarkOfItsNode) {
  const TempDir temp;
  const auto order = order_of(4);
  auto folder = RunFolder::create(temp.path() / "run", order);
  ASSERT_TRUE(folder);
  const auto fleet = make_sim_fleet(order, "fault=tired:1:5:0.92").value();
  const auto result = run_acceptance(*folder, *fleet);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_TRUE(result->last.complete);
  for (std::size_t i = 0; i < order.nodes.size(); ++i) {
    const auto& standing = result->last.standings[i];
    EXPECT_EQ(standing.verdict, i == 1 ? NodeVerdict::remarks : NodeVerdict::accepted) << i;
    if (i != 1) continue;
    ASSERT_EQ(standing.remarks.size(), 1U);
    EXPECT_EQ(standing.remarks[0].check, kSlowerCheck);
    EXPECT_EQ(standing.remarks[0].device, "gpu5");
  }
}

TEST(SimFleetTest, RandomFailuresFollowTheirRate) {
  Plan plan = shipped_plan("standard").value();
  const auto fleet = make_sim_fleet(order_of(20, plan), "failures=10000").value();
  int failures = 0;
  for (int slice = 1; slice <= 144; ++slice) {
    for (std::size_t node = 0; node < 20; ++node) {
      fleet->start(NodeStart{.node = node, .stage = Stage::soak, .number = slice});
    }
    for (const auto& ended : fleet->wait(kFar)) {
      failures += static_cast<int>(findings_of(ended).size());
    }
  }
  EXPECT_NEAR(failures, 200, 45);  // three deviations
}

TEST(SimFleetTest, NamesOnlyChecksOfTheCatalogue) {
  std::set<std::string> known;
  for (const auto* check : checks::kAll) known.emplace(check->id);
  for (const auto& check : kBenchChecks) known.emplace(check.id);
  const auto fleet = fleet_of("fault=missing_gpu:3:5,fault=row_remap:3:1,fault=hot:3:1");
  std::vector<EndedStep> all;
  for (const auto stage : {Stage::check, Stage::node, Stage::soak, Stage::after}) {
    all.push_back(run(*fleet, 3, stage));
  }
  for (const auto stage : {Stage::fabric, Stage::whole}) all.push_back(run(*fleet, stage, {1, 2}));
  for (const auto& ended : all) {
    EXPECT_THAT(ended.answer->reports, Not(IsEmpty()));
    for (const auto& report : ended.answer->reports) {
      EXPECT_THAT(report.checks, Not(IsEmpty()));
      for (const auto& check : report.checks) EXPECT_TRUE(known.contains(check.id)) << check.id;
    }
  }
}

TEST(SimFleetTest, ExplainsWrongWords) {
  EXPECT_EQ(error_of("fault=missing_gpu:8:0"),
            "--sim: fault=missing_gpu:8:0: unknown node \"8\", expected a name or 0 to 7");
  EXPECT_EQ(error_of("fault=missing_gpu:1"),
            "--sim: fault=missing_gpu:1: expected missing_gpu:NODE:GPU");
  EXPECT_EQ(error_of("fault=missing_gpu:1:8"),
            "--sim: fault=missing_gpu:1:8: invalid GPU \"8\", expected 0 to 7");
  EXPECT_THAT(error_of("fault=mising_gpu:1:8"), HasSubstr("did you mean missing_gpu?"));
  EXPECT_THAT(error_of("fault=dies:1:lunch"), HasSubstr("unknown stage \"lunch\""));
  EXPECT_THAT(error_of("fault=xid:1:79:0"), HasSubstr("invalid HOURS \"0\""));
  EXPECT_THAT(error_of("fault=serial:1:1"), HasSubstr("two different nodes"));
  EXPECT_THAT(error_of("fault=slow_gpu:1:9:0.5"), HasSubstr("unknown gpu 9"));
  EXPECT_THAT(error_of("failures=-1"), HasSubstr("at least 0"));
  EXPECT_THAT(error_of("nodes=4"), HasSubstr("the order lists the nodes"));
  EXPECT_THAT(error_of("profile=none_such"), HasSubstr("none_such"));
  EXPECT_THAT(error_of("gpus=x"), HasSubstr("gpus"));
}

TEST(SimFleetTest, HelpHasEveryFault) {
  for (const auto* name : {"missing_gpu:NODE:GPU", "limit:FACTOR", "returns:NODE:MINUTES"}) {
    EXPECT_THAT(sim_fleet_help(), HasSubstr(name));
  }
}

}  // namespace
}  // namespace muster::accept
