// SPDX-License-Identifier: Apache-2.0
// Benchmarks of NHC's lines and of hooks, run by a script that replaces muster-bench.
#include "checks/app/run_benchmarks.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <chrono>
#include <string>

#include "checks/app/inspect.hpp"
#include "lib/report/format.hpp"
#include "lib/report/summary.hpp"
#include "tests/checks/app/test_caller.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::app {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

class MeasureTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::string path(std::string_view name) const {
    return (dir_.path() / name).string();
  }

  // A shell script that replaces muster-bench.
  void script(std::string_view body) {
    dir_.write("muster-bench", fmt::format("#!/bin/sh\n{}\n", body));
    ::chmod(path("muster-bench").c_str(), 0755);
  }

  // Prints a report with this outcome of the bandwidth.
  void answering(Outcome outcome, std::string_view before = "") {
    const auto verdict = outcome == Outcome::fail ? Verdict::unhealthy : Verdict::healthy;
    const Report report{.node = "n3",
                        .profile = "generic",
                        .context = "manual",
                        .verdict = verdict,
                        .findings = {{.check = "bench.min_busbw",
                                      .device = "n3",
                                      .outcome = outcome,
                                      .message = "470 GB/s",
                                      .limit = 460.0}}};
    dir_.write("report.json", to_json(report, {.verbose = true}));
    printing_report(exit_status(verdict), before);
  }

  void printing_report(int status, std::string_view before) {
    script(
        fmt::format("{}\nwhile IFS= read -r line; do printf '%s\\n' \"$line\"; done <{}\nexit {}",
                    before, path("report.json"), status));
  }

  nhc::Measured measured(std::string_view line, const CheckCommand& command = {}) {
    Nvml nvml;
    nvml.gpus.resize(8);
    const Snapshot snapshot{.identity = observed(Identity{.hostname = "n3"}),
                            .nvml = observed(std::move(nvml))};
    const auto config = nhc::parse_config("nhc.conf", fmt::format("* || {}\n", line));
    TestCaller test;
    auto caller = test.caller();
    caller.bench = path("muster-bench");
    caller.variables = {{"NCCL_DEBUG", "WARN"}, {"NCCL_SHM_DISABLE", "0"}};
    auto bench = bench_for(command, caller);
    bench.longest = longest_;
    return run_benchmarks(config, snapshot, bench, deadline_);
  }

  // The outcome of the only line.
  Finding finding(std::string_view line, const CheckCommand& command = {}) {
    const auto all = measured(line, command);
    const auto found = all.find(1);
    EXPECT_NE(found, all.end());
    if (found == all.end()) return {};
    EXPECT_THAT(found->second, SizeIs(1));
    return found->second.front();
  }

  TempDir dir_;
  Clock::duration longest_ = seconds(60);
  Deadline deadline_{Clock::now() + seconds(20)};
};

TEST_F(MeasureTest, TheReportIsThatOfTheLine) {
  answering(Outcome::pass);
  EXPECT_EQ(finding("check_nccl_allreduce 460 1 16G").outcome, Outcome::pass);
  answering(Outcome::fail);
  const auto failed = finding("check_nccl_allreduce 460 1 16G");
  EXPECT_EQ(failed.outcome, Outcome::fail);
  EXPECT_EQ(failed.message, "470 GB/s");
  EXPECT_EQ(failed.device, "node");
}

TEST_F(MeasureTest, RunsWithoutAShell) {
  answering(Outcome::pass, fmt::format("printf '%s\\n' \"$@\" >{}", path("words")));
  const CheckCommand command{.profile = "generic; echo x", .settings = {"a.b='$(c) d'"}};
  EXPECT_EQ(finding("check_nccl_allreduce 460 1 1M", command).outcome, Outcome::pass);
  EXPECT_EQ(dir_.read("words"),
            "all_reduce\n--backend=nccl\n--launch=alone\n--local=8\n--min-busbw=460 GB/s\n"
            "--format=json\n--verbose\n--sizes=1048576\n--at=1048576\n--profile=generic; echo x\n"
            "--set=a.b='$(c) d'\n");
}

// The caller's limits are not the line's.
TEST_F(MeasureTest, ATestOfTheNodeRunsWithTheLimitOfTheLine) {
  answering(Outcome::pass, fmt::format("printf '%s\\n' \"$@\" >{}", path("words")));
  const CheckCommand command{.profile = "x", .settings = {"bench.stream.fail_below=1 GB/s"}};
  EXPECT_EQ(finding("check_cpu_stream 200000", command).outcome, Outcome::unknown);
  EXPECT_EQ(dir_.read("words"),
            "node\n--profile=generic\n--only=host.stream\n--format=json\n--verbose\n"
            "--set=bench.stream.fail_below=200000 MB/s\n"
            "--set=bench.stream.warn_below=200000 MB/s\n");
}

