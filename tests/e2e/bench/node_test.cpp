// SPDX-License-Identifier: Apache-2.0
// Whole runs of `muster-bench node`, on fakes of NVIDIA's libraries.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "tests/e2e/bench/job.hpp"

namespace muster::e2e {
namespace {

using ::testing::HasSubstr;

class Node : public ::testing::Test {
 protected:
  Words words(const Words& more) {
    Words words{MUSTER_BENCH_PROGRAM,
                "node",
                "--profile=nd96isr_h100_v5",
                "--size=1 MiB",
                "--format=json",
                fmt::format("--cuda={}/cuda/libcuda.so.1", MUSTER_FAKES),
                fmt::format("--cublas={}/cublas/libcublasLt.so.13", MUSTER_FAKES),
                fmt::format("--nccl={}/nccl/libnccl.so.2", MUSTER_FAKES),
                fmt::format("--verbs={}/verbs/libibverbs.so.1", MUSTER_FAKES)};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  Variables variables(std::string_view scenario) {
    return {{"MUSTER_FAKE_GPU", job.write("scenario.json", scenario)}};
  }

  Job job;
};

TEST_F(Node, FindsTheSlowLinkAndNothingElse) {
  const auto started = job.start(words({"--only=gpu.copy,gpu.p2p,gpu.memory"}),
                                 variables(R"({"node": {"peer_gbs": 390, "pcie": {"3": 27}}})"));
  const auto ended = job.end_of(started);
  EXPECT_EQ(ended.status, 1) << ended.err;
  const auto report = ended.report();
  for (const auto& finding : report["findings"]) {
    if (finding["outcome"] != "fail") continue;
    EXPECT_EQ(finding["device"], "gpu3");
  }
  EXPECT_EQ(outcome_of(report, "bench.host_copy"), "fail");
  EXPECT_TRUE(job.leaves_nothing());
}

TEST_F(Node, NamesTheHcaAtHalfRate) {
  auto given = variables("{}");
  given["MUSTER_FAKE_VERBS"] = job.write("hcas.json", R"({"slow": {"5": 198}})");
  given["LD_PRELOAD"] = fmt::format("{}/verbs/libibverbs.so.1", MUSTER_FAKES);  // for its clock
  const auto ended = job.end_of(job.start(words({"--only=ib.loopback"}), given));
  EXPECT_EQ(ended.status, 1) << ended.out << ended.err;
  EXPECT_EQ(finding_of(ended.report(), "bench.hca_write")["device"], "mlx5_ib5");
  EXPECT_THAT(message_of(ended.report(), "bench.hca_write"),
              HasSubstr("RDMA write, GPU memory 198 Gb/s; the median of 8 is 39"));
  EXPECT_TRUE(job.leaves_nothing());
}

TEST_F(Node, RunsNcclOverItsGpusAndJudgesWhatItReaches) {
  const auto started =
      job.start(words({"--only=nccl.intra", "--set=bench.node_all_reduce.fail_below=460 GB/s"}),
                variables(R"({"gpus": 2, "busbw": {"all_reduce": 300}, "inside": "nvls"})"));
  const auto ended = job.end_of(started);
  EXPECT_EQ(ended.status, 1) << ended.out << ended.err;
  EXPECT_THAT(message_of(ended.report(), "bench.node_all_reduce"),
              HasSubstr("all-reduce bus bandwidth 300 GB/s; fails below 460"));
  EXPECT_TRUE(job.leaves_nothing());
}

TEST_F(Node, RunsTrainingStepsOverItsGpus) {
  const auto ended =
      job.end_of(job.start(words({"--only=train.step"}), variables(R"({"gpus": 2})")));
  const auto report = ended.report();
  std::vector<std::string> measured;
  for (const auto& each : report["measurements"]) measured.push_back(each["quantity"]);
  EXPECT_THAT(measured, ::testing::ElementsAre("steps_per_second", "tokens_per_second",
                                               "step_tflops", "lost_by_each_other"))
      << ended.out << ended.err;
  EXPECT_TRUE(job.leaves_nothing());
}

TEST_F(Node, KilledAtAnyMomentLeavesNothing) {
  for (const int after_ms : {5, 40, 150, 400, 900}) {
    const auto started = job.start(words({"--skip=host.disk"}), variables("{}"));
    std::this_thread::sleep_for(std::chrono::milliseconds(after_ms));
    ::kill(job.pid_of(started), SIGKILL);
    EXPECT_EQ(job.end_of(started).status, 128 + SIGKILL) << after_ms;
    EXPECT_TRUE(job.leaves_nothing()) << after_ms;
  }
}

TEST_F(Node, KilledWhileHcasAreAtWorkLeavesNothing) {
  auto given = variables("{}");
  given["MUSTER_FAKE_VERBS"] = job.write("hcas.json", R"({"silent": 1})");
  for (const int after_ms : {100, 700}) {
    const auto started = job.start(words({"--only=ib.loopback"}), given);
    std::this_thread::sleep_for(std::chrono::milliseconds(after_ms));
    ::kill(job.pid_of(started), SIGKILL);
    EXPECT_EQ(job.end_of(started).status, 128 + SIGKILL) << after_ms;
    EXPECT_TRUE(job.leaves_nothing()) << after_ms;
  }
}

}  // namespace
}  // namespace muster::e2e
