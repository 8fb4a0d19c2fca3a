// SPDX-License-Identifier: Apache-2.0
// Whole runs of `muster-bench node` and `train_step`, on fakes of NVIDIA's libraries.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <functional>
#include <thread>

#include "tests/e2e/bench/job.hpp"
#include "tests/support/matchers.hpp"

namespace muster::e2e {
namespace {

const auto kCublas = fmt::format("--cublas={}/cublas/libcublasLt.so.13", MUSTER_FAKES);

class Node : public ::testing::Test {
 protected:
  Words words(const Words& more) {
    return on_fake_gpus(
        muster_bench({"node", "--profile=nd96isr_h100_v5", "--size=1 MiB",
                      "--set=bench.host_copy.size=1 MiB", "--set=bench.hca_write.size=128 KiB",
                      "--set=bench.node_all_reduce.size=1 MiB", "--format=json", kCublas,
                      fmt::format("--verbs={}/verbs/libibverbs.so.1", MUSTER_FAKES)}),
        more);
  }

  // The report of a run with this status.
  nlohmann::json report_of(const Words& more, const Variables& given, int status) {
    const auto ended = job.run(words(more), given);
    EXPECT_EQ(ended.status, status) << ended.out << ended.err;
    EXPECT_TRUE(job.leaves_nothing());
    return ended.report();
  }

  Variables variables(std::string_view scenario) {
    return {{"MUSTER_FAKE_GPU", job.write("scenario.json", scenario)}};
  }

  Job job;
};

TEST_F(Node, FindsTheSlowLinkAndNothingElse) {
  const auto report = report_of({"--only=gpu.copy,gpu.p2p,gpu.memory"},
                                variables(R"({"node": {"peer_gbs": 390, "pcie": {"3": 27}}})"), 1);
  for (const auto& finding : report["findings"]) {
    if (finding["outcome"] != "fail") continue;
    EXPECT_EQ(finding["device"], "gpu3");
  }
  EXPECT_EQ(outcome_of(report, "bench.host_copy"), "fail");
}

TEST_F(Node, NamesTheHcaAtHalfRate) {
  auto given = variables("{}");
  given["MUSTER_FAKE_VERBS"] = job.write("hcas.json", R"({"slow": {"5": 198}})");
  given["LD_PRELOAD"] = fmt::format("{}/verbs/libibverbs.so.1", MUSTER_FAKES);  // for its clock
  const auto report = report_of({"--only=ib.loopback"}, given, 1);
  EXPECT_EQ(finding_of(report, "bench.hca_write")["device"], "mlx5_ib5");
  EXPECT_THAT(message_of(report, "bench.hca_write"),
              HasSubstr("RDMA write, GPU memory 198 Gb/s; the median of 8 is 39"));
}

TEST_F(Node, RunsNcclOverItsGpusAndJudgesWhatItReaches) {
  const auto report =
      report_of({"--only=nccl.intra", "--set=bench.node_all_reduce.fail_below=460 GB/s"},
                variables(R"({"gpus": 2, "busbw": {"all_reduce": 300}, "inside": "nvls"})"), 1);
  EXPECT_THAT(message_of(report, "bench.node_all_reduce"),
              HasSubstr("all-reduce bus bandwidth 300 GB/s; fails below 460"));
}

TEST_F(Node, RunsTrainingStepsOverItsGpus) {
  const auto ended = job.run(words({"--only=train.step"}), variables(R"({"gpus": 2})"));
  const auto report = ended.report();
  std::vector<std::string> measured;
  for (const auto& each : report["measurements"]) measured.push_back(each["quantity"]);
  EXPECT_THAT(measured, ::testing::ElementsAre("steps_per_second", "tokens_per_second",
                                               "step_tflops", "lost_by_each_other"))
      << ended.out << ended.err;
  EXPECT_TRUE(job.leaves_nothing());
}

// With an NVMe disk in sysfs, as in a pod, and without a device file for it.
TEST_F(Node, SkipsDisksThatItsContainerHides) {
  constexpr auto* kScript = R"(mount -t tmpfs none /sys/block || exit 77
    mkdir -p /sys/block/nvme9n9/device && cd /sys/block/nvme9n9 || exit
    echo pcie >device/transport && echo 2000 >size && exec "$@")";
  const auto ended =
      job.run(with({"unshare", "-rm", "bash", "-c", kScript, "bash"}, words({"--only=host.disk"})));
  if (ended.out.empty()) GTEST_SKIP() << ended.err;
  EXPECT_EQ(outcome_of(ended.report(), "bench.disk_read"), "skip") << ended.out;
}

// Kills the process that `start` starts after each of these times.
void expect_killed_leaves_nothing(Job& job, const std::vector<int>& milliseconds,
                                  const std::function<std::size_t()>& start) {
  for (const int after_ms : milliseconds) {
    const auto started = start();
    std::this_thread::sleep_for(std::chrono::milliseconds(after_ms));
    ::kill(job.pid_of(started), SIGKILL);
    EXPECT_EQ(job.end_of(started).status, 128 + SIGKILL) << after_ms;
    EXPECT_TRUE(job.leaves_nothing()) << after_ms;
  }
}

TEST_F(Node, KilledAtAnyMomentLeavesNothing) {
  expect_killed_leaves_nothing(job, {5, 40, 150, 400, 900}, [&] {
    return job.start(words({"--skip=host.disk"}), variables("{}"));
  });
}

TEST_F(Node, KilledWhileHcasAreAtWorkLeavesNothing) {
  auto given = variables("{}");
  given["MUSTER_FAKE_VERBS"] = job.write("hcas.json", R"({"silent": 1})");
  expect_killed_leaves_nothing(job, {100, 700},
                               [&] { return job.start(words({"--only=ib.loopback"}), given); });
}

class Train : public ::testing::Test {
 protected:
  std::size_t start(int gpus, std::string_view scenario, const Words& more = {}) {
    const auto words =
        on_fake_gpus(muster_bench({"train_step", "--backend=nccl", "--profile=generic",
                                   "--model=3x256x512", "--tokens=256", "--steps=3",
                                   "--format=json", kCublas, fmt::format("--local={}", gpus)}),
                     more);
    const auto file =
        job.write("scenario.json", fmt::format(R"({{"gpus": {}, {}}})", gpus, scenario));
    return job.start(words, {{"MUSTER_FAKE_GPU", file}});
  }