TEST_F(MeasureTest, TheCallersVariablesApplyExceptThoseOfTheCheck) {
  answering(Outcome::pass, fmt::format("echo \"$NCCL_DEBUG $NCCL_SHM_DISABLE $NCCL_TOPO_FILE\" >{}",
                                       path("seen")));
  dir_.write("topology.xml", "<system/>");
  const auto file = path("topology.xml");
  EXPECT_EQ(finding(fmt::format("check_nccl_allreduce_ib_loopback 18 1 8G {}", file)).outcome,
            Outcome::pass);
  EXPECT_EQ(dir_.read("seen"), fmt::format("WARN 1 {}\n", file));
}

TEST_F(MeasureTest, DoesNotRunWithoutItsTopologyFile) {
  answering(Outcome::pass);
  const auto finding = this->finding("check_nccl_allreduce_ib_loopback 18 1 8G /nowhere/x.xml");
  EXPECT_EQ(finding.outcome, Outcome::unknown);
  EXPECT_EQ(finding.message, "not judged: cannot read the topology file /nowhere/x.xml");
}

TEST_F(MeasureTest, TheFirstRunThatDoesNotFailDecides) {
  answering(Outcome::fail, fmt::format("echo run >>{}", path("runs")));
  EXPECT_EQ(finding("check_nccl_allreduce 460 3 16G").outcome, Outcome::fail);
  EXPECT_EQ(dir_.read("runs"), "run\nrun\nrun\n");
  answering(Outcome::pass, fmt::format("echo run >>{}", path("runs")));
  EXPECT_EQ(finding("check_nccl_allreduce 460 3 16G").outcome, Outcome::pass);
  EXPECT_EQ(dir_.read("runs"), "run\nrun\nrun\nrun\n");
}

TEST_F(MeasureTest, AProgramThatIsMissingCrashesFloodsOrHangsIsUnknown) {
  const auto expect_unknown = [&](std::string_view why) {
    const auto finding = this->finding("check_nccl_allreduce 460");
    EXPECT_EQ(finding.outcome, Outcome::unknown);
    EXPECT_THAT(finding.message, HasSubstr(std::string(why)));
  };
  expect_unknown(
      fmt::format("not judged: run {}: No such file or directory", path("muster-bench")));
  script("kill -SEGV $$");
  expect_unknown("not judged: muster-bench exited with status 139 without a report");
  script("while :; do echo 0123456789012345678901234567890123456789012345678901234567890123; done");
  expect_unknown("wrote more than 4194304 bytes");
  longest_ = std::chrono::milliseconds(50);
  script("exec /bin/sleep 600");
  expect_unknown("not judged: muster-bench did not answer within 0.05 s");
}

// Later benchmarks have as much time as before.
TEST_F(MeasureTest, ABenchmarkDoesNotCountAgainstTheDeadline) {
  const auto before = deadline_.when();
  answering(Outcome::pass);
  EXPECT_EQ(finding("check_nccl_allreduce 460").outcome, Outcome::pass);
  EXPECT_GT(deadline_.when(), before);
}

TEST_F(MeasureTest, ALongDeadlineAppliesToEachBenchmark) {
  TestCaller test;
  EXPECT_EQ(bench_for({}, test.caller()).longest, minutes(5));
  EXPECT_EQ(bench_for({.deadline = Seconds{2}}, test.caller()).longest, minutes(5));
  EXPECT_EQ(bench_for({.deadline = Seconds{900}}, test.caller()).longest, minutes(15));
}

// A hook judges a node by these in addition to its own checks.
class NodeTestsTest : public MeasureTest {
 protected:
  void answering_about_copies(Outcome outcome) {
    Report answer{.node = "n3", .profile = "generic", .context = "manual"};
    answer.findings = {{.check = "bench.host_copy",
                        .device = outcome == Outcome::pass ? "node" : "gpu3",
                        .outcome = outcome,
                        .message = "host to device 27.5 GB/s"}};
    conclude(answer, {"bench.host_copy"});
    dir_.write("report.json", to_json(answer, {.verbose = true}));
    printing_report(exit_status(answer.verdict),
                    fmt::format("printf '%s\\n' \"$@\" >{}", path("words")));
  }

  // The node was healthy, or not.
  Report after_tests(Outcome before = Outcome::pass, Clock::duration budget = seconds(20)) {
    Report report{.node = "n3", .profile = "generic", .context = "epilog"};
    report.findings = {{.check = "gpu.present", .device = "node", .outcome = before}};
    conclude(report, {"gpu.present"});
    TestCaller test;
    auto caller = test.caller();
    caller.bench = path("muster-bench");
    const Snapshot snapshot{.nvml = observed(nvml_)};
    const auto bench = bench_for({.profile = "generic"}, caller);
    took_ = add_node_tests(report, snapshot, "gpu.copy,gpu.truth", budget, bench);
    return report;
  }

