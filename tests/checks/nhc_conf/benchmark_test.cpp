// SPDX-License-Identifier: Apache-2.0
// What muster-bench is asked for a line, and what is believed of its answer.
#include "checks/nhc_conf/benchmark.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "checks/nhc_conf/judge.hpp"
#include "lib/report/format.hpp"
#include "tests/support/printers.hpp"

namespace muster::nhc::benchmark_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

Snapshot node_with(std::size_t gpus) {
  Nvml nvml;
  nvml.gpus.resize(gpus);
  return {.identity = observed(Identity{.hostname = "n3"}), .nvml = observed(std::move(nvml))};
}

Config lines(std::string_view text) { return parse_config("nhc.conf", text); }

// Of a configuration with one line for a benchmark.
Result<Benchmark> asked(std::string_view command, const Snapshot& snapshot = node_with(8)) {
  const auto found = benchmarks_on(lines(fmt::format("* || {}\n", command)), snapshot);
  EXPECT_THAT(found, SizeIs(1));
  return found.empty() ? Result<Benchmark>() : found.front().benchmark;
}

std::string refusal(std::string_view command, const Snapshot& snapshot = node_with(8)) {
  const auto benchmark = asked(command, snapshot);
  return benchmark ? "taken" : benchmark.error().message;
}

TEST(NhcBenchmarkTest, AsksForTheBandwidthAtTheSizeOfTheLine) {
  const auto benchmark = asked("check_nccl_allreduce 460.0 3 16G $AZ_NHC_ROOT/topofiles/ndv5.xml");
  ASSERT_TRUE(benchmark);
  EXPECT_THAT(benchmark->words,
              ElementsAre("all_reduce", "--backend=nccl", "--launch=alone", "--local=8",
                          "--min-busbw=460 GB/s", "--format=json", "--verbose",
                          "--sizes=17179869184", "--at=17179869184"));
  EXPECT_THAT(benchmark->environment, IsEmpty());
  EXPECT_EQ(benchmark->topology_file, "");
  EXPECT_EQ(benchmark->attempts, 3);
}

TEST(NhcBenchmarkTest, LeavesOutWhatTheLineDoesNotSay) {
  const auto benchmark = asked("check_nccl_allreduce 228.5");
  ASSERT_TRUE(benchmark);
  EXPECT_THAT(benchmark->words,
              ElementsAre("all_reduce", "--backend=nccl", "--launch=alone", "--local=8",
                          "--min-busbw=228.5 GB/s", "--format=json", "--verbose"));
  EXPECT_EQ(benchmark->attempts, 1);
}

TEST(NhcBenchmarkTest, LoopbackGoesThroughTheAdaptersOrFails) {
  const auto benchmark = asked("check_nccl_allreduce_ib_loopback 18.0 1 8g /opt/ndv4.xml");
  ASSERT_TRUE(benchmark);
  EXPECT_EQ(benchmark->words.back(), "--require-transport=ib");
  EXPECT_THAT(benchmark->environment,
              UnorderedElementsAre(Pair("NCCL_P2P_DISABLE", "1"), Pair("NCCL_SHM_DISABLE", "1"),
                                   Pair("NCCL_NET_GDR_LEVEL", "5"),
                                   Pair("NCCL_IB_PCI_RELAXED_ORDERING", "1"),
                                   Pair("NCCL_TOPO_FILE", "/opt/ndv4.xml")));
  EXPECT_EQ(benchmark->topology_file, "/opt/ndv4.xml");
  EXPECT_EQ(refusal("check_nccl_allreduce_ib_loopback 18.0 1 8G $AZ_NHC_ROOT/ndv4.xml"),
            "the variable $AZ_NHC_ROOT is not known");
}

TEST(NhcBenchmarkTest, RefusesWhatItCannotMean) {
  EXPECT_EQ(refusal("check_nccl_allreduce"), "expects a bandwidth in GB/s above zero, got \"\"");
  EXPECT_EQ(refusal("check_nccl_allreduce $BW 1 16G"),
            "expects a bandwidth in GB/s above zero, got \"$BW\"");
  EXPECT_EQ(refusal("check_nccl_allreduce 0 1 16G"),
            "expects a bandwidth in GB/s above zero, got \"0\"");
  EXPECT_EQ(refusal("check_nccl_allreduce 460 0 16G"), "expects 1 to 100 repeats, got \"0\"");
  for (const auto* size : {"16T", "G", "0", "-1", "2000000G", "16GB"}) {
    EXPECT_EQ(refusal(fmt::format("check_nccl_allreduce 460 1 {}", size)),
              fmt::format("expects the size of a message as 16G, got \"{}\"", size));
  }
}

