// SPDX-License-Identifier: Apache-2.0
// The whole path through NCCL, on a fake driver and library with their own clock: sixteen
// ranks on two nodes of eight GPUs.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "tests/e2e/bench/job.hpp"
#include "tests/fakes/ras.hpp"
#include "tests/support/matchers.hpp"

namespace muster::e2e {
namespace {

using ::testing::MatchesRegex;

constexpr int kManyRanks = 16;
constexpr int kGpus = 8;

class FakeNccl : public ::testing::Test {
 protected:
  // Starts every rank; `faults` are further keys of the scenario.
  void start(std::string_view faults, const Words& more = {}) {
    const auto scenario = job.write(
        "scenario.json",
        fmt::format(R"({{"gpus": {}, "memory_gib": {}, "name": "NVIDIA A100-SXM4-40GB"{}{}}})",
                    kGpus, memory_gib, faults.empty() ? "" : ", ", faults));
    const auto words = with(
        wrapper, on_fake_gpus(muster_bench({"all_reduce", sizes,
                                            fmt::format("--profile={}", profile), "--format=json"}),
                              more));
    const int port = free_port();
    for (int rank = 0; rank < ranks; ++rank) {
      auto variables = torchrun(rank, ranks, port, std::min(ranks, kGpus));
      variables["MUSTER_FAKE_GPU"] = scenario;
      variables["MUSTER_HOSTNAME"] = fmt::format("node{}", rank / kGpus);
      variables.insert(own_variables.begin(), own_variables.end());
      job.start(words, variables);
    }
  }

  // The report of rank 0; `status` is the status of every rank.
  nlohmann::json end(int status) { return job.end_of_ranks(ranks, status).report(); }

