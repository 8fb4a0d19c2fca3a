// SPDX-License-Identifier: Apache-2.0
// The arguments of muster-bench for a line, and the findings for its report.

#include <fmt/format.h>

#include <string>

#include "checks/nhc_conf/judge.hpp"
#include "lib/report/format.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/printers.hpp"

namespace muster::nhc::benchmark_test {
namespace {

using ::testing::Pair;
using ::testing::UnorderedElementsAre;

Snapshot node_with(std::size_t gpus) {
  Nvml nvml;
  nvml.gpus.resize(gpus);
  return {.identity = observed(Identity{.hostname = "n3"}), .nvml = observed(std::move(nvml))};
}

Config config_of(std::string_view text) { return parse_config("nhc.conf", text); }

// The benchmark of the only line.
Result<Benchmark> planned(std::string_view command, const Snapshot& snapshot) {
  const auto found = benchmarks_on(config_of(fmt::format("* || {}\n", command)), snapshot);
  EXPECT_THAT(found, SizeIs(1));
  return found.empty() ? Result<Benchmark>() : found.begin()->second;
}

Benchmark plan(std::string_view command, std::size_t gpus = 8) {
  auto benchmark = planned(command, node_with(gpus));
  EXPECT_TRUE(benchmark) << benchmark.error().message;
  return benchmark.value_or(Benchmark{});
}

TEST(NhcBenchmark, AllReduceRunsAtTheSizeAndBandwidthOfTheLine) {
  const auto benchmark = plan("check_nccl_allreduce 460.0 3 16G $AZ_NHC_ROOT/topofiles/ndv5.xml");
  EXPECT_THAT(benchmark.words, ElementsAre("all_reduce", "--backend=nccl", "--launch=alone",
                                           "--local=8", "--min-busbw=460 GB/s", "--format=json",
                                           "--verbose", "--sizes=17179869184", "--at=17179869184"));
  EXPECT_THAT(benchmark.environment, IsEmpty());
  EXPECT_EQ(benchmark.topology_file, "");
  EXPECT_EQ(benchmark.attempts, 3);
  EXPECT_EQ(plan("check_nccl_allreduce 228.5").words.size(), 7U);
  EXPECT_EQ(plan("check_nccl_allreduce 228.5").attempts, 1);
}

TEST(NhcBenchmark, LoopbackGoesThroughTheAdapters) {
  const auto benchmark = plan("check_nccl_allreduce_ib_loopback 18.0 1 8g /opt/ndv4.xml");
  EXPECT_EQ(benchmark.words.back(), "--require-transport=ib");
  EXPECT_THAT(benchmark.environment,
              UnorderedElementsAre(Pair("NCCL_P2P_DISABLE", "1"), Pair("NCCL_SHM_DISABLE", "1"),
                                   Pair("NCCL_NET_GDR_LEVEL", "5"),
                                   Pair("NCCL_IB_PCI_RELAXED_ORDERING", "1"),
                                   Pair("NCCL_TOPO_FILE", "/opt/ndv4.xml")));
  EXPECT_EQ(benchmark.topology_file, "/opt/ndv4.xml");
}

TEST(NhcBenchmark, CopiesOfGpusAreJudgedByTheLineAlone) {
  const auto benchmark = plan("check_gpu_bw 48 335");
  EXPECT_THAT(benchmark.words,
              ElementsAre("node", "--profile=generic", "--only=gpu.copy,gpu.p2p", "--format=json",
                          "--verbose", "--set=bench.host_copy.fail_below=48 GB/s",
                          "--set=bench.host_copy.warn_below=50.4 GB/s",
                          "--set=bench.peer_copy.fail_below=335 GB/s",
                          "--set=bench.peer_copy.warn_below=351.75 GB/s"));
  EXPECT_THAT(benchmark.checks, ElementsAre("bench.host_copy", "bench.peer_copy"));
  EXPECT_TRUE(benchmark.own_profile);
  EXPECT_EQ(benchmark.code, "NHC2020");
  EXPECT_THAT(plan("check_gpu_bw 10").checks, ElementsAre("bench.host_copy"));
  EXPECT_EQ(plan("check_gpu_bw 48 335", 1).words.at(2), "--only=gpu.copy");
}

TEST(NhcBenchmark, StreamIsInMegabytesAndNeedsNoGpu) {
  EXPECT_THAT(plan("check_cpu_stream 665500", 0).words,
              ElementsAre("node", "--profile=generic", "--only=host.stream", "--format=json",
                          "--verbose", "--set=bench.stream.fail_below=665500 MB/s",
                          "--set=bench.stream.warn_below=665500 MB/s"));
  EXPECT_EQ(plan("check_cpu_stream", 0).words.at(5), "--set=bench.stream.fail_below=580000 MB/s");
}

TEST(NhcBenchmark, HcasAreMeasuredAtTheSizeOfTheLine) {
  const auto host = plan("check_ib_bw_non_gdr 390", 0);
  EXPECT_THAT(host.words,
              ElementsAre("node", "--profile=generic", "--only=ib.loopback", "--format=json",
                          "--verbose", "--set=bench.hca_write.fail_below=390 Gb/s",
                          "--set=bench.hca_write.warn_below=390 Gb/s",
                          "--set=bench.hca_write.size=1048576 B"));
  EXPECT_EQ(host.code, "NHC2003");
  EXPECT_EQ(plan("check_ib_bw_non_gdr 78 65536", 0).words.back(),
            "--set=bench.hca_write.size=65536 B");
  const auto gpu = plan("check_ib_bw_gdr 180.0");
  EXPECT_EQ(gpu.words.at(5), "--set=bench.hca_write.fail_below=180 Gb/s");
  EXPECT_EQ(gpu.words.at(7), "--set=bench.hca_write.size=8388608 B");
  EXPECT_EQ(gpu.words.back(), "--set=bench.hca_write.memory=gpu");
}

TEST(NhcBenchmark, RefusesInvalidArguments) {
  for (const auto* line :
       {"check_nccl_allreduce", "check_nccl_allreduce $BW 1 16G", "check_nccl_allreduce 0 1 16G",
        "check_nccl_allreduce 460 0 16G", "check_nccl_allreduce 460 1 16T",
        "check_nccl_allreduce 460 1 G", "check_nccl_allreduce 460 1 0",
        "check_nccl_allreduce 460 1 2000000G", "check_nccl_allreduce 460 1 16GB",
        "check_nccl_allreduce_ib_loopback 18.0 1 8G $AZ_NHC_ROOT/ndv4.xml", "check_gpu_bw",
        "check_gpu_bw 48 fast", "check_gpu_bw 48 -1", "check_cpu_stream much",
        "check_cpu_stream $STREAM", "check_ib_bw_non_gdr 78 big", "check_ib_bw_non_gdr 78 1"}) {
    EXPECT_FALSE(planned(line, node_with(8))) << line;
  }
}

TEST(NhcBenchmark, NeedsGpusThatNvmlLists) {
  EXPECT_FALSE(planned("check_nccl_allreduce 460", node_with(0)));
  EXPECT_FALSE(planned("check_gpu_bw 48", node_with(0)));
  auto snapshot = node_with(8);
  snapshot.nvml = {.status = Status::timeout, .reason = "no answer within 5 s", .facts = {}};
  EXPECT_THAT(planned("check_nccl_allreduce 460", snapshot).error().message,
              HasSubstr("no answer within 5 s"));
}

TEST(NhcBenchmark, OnlyLinesForThisNodeThatMusterBenchCanMeasureRun) {
  const auto found = benchmarks_on(config_of("x* || check_nccl_allreduce 460\n"
                                             "* || check_rccl_allreduce 300\n"
                                             "* || check_hw_eth eth0\n"
                                             "n3 || check_nccl_allreduce 460\n"),
                                   node_with(8));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found.begin()->first, 4);
}

TEST(NhcBenchmark, ABenchmarkThatWillRunNeedsTheNumberOfGpus) {
  const auto config = config_of("* || check_nccl_allreduce 460\n");
  EXPECT_EQ(needs_of(config).probes, ProbeSet(Probe::identity));
  EXPECT_EQ(needs_of(config, true).probes, Probe::identity | Probe::nvml);
  EXPECT_EQ(needs_of(config_of("* || check_cpu_stream\n"), true).probes, ProbeSet(Probe::identity));
}

Report report_with(std::vector<Finding> findings, Verdict verdict) {
  return {.node = "n3",
          .profile = "generic",
          .context = "manual",
          .verdict = verdict,
          .findings = std::move(findings)};
}

// The output of muster-bench with this report.
BenchmarkOutput output_with(std::vector<Finding> findings, Verdict verdict) {
  return {.status = exit_status(verdict),
          .out = to_json(report_with(std::move(findings), verdict), {.verbose = true}),
          .err = {}};
}

Finding bandwidth(Outcome outcome) {
  return {.check = "bench.min_busbw",
          .device = "n3",
          .outcome = outcome,
          .message = "470.00 GB/s for all_reduce of 16 GiB",
          .observed = 470.0,
          .limit = 460.0,
          .unit = "GB/s"};
}

Finding correct_data() {
  return {.check = "bench.data", .device = "job", .outcome = Outcome::pass, .message = "correct"};
}

TEST(NhcBenchmarkOutput, APassIsThatOfTheBandwidth) {
  auto expected = bandwidth(Outcome::pass);
  expected.check.clear();
  expected.device = "node";
  EXPECT_THAT(
      findings_of(output_with({correct_data(), bandwidth(Outcome::pass)}, Verdict::healthy)),
      ElementsAre(expected));
}

TEST(NhcBenchmarkOutput, FailuresKeepTheirDeviceAndRemedy) {
  auto slow = bandwidth(Outcome::fail);
  slow.remedy = Remedy::report_to_provider;
  const Finding wrong{.check = "bench.data",
                      .device = "n3/gpu5 0005:00:00.0",
                      .outcome = Outcome::fail,
                      .message = "element 3 is 7, expected 8",
                      .observed = 7.0,
                      .limit = 8.0};
  const auto findings = findings_of(output_with({wrong, slow}, Verdict::unhealthy));
  ASSERT_THAT(findings, SizeIs(2));
  EXPECT_EQ(findings[0].device, "gpu5 0005:00:00.0");
  EXPECT_EQ(findings[0].outcome, Outcome::fail);
  EXPECT_EQ(findings[1].device, "node");
  EXPECT_EQ(findings[1].remedy, Remedy::report_to_provider);
}

TEST(NhcBenchmarkOutput, AnOutputThatProvesNothingIsUnknown) {
  const auto healthy = output_with({bandwidth(Outcome::pass)}, Verdict::healthy);
  for (const auto& output :
       {BenchmarkOutput{.status = 2, .out = "", .err = "\nno GPU\nmore\n"},
        BenchmarkOutput{.status = 137, .out = "", .err = ""},
        BenchmarkOutput{.status = 0, .out = "470 GB/s", .err = ""},
        BenchmarkOutput{.status = 0, .out = healthy.out.substr(0, healthy.out.size() / 2)},
        BenchmarkOutput{.status = 1, .out = healthy.out, .err = ""},
        output_with({correct_data()}, Verdict::healthy),
        output_with({bandwidth(Outcome::fail)}, Verdict::healthy),
        output_with({bandwidth(Outcome::pass)}, Verdict::unhealthy)}) {
    const auto findings = findings_of(output);
    ASSERT_THAT(findings, SizeIs(1)) << output.out;
    EXPECT_EQ(findings[0].outcome, Outcome::unknown) << output.out;
    EXPECT_EQ(findings[0].device, "node");
  }
  EXPECT_THAT(findings_of({.status = 2, .out = "", .err = "\nno GPU\nmore\n"})[0].message,
              HasSubstr("status 2 without a report: no GPU"));
}

TEST(NhcBenchmarkOutput, ManyFindingsAndHostileTextAreBounded) {
  std::vector<Finding> many(500, {.check = "bench.data",
                                  .device = "n3/gpu0\n\x1b[31m",
                                  .outcome = Outcome::warn,
                                  .message = std::string(2000, '\n'),
                                  .observed = std::string("$(reboot)\n") + std::string(2000, 'x')});
  many.push_back(bandwidth(Outcome::fail));
  const auto report = judge(node_with(8), {}, config_of("* || check_nccl_allreduce 460\n"),
                            "manual", {{1, findings_of(output_with(many, Verdict::unhealthy))}});
  ASSERT_THAT(report.findings, SizeIs(16));
  EXPECT_EQ(report.findings[0].outcome, Outcome::fail);
  const auto& second = report.findings[1];
  EXPECT_EQ(second.check, "nhc.check_nccl_allreduce");
  EXPECT_EQ(second.device, "gpu0\\x0a\\x1b[31m");
  EXPECT_LE(second.message.size(), 330U);
  EXPECT_EQ(second.message.find('\n'), std::string::npos);
  EXPECT_LE(std::get<std::string>(second.observed).size(), 200U);
}

Finding of_node(std::string check, Outcome outcome, std::string message, Value limit = {}) {
  return {.check = std::move(check),
          .device = outcome == Outcome::fail ? "gpu3" : "node",
          .outcome = outcome,
          .message = std::move(message),
          .limit = std::move(limit)};
}

const Benchmark kCopies{.checks = {"bench.host_copy", "bench.peer_copy"}, .code = "NHC2020"};

TEST(NhcBenchmarkOutput, OnlyComparisonsWithALimitOfTheLinePass) {
  const auto findings =
      findings_of(output_with({of_node("bench.host_copy", Outcome::fail, "27 GB/s", 48.0),
                               of_node("bench.peer_copy", Outcome::pass, "350 GB/s", 335.0),
                               of_node("bench.peer_copy", Outcome::pass, "both ways 500 GB/s"),
                               of_node("bench.in_use", Outcome::skip, "not observed")},
                              Verdict::unhealthy),
                  kCopies);
  ASSERT_THAT(findings, SizeIs(2));
  EXPECT_EQ(findings[0].device, "gpu3");
  EXPECT_EQ(findings[0].code, "NHC2020");
  EXPECT_EQ(findings[0].category, "Resource.Hpc.Unhealthy.HpcGpuDcgmDiagFailure");
  EXPECT_EQ(findings[1].message, "350 GB/s");
  EXPECT_EQ(findings[1].code, "");
}

TEST(NhcBenchmarkOutput, ACheckThatWasNotMeasuredIsUnknownWithItsReason) {
  const auto half =
      findings_of(output_with({of_node("bench.host_copy", Outcome::pass, "55 GB/s", 48.0),
                               of_node("bench.peer_copy", Outcome::skip, "there is one GPU"),
                               of_node("bench.peer_copy", Outcome::pass, "both ways 500 GB/s")},
                              Verdict::healthy),
                  kCopies);
  ASSERT_THAT(half, SizeIs(2));
  EXPECT_EQ(half[1].outcome, Outcome::unknown);
  EXPECT_THAT(half[1].message, HasSubstr("there is one GPU"));
  const auto none =
      findings_of(output_with({of_node("bench.host_copy", Outcome::skip, "no CUDA driver"),
                               of_node("bench.peer_copy", Outcome::skip, "no CUDA driver")},
                              Verdict::unknown),
                  kCopies);
  ASSERT_THAT(none, SizeIs(2));
  EXPECT_THAT(none[0].message, HasSubstr("no CUDA driver"));
}

TEST(NhcBenchmarkOutput, IsReportedInTheOrderOfTheLines) {
  const auto config = config_of("* || check_hw_eth lo\n* || check_nccl_allreduce 460.0 1 16G\n");
  auto snapshot = node_with(8);
  snapshot.network = observed(Network{});
  const Measured measured{
      {2, findings_of(output_with({bandwidth(Outcome::pass)}, Verdict::healthy))}};
  const auto report = judge(snapshot, {}, config, "manual", measured);
  EXPECT_EQ(report.verdict, Verdict::healthy);
  ASSERT_THAT(report.checks, SizeIs(2));
  EXPECT_EQ(report.checks[1].id, "nhc.check_nccl_allreduce");
  EXPECT_EQ(report.checks[1].outcome, Outcome::pass);
  const Measured hung{{2, {Finding{.device = "node", .message = "not judged: it hung"}}}};
  EXPECT_EQ(judge(snapshot, {}, config, "manual", hung).verdict, Verdict::unknown);
}

}  // namespace
}  // namespace muster::nhc::benchmark_test
