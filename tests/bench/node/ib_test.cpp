// SPDX-License-Identifier: Apache-2.0
// ib.loopback on the fake libibverbs: its measurements, and that each fault is found and named.

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "bench/node/rdma/rdma.hpp"
#include "bench/node/test.hpp"
#include "bench/node/test_report.hpp"
#include "tests/bench/node/fake_devices.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/printers.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::bench::node {
namespace {

struct HcaRequest {
  std::string library = fmt::format("{}/verbs/libibverbs.so.1", MUSTER_FAKES);
  std::uint64_t bytes = 1U << 20U;
  std::map<std::string, std::string> variables = {};
  std::string cuda = "/nowhere/libcuda.so.1";
  std::optional<double> limit_size = 128U << 10U;
};

const HcaRequest kWithGpus{.cuda = fmt::format("{}/cuda/libcuda.so.1", MUSTER_FAKES)};

Result<TestResult> run_on(const std::string& scenario, const HcaRequest& request = {}) {
  return run_on_fake("MUSTER_FAKE_VERBS", scenario, "ib.loopback",
                     {.time = std::chrono::milliseconds(1),
                      .cuda = request.cuda,
                      .verbs = request.library,
                      .variables = request.variables,
                      .limit = {.size = request.limit_size},
                      .bytes = request.bytes});
}

// The findings that do not pass, under a limit of 380 Gb/s.
std::vector<Finding> bad(const std::string& scenario, const HcaRequest& request = {}) {
  Profile profile;
  profile.name = "x";
  profile.bench->hca_write.fail_below = BitsPerSecond{380e9};
  auto findings =
      findings_of({.test = find_test("ib.loopback"), .result = run_on(scenario, request)}, profile);
  EXPECT_FALSE(findings.empty());
  return not_passed(std::move(findings));
}

// The rate of the fourth of eight HCAs to memory of its GPU; 0 if it was not measured.
double gpu_rate(const Result<TestResult>& result) {
  if (!result) return 0;
  const auto series = std::ranges::find(result->series, "hca_write_gpu", &Series::quantity);
  if (series == result->series.end() || series->values.size() != 8) return 0;
  return series->values[3].value;
}

TEST(IbLoopbackTest, DoesNotJudgeSmallMessagesByTheLimitOfLargeOnes) {
  const auto findings = bad(R"({"slow": {"5": 198}})", {.limit_size = {}});
  EXPECT_THAT(findings, Contains(is_finding(Outcome::warn, "mlx5_ib5", "RDMA write 198 Gb/s")));
  EXPECT_THAT(findings,
              Contains(is_finding(Outcome::skip, "node",
                                  "used messages of 128 KiB, and the limit is for 8 MiB")));
}

TEST(IbLoopbackTest, WritesMemoryOfTheNearGpu) {
  const auto result = run_on("{}", kWithGpus);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_THAT(result->findings, ElementsAre());
  // Without dma-buf, peer memory is used.
  const auto peer = run_on(R"({"no_dma_buf": true})", kWithGpus);
  for (const auto& each : {result, peer}) EXPECT_NEAR(gpu_rate(each), 396, 1);
}

// NCCL does the same: strict ordering is slow on virtual machines.
TEST(IbLoopbackTest, RegistersMemoryOfGpusWithRelaxedOrderingIfItCan) {
  EXPECT_NEAR(gpu_rate(run_on(R"({"slow_strict": true})", kWithGpus)), 396, 1);
  EXPECT_NEAR(gpu_rate(run_on(R"({"slow_strict": true, "no_relaxed": true})", kWithGpus)), 198, 1);
}

// The GPU does not order writes by HCAs: without a flush it reads what was there before.
TEST(IbLoopbackTest, FlushesWritesToTheGpuBeforeItReadsThem) {
  const TempDir folder;
  folder.write("gpus.json", R"({"node": {"late_rdma": true}})");
  ::setenv("MUSTER_FAKE_GPU", (folder.path() / "gpus.json").c_str(), 1);  // NOLINT: one thread
  const auto found = bad("{}", kWithGpus);
  ::unsetenv("MUSTER_FAKE_GPU");  // NOLINT(concurrency-mt-unsafe): one thread
  EXPECT_THAT(found, ElementsAre());
}

TEST(IbLoopbackTest, SkipsMemoryOfGpusWithoutGpus) {
  const auto without = run_on("{}");
  EXPECT_THAT(without->findings, ElementsAre());
  EXPECT_THAT(without->lines, Contains(HasSubstr("without memory of GPUs: ")));
}

TEST(NearGpusTest, CountsTheSharedFoldersOfTwoPaths) {
  const std::string hca = "/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:00.0";
  EXPECT_EQ(common_folders(hca, "/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/0000:03:00.0"),
            6U);
  EXPECT_EQ(common_folders(hca, "/sys/devices/pci0000:80/0000:80:01.0"), 3U);
  EXPECT_EQ(common_folders(hca, ""), 1U);
}

TEST(IbLoopbackTest, MeasuresEachHealthyHcaInEveryWay) {
  EXPECT_THAT(bad("{}"), ElementsAre());
  const auto result = run_on("{}");
  ASSERT_TRUE(result) << result.error().message;
  std::vector<std::string> quantities;
  for (const auto& series : result->series) {
    quantities.push_back(series.quantity);
    const bool pairs = series.quantity == "hca_write_between";
    EXPECT_EQ(series.values.size(), pairs ? 56U : 8U) << series.quantity;
  }
  EXPECT_THAT(quantities, ElementsAre("hca_write", "hca_read", "hca_write_all", "hca_write_latency",
                                      "hca_write_between"));
  EXPECT_EQ(result->series[0].values[5].device, "mlx5_ib5");
  EXPECT_EQ(result->series[0].size_bytes, 128 * 1024);
  EXPECT_NEAR(result->series[0].values[0].value, 396, 1);
  EXPECT_NEAR(run_on(R"({"latency_us": 2})")->series[3].values[0].value, 2000, 1);
  ASSERT_EQ(result->matrices.size(), 1U);
  EXPECT_EQ(lines_of(result->matrices[0]).size(), 10U);
}

TEST(IbLoopbackTest, ComparesEqualDevicesWithoutALimit) {
  const auto findings = findings_of(
      {.test = find_test("ib.loopback"), .result = run_on(R"({"slow": {"5": 198}})")}, Profile{});
  EXPECT_THAT(findings, Contains(is_finding(Outcome::warn, "mlx5_ib5", "the median of 8 is")));
}

TEST(IbLoopbackTest, NamesOnlyTheHcaAtFault) {
  struct Fault {
    std::string scenario;
    Outcome outcome;
    std::string device, message;
    HcaRequest request = {};
  };
  for (const auto& [scenario, outcome, device, message, request] :
       {Fault{R"({"slow": {"5": 198}})", Outcome::fail, "mlx5_ib5", "RDMA write 19"},
        Fault{R"({"slow_gpus": [4]})", Outcome::warn, "mlx5_ib4", "RDMA write, GPU memory 198 Gb/s",
              kWithGpus},
        Fault{R"({"spoilt": 2})", Outcome::fail, "mlx5_ib2",
              "8 8-byte words were corrupted, the first at byte 65536"},
        Fault{R"({"skipped": 1})", Outcome::fail, "mlx5_ib1", "16384 8-byte words were corrupted"},
        // Rails may be separate by design.
        Fault{R"({"hcas": 4, "apart": true})", Outcome::skip, "node",
              "no HCA of this node reaches another"}}) {
    EXPECT_THAT(bad(scenario, request), Contains(is_finding(outcome, device, message))) << scenario;
  }
  EXPECT_THAT(bad(R"({"limited": true})"), ElementsAre()) << "uses the key of a full member";
}

TEST(IbLoopbackTest, HealthyHcasThatDifferByTwoPercentPass) {
  for (int i = 0; i < 30; ++i) {
    ASSERT_THAT(bad(R"({"hcas": 4, "noise": 0.02})"), ElementsAre()) << i;
  }
}

// The small writes go where larger ones have left the right data.
TEST(IbLoopbackTest, FindsSmallWritesThatWereLost) {
  EXPECT_THAT(bad(R"({"dropped": 3})"),
              ElementsAre(is_finding(Outcome::fail, "mlx5_ib3",
                                     "1 8-byte words were corrupted, the first at byte 0")));
}

TEST(IbLoopbackTest, FailedAndSilentTransfersAreUnknown) {
  EXPECT_THAT(bad(R"({"failing": 4})"),
              ElementsAre(is_finding(Outcome::unknown, "mlx5_ib4",
                                     "a transfer failed: transport retry counter exceeded")));
  EXPECT_THAT(bad(R"({"silent": 6})"),
              ElementsAre(is_finding(Outcome::unknown, "mlx5_ib6",
                                     "8 of 8 transfers did not complete within 0.3 s")));
}

TEST(IbLoopbackTest, UnusableHcasAreUnknownWithTheirReason) {
  EXPECT_THAT(bad(R"({"down": [3], "closed": [1], "locked": [2]})"),
              ::testing::UnorderedElementsAre(
                  is_finding(Outcome::unknown, "mlx5_ib3", "port 1 is DOWN"),
                  is_finding(Outcome::unknown, "mlx5_ib1", "open the HCA: Permission denied"),
                  is_finding(Outcome::unknown, "mlx5_ib2", "see `ulimit -l`")));
}

TEST(IbLoopbackTest, SkipsEthernetUnlessNamed) {
  const std::string scenario = R"({"hcas": 2, "ethernet": [1]})";
  EXPECT_EQ(run_on(scenario)->series.at(0).values.size(), 1U);
  const HcaRequest named{.variables = {{"NCCL_IB_HCA", "=mlx5_ib1:1"}}};
  EXPECT_EQ(run_on(scenario, named)->series.at(0).values.size(), 2U);
}

TEST(IbLoopbackTest, SkipsANodeWithoutHcasUnlessExpected) {
  EXPECT_THAT(bad(R"({"hcas": 0})"), ElementsAre(is_finding(Outcome::skip, "node", "no HCA")));
  EXPECT_THAT(bad("{}", {.library = "/nowhere/libibverbs.so.1"}),
              ElementsAre(is_finding(Outcome::skip, "node", "/nowhere/libibverbs.so.1")));
  Profile profile;
  profile.ib->present.count = 8;
  const TestRun ran{.test = find_test("ib.loopback"), .result = run_on(R"({"hcas": 0})")};
  EXPECT_EQ(findings_of(ran, profile).at(0).outcome, Outcome::unknown);
}

}  // namespace
}  // namespace muster::bench::node
