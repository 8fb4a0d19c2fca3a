// SPDX-License-Identifier: Apache-2.0
// NHC configurations through the whole program, on a healthy and on a faulty simulated node.
#include <fmt/format.h>

#include <string>

#include "tests/e2e/harness.hpp"
#include "tests/nodes/faults.hpp"
#include "tests/nodes/render.hpp"
#include "tests/support/matchers.hpp"

namespace muster::e2e {
namespace {

constexpr std::string_view kConfiguration =
    "# One line of each kind that a GPU node's file has.\n"
    " * || export SCRATCH=/mnt/nvme\n"
    " * || check_hw_cpuinfo 2 96 96\n"
    " * || check_hw_physmem 1915071MB 1915071MB 5%\n"
    " * || check_hw_swap 0kB 0kB 3%\n"
    "gpu-* || check_hw_ib 400 mlx5_ib0:1\n"
    "{gpu-[0001-0032]} || check_hw_eth eth0\n"
    "!/^login/ || check_fs_mount_rw -t \"ext*\" -f /\n"
    "login* || check_hw_eth eth9\n"
    " * || check_gpu_count 8\n"
    " * || check_gpu_xid\n"
    " * || check_gpu_ecc 20000000 10000\n"
    " * || check_nvlink_status\n"
    " * || check_hw_topology\n"
    " * || check_nvme_count 8\n"
    " * || check_nccl_allreduce 460.0 1 16G $AZ_NHC_ROOT/topofiles/ndv5-topo.xml\n"
    " * || check_ib_link_flapping\n";

Report report_of(const std::string& command) {
  const auto output = output_of(command);
  const auto report = parse_report(output);
  EXPECT_TRUE(report) << output;
  return report ? *report : Report{};
}

Report checked(const nodes::Tree& tree, std::string_view more = {}) {
  Stage stage;
  stage.show(tree);
  TempDir dir;
  dir.write("nhc.conf", fmt::format("{}{}", kConfiguration, more));
  return report_of(
      fmt::format("MUSTER_DATA_DIR={}/configs {} check --root {} --nvml {} --nhc-conf {}/nhc.conf "
                  "--format json -v",
                  MUSTER_SOURCE_DIR, MUSTER_PROGRAM, stage.root().string(), stage.nvml().string(),
                  dir.path().string()));
}

TEST(NhcConfTest, AHealthyNodeIsHealthyByItsLines) {
  const auto report = checked(render(node_named("nd96isr_h100_v5")));
  EXPECT_EQ(report.verdict, Verdict::healthy) << explain(report);
  EXPECT_THAT(concerns(report), IsEmpty());
  EXPECT_EQ(report.checks.front().id, "nhc.check_hw_cpuinfo");
  EXPECT_EQ(report.checks.back().id, "ib.flaps");
}

TEST(NhcConfTest, AFaultIsFoundByTheCheckThatTheLineStandsFor) {
  const auto* fault = nodes::find_fault("rdma_stack_not_loaded");
  ASSERT_NE(fault, nullptr);
  const auto report = checked(render_with(node_named("nd96isr_h100_v5"), {fault}));
  EXPECT_EQ(report.verdict, Verdict::unhealthy);
  EXPECT_THAT(concerns(report), Contains("fail nhc.check_hw_ib mlx5_ib0:1")) << explain(report);
}

TEST(NhcConfTest, ALineThatNobodyKnowsLeavesTheNodeUndecided) {
  const auto report = checked(render(node_named("nd96isr_h100_v5")), "* || check_other 1\n");
  EXPECT_EQ(report.verdict, Verdict::unknown);
  EXPECT_THAT(concerns(report), Contains("unknown nhc.check_other node")) << explain(report);
}

// On this machine, with fakes of NVML, CUDA and NCCL for its eight GPUs.
Report measured(std::string_view scenario, std::string_view configuration,
                std::string_view hcas = "{}") {
  Stage stage;
  stage.show(render(node_named("nd96isr_h100_v5")));
  TempDir dir;
  dir.write("nhc.conf", configuration);
  dir.write("scenario.json", scenario);
  dir.write("hcas.json", hcas);
  return report_of(fmt::format(
      "LD_LIBRARY_PATH={0}/cuda:{0}/nccl:{0}/verbs LD_PRELOAD=libibverbs.so.1 "
      "MUSTER_FAKE_GPU={1}/scenario.json "
      "MUSTER_FAKE_VERBS={1}/hcas.json "
      "MUSTER_DATA_DIR={2}/configs {3} check --nvml {4} --state {1} --profile generic "
      "--nhc-conf {1}/nhc.conf --active --deadline 60s --format json -v",
      MUSTER_FAKES, dir.path().string(), MUSTER_SOURCE_DIR, MUSTER_PROGRAM, stage.nvml().string()));
}

TEST(NhcConfBenchmarkTest, MusterBenchAnswersForItsLine) {
  constexpr std::string_view kLines =
      "* || check_nccl_allreduce 460.0 1 16G $AZ_NHC_ROOT/topofiles/ndv5-topo.xml\n"
      "* || check_rccl_allreduce 300\n";
  const auto fast = measured(R"({"gpus": 8, "busbw": {"*": 470}})", kLines);
  EXPECT_EQ(fast.verdict, Verdict::healthy) << explain(fast);
  ASSERT_EQ(fast.checks.size(), 2U);
  EXPECT_EQ(fast.checks[0].outcome, Outcome::pass) << explain(fast);
  EXPECT_EQ(fast.checks[1].outcome, Outcome::skip) << explain(fast);
  const auto slow = measured(R"({"gpus": 8, "busbw": {"*": 430}})", kLines);
  EXPECT_EQ(slow.verdict, Verdict::unhealthy);
  EXPECT_THAT(concerns(slow), ElementsAre("fail nhc.check_nccl_allreduce node")) << explain(slow);
}

constexpr std::string_view kCopies = "* || check_gpu_bw 48 335\n";

TEST(NhcConfBenchmarkTest, HealthyCopiesOfGpusPass) {
  const auto report = measured(R"({"node": {"peer_gbs": 390}})", kCopies);
  EXPECT_EQ(report.verdict, Verdict::healthy) << explain(report);
  EXPECT_THAT(concerns(report), IsEmpty()) << explain(report);
}

TEST(NhcConfBenchmarkTest, ASlowPcieLinkOfOneGpuOfEightAndASlowPairFailTheirLine) {
  const auto report =
      measured(R"({"node": {"peer_gbs": 390, "peer": {"1-4": 90}, "pcie": {"3": 27.5}}})", kCopies);
  EXPECT_EQ(report.verdict, Verdict::unhealthy);
  EXPECT_THAT(concerns(report), Contains("fail nhc.check_gpu_bw gpu3")) << explain(report);
  EXPECT_THAT(concerns(report), Contains("fail nhc.check_gpu_bw gpu1-gpu4")) << explain(report);
  for (const auto& concern : concerns(report)) {
    EXPECT_THAT(concern,
                ::testing::AnyOf(::testing::EndsWith(" gpu3"), ::testing::EndsWith(" gpu1-gpu4")));
  }
  EXPECT_EQ(report.findings.front().code, "NHC2020");
}

// As Azure's script does up to 5% above the limit.
TEST(NhcConfBenchmarkTest, ALinkNearTheLimitIsWarnedOf) {
  const auto report = measured(R"({"node": {"pcie": {"2": 49}}})", kCopies);
  EXPECT_EQ(report.verdict, Verdict::healthy) << explain(report);
  EXPECT_THAT(concerns(report), Contains("warn nhc.check_gpu_bw gpu2")) << explain(report);
}

TEST(NhcConfBenchmarkTest, WithoutACudaDriverTheCopiesAreUnknown) {
  const auto report = measured(R"({"answers": {"cuInit": 100}})", kCopies);
  EXPECT_EQ(report.verdict, Verdict::unknown) << explain(report);
  EXPECT_THAT(concerns(report), Contains("unknown nhc.check_gpu_bw node")) << explain(report);
}

TEST(NhcConfBenchmarkTest, StreamIsRunForItsLine) {
  const auto slow = measured("{}", "* || check_cpu_stream 100000000\n");
  EXPECT_EQ(slow.verdict, Verdict::unhealthy);
  EXPECT_THAT(concerns(slow), Contains("fail nhc.check_cpu_stream node")) << explain(slow);
}

TEST(NhcConfBenchmarkTest, HcasAreMeasuredForTheirLine) {
  constexpr std::string_view kLine = "* || check_ib_bw_non_gdr 390\n";
  const auto healthy = measured("{}", kLine);
  EXPECT_EQ(healthy.verdict, Verdict::healthy) << explain(healthy);
  const auto slow = measured("{}", kLine, R"({"slow": {"5": 198}})");
  EXPECT_EQ(slow.verdict, Verdict::unhealthy);
  EXPECT_THAT(concerns(slow), ElementsAre("fail nhc.check_ib_bw_non_gdr mlx5_ib5"))
      << explain(slow);
  EXPECT_EQ(slow.findings.front().code, "NHC2003");
  const auto none = measured("{}", kLine, R"({"hcas": 0})");
  EXPECT_THAT(concerns(none), ElementsAre("unknown nhc.check_ib_bw_non_gdr node")) << explain(none);
}

TEST(NhcConfBenchmarkTest, HcasAreMeasuredFromTheMemoryOfGpusForTheirLine) {
  constexpr std::string_view kLine = "* || check_ib_bw_gdr 380\n";
  const auto healthy = measured("{}", kLine);
  EXPECT_EQ(healthy.verdict, Verdict::healthy) << explain(healthy);
  // Host memory is as fast as the others.
  const auto slow = measured("{}", kLine, R"({"slow_gpus": [2]})");
  EXPECT_THAT(concerns(slow), ElementsAre("fail nhc.check_ib_bw_gdr mlx5_ib2")) << explain(slow);
  const auto none = measured(R"({"answers": {"cuInit": 100}})", kLine);
  EXPECT_THAT(concerns(none), Contains("unknown nhc.check_ib_bw_gdr node")) << explain(none);
}

}  // namespace
}  // namespace muster::e2e