TEST(NhcBenchmarkTest, NeedsGpusThatNvmlLists) {
  EXPECT_EQ(refusal("check_nccl_allreduce 460", node_with(0)), "NVML lists no GPU");
  auto snapshot = node_with(8);
  snapshot.nvml = {.status = Status::timeout, .reason = "no answer within 5 s", .facts = {}};
  EXPECT_EQ(refusal("check_nccl_allreduce 460", snapshot),
            "NVML lists no GPU: no answer within 5 s");
}

TEST(NhcBenchmarkTest, OnlyLinesForThisNodeThatMusterBenchCanMeasureAreRun) {
  const auto found = benchmarks_on(lines("x* || check_nccl_allreduce 460\n"
                                         "* || check_rccl_allreduce 300\n"
                                         "* || check_hw_eth eth0\n"
                                         "n3 || check_nccl_allreduce 460\n"),
                                   node_with(8));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found.front().number, 4);
}

TEST(NhcBenchmarkTest, ABenchmarkThatWillBeRunNeedsTheGpusCounted) {
  const auto config = lines("* || check_nccl_allreduce 460\n");
  EXPECT_EQ(needs_of(config).probes, ProbeSet(Probe::identity));
  EXPECT_EQ(needs_of(config, true).probes, Probe::identity | Probe::nvml);
  EXPECT_EQ(needs_of(lines("* || check_cpu_stream\n"), true).probes, ProbeSet(Probe::identity));
}

Benchmark taken(std::string_view command, std::size_t gpus) {
  auto benchmark = asked(command, node_with(gpus));
  EXPECT_TRUE(benchmark) << benchmark.error().message;
  return benchmark.value_or(Benchmark{});
}

TEST(NhcNodeBenchmarkTest, CopiesOfGpusAreJudgedByTheLineAlone) {
  const auto benchmark = taken("check_gpu_bw 48 335", 8);
  EXPECT_THAT(benchmark.words,
              ElementsAre("node", "--profile=generic", "--only=gpu.copy,gpu.p2p", "--format=json",
                          "--verbose", "--set=bench.host_copy.fail_below=48 GB/s",
                          "--set=bench.host_copy.warn_below=50.4 GB/s",
                          "--set=bench.peer_copy.fail_below=335 GB/s",
                          "--set=bench.peer_copy.warn_below=351.75 GB/s"));
  EXPECT_THAT(benchmark.checks, ElementsAre("bench.host_copy", "bench.peer_copy"));
  EXPECT_TRUE(benchmark.own_profile);
  EXPECT_EQ(benchmark.code, "NHC2020");
}

TEST(NhcNodeBenchmarkTest, CopiesBetweenGpusNeedALimitAndTwoGpus) {
  EXPECT_THAT(taken("check_gpu_bw 10", 8).checks, ElementsAre("bench.host_copy"));
  EXPECT_THAT(taken("check_gpu_bw 48 335", 1).checks, ElementsAre("bench.host_copy"));
  EXPECT_EQ(taken("check_gpu_bw 48 335", 1).words.at(2), "--only=gpu.copy");
}

TEST(NhcNodeBenchmarkTest, StreamIsInMegabytesAndNeedsNoGpu) {
  const auto benchmark = taken("check_cpu_stream 665500", 0);
  EXPECT_THAT(benchmark.words,
              ElementsAre("node", "--profile=generic", "--only=host.stream", "--format=json",
                          "--verbose", "--set=bench.stream.fail_below=665500 MB/s",
                          "--set=bench.stream.warn_below=665500 MB/s"));
  EXPECT_EQ(taken("check_cpu_stream", 0).words.at(5), "--set=bench.stream.fail_below=580000 MB/s");
}

