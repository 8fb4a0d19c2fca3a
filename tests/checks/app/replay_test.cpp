// SPDX-License-Identifier: Apache-2.0
// Judging snapshots again, and the table of a fleet.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "checks/app/fleet.hpp"
#include "lib/base/text.hpp"
#include "lib/node/snapshot.hpp"
#include "lib/report/report.hpp"
#include "tests/checks/app/test_caller.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::app {
namespace {

// A node about which nothing is known except its name.
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
      names.push_back(report ? report->node.value_or("") : report.error().message);
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
  std::vector<std::string> expected{"node-b"};
  dir_.write("b.json", written("node-b"));
  dir_.write("many/notes.txt", "no snapshot");
  for (int i = 100; i < 160; ++i) {
    expected.push_back(fmt::format("node-{}", i));
    dir_.write(fmt::format("many/{}.json", i), written(expected.back()));
  }
  (void)replay(
      {.only = {"muster.*"}, .format = Format::json, .snapshots = {path("b.json"), path("many")}});
  EXPECT_EQ(nodes(), expected);
  EXPECT_EQ(caller_.notes(), "");
}

TEST_F(ReplayTest, ExitsWithTheVerdictOfTheSnapshot) {
  dir_.write("a.json", written("a"));
  EXPECT_EQ(replay({.snapshots = {path("a.json")}}), kExitUndecided);
  EXPECT_THAT(caller_.out(), HasSubstr("verdict  a is unknown: "));
}

TEST_F(ReplayTest, SeveralNodesGetATableAndManyOnlyTheTable) {
  for (int i = 100; i < 104; ++i) {
    dir_.write(fmt::format("{}.json", i), written(fmt::format("n{}", i)));
  }
  (void)replay({.snapshots = {dir_.path().string()}});
  EXPECT_THAT(caller_.out(),
              AllOf(HasSubstr("verdict  n100 is unknown"),
                    HasSubstr("\nfleet    4 nodes: 0 healthy, 0 unhealthy, 4 unknown\n")));
  const auto before = caller_.out().size();
  dir_.write("104.json", written("n104"));
  EXPECT_EQ(replay({.snapshots = {dir_.path().string()}}), kExitUndecided);
  const auto table = caller_.out().substr(before);
  EXPECT_THAT(table, AllOf(StartsWith("fleet    5 nodes: "), Not(HasSubstr("verdict "))));
}

TEST_F(ReplayTest, AReportOfABenchmarkCountsForItsNode) {
  dir_.write("a.json", written("a"));
  Report bench{.node = "b", .profile = "generic", .context = "manual", .benchmark = "node"};
  bench.findings = {{.check = "bench.host_copy",
                     .device = "gpu3",
                     .outcome = Outcome::fail,
                     .message = "27.5 GB/s, expected at least 48 GB/s"}};
  bench.verdict = Verdict::unhealthy;
  dir_.write("b_bench.json", to_json(bench));
  bench.node = "a";
  dir_.write("a_bench.json", to_json(bench));
  EXPECT_EQ(replay({.snapshots = {dir_.path().string()}}), kExitUnhealthy);
  EXPECT_THAT(caller_.out(),
              AllOf(HasSubstr("fleet    2 nodes: 0 healthy, 2 unhealthy, 0 unknown\n"),
                    HasSubstr("fail     bench.host_copy: 27.5 GB/s, expected at least 48 GB/s\n"
                              "         2 nodes: a,b gpu3\n")));
  EXPECT_EQ(caller_.notes(), "");
  EXPECT_EQ(replay({.format = Format::json, .snapshots = {path("b_bench.json")}}), kExitUnhealthy);
}

TEST_F(ReplayTest, ReportsThatCannotBeWrittenArePrinted) {
  dir_.write("a.json", written("a"));
  EXPECT_EQ(replay({.output = path("missing/report"), .snapshots = {path("a.json")}}),
            kExitUndecided);
  EXPECT_THAT(caller_.out(), HasSubstr("verdict  a is unknown"));
  EXPECT_THAT(caller_.notes(), EndsWith("missing/report: No such file or directory\n"));
}