  Job job;
  int ranks = kManyRanks;
  int memory_gib = 40;
  std::string profile = "nd96asr_v4";
  std::string sizes = "--sizes=8GiB";
  Words wrapper;  // the program that starts each rank, and its arguments
  Variables own_variables;
};

TEST_F(FakeNccl, AboveTheLimitIsHealthy) {
  start(R"("busbw": {"all_reduce": 187})");
  const auto report = end(0);
  EXPECT_EQ(report["verdict"], "healthy");
  EXPECT_TRUE(report["node"].is_null());
  EXPECT_EQ(report["nodes"].dump(), R"(["node0","node1"])");
  EXPECT_EQ(report["accused"].dump(), "[]");
  EXPECT_EQ(outcome_of(report, "bench.job_all_reduce"), "pass");
  EXPECT_EQ(outcome_of(report, "bench.transport"), "pass");
  EXPECT_EQ(outcome_of(report, "bench.data"), "pass");
  ASSERT_TRUE(report.contains("ways"));
  EXPECT_THAT(report["ways"][0].get<std::string>(),
              AllOf(HasSubstr("NET/IB"), HasSubstr("7 to 8"), HasSubstr("15 to 0")));
  // 187 is within 2% of 185: two repeats, in and out of place each.
  ASSERT_EQ(report["measurements"].size(), 6U);
  EXPECT_NEAR(report["measurements"][0]["value"].get<double>(), 187, 1e-4);
  EXPECT_EQ(report["measurements"][0]["conditions"]["nodes"], 2);
  EXPECT_EQ(report["measurements"][0]["conditions"]["library"], "NCCL 2.28.9");
}

TEST_F(FakeNccl, BelowTheLimitIsUnhealthy) {
  start(R"("busbw": {"all_reduce": 180.9})");
  const auto report = end(1);
  EXPECT_EQ(report["verdict"], "unhealthy");
  const auto finding = finding_of(report, "bench.job_all_reduce");
  EXPECT_EQ(finding["outcome"], "fail");
  EXPECT_EQ(finding["device"], "job");
  EXPECT_NEAR(finding["observed"].get<double>(), 180.9, 1e-4);
  EXPECT_EQ(finding["limit"], 181.0);
  EXPECT_EQ(finding["unit"], "GB/s");
  EXPECT_THAT(finding["message"].get<std::string>(),
              HasSubstr("180.90 GB/s for all_reduce of 8 GiB out of place, the median of 180.90, "
                        "180.90, 180.90"));
}

TEST_F(FakeNccl, EachRailHasItsOwnCommunicator) {
  sizes = "--sizes=64MiB";
  start(R"("busbw": {"*": 23})", {"--split=rail"});
  const auto report = end(0);
  EXPECT_EQ(outcome_of(report, "bench.split"), "pass");
  ASSERT_EQ(report["measurements"].size(), 16U);
  EXPECT_EQ(report["measurements"][15]["conditions"]["device"], "rail7");
  EXPECT_EQ(report["measurements"][15]["conditions"]["nodes"], 2);
}

TEST_F(FakeNccl, EachNodeIsJudgedByItsLimit) {
  start(R"("busbw": {"*": 232})", {"--split=node"});
  const auto report = end(0);
  EXPECT_EQ(outcome_of(report, "bench.node_all_reduce"), "pass");
  ASSERT_EQ(report["measurements"].size(), 4U);
  EXPECT_EQ(report["measurements"][0]["conditions"]["device"], "node0");
}

// Its limit is for NVLS, and the ring that NCCL uses here is slow.
TEST_F(FakeNccl, ASlowFallBackFromNvlsIsUnhealthy) {
  ranks = kGpus;
  memory_gib = 80;
  profile = "nd96isr_h100_v5";
  sizes = "--sizes=16GiB";
  start(R"("busbw": {"*": 10})");
  const auto report = end(1);
  EXPECT_EQ(outcome_of(report, "bench.node_all_reduce"), "fail");
  EXPECT_THAT(message_of(report, "bench.node_all_reduce"),
              HasSubstr("the limit is for algorithm nvls, and NCCL used ring"));
}

TEST_F(FakeNccl, ASettingOfTheJobDoesNotAccuseItsNode) {
  ranks = kGpus;
  own_variables["NCCL_P2P_DISABLE"] = "1";
  start(R"("busbw": {"*": 10})");
  const auto report = end(2);
  EXPECT_EQ(report["accused"].dump(), "[]");
  EXPECT_EQ(outcome_of(report, "bench.node_all_reduce"), "unknown");
  EXPECT_THAT(message_of(report, "bench.node_all_reduce"), HasSubstr("NCCL_P2P_DISABLE=1"));
}

TEST_F(FakeNccl, WithoutItsLibraryTheVerdictIsUnknown) {
  ranks = 2;
  start("", {"--nccl=/nonexistent/libnccl.so.2"});
  const auto report = end(2);
  EXPECT_EQ(report["verdict"], "unknown");
  EXPECT_EQ(outcome_of(report, "bench.completion"), "unknown");
  EXPECT_THAT(message_of(report, "bench.completion"), HasSubstr("/nonexistent/libnccl.so.2"));
}

// As in a container without the capability IPC_LOCK.
Words with_little_locked_memory() {
  const Words limited{"prlimit", "--memlock=65536:65536"};
  return ::geteuid() == 0 ? with(limited, {"setpriv", "--bounding-set=-ipc_lock"}) : limited;
}

struct GivenUp {
  std::string faults;
  Words wrapper;
  int status;
  std::string accused;
};

class FakeNcclGivenUp : public FakeNccl, public ::testing::WithParamInterface<GivenUp> {};

TEST_P(FakeNcclGivenUp, AccusesTheNodeOnlyIfItIsToBlame) {
  ranks = 2;
  profile = "generic";
  wrapper = GetParam().wrapper;
  start(GetParam().faults);
  const auto report = end(GetParam().status);
  EXPECT_EQ(report["accused"].dump(), GetParam().accused);
  const auto finding = finding_of(report, "bench.completion");
  const bool to_blame = GetParam().status == 1;
  EXPECT_EQ(finding["outcome"], to_blame ? "fail" : "unknown") << finding;
  if (!to_blame) {
    EXPECT_EQ(finding["remedy"], "fix_config");
  }
  const bool explained =
      finding["message"].get<std::string>().find("IPC_LOCK") != std::string::npos;
  EXPECT_EQ(explained, GetParam().faults.find("ibv_") != std::string::npos) << finding;
}

INSTANTIATE_TEST_SUITE_P(
    Each, FakeNcclGivenUp,
    ::testing::Values(
        GivenUp{R"("warning": "Call to ibv_create_cq failed with error Cannot allocate memory",
                   "answers": {"ncclAllReduce": 2})",
                with_little_locked_memory(), 2, "[]"},
        GivenUp{R"("answers": {"ncclAllReduce": 2})", with_little_locked_memory(), 1,
                R"(["node0"])"},
        // The GPU is broken as well.
        GivenUp{R"("warning": "Call to ibv_create_cq failed with error Cannot allocate memory",
                   "async_error": {"rank": 1, "operation": 0, "code": 1,
                                   "text": "Cuda failure 719 'unspecified launch failure'"})",
                with_little_locked_memory(), 1, R"(["node0"])"},
        GivenUp{
            R"("warning": "Error : no algorithm/protocol available for function AllReduce with datatype ncclFloat32. NCCL_PROTO was set to LL128.",
                   "answers": {"ncclAllReduce": 5})",
            {},
            2,
            "[]"}));

