// SPDX-License-Identifier: Apache-2.0
// The answers of `muster fleet` about a small store.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "fleet/fleet_command.hpp"
#include "lib/base/json_read.hpp"
#include "lib/base/text.hpp"
#include "lib/report/report.hpp"
#include "tests/fleet/year.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::app {
namespace {

using ::testing::AllOf;
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
    ASSERT_EQ(run({.question = "add", .words = {(temp_.path() / "spool.jsonl").string()}}), 0)
        << notes_;
    EXPECT_EQ(out_, "121 documents: 121 reports added\n");
  }

  int run(FleetCommand command) {
    out_.clear();
    notes_.clear();
    command.store = (temp_.path() / "fleet.db").string();
    const Caller caller{.console = {.out = [&](std::string_view text) -> Result<void> {
                                      out_ += text;
                                      return {};
                                    },
                                    .note = [&](std::string_view line) { notes_ += line; }}};
    return run_fleet(command, caller,
                     {.judge = [](const Snapshot& /*snapshot*/) -> Result<std::string> {
                        return make_error("no snapshots here");
                      },
                      .call_slurm = [](auto /*program*/, auto /*words*/) -> Result<std::string> {
                        return make_error("no slurmdbd");
                      }});
  }

  TempDir temp_;
  std::string out_, notes_;
};

TEST_F(FleetCommandTest, ShowFitsOnAScreen) {
  EXPECT_EQ(run({.question = "show"}), kExitHealthy);
  EXPECT_THAT(out_, AllOf(HasSubstr("4 nodes, 121 reports"), HasSubstr("gpu.xid"),
                          HasSubstr("silent      1 node: gpu-00005")));
  EXPECT_LE(std::ranges::count(out_, '\n'), 40);
}

TEST_F(FleetCommandTest, PartFollowsASerialNumber) {
  EXPECT_EQ(run({.question = "part", .words = {fleet::PlantedFaults::kLemon}}), kExitHealthy);
  EXPECT_THAT(out_, AllOf(HasSubstr("gpu NVIDIA H100"), HasSubstr("gpu-00008"),
                          HasSubstr("gpu-00043"), HasSubstr("to 2026-05-31")));
}

TEST_F(FleetCommandTest, PartShowsANode) {
  EXPECT_EQ(run({.question = "part", .words = {"gpu-00061"}}), kExitHealthy);
  EXPECT_THAT(out_, AllOf(HasSubstr("node gpu-00061: nd96isr_h100_v5"), HasSubstr("38.0 days up"),
                          HasSubstr("0x946dae03000001e8")));
  EXPECT_EQ(run({.question = "part", .words = {"absent"}}), kExitUsage);
  EXPECT_THAT(notes_, HasSubstr("absent: no node or part with this name"));
}

TEST_F(FleetCommandTest, JsonIsOneDocumentALine) {
  for (const auto& command :
       {FleetCommand{.question = "show", .form = FleetCommand::Form::json},
        FleetCommand{.question = "part", .words = {"gpu-00008"}, .form = FleetCommand::Form::json},
        FleetCommand{.question = "export", .words = {"jsonl"}}}) {
    EXPECT_EQ(run(command), kExitHealthy);
    for (const auto line : split_lines(out_)) {
      ASSERT_TRUE(read_json_text(line, [](const JsonReader& /*unread*/) {})) << line;
    }
  }
  for (const auto* kind : {"report", "finding", "incident", "seat", "value"}) {
    EXPECT_THAT(out_, HasSubstr(fmt::format(R"("kind":"{}")", kind)));
  }
}

TEST_F(FleetCommandTest, ExportsSqlInOneTransaction) {
  EXPECT_EQ(run({.question = "export", .words = {"sql"}}), kExitHealthy);
  EXPECT_THAT(out_, AllOf(HasSubstr("BEGIN;\n"), HasSubstr("INSERT INTO report VALUES\n("),
                          HasSubstr("CREATE OR REPLACE VIEW value")));
  EXPECT_TRUE(out_.ends_with("COMMIT;\n"));
}

TEST_F(FleetCommandTest, PruneShowsFirst) {
  const FleetCommand command{.question = "prune", .keep = Seconds{10 * 86'400.0}};
  EXPECT_EQ(run(command), kExitHealthy);
  EXPECT_THAT(out_, AllOf(HasSubstr("would remove 89 readings older than 10 days"),
                          HasSubstr("nothing is removed without --go")));
  auto go = command;
  go.go = true;
  EXPECT_EQ(run(go), kExitHealthy);
  EXPECT_THAT(out_, HasSubstr("removed 89 readings"));
  EXPECT_EQ(run(command), kExitHealthy);
  EXPECT_THAT(out_, HasSubstr("would remove 0 readings"));
  EXPECT_EQ(run({.question = "show"}), kExitHealthy);
  EXPECT_THAT(out_, HasSubstr("121 reports"));
}

TEST_F(FleetCommandTest, RefusedDocumentsMakeTheStatus2) {
  std::ofstream(temp_.path() / "bad.json") << "{";
  EXPECT_EQ(run({.question = "add", .words = {(temp_.path() / "bad.json").string()}}),
            kExitUndecided);
  EXPECT_THAT(out_, HasSubstr("1 refused"));
  EXPECT_THAT(notes_, HasSubstr("bad.json: "));
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
  ASSERT_EQ(run({.question = "add", .words = {(temp_.path() / "journal.jsonl").string()}}), 0)
      << notes_;
  EXPECT_EQ(run({.question = "causes", .by = "action"}), kExitHealthy) << notes_;
  EXPECT_THAT(out_,
              AllOf(HasSubstr("reboot           1 of 2 agree with what admins did, 1 open\n"),
                    HasSubstr("reset_gpu        1 of 1 agree with what admins did; 1 failed\n")));
}

TEST_F(FleetCommandTest, SaysThatSlurmHasNoAccounting) {
  EXPECT_EQ(run({.question = "add", .slurm = true}), kExitUndecided);
  EXPECT_THAT(out_, IsEmpty());
  EXPECT_THAT(notes_, HasSubstr("nothing of Slurm was imported: no slurmdbd"));
}

}  // namespace
}  // namespace muster::app