TEST(NhcNodeBenchmarkTest, HcasAreJudgedAtTheSizeOfTheLine) {
  const auto host = taken("check_ib_bw_non_gdr 390", 0);
  EXPECT_THAT(host.words,
              ElementsAre("node", "--profile=generic", "--only=ib.loopback", "--format=json",
                          "--verbose", "--set=bench.hca_write.fail_below=390 Gb/s",
                          "--set=bench.hca_write.warn_below=390 Gb/s",
                          "--set=bench.hca_write.size=1048576 B"));
  EXPECT_EQ(host.code, "NHC2003");
  EXPECT_EQ(taken("check_ib_bw_non_gdr 78 65536", 0).words.back(),
            "--set=bench.hca_write.size=65536 B");
  const auto gpu = taken("check_ib_bw_gdr 180.0", 8);
  EXPECT_EQ(gpu.words.at(5), "--set=bench.hca_write.fail_below=180 Gb/s");
  EXPECT_EQ(gpu.words.at(7), "--set=bench.hca_write.size=8388608 B");
  EXPECT_EQ(gpu.words.back(), "--set=bench.hca_write.memory=gpu");
}

TEST(NhcNodeBenchmarkTest, RefusesWhatItCannotMean) {
  EXPECT_EQ(refusal("check_gpu_bw"), "expects a bandwidth in GB/s above zero, got \"\"");
  EXPECT_EQ(refusal("check_gpu_bw 48 fast"),
            "expects a bandwidth in GB/s above zero, got \"fast\"");
  EXPECT_EQ(refusal("check_gpu_bw 48 -1", node_with(1)),
            "expects a bandwidth in GB/s above zero, got \"-1\"");
  EXPECT_EQ(refusal("check_gpu_bw 48", node_with(0)), "NVML lists no GPU");
  EXPECT_EQ(refusal("check_cpu_stream much"),
            "expects a bandwidth in MB/s above zero, got \"much\"");
  EXPECT_EQ(refusal("check_ib_bw_non_gdr 78 big"),
            "expects a size of 8 bytes to 64 MiB, got \"big\"");
  EXPECT_EQ(refusal("check_cpu_stream $STREAM"), "the variable $STREAM is not known");
}

// What muster-bench would print.
Report report_with(std::vector<Finding> findings, Verdict verdict) {
  return {.node = "n3",
          .profile = "generic",
          .context = "manual",
          .verdict = verdict,
          .findings = std::move(findings)};
}

std::string printed(const Report& report) { return to_json(report, {.verbose = true}); }

Finding bandwidth(Outcome outcome) {
  return {.check = "bench.min_busbw",
          .device = "n3",
          .outcome = outcome,
          .message = "470.00 GB/s for all_reduce of 16 GiB",
          .observed = 470.0,
          .limit = 460.0,
          .unit = "GB/s"};
}

Finding data_is_right() {
  return {.check = "bench.data", .device = "job", .outcome = Outcome::pass, .message = "right"};
}

TEST(NhcAnswerTest, APassIsTheBandwidths) {
  const auto report = report_with({data_is_right(), bandwidth(Outcome::pass)}, Verdict::healthy);
  auto wanted = bandwidth(Outcome::pass);
  wanted.check.clear();
  wanted.device = "node";
  EXPECT_THAT(findings_of({.status = 0, .out = printed(report), .err = ""}), ElementsAre(wanted));
}

TEST(NhcAnswerTest, WhatIsWrongIsTakenOver) {
  auto slow = bandwidth(Outcome::fail);
  slow.remedy = Remedy::report_to_provider;
  const Finding wrong{.check = "bench.data",
                      .device = "n3/gpu5 0005:00:00.0",
                      .outcome = Outcome::fail,
                      .message = "element 3 is 7, expected 8",
                      .observed = 7.0,
                      .limit = 8.0};
  const auto report = report_with({wrong, slow}, Verdict::unhealthy);
  const auto findings = findings_of({.status = 1, .out = printed(report), .err = ""});
  ASSERT_THAT(findings, SizeIs(2));
  EXPECT_EQ(findings[0].device, "gpu5 0005:00:00.0");
  EXPECT_EQ(findings[0].outcome, Outcome::fail);
  EXPECT_EQ(findings[0].message, "element 3 is 7, expected 8");
  EXPECT_EQ(findings[1].device, "node");
  EXPECT_EQ(findings[1].remedy, Remedy::report_to_provider);
}