TEST_F(FakeNccl, AFallBackToTcpIsReportedInsteadOfTheBandwidth) {
  start(R"("busbw": {"all_reduce": 11}, "network": "socket", "ib_disabled": true)");
  const auto report = end(1);
  EXPECT_THAT(message_of(report, "bench.transport"),
              AllOf(HasSubstr("ib and gdr were not used"), HasSubstr("NCCL_IB_DISABLE"),
                    HasSubstr("used: between nodes NET/Socket (eth0); inside P2P/CUMEM")));
  EXPECT_EQ(outcome_of(report, "bench.transport"), "fail");
  EXPECT_EQ(outcome_of(report, "bench.job_all_reduce"), "skip");
}

TEST_F(FakeNccl, OneWrongElementIsNamed) {
  start(R"("busbw": {"*": 187}, "wrong": {"rank": 13, "operation": 0, "index": 77})");
  const auto report = end(1);
  const auto finding = finding_of(report, "bench.data");
  EXPECT_EQ(finding["outcome"], "fail");
  EXPECT_THAT(finding["device"].get<std::string>(), MatchesRegex("node1/gpu5 [0-9a-f:.]+"));
  EXPECT_THAT(finding["message"].get<std::string>(),
              AllOf(HasSubstr("rank 13 (gpu5 "), HasSubstr(" on node1): element 77 is "),
                    HasSubstr("after all_reduce of 8 GiB out of place; 1 element is wrong there")));
}

struct Stuck {
  std::string faults;
  Words options;
  std::vector<std::string> parts;  // of the message
};

class FakeNcclStuck : public FakeNccl, public ::testing::WithParamInterface<Stuck> {};