TEST_F(ReplayTest, ReportsThatDoNotFitOnTheDiskArePrinted) {
  for (const auto* name : {"a", "b"}) dir_.write(fmt::format("in/{}.json", name), written(name));
  for (const auto format : {Format::text, Format::json, Format::junit}) {
    caller_ = {};
    EXPECT_EQ(replay({.format = format, .output = "/dev/full", .snapshots = {path("in")}}),
              kExitUndecided);
    EXPECT_THAT(caller_.out(), AllOf(HasSubstr("a"), HasSubstr("b")));
    EXPECT_EQ(caller_.notes(), "muster: write /dev/full: No space left on device\n");
  }
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

TEST_F(ReplayTest, ADocumentHoldsAllNodes) {
  const auto count = [&](std::string_view text) {
    std::size_t found = 0;
    for (auto at = caller_.out().find(text); at != std::string::npos;
         at = caller_.out().find(text, at + 1)) {
      ++found;
    }
    return found;
  };
  for (const auto* const node : {"a", "b", "c"}) {
    dir_.write(fmt::format("{}.json", node), written(node));
  }
  const std::vector folder{dir_.path().string()};
  EXPECT_EQ(replay({.format = Format::junit, .snapshots = folder}), kExitUndecided);
  EXPECT_EQ(count("<?xml"), 1);
  EXPECT_EQ(count("<testsuite name=\"muster\""), 3);
  EXPECT_THAT(caller_.out(), EndsWith("  </testsuite>\n</testsuites>\n"));
  EXPECT_EQ(replay({.format = Format::html, .snapshots = folder}), kExitUndecided);
  EXPECT_EQ(count("<html"), 1);
  EXPECT_EQ(count("<h1>"), 3);
  EXPECT_THAT(caller_.out(),
              AllOf(HasSubstr("<title>muster: 3 nodes</title>"), EndsWith("</body>\n</html>\n")));
  EXPECT_EQ(replay({.format = Format::prometheus, .snapshots = folder}), kExitUndecided);
  EXPECT_EQ(count("# TYPE muster_verdict gauge\n"), 1);
  EXPECT_EQ(count("muster_verdict{context=\"manual\",node=\""), 3);
}

// A later file about the same node replaces the samples of the earlier one.
TEST_F(ReplayTest, ASeriesOfMetricsIsThereOnce) {
  dir_.write("1.json", written("a"));
  dir_.write("2.json", written("a"));
  EXPECT_EQ(replay({.format = Format::prometheus, .snapshots = {dir_.path().string()}}),
            kExitUndecided);
  std::set<std::string> series;
  for (const auto line : split_lines(caller_.out())) {
    EXPECT_TRUE(series.emplace(line.substr(0, line.rfind(' '))).second) << line;
  }
}

TEST_F(ReplayTest, ADocumentWithoutNodesIsEmpty) {
  for (const auto format : {Format::junit, Format::html, Format::prometheus}) {
    EXPECT_EQ(replay({.format = format, .snapshots = {"/nonexistent", "/nor"}}), kExitUndecided);
    EXPECT_EQ(caller_.out(), "");
  }
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

TEST_F(ReplayTest, AReportNamesItsFileTheRecognisedProfileAndTheVersion) {
  dir_.write("a.json", written("a"));
  (void)run_replay({.format = Format::json, .snapshots = {path("a.json")}}, caller_.caller());
  const auto report = parse_report(caller_.out());
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->snapshot, path("a.json"));
  EXPECT_EQ(report->profile, "generic");
  EXPECT_THAT(caller_.out(), HasSubstr(R"("muster":"0.)"));
}

Snapshot node_with(std::string_view firmware) {
  Snapshot snapshot;
  snapshot.infiniband = observed(Infiniband{});
  for (int i = 0; i < 8; ++i) {
    Hca hca;
    hca.name = fmt::format("mlx5_ib{}", i);
    hca.firmware = std::string(firmware);
    snapshot.infiniband->hcas.push_back(hca);
  }
  return snapshot;
}

Report healthy(int number) {
  return {.node = fmt::format("n{:04}", number), .profile = "p", .verdict = Verdict::healthy};
}

Report sick(int number, std::string message) {
  auto report = healthy(number);
  report.verdict = Verdict::unhealthy;
  report.findings = {{.check = "ib.rate",
                      .device = fmt::format("mlx5_ib{}", number % 8),
                      .outcome = Outcome::fail,
                      .message = std::move(message)}};
  return report;
}

TEST(FleetTest, CountsTheNodesAndNamesTheSickOnesByCause) {
  const auto snapshot = node_with("28.39");
  std::vector<FleetNode> nodes;
  for (int i = 1; i <= 20; ++i) nodes.push_back(fleet_node(snapshot, healthy(i)));
  for (const int i : {21, 22, 23}) {
    nodes.push_back(fleet_node(snapshot, sick(i, "200 Gb/s, expected 400 Gb/s")));
  }
  auto blind = healthy(24);
  blind.verdict = Verdict::unknown;
  blind.coverage.not_observed = {{"GPUs", "no NVML", true}};
  nodes.push_back(fleet_node(snapshot, blind));
  EXPECT_EQ(fleet_table(nodes, 2, 80),
            "fleet    24 nodes: 20 healthy, 3 unhealthy, 1 unknown; 2 could not be read or judged\n"
            "fail     ib.rate: 200 Gb/s, expected 400 Gb/s\n"
            "         3 nodes: n0021 mlx5_ib5; n0022 mlx5_ib6; n0023 mlx5_ib7\n"
            "unknown  not observed: GPUs\n"
            "         1 node: n0024\n");
}

// A serial number belongs to one device.
TEST(FleetTest, NamesTheDeviceOfATextThatVaries) {
  std::vector<FleetNode> nodes;
  for (const int i : {1, 2}) {
    nodes.push_back(fleet_node(sick(i, fmt::format("200 Gb/s (serial {})", 1650 + i))));
  }
  EXPECT_THAT(fleet_table(nodes, 0, 0),
              HasSubstr("ib.rate: 200 Gb/s (serial 1651) (as on n0001 mlx5_ib1)\n"));
}

// In a pipe, each cause is one complete line.
TEST(FleetTest, CutsNoCauseAndWrapsItOnATerminal) {
  const auto snapshot = node_with("28.39");
  const auto message = fmt::format("{}the end of it", std::string(30, 'x') + std::string(" word "));
  const auto cause = fmt::format("ib.rate: {0} {0} {0}", message);
  std::vector<FleetNode> nodes;
  for (int i = 0; i < 100; ++i) {
    nodes.push_back(fleet_node(snapshot, sick(i * 2, fmt::format("{0} {0} {0}", message))));
  }
  const auto piped = fleet_table(nodes, 0, 0);
  EXPECT_THAT(
      piped, AllOf(HasSubstr(fmt::format("fail     {}\n", cause)), HasSubstr(",0198] mlx5_ib6\n")));
  EXPECT_THAT(piped, Not(HasSubstr(" more")));
  const auto shown = fleet_table(nodes, 0, 80);
  EXPECT_EQ(std::ranges::count(split_words(shown), "end"), 3);
  for (const auto line : split_lines(shown)) EXPECT_LE(line.size(), 80U) << line;
  EXPECT_THAT(fleet_table(nodes, 0, 200), HasSubstr(fmt::format("fail     {}\n", cause)));
}

TEST(FleetTest, ReportsBelongToTheirNodesAndSnapshotsOfOneNameAreTwo) {
  const auto snapshot = node_with("28.39");
  auto bench = fleet_node(sick(1, "200 Gb/s, expected 400 Gb/s"));
  for (const auto& nodes :
       {std::vector{bench, fleet_node(snapshot, healthy(1)), bench},
        std::vector{fleet_node(snapshot, healthy(1)), bench, bench}, std::vector{bench, bench}}) {
    const auto merged = merge_nodes(nodes);
    ASSERT_EQ(merged.size(), 1U);
    EXPECT_EQ(merged.front().verdict, Verdict::unhealthy);
    EXPECT_EQ(merged.front().causes.size(), 1U);
  }
  const auto twice = fleet_node(snapshot, healthy(1));
  EXPECT_EQ(merge_nodes({twice, twice}).size(), 2U);
}

TEST(FleetTest, NamesTheNodesThatDifferFromMost) {
  std::vector<FleetNode> nodes;
  for (int i = 1; i <= 20; ++i) nodes.push_back(fleet_node(node_with("28.39"), healthy(i)));
  for (const int i : {21, 22}) nodes.push_back(fleet_node(node_with("28.36"), healthy(i)));
  auto mixed = node_with("28.39");
  mixed.infiniband->hcas[3].firmware = std::string("28.36");
  nodes.push_back(fleet_node(mixed, healthy(23)));
  EXPECT_THAT(
      fleet_table(nodes, 0, 80),
      AllOf(HasSubstr("odd      HCA firmware 28.36, most have 28.39: 2 nodes: n[0021-0022]\n"),
            HasSubstr("odd      HCA firmware 28.36 and 28.39, most have 28.39: n0023\n")));
}

TEST(FleetTest, ComparesNodesOfOneProfileAndNeedsAMajority) {
  std::vector<FleetNode> nodes;
  for (int i = 1; i <= 4; ++i) nodes.push_back(fleet_node(node_with("1.0"), healthy(i)));
  for (int i = 5; i <= 8; ++i) {
    auto report = healthy(i);
    report.profile = "q";
    nodes.push_back(fleet_node(node_with("2.0"), report));
  }
  EXPECT_THAT(fleet_table(nodes, 0, 80), Not(HasSubstr("odd ")));
  for (auto& node : nodes) node.profile = "p";
  EXPECT_THAT(fleet_table(nodes, 0, 80), Not(HasSubstr("odd ")));
}

TEST(FleetTest, AThousandNodesTakeFortyLinesOfEightyColumns) {
  std::vector<FleetNode> nodes;
  for (int i = 0; i < 1000; ++i) {
    const auto report =
        i % 3 == 0 ? sick(i, fmt::format("trouble {}",
                                         std::string(static_cast<std::size_t>(i) % 40 + 1, 'x')))
                   : healthy(i);
    nodes.push_back(fleet_node(node_with(fmt::format("28.{}", i % 50 == 0 ? i : 39)), report));
  }
  const auto table = fleet_table(nodes, 0, 80);
  EXPECT_LE(std::ranges::count(table, '\n'), 40) << table;
  EXPECT_THAT(table, HasSubstr("and 30 more causes\n"));
  const auto piped = fleet_table(nodes, 0, 0);
  EXPECT_EQ(std::ranges::count(piped, '\n'), 1 + 2 * 40 + 20);
  for (const auto line : split_lines(table)) EXPECT_LE(line.size(), 80U) << line;
}

}  // namespace
}  // namespace muster::app
