// SPDX-License-Identifier: Apache-2.0
// The command line of `muster-bench node`, its report, and its table of tests.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "bench/backends/nccl/binding.hpp"
#include "bench/node/host.hpp"
#include "bench/node/node_command.hpp"
#include "bench/node/test.hpp"
#include "bench/node/test_report.hpp"
#include "lib/base/text.hpp"
#include "lib/process/child.hpp"
#include "lib/report/bench_checks.hpp"
#include "tests/bench/command/command_run.hpp"
#include "tests/fakes/nvml/scenario.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::bench::node {
namespace {

Ended run_node(const std::vector<const char*>& words) { return ended_of(run, words); }

std::string error_of(const std::vector<const char*>& words) {
  const auto parsed = parse(words);
  return parsed ? "" : parsed.error().message;
}

TEST(NodeCommandTest, RefusesUnknownWords) {
  EXPECT_THAT(error_of({"--only", "host.strem"}), HasSubstr("did you mean host.stream?"));
  EXPECT_THAT(error_of({"--level", "quik"}), HasSubstr("did you mean quick?"));
  EXPECT_THAT(error_of({"--set", "x"}), HasSubstr("expects KEY=VALUE"));
  EXPECT_THAT(error_of({"--skip", "*"}), HasSubstr("no test is left to run"));
  EXPECT_THAT(error_of({"--budget", "0 s"}), HasSubstr("above zero"));
  EXPECT_THAT(error_of({"--size", "1 KiB"}), HasSubstr("at least 64 KiB"));
  EXPECT_THAT(error_of({"all_reduce"}), HasSubstr("unexpected argument"));
  EXPECT_EQ(run_node({"--only", "nothing"}).status, kExitUsage);
}

TEST(NodeCommandTest, AnUnknownKeyIsBadConfiguration) {
  const auto ended = run_node({"--profile", "generic", "--set", "bench.strem.fail_below=1 GB/s"});
  EXPECT_EQ(ended.status, kExitConfiguration);
  EXPECT_THAT(ended.notes, HasSubstr("stream"));
}

TEST(NodeCommandTest, HelpNamesEveryTestWithinEightyColumns) {
  const auto ended = run_node({"--help"});
  EXPECT_EQ(ended.status, kExitHealthy);
  for (const auto& test : node_tests()) EXPECT_THAT(ended.out, HasSubstr(std::string(test.name)));
  for (const auto line : split_lines(ended.out)) EXPECT_LE(line.size(), 80U) << line;
}

TEST(NodeTestsTest, EveryTestHasACheckThatCanBeExplained) {
  for (const auto& test : node_tests()) {
    const auto* const check_of_it = find_bench_check(test.check);
    ASSERT_NE(check_of_it, nullptr) << test.name;
    EXPECT_FALSE(check_of_it->judges_run) << test.name;
    EXPECT_NE(test.run, nullptr) << test.name;
    EXPECT_EQ(test.limit(), test.bounds == nullptr ? "" : test.check.substr(6)) << test.name;
  }
}

// `quick` fits a minute of an 8-GPU node, and `full` five.
TEST(NodeTestsTest, EachLevelFitsItsTime) {
  double quick = 0;
  double full = 0;
  for (const auto& test : node_tests()) {
    if (test.times.from == Level::quick) quick += test.times.quick_s;
    if (test.times.from != Level::soak) full += test.times.full_s;
  }
  EXPECT_LE(quick, 60);
  EXPECT_LE(full, 300);
}

// Judged by collectives.
constexpr std::array kJobs{"node_all_reduce",    "job_all_reduce", "job_all_gather",
                           "job_reduce_scatter", "job_alltoall",   "transport",
                           "environment"};

TEST(NodeTestsTest, EveryLimitOfAProfileHasAJudge) {
  for_each_field<BenchLimits>([](const auto& field) {
    const bool of_jobs = std::ranges::find(kJobs, field.name) != kJobs.end();
    const bool of_node =
        std::ranges::find(node_tests(), field.name, &NodeTest::limit) != node_tests().end();
    EXPECT_TRUE(of_jobs || of_node) << field.name;
    if (field.name == "environment") return;
    EXPECT_NE(find_bench_check(fmt::format("bench.{}", field.name)), nullptr) << field.name;
  });
}

TEST(NodeRunTest, JudgesByTheGivenLimit) {
  const auto restriction = restriction_of_cpus(Root(), *own_cpus());
  if (!restriction.empty()) GTEST_SKIP() << "only " << restriction;
  const auto ended = run_node({"--only", "host.stream", "--profile", "generic", "--set",
                               "bench.stream.fail_below=100000 GB/s", "--set",
                               "bench.stream.size=8 MiB", "--size", "8 MiB", "--format", "json"});
  EXPECT_EQ(ended.status, kExitUnhealthy) << ended.notes;
  const auto report = nlohmann::json::parse(ended.out);
  EXPECT_EQ(report["verdict"], "unhealthy");
  EXPECT_EQ(report["checks"],
            nlohmann::json::parse(R"([{"id": "bench.stream", "outcome": "fail"}])"));
  EXPECT_EQ(report["measurements"][3]["quantity"], "stream_triad");
  EXPECT_EQ(report["measurements"][3]["conditions"]["test"], "host.stream");
  EXPECT_EQ(report["measurements"][3]["conditions"]["device"], "node");
}

TEST(NodeRunTest, PrintsTheReportIfTheFileCannotBeWritten) {
  const auto ended = run_node({"--only", "host.latency", "--profile", "generic", "--size", "1MiB",
                               "--output", "/dev/full"});
  EXPECT_EQ(ended.status, kExitUndecided);
  EXPECT_THAT(ended.out, HasSubstr("bench.memory_latency"));
  EXPECT_THAT(ended.notes, HasSubstr("--output: write /dev/full: No space left on device"));
}

TEST(NodeRunTest, NamesASmallBudget) {
  const auto ended =
      run_node({"--only", "host.latency", "--profile", "generic", "--budget", "10ms", "--quiet"});
  EXPECT_EQ(ended.status, kExitUndecided);
  EXPECT_THAT(ended.out, HasSubstr("too little is left of the budget of 10 ms (--budget)"));
}

// Runs in a child process, for the variables.
nlohmann::json report_with(const std::map<std::string, std::string>& variables,
                           std::vector<const char*> words) {
  words.insert(words.end(), {"--format", "json", "--profile", "generic"});
  const auto out = ask_child("test", std::chrono::seconds(60), [&] {
    for (const auto& [name, value] : variables) {
      // NOLINTNEXTLINE(concurrency-mt-unsafe): the child has one thread
      ::setenv(name.c_str(), value.c_str(), 1);
    }
    return run_node(words).out;
  });
  return nlohmann::json::parse(out.value_or("null"));
}

TEST(NodeRunTest, ASoakLastsAsLongAsTheBudget) {
  const TempDir folder;
  folder.write("gpus.json", R"({"gpus": 1, "node": {"gemm": {"bf16": 0.01}}})");
  const auto launches = [&](const char* budget) {
    const auto report =
        report_with({{"MUSTER_FAKE_GPU", (folder.path() / "gpus.json").string()}},
                    {"--only", "gpu.soak", "--budget", budget, "--size", "1 MiB", "--nvml",
                     "/nowhere", "--cuda", MUSTER_FAKES "/cuda/libcuda.so.1", "--cublas",
                     MUSTER_FAKES "/cublas/libcublasLt.so.13"});
    const auto measured = report.value("measurements", nlohmann::json::array());
    return measured.empty() ? 0.0 : measured[0]["conditions"]["iterations"].get<double>();
  };
  EXPECT_EQ(launches("19 s"), 0);
  EXPECT_NEAR(launches("30 s"), 4 * 20, 8);
  EXPECT_NEAR(launches("60 s"), 4 * 40, 16);
}

Nvml eight_gpus(std::vector<GpuProcess> on_gpu_3) {
  Nvml nvml;
  for (unsigned i = 0; i < 8; ++i) {
    nvml.gpus.push_back({.index = i, .address = fmt::format("0000:0{}:00.0", i)});
    nvml.gpus.back().uuid = fmt::format("GPU-{}", i);
    nvml.gpus.back().processes = i == 3 ? on_gpu_3 : std::vector<GpuProcess>{};
  }
  return nvml;
}

TEST(NodeRunTest, WaitsForProcessesThatAreLeaving) {
  const TempDir folder;
  const auto verdict = [&] {
    const auto report = report_with({{"MUSTER_FAKE_NVML", (folder.path() / "nvml").string()}},
                                    {"--only", "gpu.truth", "--cuda", "/nowhere/libcuda.so.1",
                                     "--nvml", MUSTER_FAKES "/nvml-580/libnvidia-ml.so.1"});
    for (const auto& check : report["checks"]) {
      if (check["id"] == "bench.in_use") return check["outcome"].get<std::string>();
    }
    return std::string();
  };
  folder.write("nvml", fakes::to_text({.nvml = eight_gpus({{.pid = 1}})}));
  EXPECT_EQ(verdict(), "unknown");
  const std::jthread leaves([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    folder.write("later", fakes::to_text({.nvml = eight_gpus({})}));
    std::filesystem::rename(folder.path() / "later", folder.path() / "nvml");
  });
  EXPECT_EQ(verdict(), "skip");  // the GPU is free, but without CUDA no test runs
}

TEST(NodeInUseTest, NamesTheProcessOnAGpu) {
  const auto findings =
      judge_use(observed(eight_gpus({{.pid = 1234, .name = "python3", .job = "77"}})), "");
  EXPECT_THAT(findings,
              ElementsAre(Finding{.check = "bench.in_use",
                                  .device = "gpu3",
                                  .outcome = Outcome::unknown,
                                  .message = "in use by python3 (process 1234, job 77)"}));
  EXPECT_EQ(first_use(findings), "gpu3 is in use by python3 (process 1234, job 77)");
}

TEST(NodeInUseTest, ExplainsSlowCopiesByANarrowLink) {
  auto nvml = observed(eight_gpus({}));
  for (auto& gpu : nvml->gpus) gpu.link = {.width = 16U, .width_max = 16U};
  nvml->gpus[3].link.width = 8U;
  const Finding slow{.check = "bench.host_copy", .outcome = Outcome::fail, .message = "slow"};
  std::vector findings(2, slow);
  findings[0].device = "gpu2";
  findings[1].device = "gpu3";
  add_causes(findings, nvml);
  EXPECT_EQ(findings[0].message, "slow");
  EXPECT_EQ(findings[1].message, "slow; its PCI link has 8 of 16 lanes");
}

TEST(NodeInUseTest, IgnoresInvisibleGpus) {
  const auto nvml = observed(eight_gpus({{.pid = 1234, .name = "python3"}}));
  EXPECT_EQ(judge_use(nvml, "0,1,2").at(0).outcome, Outcome::pass);
  EXPECT_EQ(judge_use(nvml, "2, 3").at(0).device, "gpu3");
  EXPECT_EQ(judge_use(nvml, "GPU-8932f937").at(0).device, "gpu3");
}

TEST(NodeInUseTest, FindsNothingWithoutNvml) {
  EXPECT_EQ(judge_use(observed(eight_gpus({})), "").at(0).outcome, Outcome::pass);
  EXPECT_EQ(judge_use(Section<Nvml>{}, "").at(0).outcome, Outcome::skip);
  EXPECT_EQ(first_use(judge_use(Section<Nvml>{.status = Status::timeout, .reason = "late"}, "")),
            "");
}

const NodeTest kPlain{.name = "host.plain", .about = "nothing", .check = "bench.stream"};

TEST(NodeOutcomeTest, FailedTestsAreUnknownAndMissingDevicesSkipped) {
  const auto of = [](Result<TestResult> result) {
    return findings_of({.test = &kPlain, .result = std::move(result)}, Profile{});
  };
  EXPECT_THAT(of(make_error("no answer within 2 s")),
              ElementsAre(Finding{.check = "bench.stream",
                                  .device = "node",
                                  .outcome = Outcome::unknown,
                                  .message = "host.plain: no answer within 2 s"}));
  EXPECT_EQ(of(make_missing("no GPU")).at(0).outcome, Outcome::skip);
  EXPECT_EQ(of(TestResult{}).at(0).outcome, Outcome::unknown);
}

TEST(NodeOutcomeTest, IdleGpusAreNotAVerdict) {
  const Finding idle{.check = "bench.in_use", .outcome = Outcome::pass, .message = "idle"};
  const Finding skipped{.check = "bench.hca_write", .outcome = Outcome::skip, .message = "none"};
  std::vector<Finding> findings{idle, skipped};
  leave_undecided_without_tests(findings);
  EXPECT_EQ(findings[0].outcome, Outcome::skip);
  findings = {idle, {.check = "bench.stream", .outcome = Outcome::pass, .message = "fast"}};
  leave_undecided_without_tests(findings);
  EXPECT_EQ(findings[0].outcome, Outcome::pass);
}

TEST(NodeOutcomeTest, AMeasurementIncludesItsRepeats) {
  const std::vector<double> repeats{11, 8, 9, 10, 12, 14, 10, 9, 11, 10, 9, 12};
  TestResult result;
  result.series.push_back(
      {.what = "copy",
       .quantity = "stream_copy",
       .unit = "GB/s",
       .values = {best_of("numa0", repeats), value_of("numa1", {7}), {.device = "node"}}});
  const auto measurements = measurements_of({.test = &kPlain, .result = result});
  ASSERT_EQ(measurements.size(), 3U);
  ASSERT_TRUE(measurements[0].repeats);
  EXPECT_EQ(measurements[0].value, 14);
  EXPECT_EQ(measurements[0].repeats->count, 12);
  EXPECT_EQ(measurements[0].repeats->min, 8);
  EXPECT_EQ(measurements[0].repeats->median, 10);
  EXPECT_EQ(measurements[0].repeats->max, 14);
  EXPECT_NEAR(measurements[0].repeats->deviation, 1.4826, 1e-9);
  ASSERT_TRUE(measurements[0].repeats->median_low && measurements[0].repeats->median_high);
  EXPECT_LE(*measurements[0].repeats->median_low, 10);
  EXPECT_GE(*measurements[0].repeats->median_high, 10);
  EXPECT_FALSE(measurements[1].repeats) << "measured once";
  EXPECT_FALSE(measurements[2].repeats);
  for (const auto& each : measurements) EXPECT_FALSE(each.statistics);
}

TEST(NodeSeriesTest, AddsTheMedianAndTheScatterOfRepeats) {
  Series series;
  const auto& value = series.add("gpu0", {10, 11, 9, 10, 30});
  EXPECT_EQ(value.value, 10);
  EXPECT_NEAR(value.noise, 0.14826, 1e-9) << "one outlier does not count";
  EXPECT_EQ(series.iterations, 5);
}

TEST(NodeResultTest, RoundTripsThroughThePipe) {
  TestResult result;
  result.series.push_back({.what = "copy",
                           .quantity = "stream_copy",
                           .unit = "GB/s",
                           .values = {{.device = "node", .value = 1.5, .noise = 0.1, .group = "g"},
                                      value_of("numa0", {1, 2, 3}),
                                      value_of("numa1", {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})}});
  result.findings.push_back({.device = "gpu1",
                             .outcome = Outcome::fail,
                             .message = "a \xff byte",
                             .remedy = Remedy::reset_gpu});
  result.lines = {"one line"};
  const auto back = parse_result(to_json(Result<TestResult>(result)));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->series, result.series);
  EXPECT_EQ(back->lines, result.lines);
  EXPECT_EQ(back->findings.at(0).remedy, Remedy::reset_gpu);
  const auto error = parse_result(to_json(Result<TestResult>(make_missing("no GPU"))));
  EXPECT_EQ(error.error(), (Error{.message = "no GPU", .missing = true}));
  EXPECT_FALSE(parse_result("{"));
}

}  // namespace
}  // namespace muster::bench::node