TEST_P(FakeNcclStuck, EndsInTimeAndNamesTheRank) {
  start(GetParam().faults, GetParam().options);
  const auto report = end(1);
  EXPECT_EQ(outcome_of(report, "bench.completion"), "fail");
  for (const auto& part : GetParam().parts) {
    EXPECT_THAT(message_of(report, "bench.completion"), HasSubstr(part));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Each, FakeNcclStuck,
    ::testing::Values(
        // A rank does not come to the communicator.
        Stuck{R"("absent": 9)",
              {"--join-deadline=8s", "--operation-deadline=4s"},
              {"start of nccl's communicator", "rank 9 ", "has not started it"}},
        Stuck{R"("absent": 9, "nccl_version": 23102)",
              {"--diagnose", "--join-deadline=8s", "--operation-deadline=2s"},
              {}},
        Stuck{R"("busbw": {"*": 187}, "hang": {"rank": 11, "operation": 7})",
              {"--operation-deadline=2s"},
              {"all_reduce of 8 GiB", "rank 11 (gpu3 ", "has not started operation 7"}},
        // The GPU stops before the first, verified operation.
        Stuck{R"("hang": {"rank": 11, "operation": 0})",
              {"--join-deadline=8s", "--operation-deadline=4s"},
              {"rank 11 (gpu3 ", " on node1) ", "has not started operation 1"}},
        Stuck{R"("hang": {"rank": 11, "operation": 7}, "abort_hangs": true)",
              {"--operation-deadline=2s"},
              {}},
        Stuck{
            R"("async_error": {"rank": 3, "operation": 7, "code": 6, "text": "NET/IB: completion error"})",
            {},
            {"rank 3 (gpu3 ", " on node0) gave up in all_reduce of 8 GiB",
             "NCCL reports an asynchronous error", "NET/IB: completion error"}}));

// NCCL's warnings are in the report, and its whole log goes to a user who asked for it.
TEST_F(FakeNccl, AHangIsReportedWithNcclsWarnings) {
  ranks = 2;
  own_variables["NCCL_DEBUG"] = "WARN";
  start(R"("hang": {"rank": 1, "operation": 7}, "warning": "NET/IB : a completion is missing")",
        {"--operation-deadline=1s", "--format=text", "--profile=generic"});
  for (std::size_t rank = 0; rank < 2; ++rank) {
    const auto ended = job.end_of(rank);
    EXPECT_EQ(ended.status, 1) << ended.err;
    EXPECT_THAT(ended.err, HasSubstr("NCCL WARN NET/IB : a completion is missing\n")) << rank;
    if (rank == 0) {
      EXPECT_THAT(ended.out, HasSubstr("# NCCL warns: NET/IB : a completion is missing\n"));
    }
  }
}

TEST_F(FakeNccl, AHangIsReportedWithTheAnswerOfNcclsRasService) {
  ranks = 2;
  const fakes::Ras service(
      "SERVER PROTOCOL 2\nOK\nErrors\n======\n\nDEAD\n  1 job process is considered dead\n");
  own_variables["NCCL_RAS_ADDR"] = service.address();
  start(R"("hang": {"rank": 1, "operation": 7})", {"--operation-deadline=1s", "--profile=generic"});
  EXPECT_THAT(message_of(end(1), "bench.completion"),
              AllOf(HasSubstr("has not started operation 7"),
                    HasSubstr("NCCL's RAS service reports: 1 job process is considered dead")));
}

// NCCL also prints it to the report's stream.
TEST_F(FakeNccl, ReportsNcclsDiagnosis) {
  ranks = 2;
  start(R"("busbw": {"*": 187}, "nccl_version": 23102, "diagnosis": [
          "NCCL DIAG === NCCL Diagnostics ===",
          "NCCL DIAG [INFO] p2p: only 1/2 GPU-to-GPU peer accesses passed verification",
          "NCCL DIAG NCCL diagnostics completed in 5.1 ms across 2 ranks"])",
        {"--diagnose", "--profile=generic"});
  const auto report = end(1);
  EXPECT_EQ(outcome_of(report, "bench.diagnosis"), "fail");
  EXPECT_EQ(message_of(report, "bench.diagnosis"),
            "NCCL: p2p: only 1/2 GPU-to-GPU peer accesses passed verification");
}

TEST_F(FakeNccl, AHangIsReportedWithTheDiagnosis) {
  ranks = 2;
  start(R"("hang": {"rank": 1, "operation": 7}, "nccl_version": 23102, "diagnosis": [
          "NCCL DIAG [OK]   p2p: verified 2 peer accesses"])",
        {"--diagnose", "--profile=generic", "--operation-deadline=1s"});
  const auto report = end(1);
  EXPECT_EQ(outcome_of(report, "bench.diagnosis"), "pass");
  EXPECT_EQ(outcome_of(report, "bench.completion"), "fail");
}

TEST_F(FakeNccl, AnOlderNcclCannotDiagnoseItself) {
  ranks = 2;
  start("", {"--diagnose", "--profile=generic"});
  EXPECT_THAT(message_of(end(2), "bench.completion"),
              HasSubstr("--diagnose: NCCL 2.28.9 is too old: needs 2.31"));
}

// Scripts look for these words in the table, and the first match must be the right one.
TEST_F(FakeNccl, PrintsNcclsWarningsAfterTheTable) {
  ranks = 2;
  profile = "generic";
  sizes = "--sizes=1MiB";
  start(R"("warning": "NET/IB : bandwidth of mlx5_ib0 is low")", {"--format=text", kAnyBandwidth});
  const auto ended = job.end_of(0);
  EXPECT_EQ(ended.status, 0) << ended.err;
  const auto average = ended.out.find("\n# Avg bus bandwidth    : ");
  const auto warning = ended.out.find("\n# NCCL warns: NET/IB : bandwidth of mlx5_ib0 is low\n");
  ASSERT_NE(average, std::string::npos) << ended.out;
  ASSERT_NE(warning, std::string::npos) << ended.out;
  EXPECT_LT(average, warning);
  EXPECT_EQ(ended.out.find("NCCL warns", warning + 10), std::string::npos) << "each once";
}