struct Doubtful {
  std::string name;
  Answer answer;
  std::string why;
};

std::vector<Doubtful> doubtful_answers() {
  const auto healthy = printed(report_with({bandwidth(Outcome::pass)}, Verdict::healthy));
  return {
      {"no_report",
       {.status = 2, .out = "", .err = "\nmuster-bench: no GPU: libcuda.so.1 is missing\nmore\n"},
       "muster-bench ended with status 2 and without a report: muster-bench: no GPU: libcuda.so.1 "
       "is missing"},
      {"killed",
       {.status = 137, .out = "", .err = ""},
       "muster-bench ended with status 137 and without a report"},
      {"nonsense",
       {.status = 0, .out = "470 GB/s", .err = ""},
       "what muster-bench printed is no report (a report: not valid JSON)"},
      {"half_a_report",
       {.status = 0, .out = healthy.substr(0, healthy.size() / 2), .err = ""},
       "what muster-bench printed is no report (a report: not valid JSON)"},
      {"another_status",
       {.status = 1, .out = healthy, .err = ""},
       "muster-bench reported healthy and ended with status 1"},
      {"no_bandwidth",
       {.status = 0, .out = printed(report_with({data_is_right()}, Verdict::healthy)), .err = ""},
       "muster-bench reported healthy, and its findings do not say so"},
      {"healthy_with_a_failure",
       {.status = 0,
        .out = printed(report_with({bandwidth(Outcome::fail)}, Verdict::healthy)),
        .err = ""},
       "muster-bench reported healthy, and its findings do not say so"},
      {"unhealthy_without_one",
       {.status = 1,
        .out = printed(report_with({bandwidth(Outcome::pass)}, Verdict::unhealthy)),
        .err = ""},
       "muster-bench reported unhealthy, and its findings do not say so"},
  };
}

class NhcDoubtfulAnswerTest : public ::testing::TestWithParam<Doubtful> {};

TEST_P(NhcDoubtfulAnswerTest, IsUnknownWithTheReason) {
  EXPECT_THAT(findings_of(GetParam().answer),
              ElementsAre(Finding{.device = "node",
                                  .outcome = Outcome::unknown,
                                  .message = fmt::format("not judged: {}", GetParam().why)}));
}

INSTANTIATE_TEST_SUITE_P(Answers, NhcDoubtfulAnswerTest, ::testing::ValuesIn(doubtful_answers()),
                         [](const auto& each) { return each.param.name; });

TEST(NhcAnswerTest, ManyFindingsAndHostileTextAreBoundedAndHarmless) {
  std::vector<Finding> many(500, {.check = "bench.data",
                                  .device = "n3/gpu0\n\x1b[31m",
                                  .outcome = Outcome::fail,
                                  .message = std::string(2000, '\n'),
                                  .observed = std::string("$(reboot)\n") + std::string(2000, 'x')});
  const auto answer =
      Answer{.status = 1, .out = printed(report_with(many, Verdict::unhealthy)), .err = ""};
  const auto config = lines("* || check_nccl_allreduce 460\n");
  const auto report = judge(node_with(8), {}, config, "manual", {{1, findings_of(answer)}});
  ASSERT_THAT(report.findings, SizeIs(16));
  const auto& first = report.findings.front();
  EXPECT_EQ(first.check, "nhc.check_nccl_allreduce");
  EXPECT_EQ(first.device, "gpu0\\x0a\\x1b[31m");
  EXPECT_LE(first.message.size(), 330U);
  EXPECT_EQ(first.message.find('\n'), std::string::npos);
  EXPECT_LE(std::get<std::string>(first.observed).size(), 200U);
}

Finding of_node(std::string check, Outcome outcome, std::string message, Value limit = {}) {
  return {.check = std::move(check),
          .device = outcome == Outcome::fail ? "gpu3" : "node",
          .outcome = outcome,
          .message = std::move(message),
          .limit = std::move(limit)};
}

const Benchmark kCopies{.words = {},
                        .environment = {},
                        .topology_file = {},
                        .checks = {"bench.host_copy", "bench.peer_copy"},
                        .code = "NHC2020"};