  Ended run(int gpus, std::string_view scenario, int status, const Words& more = {}) {
    auto ended = job.end_of(start(gpus, scenario, more));
    EXPECT_EQ(ended.status, status) << ended.out << ended.err;
    EXPECT_TRUE(job.leaves_nothing());
    return ended;
  }

  static double value_of(const nlohmann::json& report, std::string_view quantity) {
    for (const auto& each : report["measurements"]) {
      if (each["quantity"] == quantity) return each["value"].get<double>();
    }
    ADD_FAILURE() << quantity << " was not measured";
    return 0;
  }

  Job job;
};

// All-reduces that take as long as products; the last layer's overlaps nothing.
TEST_F(Train, AStepTakesAsLongAsItsLongerPart) {
  const auto report = run(2,
                          R"("node": {"gemm": {"bf16": 600}}, "busbw": {"all_reduce": 400},
                             "latency_us": 0)",
                          0, {"--min-tokens=1000"})
                          .report();
  EXPECT_NEAR(value_of(report, "products_tflops"), 600, 6);
  EXPECT_NEAR(value_of(report, "busbw"), 400, 8);
  const double step = 1 / value_of(report, "steps_per_second");
  EXPECT_NEAR(value_of(report, "tokens_per_second"), 2 * 256 / step, 1);
  // Parameters of a layer: 256 x (768 + 256 + 1024) + 512 x 256; two bytes each.
  const double gradients = 2.0 * (256 * 2048 + 512 * 256);
  const double reductions = 3 * gradients / 400e9;
  const double products = 6 * 3 * gradients / 2 * 256 / 600e12;
  EXPECT_GE(step, std::max(products, reductions));
  EXPECT_LE(step, 1.02 * (products + reductions));
}

TEST_F(Train, NamesTheSlowestGpu) {
  constexpr int kNoLimit = 2;
  const auto report = run(4, R"("node": {"gemm_share": {"2": 0.7}})", kNoLimit).report();
  const auto& findings = report["findings"];
  const auto slow = std::ranges::find_if(
      findings, [](const auto& finding) { return finding["outcome"] == "warn"; });
  ASSERT_NE(slow, findings.end()) << report;
  EXPECT_THAT((*slow)["device"].get<std::string>(), HasSubstr("gpu2"));
  EXPECT_THAT((*slow)["message"].get<std::string>(), HasSubstr("42.9% longer"));
}

TEST_F(Train, AWrongProductAndAWrongSumFail) {
  const auto product =
      run(2, R"("node": {"gemm_flip": {"gpu": 1, "product": 0, "index": 5, "bit": 4}})", 1);
  EXPECT_THAT(finding_of(product.report(), "bench.train_step")["device"].get<std::string>(),
              HasSubstr("gpu1"));
  const auto sum = run(2, R"("wrong": {"rank": 1, "index": 77})", 1);
  EXPECT_EQ(outcome_of(sum.report(), "bench.data"), "fail");
}

// 3 layers, 4 rounds, alone and with products: 24 all-reduces, and one more onto poisoned memory.
TEST_F(Train, AnAllReduceThatStoredNothingIsFoundAfterGoodOnes) {
  const auto lost = run(2, R"("lost": {"rank": 1, "operation": 24})", 1);
  EXPECT_EQ(outcome_of(lost.report(), "bench.data"), "fail");
  const auto one_later = run(2, R"("lost": {"rank": 1, "operation": 25})", 2);
  EXPECT_EQ(outcome_of(one_later.report(), "bench.data"), "pass");
}

TEST_F(Train, WithoutTheLibraryNothingIsMeasured) {
  const auto ended = run(2, R"("inside": "nvls")", 2, {"--cublas=/nowhere/libcublasLt.so"});
  EXPECT_THAT(ended.out + ended.err, HasSubstr("/nowhere/libcublasLt.so"));
}

TEST_F(Train, AnAllReduceThatHangsEndsTheRun) {
  const auto ended = run(2, R"("hang": {"rank": 1, "operation": 4})", 1,
                         {"--operation-deadline=3s", "--join-deadline=10s"});
  EXPECT_THAT(message_of(ended.report(), "bench.completion"),
              AllOf(HasSubstr("training step"), HasSubstr("takes longer than 3 s")));
}

TEST_F(Train, KilledAtAnyMomentLeavesNothing) {
  expect_killed_leaves_nothing(job, {50, 300, 900},
                               [&] { return start(2, R"("inside": "nvls")", {"--steps=10000"}); });
}

}  // namespace

}  // namespace muster::e2e