  Nvml nvml_;
  Clock::duration took_{};
};

TEST_F(NodeTestsTest, AGpuThatFailsItsTestMakesTheNodeUnhealthy) {
  answering_about_copies(Outcome::fail);
  const auto report = after_tests();
  EXPECT_EQ(report.verdict, Verdict::unhealthy);
  EXPECT_EQ(report.findings.front().check, "bench.host_copy");
  EXPECT_EQ(report.findings.front().device, "gpu3");
  EXPECT_GT(took_, Clock::duration{});
  EXPECT_EQ(dir_.read("words"),
            "node\n--level=quick\n--only=gpu.copy,gpu.truth\n--budget=19.0 s\n--format=json\n"
            "--verbose\n--profile=generic\n");
}

TEST_F(NodeTestsTest, TestsThatPassAreInTheReport) {
  answering_about_copies(Outcome::pass);
  const auto report = after_tests();
  EXPECT_EQ(report.verdict, Verdict::healthy);
  ASSERT_EQ(report.checks.size(), 2U);
  EXPECT_EQ(report.checks[1].id, "bench.host_copy");
  EXPECT_EQ(report.checks[1].outcome, Outcome::pass);
}

TEST_F(NodeTestsTest, ATestThatCouldNotRunIsUnknown) {
  script("echo 'muster-bench: no test is called \"gpu.cpy\"' >&2\nexit 64");
  auto report = after_tests();
  EXPECT_EQ(report.verdict, Verdict::unknown);
  EXPECT_EQ(report.findings.front().message,
            "muster-bench exited with status 64 without a report: muster-bench: no test is "
            "called \"gpu.cpy\"");
  script("sleep 60");
  report = after_tests(Outcome::pass, std::chrono::milliseconds(300));
  EXPECT_EQ(report.verdict, Verdict::unknown);
  EXPECT_THAT(report.findings.front().message, HasSubstr("did not answer within"));
  // It was killed after it printed its report.
  answering_about_copies(Outcome::pass);
  printing_report(137, "");
  report = after_tests();
  EXPECT_EQ(report.verdict, Verdict::unknown);
  EXPECT_THAT(report.findings.front().message, HasSubstr("exited with status 137"));
}

TEST_F(NodeTestsTest, NothingRunsOnASickNodeOrOnBusyGpus) {
  answering_about_copies(Outcome::fail);
  EXPECT_EQ(after_tests(Outcome::fail).findings.size(), 1U);
  nvml_.gpus.resize(2);
  nvml_.gpus[1].index = 1;
  nvml_.gpus[1].processes = std::vector<GpuProcess>{{.pid = 7, .name = "python"}};
  const auto report = after_tests();
  EXPECT_EQ(report.verdict, Verdict::healthy);
  EXPECT_EQ(report.findings.back().outcome, Outcome::skip);
  EXPECT_EQ(report.findings.back().message,
            "the tests of the node do not run: python (7) uses gpu1");
  EXPECT_EQ(dir_.read("words"), "");
  EXPECT_EQ(took_, Clock::duration{});
}

// Judges only a line that passes on every machine; a script replaces muster-bench.
TEST(HookCheckTest, TheTestsOfTheSiteAreJudgedWithTheNode) {
  const TempDir dir;
  dir.write("nhc.conf", "* || check_hw_eth lo\n");
  dir.write("muster-bench", "#!/bin/sh\nexit 3\n");
  const auto program = dir.path() / "muster-bench";
  ::chmod(program.c_str(), 0755);
  TestCaller test;
  auto caller = test.caller();
  caller.bench = program;
  HookCommand command{.context = "epilog",
                      .profile = "generic",
                      .nhc_conf = (dir.path() / "nhc.conf").string(),
                      .nvml = "/nowhere",
                      .state = dir.path().string(),
                      .dry_run = true};
  const auto verdict_of = [&] {
    Deadline deadline(Clock::now() + std::chrono::seconds(30));
    const auto checked = check_node(command, "", caller, deadline);
    EXPECT_TRUE(checked);
    return checked ? checked->report.verdict : Verdict::unhealthy;
  };
  EXPECT_EQ(verdict_of(), Verdict::healthy);
  command.tests = "gpu.copy";
  command.tests_budget = Seconds{20};
  EXPECT_EQ(verdict_of(), Verdict::unknown) << "the script is not muster-bench";
  command.root = "/proc/self/root";
  EXPECT_EQ(verdict_of(), Verdict::healthy) << "another root's node cannot be tested";
}

}  // namespace
}  // namespace muster::app
