// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "lib/base/text.hpp"
#include "lib/node/snapshot.hpp"
#include "lib/report/report.hpp"
#include "tests/checks/app/test_caller.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::app {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// A node of which nothing is known but its name.
std::string written(std::string name) {
  Snapshot snapshot{.taken = "2026-11-20T12:00:00Z"};
  snapshot.identity = observed(Identity{.hostname = std::move(name)});
  return to_json(snapshot);
}

class ReplayTest : public ::testing::Test {
 protected:
  // The names of the nodes reported on, in order.
  [[nodiscard]] std::vector<std::string> nodes() const {
    std::vector<std::string> names;
    for (const auto line : split_lines(caller_.out())) {
      const auto report = parse_report(line);
      names.push_back(report ? report->node : report.error().message);
    }
    return names;
  }

  [[nodiscard]] std::string path(std::string_view name) const {
    return (dir_.path() / name).string();
  }

  int replay(CheckCommand command) {
    if (command.profile.empty()) command.profile = "generic";
    return run_replay(command, caller_.caller());
  }

  TempDir dir_;
  TestCaller caller_;
};

TEST_F(ReplayTest, PrintsOneLineOfJsonPerSnapshotInTheOrderNamed) {
  dir_.write("b.json", written("node-b"));
  dir_.write("many/2.json", written("node-2"));
  dir_.write("many/1.json", written("node-1"));
  dir_.write("many/notes.txt", "no snapshot");
  (void)replay({.format = Format::json, .snapshots = {path("b.json"), path("many")}});
  EXPECT_THAT(nodes(), ElementsAre("node-b", "node-1", "node-2"));
  EXPECT_EQ(caller_.notes(), "");
}

TEST_F(ReplayTest, KeepsTheOrderOfManySnapshots) {
  std::vector<std::string> expected;
  for (int i = 100; i < 160; ++i) {
    expected.push_back(fmt::format("node-{}", i));
    dir_.write(fmt::format("{}.json", i), written(expected.back()));
  }
  (void)replay({.only = {"muster.*"}, .format = Format::json, .snapshots = {dir_.path().string()}});
  EXPECT_EQ(nodes(), expected);
}

TEST_F(ReplayTest, ExitsWithTheVerdictOfTheSnapshot) {
  dir_.write("a.json", written("a"));
  EXPECT_EQ(replay({.snapshots = {path("a.json")}}), kExitUndecided);
  EXPECT_THAT(caller_.out(), HasSubstr("verdict  a is unknown: "));
}

TEST_F(ReplayTest, SeveralNodesGetATableAndManyOnlyTheTable) {
  for (int i = 100; i < 116; ++i)
    dir_.write(fmt::format("{}.json", i), written(fmt::format("n{}", i)));
  (void)replay({.snapshots = {dir_.path().string()}});
  EXPECT_THAT(caller_.out(),
              AllOf(HasSubstr("verdict  n100 is unknown"),
                    HasSubstr("\nfleet    16 nodes: 0 healthy, 0 unhealthy, 16 unknown\n")));
  const auto before = caller_.out().size();
  dir_.write("116.json", written("n116"));
  EXPECT_EQ(replay({.snapshots = {dir_.path().string()}}), kExitUndecided);
  const auto table = caller_.out().substr(before);
  EXPECT_THAT(table, AllOf(StartsWith("fleet    17 nodes: "), Not(HasSubstr("verdict "))));
}

TEST_F(ReplayTest, ReportsThatCannotBeWrittenArePrinted) {
  dir_.write("a.json", written("a"));
  EXPECT_EQ(replay({.output = path("missing/report"), .snapshots = {path("a.json")}}),
            kExitUndecided);
  EXPECT_THAT(caller_.out(), HasSubstr("verdict  a is unknown"));
  EXPECT_THAT(caller_.notes(), HasSubstr("No such file or directory"));
}

TEST_F(ReplayTest, NamesAnUnreadableSnapshotAndJudgesTheOthers) {
  dir_.write("bad.json", "{");
  dir_.write("good.json", written("good"));
  EXPECT_EQ(replay({.format = Format::json,
                    .snapshots = {path("bad.json"), path("missing.json"), path("good.json")}}),
            kExitUndecided);
  EXPECT_THAT(nodes(), ElementsAre("good"));
  EXPECT_THAT(caller_.notes(),
              AllOf(HasSubstr(fmt::format("muster: {}: parse error at line 1, column 2: ",
                                          path("bad.json"))),
                    HasSubstr(fmt::format("muster: read {}: No such file or directory\n",
                                          path("missing.json")))));
}

TEST_F(ReplayTest, AFolderWithoutSnapshotsIsNotHealthy) {
  EXPECT_EQ(replay({.snapshots = {dir_.path().string()}}), kExitUndecided);
  EXPECT_THAT(caller_.notes(), StartsWith("muster: no *.json in "));
}

TEST_F(ReplayTest, FormatsOfOneDocumentTakeOneSnapshot) {
  dir_.write("a.json", written("a"));
  dir_.write("b.json", written("b"));
  EXPECT_EQ(replay({.format = Format::junit, .snapshots = {dir_.path().string()}}), kExitUsage);
  EXPECT_EQ(replay({.format = Format::junit, .snapshots = {path("a.json")}}), kExitUndecided);
  EXPECT_THAT(caller_.out(), StartsWith("<?xml"));
}

TEST_F(ReplayTest, ReportsBadConfigurationBeforeReadingSnapshots) {
  EXPECT_EQ(replay({.profile = "no_such_profile", .snapshots = {"/nonexistent"}}),
            kExitConfiguration);
  EXPECT_EQ(replay({.settings = {"host.memory.tolerence=3%"}, .snapshots = {"/nonexistent"}}),
            kExitConfiguration);
  EXPECT_THAT(caller_.notes(), HasSubstr("tolerance"));
}

TEST_F(ReplayTest, StopsWhenThePipeIsClosed) {
  for (int i = 0; i < 50; ++i) dir_.write(fmt::format("{}.json", i), written("node"));
  caller_.break_output("");
  EXPECT_EQ(replay({.format = Format::json, .snapshots = {dir_.path().string()}}), kExitUndecided);
  EXPECT_EQ(caller_.notes(), "");
}

TEST_F(ReplayTest, WritesAllReportsIntoOneFile) {
  dir_.write("in/a.json", written("a"));
  dir_.write("in/b.json", written("b"));
  (void)replay({.format = Format::npd, .output = path("out"), .snapshots = {path("in")}});
  EXPECT_EQ(caller_.out(), "");
  EXPECT_GT(std::filesystem::file_size(dir_.path() / "out"), 10U);
}

TEST_F(ReplayTest, AReportNamesItsFile) {
  dir_.write("a.json", written("a"));
  (void)replay({.format = Format::json, .snapshots = {path("a.json")}});
  const auto report = parse_report(caller_.out());
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->snapshot, path("a.json"));
}

TEST_F(ReplayTest, RecognisesTheProfileOfEachSnapshot) {
  dir_.write("a.json", written("a"));
  TestCaller caller;
  (void)run_replay({.format = Format::json, .snapshots = {path("a.json")}}, caller.caller());
  const auto report = parse_report(caller.out());
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->profile, "generic");
}

TEST_F(ReplayTest, AReportNamesTheVersionOfMuster) {
  dir_.write("a.json", written("a"));
  (void)replay({.format = Format::json, .snapshots = {path("a.json")}});
  EXPECT_THAT(caller_.out(), HasSubstr(R"("muster":"0.)"));
}

}  // namespace
}  // namespace muster::app
