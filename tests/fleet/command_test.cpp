// SPDX-License-Identifier: Apache-2.0
// The answers of `muster fleet` about a small store.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "fleet/fleet_command.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/json_read.hpp"
#include "lib/base/text.hpp"
#include "lib/report/report.hpp"
#include "tests/fleet/year.hpp"
#include "tests/support/temp_dir.hpp"
#include "tests/support/test_caller.hpp"

namespace muster::app {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class FleetCommandTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const fleet::Year year({.failures = 30});
    std::ofstream spool(temp_.path() / "spool.jsonl");
    for (const int node : {8, 43, 61}) {
      for (int day = 130; day < 170; ++day) spool << year.report(node, day) << '\n';
    }
    spool << year.report(5, 160) << '\n';
    spool.close();
    ASSERT_EQ(run({.question = "add", .words = {temp_.path("spool.jsonl")}}), 0) << caller_.notes();
    EXPECT_EQ(caller_.out(), "121 documents: 121 reports added\n");
  }

  int run(FleetCommand command) {
    caller_ = TestCaller();
    command.store = temp_.path("fleet.db");
    return run_fleet(command, caller_.caller(),
                     {.judge = [&](const Snapshot& /*snapshot*/) -> Result<std::string> {
                        if (!judge_snapshot_) return make_error("no snapshots here");
                        return R"({"schema":"muster.report/1","node":"n","profile":"p","context":)"
                               R"("manual","started":"2026-06-01T00:00:00Z","verdict":"healthy",)"
                               R"("checks":[],"findings":[]})";
                      },
                      .judge_twice = [](const Snapshot& /*snapshot*/)
                          -> Result<std::pair<std::vector<Finding>, std::vector<Finding>>> {
                        return make_error("--set: unknown key 'foo'");
                      },
                      .call_slurm = [](auto /*program*/, auto /*words*/) -> Result<std::string> {
                        return make_error("no slurmdbd");
                      }});
  }

  TempDir temp_;
  TestCaller caller_;
  bool judge_snapshot_ = false;
};

TEST_F(FleetCommandTest, ShowFitsOnAScreen) {
  EXPECT_EQ(run({.question = "show"}), kExitHealthy);
  EXPECT_THAT(caller_.out(), AllOf(HasSubstr("4 nodes, 121 reports"), HasSubstr("gpu.xid"),
                                   HasSubstr("silent      1 node: gpu-00005")));
  EXPECT_LE(std::ranges::count(caller_.out(), '\n'), 40);
}

TEST_F(FleetCommandTest, PartFollowsASerialNumber) {
  EXPECT_EQ(run({.question = "part", .words = {fleet::PlantedFaults::kLemon}}), kExitHealthy);
  EXPECT_THAT(caller_.out(), AllOf(HasSubstr("gpu NVIDIA H100"), HasSubstr("gpu-00008"),
                                   HasSubstr("gpu-00043"), HasSubstr("to 2026-05-31")));
}

TEST_F(FleetCommandTest, PartShowsANode) {
  EXPECT_EQ(run({.question = "part", .words = {"gpu-00061"}}), kExitHealthy);
  EXPECT_THAT(caller_.out(), AllOf(HasSubstr("node gpu-00061: nd96isr_h100_v5"),
                                   HasSubstr("38.0 days up"), HasSubstr("0x946dae03000001e8")));
  EXPECT_EQ(run({.question = "part", .words = {"absent"}}), kExitUsage);
  EXPECT_THAT(caller_.notes(), HasSubstr("absent: no node or part with this name"));
}

TEST_F(FleetCommandTest, JsonIsOneDocumentALine) {
  for (const auto& command :
       {FleetCommand{.question = "show", .form = FleetCommand::Form::json},
        FleetCommand{.question = "part", .words = {"gpu-00008"}, .form = FleetCommand::Form::json},
        FleetCommand{.question = "export", .words = {"jsonl"}}}) {
    EXPECT_EQ(run(command), kExitHealthy);
    for (const auto line : split_lines(caller_.out())) {
      ASSERT_TRUE(read_json_text(line, [](const JsonReader& /*unread*/) {})) << line;
    }
  }
  for (const auto* kind : {"report", "finding", "incident", "seat", "value"}) {
    EXPECT_THAT(caller_.out(), HasSubstr(fmt::format(R"("kind":"{}")", kind)));
  }
}

TEST_F(FleetCommandTest, ExportsSqlInOneTransaction) {
  EXPECT_EQ(run({.question = "export", .words = {"sql"}}), kExitHealthy);
  EXPECT_THAT(caller_.out(), AllOf(HasSubstr("BEGIN;\n"), HasSubstr("INSERT INTO report VALUES\n("),
                                   HasSubstr("CREATE OR REPLACE VIEW value")));
  EXPECT_TRUE(caller_.out().ends_with("COMMIT;\n"));
}