TEST_F(FakeNccl, VerbosePrintsTheBindingUnlessItIsOff) {
  ranks = 1;
  profile = "generic";
  sizes = "--sizes=1MiB";
  start("", {"--format=text", "-v"});
  // The fake's GPU is not among this machine's devices, except by chance.
  EXPECT_THAT(job.end_of(0).out, AnyOf(HasSubstr("# this rank is not bound to CPUs: "),
                                       HasSubstr("# this rank runs on CPUs ")));
  start("", {"--format=text", "-v", "--bind=none"});
  EXPECT_THAT(job.end_of(1).out, AllOf(HasSubstr("# back end"), Not(HasSubstr("CPUs"))));
}

TEST_F(FakeNccl, TheLossOfRanks0And1IsOnlyNoted) {
  start(R"("busbw": {"*": 187}, "hang": {"rank": 11, "operation": 7})", {"--format=text"});
  ASSERT_TRUE(job.says(0, "(GB/s)"));
  for (std::size_t rank = 0; rank < kGpus; ++rank) ::kill(job.pid_of(rank), SIGKILL);
  for (std::size_t rank = kGpus; rank < kManyRanks; ++rank) {
    const auto ended = job.end_of(rank);
    EXPECT_EQ(ended.status, 1) << "rank " << rank << ": " << ended.err;
    EXPECT_EQ(ended.out, "") << "rank " << rank;
    EXPECT_THAT(ended.err, HasSubstr("rank 0")) << "rank " << rank;
  }
}

TEST_F(FakeNccl, TheLossOfRank0AloneIsReportedByRank1Alone) {
  start(R"("busbw": {"*": 187}, "hang": {"rank": 11, "operation": 7})", {"--format=text"});
  ASSERT_TRUE(job.says(0, "(GB/s)"));
  ::kill(job.pid_of(0), SIGKILL);
  for (std::size_t rank = 1; rank < kManyRanks; ++rank) {
    const auto ended = job.end_of(rank);
    EXPECT_EQ(ended.status, 1) << "rank " << rank << ": " << ended.err;
    if (rank == 1) {
      EXPECT_THAT(ended.out,
                  AllOf(HasSubstr("rank 0"), HasSubstr("the job on node0, node1 is unhealthy: ")));
    } else {
      EXPECT_EQ(ended.out, "") << "rank " << rank;
    }
  }
}

// The module of another MPI reports rank 0 of 1 to each process.
TEST_F(FakeNccl, RunsWithoutAnMpiThatContradictsTheLauncher) {
  const auto scenario = job.write("scenario.json", R"({"gpus": 2, "busbw": {"*": 187}})");
  const auto port = std::to_string(free_port());
  const auto words = on_fake_gpus(
      muster_bench({"all_reduce", kAnyBandwidth, "--sizes=1MiB", "--profile=generic"}));
  for (const auto* rank : {"0", "1"}) {
    job.start(words, {{"PMI_RANK", rank},
                      {"PMI_SIZE", "2"},
                      {"MPI_LOCALRANKID", rank},
                      {"MPI_LOCALNRANKS", "2"},
                      {"MASTER_ADDR", "127.0.0.1"},
                      {"MASTER_PORT", port},
                      {"MUSTER_FAKE_GPU", scenario}});
  }
  for (std::size_t rank = 0; rank < 2; ++rank) {
    const auto ended = job.end_of(rank);
    EXPECT_EQ(ended.status, 0) << ended.out << ended.err;
  }
}

// A driver without a GPU, on a node that needs none.
TEST(FakeNcclTest, ANodeWithoutGpusMeasuresHostMemory) {
  Job job;
  const auto scenario = job.write("scenario.json", R"({"gpus": 0})");
  const auto words = [](const char* profile) {
    return on_fake_gpus(muster_bench({"all_reduce", "--sizes=8", "-v", profile}));
  };
  const Variables variables{{"MUSTER_FAKE_GPU", scenario}};
  const auto cpu = job.run(words("--profile=generic"), variables);
  EXPECT_THAT(cpu.status, AnyOf(0, 2)) << cpu.err;  // a trial, unless here is a GPU or an HCA
  EXPECT_THAT(cpu.out, HasSubstr("# Out of bounds values : 0 OK"));
  EXPECT_THAT(cpu.out, AllOf(HasSubstr("# back end tcp: no GPU ("), HasSubstr("(CUDA 100")));
  const auto gpu = job.run(words("--profile=nd96asr_v4"), variables);
  EXPECT_EQ(gpu.status, 2);
  EXPECT_THAT(gpu.err, HasSubstr("where profile nd96asr_v4 expects 8"));
}

}  // namespace
}  // namespace muster::e2e
