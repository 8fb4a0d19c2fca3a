// SPDX-License-Identifier: Apache-2.0
#include "bench/run/reporting.hpp"

#include <fmt/format.h>

#include "lib/base/text.hpp"
#include "lib/report/bench_checks.hpp"
#include "tests/bench/results/sample_rows.hpp"
#include "tests/support/files.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::bench {
namespace {

using ::testing::UnorderedElementsAre;

RunRecord two_ranks() {
  RunRecord known;
  known.choice.profile.name = "generic";
  known.choice.evidence = {"named by --profile"};
  known.started = "2026-01-01T00:00:00Z";
  known.begin = std::chrono::steady_clock::now();
  known.hosts = {"a", "b"};
  for (int rank = 0; rank < 2; ++rank) {
    known.members.push_back({.rank = rank,
                             .host = rank == 0 ? "a" : "b",
                             .device = "host memory",
                             .device_id = "host"});
  }
  known.facts.backend = "tcp";
  known.facts.library = "TCP of muster-bench";
  known.rows = {row_at(all_reduce_of(8), 2, 1.5)};
  return known;
}

// After the only collective.
Report report_after(RunRecord record, const BenchCommand& command = {}) {
  end_collective(record, command);
  return report_of(record, command);
}

std::vector<std::string> outcomes_of(const Report& report) {
  std::vector<std::string> outcomes;
  for (const auto& each : report.findings) {
    outcomes.push_back(fmt::format("{} {}", to_string(each.outcome), each.check));
  }
  return outcomes;
}

TEST(RunRecordTest, ACompletedRunHasEveryCheck) {
  auto known = two_ranks();
  known.transport.pairs = {"NET/Socket: 0 to 1"};
  known.transport.warnings = {"NET/IB : Unable to open device mlx5_ib0"};
  const auto report = report_after(known);
  EXPECT_EQ(report.ways, known.transport.pairs);
  EXPECT_EQ(report.warnings, known.transport.warnings);
  EXPECT_EQ(report.node, std::nullopt);
  EXPECT_EQ(report.profile, "generic");
  EXPECT_EQ(report.verdict, Verdict::unknown);  // the bandwidth has no limit
  EXPECT_EQ(report.nodes, (std::vector<std::string>{"a", "b"}));
  EXPECT_THAT(report.measurements, SizeIs(2));
  EXPECT_THAT(outcomes_of(report),
              UnorderedElementsAre("pass bench.data", "pass bench.completion",
                                   "skip bench.transport", "unknown bench.job_all_reduce"));
}

TEST(RunRecordTest, JudgesEachOfSeveralCollectives) {
  auto known = two_ranks();
  BenchCommand command;
  command.collectives = {Collective::all_reduce, Collective::all_gather};
  const auto each = of_each_collective(command);
  end_collective(known, each[0]);
  EXPECT_THAT(known.rows, SizeIs(0));
  auto operation = all_reduce_of(1024);
  operation.collective = Collective::all_gather;
  known.rows = {row_at(operation, 2, 1.5)};
  end_collective(known, each[1]);
  const auto report = report_of(known, command);
  EXPECT_THAT(
      outcomes_of(report),
      UnorderedElementsAre("pass bench.data", "pass bench.completion", "skip bench.transport",
                           "unknown bench.job_all_reduce", "unknown bench.job_all_gather"));
  ASSERT_THAT(report.measurements, SizeIs(4));
  EXPECT_EQ(report.measurements[0].conditions.collective, "all_reduce");
  EXPECT_EQ(report.measurements[3].conditions.collective, "all_gather");
}

TEST(RunRecordTest, JudgesTheLimitOfTheCommandLine) {
  BenchCommand command;
  command.min_busbw = BytesPerSecond{2e9};
  const auto report = report_after(two_ranks(), command);
  EXPECT_EQ(report.verdict, Verdict::unhealthy);
  EXPECT_EQ(report.findings.front().check, "bench.min_busbw");
}

TEST(RunRecordTest, ReportsTroubleAndKeepsMeasurements) {
  const Trouble trouble{.kind = Trouble::Kind::lost,
                        .phase = "all_reduce of 16 B",
                        .what = "rank 1 ended unexpectedly",
                        .ranks = {1}};
  const auto report = report_of(two_ranks(), trouble);
  EXPECT_EQ(report.verdict, Verdict::unhealthy);
  EXPECT_THAT(report.measurements, SizeIs(2));
  EXPECT_EQ(outcomes_of(report).at(0), "fail bench.completion");
  EXPECT_EQ(report.findings[0].device, "b");
  EXPECT_EQ(report.findings[0].message,
            "rank 1 on b was lost in all_reduce of 16 B: rank 1 ended unexpectedly");
}

TEST(RunRecordTest, ReportsTroubleBeforeTheRanksMeet) {
  RunRecord known;
  known.hosts = {"a"};
  const auto report = report_of(
      known, Trouble{.kind = Trouble::Kind::absent, .phase = "rendezvous", .ranks = {1, 2}});
  EXPECT_EQ(report.node, "a");
  EXPECT_EQ(report.verdict, Verdict::unknown);
  EXPECT_THAT(report.findings, SizeIs(1));
  EXPECT_THAT(report.findings[0].message, HasSubstr("ranks 1-2 did not reach rendezvous"));
}

TEST(RunRecordTest, ASignalIsNotAVerdictAboutTheNodes) {
  const auto report = report_of(
      two_ranks(),
      Trouble{.kind = Trouble::Kind::stopped, .phase = {"start", Part::starting}, .ranks = {0}});
  EXPECT_EQ(report.verdict, Verdict::unknown);
}

TEST(RunRecordTest, ProvidesTheFactsForLimits) {
  auto known = two_ranks();
  known.transport.facts.over = "nvlink";
  const auto facts = facts_of(known);
  EXPECT_EQ(facts.nodes, 2);
  EXPECT_EQ(facts.ranks, 2);
  EXPECT_EQ(facts.node, "a");
  EXPECT_EQ(facts.backend, "tcp");
  EXPECT_EQ(facts.over, "nvlink");
}

TEST(RunRecordTest, WithoutALimitAndDevicesItIsATrial) {
  auto known = two_ranks();
  const auto judged = [&](const BenchCommand& command = {}) {
    const auto report = report_after(known, command);
    EXPECT_NE(report.verdict, Verdict::healthy);
    return report.judged;
  };
  EXPECT_TRUE(judged());
  known.facts.bare = true;
  EXPECT_FALSE(judged());
  EXPECT_EQ(exit_status(report_after(known)), kExitHealthy);
  EXPECT_TRUE(judged({.min_busbw = BytesPerSecond{9e9}})) << "a limit that is missed";
  EXPECT_TRUE(judged({.acceptance = true}));
  EXPECT_TRUE(judged({.require_transport = {"ib"}})) << "something else is unknown";
  known.limited = true;
  EXPECT_TRUE(judged()) << "another collective has a limit";
  known.limited = false;
  known.rows[0].in_place->wrong = {{.rank = 0, .elements = 1}};
  EXPECT_TRUE(judged()) << "wrong data";
  known = two_ranks();
  known.facts.bare = true;
  known.choice.profile.bench->job_all_reduce = {
      {.size = Bytes{1024}, .nodes_at_least = 2, .fail_below = BytesPerSecond{1e9}}};
  EXPECT_TRUE(judged()) << "the site's profile has a limit, for another size";
}

TEST(RunRecordTest, PartsWithoutALimitAndDevicesAreATrial) {
  auto known = two_ranks();
  known.facts.bare = true;
  for (int part = 0; part < 2; ++part) known.parts.push_back({"part", {part}, known.rows});
  known.rows.clear();
  const auto report = report_after(known, {.split = Split{.by = Split::By::count, .count = 1}});
  EXPECT_EQ(report.verdict, Verdict::unknown);
  EXPECT_FALSE(report.judged);
}

TEST(RunRecordTest, TheTableHasTheRequestedSizes) {
  const auto head = table_head(two_ranks(), {.max = 1 << 20, .factor = 4}, {8, 32, 524288});
  EXPECT_EQ(head.min_bytes, 8U);
  EXPECT_EQ(head.max_bytes, 1048576U);
  const auto by_step = table_head(two_ranks(), {.step = 4}, {8, 12});
  EXPECT_EQ(by_step.max_bytes, 12U);
  EXPECT_EQ(by_step.step, 4U);
  EXPECT_EQ(table_head(two_ranks(), {.sizes = {64, 8}}, {64, 8}).factor, 0U);
}

class PrinterTest : public ::testing::Test {
 protected:
  PrinterTest() {
    console.out = [this](std::string_view text) -> Result<void> {
      if (broken) return make_error("write: No space left on device");
      out += text;
      return {};
    };
    console.note = [](std::string_view /*line*/) {};
    report.node = "gpu-0001";
    report.profile = "generic";
    report.findings = {{.check = "bench.data",
                        .device = "job",
                        .outcome = Outcome::fail,
                        .message = "rank 5: element 7 is -3, expected 3"}};
  }