TEST_F(FleetCommandTest, PruneShowsFirst) {
  const FleetCommand command{.question = "prune", .keep = Seconds{10 * 86'400.0}};
  EXPECT_EQ(run(command), kExitHealthy);
  EXPECT_THAT(caller_.out(), AllOf(HasSubstr("would remove 89 readings older than 10.0 days"),
                                   HasSubstr("nothing is removed without --go")));
  auto go = command;
  go.go = true;
  EXPECT_EQ(run(go), kExitHealthy);
  EXPECT_THAT(caller_.out(), HasSubstr("removed 89 readings"));
  EXPECT_EQ(run(command), kExitHealthy);
  EXPECT_THAT(caller_.out(), HasSubstr("would remove 0 readings"));
  EXPECT_EQ(run({.question = "show"}), kExitHealthy);
  EXPECT_THAT(caller_.out(), HasSubstr("121 reports"));
}

TEST_F(FleetCommandTest, AClusterIsPrunedAndShownAlone) {
  std::ofstream(temp_.path() / "west.jsonl") << fleet::Year({}).report(70, 100) << '\n'
                                             << fleet::Year({}).report(70, 120) << '\n';
  const auto file = temp_.path("west.jsonl");
  ASSERT_EQ(run({.question = "add", .words = {file}, .cluster = "west"}), kExitHealthy);
  EXPECT_EQ(run({.question = "prune", .cluster = "west", .go = true, .keep = Seconds{86'400.0}}),
            kExitHealthy);
  EXPECT_THAT(caller_.out(), HasSubstr("removed 1 reading older than 1.0 days"));
  EXPECT_EQ(run({.question = "prune", .keep = Seconds{1.0}}), kExitHealthy);
  EXPECT_THAT(caller_.out(), HasSubstr("would remove 121 readings"));
  EXPECT_EQ(run({.question = "show", .cluster = "west"}), kExitHealthy);
  EXPECT_THAT(caller_.out(), AllOf(HasSubstr("1 node, 2 reports"), HasSubstr("H100 80GB HBM3")));
  EXPECT_THAT(caller_.out(), ContainsRegex("HBM3 +8\n"));
  EXPECT_EQ(run({.question = "part", .words = {"gpu-00070"}}), kExitHealthy);
  EXPECT_THAT(caller_.out(), HasSubstr("node gpu-00070 of west: "));
  using enum FleetCommand::Form;
  EXPECT_EQ(run({.question = "show", .cluster = "west", .form = json}), kExitHealthy);
  EXPECT_THAT(caller_.out(), AllOf(testing::StartsWith(R"({"schema":"muster.fleet_show/1",)"),
                                   ContainsRegex("\"first\":\"20..-..-..T..:..:..Z\"")));
  EXPECT_EQ(run({.question = "part", .words = {"gpu-00070"}, .form = json}), kExitHealthy);
  EXPECT_THAT(caller_.out(), AllOf(testing::StartsWith(R"({"schema":"muster.fleet_part/1",)"),
                                   ContainsRegex("\"started\":\"20..-..-..T..:..:..Z\"")));
  for (const auto* const question : {"show", "odd", "drift", "causes", "prune"}) {
    EXPECT_EQ(run({.question = question, .cluster = "nope"}), kExitUsage) << question;
    EXPECT_EQ(caller_.notes(), "muster: cluster nope: the store has no node of it\n") << question;
  }
}

// Clocks that are ahead by less than a year cannot be told from the present of a quiet fleet.
TEST_F(FleetCommandTest, AClockThatIsAheadIsNotThePresent) {
  const auto ahead = wall_time() + std::chrono::days(300);
  std::ofstream(temp_.path() / "ahead.json") << fmt::format(
      R"({{"schema":"muster.report/1","node":"ahead","profile":"p","context":"boot",)"
      R"("started":"{}","verdict":"healthy","checks":[],"findings":[]}})",
      utc(ahead));
  ASSERT_EQ(run({.question = "add", .words = {temp_.path("ahead.json")}}), 0);
  EXPECT_EQ(run({.question = "show"}), kExitHealthy);
  EXPECT_THAT(caller_.out(),
              AllOf(HasSubstr("5 nodes"), HasSubstr("silent      1 node: gpu-00005")));
  EXPECT_EQ(run({.question = "prune"}), kExitHealthy);
  EXPECT_THAT(caller_.out(), HasSubstr("would remove 0 readings"));
}

TEST_F(FleetCommandTest, ImportsTheRestOfUnreadablePaths) {
  const auto file = [&](const char* name) { return temp_.path(name); };
  std::ofstream(file("more.jsonl")) << fleet::Year({}).report(70, 100) << '\n';
  std::ofstream(file("empty.json")).close();
  std::ofstream(file("empty.jsonl")).close();
  EXPECT_EQ(
      run({.question = "add",
           .words = {file("absent"), file("empty.json"), file("empty.jsonl"), file("more.jsonl")}}),
      kExitUndecided);
  EXPECT_EQ(caller_.out(), "3 documents: 1 report added, 2 refused\n");
  EXPECT_THAT(caller_.notes(), AllOf(HasSubstr("absent: No such file or directory"),
                                     HasSubstr("empty.json: the file is empty")));
}

TEST_F(FleetCommandTest, WhatifRefusesSettingsAsConfiguration) {
  const auto snapshot =
      std::string(MUSTER_SOURCE_DIR) + "/tests/nodes/simulated/nd96isr_h100_v5.json";
  judge_snapshot_ = true;
  ASSERT_EQ(run({.question = "add", .words = {snapshot}}), kExitHealthy) << caller_.notes();
  EXPECT_EQ(run({.question = "whatif", .settings = {"foo=1"}}), kExitConfiguration);
  EXPECT_EQ(caller_.notes(), "muster: --set: unknown key 'foo'\n");
}

TEST_F(FleetCommandTest, DiffNamesASideWithoutValues) {
  EXPECT_EQ(run({.question = "diff", .words = {"2026-05-20", "2028-01-01"}}), kExitUndecided);
  EXPECT_THAT(caller_.notes(),
              HasSubstr("2028-01-01 (2028-01-01 to 2028-01-07): the store has no values"));
}

TEST_F(FleetCommandTest, RefusedDocumentsMakeTheStatus2) {
  std::ofstream(temp_.path() / "bad.json") << "{";
  EXPECT_EQ(run({.question = "add", .words = {temp_.path("bad.json")}}), kExitUndecided);
  EXPECT_THAT(caller_.out(), HasSubstr("1 refused"));
  EXPECT_THAT(caller_.notes(), HasSubstr("bad.json: "));
}

// Three nodes that were healthy again after a shadow: in a new boot, in the same one, and one that
// still is sick. And a step that muster did itself.
TEST_F(FleetCommandTest, CausesByActionCompareShadowsWithAdmins) {
  std::ofstream lines(temp_.path() / "journal.jsonl");
  const auto report = [&](const char* node, const char* at, const char* verdict, const char* boot) {
    lines << fmt::format(R"({{"schema":"muster.report/1","node":"{}","profile":"p","context":)"
                         R"("periodic","started":"2026-07-{}Z","verdict":"{}","boot_id":"{}",)"
                         R"("checks":[],"findings":[]}})",
                         node, at, verdict, boot)
          << '\n';
  };
  const auto action = [&](const char* id, const char* node, const char* rung, const char* state) {
    lines << fmt::format(R"({{"schema":"muster.repair/1","id":"{}","at":"2026-07-01T10:00:00Z",)"
                         R"("node":"{}","rung":"{}","state":"{}","incident":"gpu.xid gpu5",)"
                         R"("check":"gpu.xid","boot_id":"b1"}})",
                         id, node, rung, state)
          << '\n';
  };
  for (const auto* node : {"r1", "r2", "r3"}) {
    report(node, "01T09:00:00", "unhealthy", "b1");
    action(node, node, "reboot", "shadow");
  }
  report("r1", "01T11:00:00", "healthy", "b2");
  report("r2", "01T11:00:00", "healthy", "b1");
  action("r4", "r2", "reset_gpu", "shadow");
  action("op", "r3", "reset_gpu", "reserved");
  action("op", "r3", "reset_gpu", "failed");
  lines.close();
  ASSERT_EQ(run({.question = "add", .words = {temp_.path("journal.jsonl")}}), 0) << caller_.notes();
  EXPECT_EQ(run({.question = "causes", .by = "action"}), kExitHealthy) << caller_.notes();
  EXPECT_THAT(caller_.out(),
              AllOf(HasSubstr("reboot           1 of 2 agree with what admins did, 1 open\n"),
                    HasSubstr("reset_gpu        1 of 1 agree with what admins did; 1 failed\n")));
}

TEST_F(FleetCommandTest, SaysThatSlurmHasNoAccounting) {
  EXPECT_EQ(run({.question = "add", .slurm = true}), kExitUndecided);
  EXPECT_THAT(caller_.out(), IsEmpty());
  EXPECT_THAT(caller_.notes(), HasSubstr("no Slurm records were imported: no slurmdbd"));
}

}  // namespace
}  // namespace muster::app