TEST(NhcAnswerTest, OfANodesTestsWhatTheLineLimitsIsTaken) {
  const auto report = report_with({of_node("bench.host_copy", Outcome::fail, "27 GB/s", 48.0),
                                   of_node("bench.peer_copy", Outcome::pass, "350 GB/s", 335.0),
                                   of_node("bench.peer_copy", Outcome::pass, "both ways 500 GB/s"),
                                   of_node("bench.in_use", Outcome::skip, "NVML was not asked")},
                                  Verdict::unhealthy);
  const auto findings = findings_of({.status = 1, .out = printed(report), .err = ""}, kCopies);
  ASSERT_THAT(findings, SizeIs(2));
  EXPECT_EQ(findings[0].device, "gpu3");
  EXPECT_EQ(findings[0].code, "NHC2020");
  EXPECT_EQ(findings[0].category, "Resource.Hpc.Unhealthy.HpcGpuDcgmDiagFailure");
  EXPECT_EQ(findings[1].message, "350 GB/s");
  EXPECT_EQ(findings[1].code, "");
}

TEST(NhcAnswerTest, WhatWasNotMeasuredIsUnknownWithItsCauseAndNoPass) {
  auto report = report_with({of_node("bench.host_copy", Outcome::pass, "55 GB/s", 48.0),
                             of_node("bench.peer_copy", Outcome::skip, "gpu.p2p: there is one GPU"),
                             of_node("bench.peer_copy", Outcome::pass, "both ways 500 GB/s")},
                            Verdict::healthy);
  const auto half = findings_of({.status = 0, .out = printed(report), .err = ""}, kCopies);
  ASSERT_THAT(half, SizeIs(2));
  EXPECT_EQ(half[1].outcome, Outcome::unknown);
  EXPECT_EQ(half[1].message, "not judged: gpu.p2p: there is one GPU");
  report = report_with({of_node("bench.host_copy", Outcome::skip, "gpu.copy: no CUDA driver"),
                        of_node("bench.peer_copy", Outcome::skip, "gpu.p2p: no CUDA driver")},
                       Verdict::unknown);
  const auto none = findings_of({.status = 2, .out = printed(report), .err = ""}, kCopies);
  ASSERT_THAT(none, SizeIs(2));
  EXPECT_EQ(none[0].message, "not judged: gpu.copy: no CUDA driver");
}

TEST(NhcAnswerTest, FailuresAreNotLostBehindManyWarnings) {
  std::vector<Finding> many(40, of_node("bench.peer_copy", Outcome::warn, "340 GB/s", 335.0));
  many.push_back(of_node("bench.host_copy", Outcome::fail, "27 GB/s", 48.0));
  const auto report = report_with(many, Verdict::unhealthy);
  const auto findings = findings_of({.status = 1, .out = printed(report), .err = ""}, kCopies);
  ASSERT_THAT(findings, SizeIs(16));
  EXPECT_EQ(findings[0].outcome, Outcome::fail);
}

TEST(NhcAnswerTest, StandsWhereItsLineStands) {
  const auto config = lines("* || check_hw_eth lo\n* || check_nccl_allreduce 460.0 1 16G\n");
  auto snapshot = node_with(8);
  snapshot.network = observed(Network{});
  const auto answer = printed(report_with({bandwidth(Outcome::pass)}, Verdict::healthy));
  const Measured measured{{2, findings_of({.status = 0, .out = answer, .err = ""})}};
  const auto report = judge(snapshot, {}, config, "manual", measured);
  EXPECT_EQ(report.verdict, Verdict::healthy);
  ASSERT_THAT(report.checks, SizeIs(2));
  EXPECT_EQ(report.checks[1].id, "nhc.check_nccl_allreduce");
  EXPECT_EQ(report.checks[1].outcome, Outcome::pass);
  EXPECT_EQ(report.findings[1].message, "470.00 GB/s for all_reduce of 16 GiB (nhc.conf:2)");
  const Measured hung{{2, {Finding{.device = "node", .message = "not judged: it hung"}}}};
  EXPECT_EQ(judge(snapshot, {}, config, "manual", hung).verdict, Verdict::unknown);
}

}  // namespace
}  // namespace muster::nhc::benchmark_test