  std::string out;
  bool broken = false;
  Console console;
  BenchCommand command;
  Report report;
};

TEST_F(PrinterTest, PrintsTheTableAtOnceAndTheReportAsItsComment) {
  Printer printer(command, console);
  printer.remark("a remark");
  printer.print("  8  2  float\n");
  EXPECT_EQ(out, "# a remark\n  8  2  float\n");
  out.clear();
  ASSERT_TRUE(printer.finish(report).has_value());
  EXPECT_THAT(split_lines(out), Each(StartsWith("#")));
  EXPECT_THAT(out, HasSubstr("rank 5: element 7 is -3, expected 3"));
}

TEST_F(PrinterTest, EndsWithTheReasonForStatusTwo) {
  report.verdict = Verdict::unknown;
  report.findings[0].outcome = Outcome::unknown;
  report.findings[0].message = "not judged: no limit";
  std::string note;
  console.note = [&](std::string_view line) { note = line; };
  ASSERT_TRUE(Printer(command, console).finish(report));
  EXPECT_EQ(split_lines(out).back(),
            "# could not decide (status 2): bench.data job: not judged: no limit");
  EXPECT_EQ(note, "");
  command.format = Format::json;
  ASSERT_TRUE(Printer(command, console).finish(report));
  EXPECT_EQ(note,
            "muster-bench: could not decide (status 2): bench.data job: not judged: no limit");
  out.clear();
  command.format = Format::text;
  report.judged = false;
  ASSERT_TRUE(Printer(command, console).finish(report));
  EXPECT_EQ(out.find("could not decide"), std::string::npos);
}

TEST_F(PrinterTest, ShowsProgressOnlyOnATerminalAndClearsIt) {
  {
    Printer printer(command, console);
    printer.progress("all_reduce of 8 GiB");
    EXPECT_EQ(out, "");
  }
  console.width = 20;
  Printer printer(command, console);
  printer.progress("all_reduce of 8 GiB; about 40 s left");
  EXPECT_THAT(out, StartsWith("\r\033[K# all_reduce of"));  // cut to the terminal's width
  EXPECT_EQ(out.find("left"), std::string::npos);
  out.clear();
  printer.print("row\n");
  EXPECT_EQ(out, "\r\033[Krow\n");
  out.clear();
  printer.progress("the last");
  ASSERT_TRUE(printer.finish(report).has_value());
  EXPECT_THAT(out, StartsWith("\r\033[K# the last\r\033[K# "));
  out.clear();
  command.quiet = true;
  printer.progress("nothing");
  EXPECT_EQ(out, "");
}

TEST_F(PrinterTest, AlwaysShowsTheBandwidthChecks) {
  for (const auto check : kBandwidthChecks) {
    report.findings = {{.check = std::string(check),
                        .device = "job",
                        .outcome = Outcome::skip,
                        .message = "without a limit"}};
    out.clear();
    Printer printer(command, console);
    ASSERT_TRUE(printer.finish(report).has_value());
    EXPECT_THAT(out, StartsWith(fmt::format("# skip     {}  job  without a limit\n", check)));
  }
}

TEST_F(PrinterTest, KeepsTheTableForTheFile) {
  const TempDir folder;
  command.output = (folder.path() / "report").string();
  Printer printer(command, console);
  printer.print("  8  2  float\n");
  EXPECT_FALSE(std::filesystem::exists(command.output));
  ASSERT_TRUE(printer.finish(report).has_value());
  EXPECT_EQ(out, "");
  EXPECT_THAT(content_of(command.output), StartsWith("  8  2  float\n#"));
}

TEST_F(PrinterTest, DetectsEarlyThatAFileCannotBeWritten) {
  const TempDir folder;
  command.output = (folder.path() / "report").string();
  EXPECT_TRUE(Printer(command, console).can_finish());
  EXPECT_TRUE(std::filesystem::is_empty(folder.path())) << "the check leaves nothing behind";
  command.output.clear();
  EXPECT_TRUE(Printer(command, console).can_finish());
}

TEST_F(PrinterTest, PrintsTheReportIfTheFileCannotBeWritten) {
  const TempDir folder;
  command.output = (folder.path() / "missing" / "report").string();
  Printer printer(command, console);
  const auto can = printer.can_finish();
  ASSERT_FALSE(can);
  EXPECT_EQ(can.error().message,
            fmt::format("--output: create {}: No such file or directory", command.output));
  printer.print("  8  2  float\n");
  EXPECT_FALSE(printer.finish(report));
  EXPECT_THAT(out, StartsWith("  8  2  float\n#"));
}

TEST_F(PrinterTest, PrintsNoTableForAnotherProgramOrIfQuiet) {
  for (const auto format : {Format::json, Format::text}) {
    command.format = format;
    command.quiet = format == Format::text;
    Printer printer(command, console);
    printer.remark("a remark");
    printer.print("  8  2  float\n");
    EXPECT_EQ(out, "");
  }
}

TEST_F(PrinterTest, ReturnsTheFirstFailedWrite) {
  Printer printer(command, console);
  broken = true;
  printer.print("  8  2  float\n");
  broken = false;
  const auto finished = printer.finish(report);
  ASSERT_FALSE(finished.has_value());
  EXPECT_EQ(finished.error().message, "write: No space left on device");
  EXPECT_EQ(out, "");
}

}  // namespace

}  // namespace muster::bench
