// SPDX-License-Identifier: Apache-2.0
// `muster sweep` in a real Slurm of four nodes: its jobs run muster-bench on host memory.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>

#include "tests/e2e/slurm/cluster.hpp"

namespace muster::e2e {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

#ifdef MUSTER_HAS_MPI
constexpr bool kSweepsByMpi = true;
#else
constexpr bool kSweepsByMpi = false;
#endif

std::size_t count(const std::string& text, std::string_view word) {
  std::size_t found = 0;
  for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++found;
  return found;
}

// The name says which label it has: jobs of MPI.
class AllReduceSweep : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!why_no_cluster().empty()) GTEST_SKIP() << why_no_cluster();
    if (!kSweepsByMpi) GTEST_SKIP() << "built without MPI";
    cluster_ = std::make_unique<Cluster>();
    ASSERT_EQ(cluster_->trouble(), "");
    const auto mpi = cluster_->run({"srun", "--mpi=list"});
    if (fmt::format("{}{}", mpi.out, mpi.err).find("pmix") == std::string::npos) {
      GTEST_SKIP() << "this Slurm has no PMIx";
    }
    fs::create_directories(results());
  }

  // Of the block `sweep`; `bench` are more options of muster-bench. The profile has no limits.
  void write_rules(std::string_view rules, std::string_view bench = ", --min-busbw=1B/s") const {
    (void)cluster_->write(
        "site/etc/muster/muster.yaml",
        fmt::format("schema: muster.site/1\n"
                    "slurm:\n"
                    "  controller_deadline: 60 s\n"
                    "  sweep:\n"
                    "    as_root: true\n"
                    "    results: {0}\n"
                    "    script: {1}/slurm/jobs/sweep.sbatch\n"
                    "    time: 20 min\n"
                    "    options: [--ntasks-per-node=2, --gpus-per-node=0]\n"
                    "    bench: [--max=1KiB, --iterations=3, --profile=generic{2}]\n"
                    "    environment:\n"
                    "      MUSTER_BENCH: {3}\n"
                    "      MUSTER_DATA_DIR: {1}/configs\n"
                    "      OMPI_ALLOW_RUN_AS_ROOT: \"1\"\n"
                    "      OMPI_ALLOW_RUN_AS_ROOT_CONFIRM: \"1\"\n"
                    "      OMPI_MCA_mpi_yield_when_idle: \"1\"\n"
                    "{4}",
                    results().string(), MUSTER_SOURCE_DIR, bench, MUSTER_BENCH_PROGRAM, rules));
  }

  Ran muster(const Words& words) {
    Words all{MUSTER_PROGRAM};
    all.insert(all.end(), words.begin(), words.end());
    all.insert(all.end(), {"--state", (cluster_->folder() / "sweep").string()});
    return cluster_->run(all);
  }

  Ran sweep(const Words& words = {}) {
    Words all{"sweep", "--root", (cluster_->folder() / "site").string()};
    all.insert(all.end(), words.begin(), words.end());
    return muster(all);
  }

  // When the jobs of the last pass have left their results, and their nodes.
  [[nodiscard]] bool wait_for_jobs() {
    // Without an answer squeue writes nothing, too.
    const auto none_is_left = [&] {
      const auto queue = cluster_->run({"squeue", "-h"});
      return queue.status == 0 && queue.out.empty();
    };
    if (!wait_for(none_is_left)) return false;
    return cluster_->wait_until_all([](const SlurmNode& node) { return node.is("idle"); });
  }

  [[nodiscard]] fs::path results() const { return cluster_->folder() / "results"; }

  [[nodiscard]] std::string outputs() const {
    std::string text;
    for (const auto& entry : fs::directory_iterator(results())) {
      text += fmt::format("--- {}\n{}", entry.path().string(), content_of(entry.path()));
    }
    return text;
  }

  // After write_rules(): the jobs run this script in place of muster-bench.
  void run_instead(std::string_view script) const {
    const auto path = cluster_->write_program("bench", fmt::format("#!/bin/bash\n{}", script));
    auto rules = content_of(cluster_->folder() / "site/etc/muster/muster.yaml");
    const std::string program = fmt::format("MUSTER_BENCH: {}", MUSTER_BENCH_PROGRAM);
    rules.replace(rules.find(program), program.size(), fmt::format("MUSTER_BENCH: {}", path));
    (void)cluster_->write("site/etc/muster/muster.yaml", rules);
  }

  std::unique_ptr<Cluster> cluster_;
};

TEST_F(AllReduceSweep, SweepsPairsAndSingleNodesAndRemembersTheirResults) {
  write_rules("");
  const auto dry = sweep({"--dry-run"});
  EXPECT_EQ(dry.status, 0) << dry.err;
  EXPECT_EQ(count(dry.out, "would be submitted: pair in main"), 2) << dry.out;
  EXPECT_EQ(cluster_->run({"squeue", "-h"}).out, "");
  EXPECT_FALSE(fs::exists(cluster_->folder() / "sweep"));

  const auto first = sweep();
  EXPECT_EQ(first.status, 0) << first.err;
  EXPECT_THAT(first.out,
              AllOf(HasSubstr(" submitted n[1-2] sweep job "), HasSubstr(" submitted n[3-4] ")));
  EXPECT_THAT(cluster_->run({"squeue", "-h", "--states=all", "-o", "%j %y"}).out,
              HasSubstr("muster-sweep-pair 10000"));
  ASSERT_TRUE(wait_for_jobs());
  const auto printed = outputs();

  const auto second = sweep();
  EXPECT_EQ(second.status, 0) << second.err;
  EXPECT_THAT(second.out, HasSubstr(": pair with n2: healthy: ")) << printed;
  EXPECT_EQ(count(second.out, " sweep n"), 4) << second.out << printed;
  EXPECT_EQ(count(second.out, " submitted n"), 4) << second.out;
  EXPECT_THAT(second.out, HasSubstr(": single in main"));
  ASSERT_TRUE(wait_for_jobs());

  const auto third = sweep();
  EXPECT_EQ(count(third.out, ": single: healthy: "), 4) << third.out << printed;
  EXPECT_THAT(third.out, Not(HasSubstr("submitted")));
  EXPECT_TRUE(fs::is_empty(results())) << outputs();

  const auto status = sweep({"--status"});
  EXPECT_EQ(status.status, 0) << status.err;
  EXPECT_EQ(status.out,
            "pair: 4 nodes, 0 of them not swept within 7 d; 0 suspect, 0 confirmed\n"
            "single: 4 nodes, 0 of them not swept within 7 d; 0 suspect, 0 confirmed\n");
  EXPECT_EQ(count(muster({"events", "n3"}).out, " sweep n3 sweep job "), 2);
  EXPECT_EQ(muster({"history"}).out, "");
  EXPECT_THAT(cluster_->stop(), IsEmpty());
}

TEST_F(AllReduceSweep, WithoutALimitNobodyIsHealthy) {
  write_rules("    kinds: [pair]\n", "");
  EXPECT_EQ(sweep().status, 0);
  ASSERT_TRUE(wait_for_jobs());
  const auto second = sweep();
  EXPECT_EQ(count(second.out, ": not judged: profile generic has no limit "), 4) << second.out;
  EXPECT_EQ(count(second.out, " submitted "), 0) << second.out;
}

TEST_F(AllReduceSweep, WhereEveryPairFailsEachIsTriedOnceAndNobodyIsConfirmed) {
  write_rules("    kinds: [pair]\n", ", --min-busbw=90000GB/s");
  std::string all;
  for (int pass = 0; pass < 5; ++pass) {
    const auto swept = sweep();
    EXPECT_EQ(swept.status, 0) << swept.err;
    all += swept.out;
    ASSERT_TRUE(wait_for_jobs());
  }
  for (const auto* pair : {"n[1-2]", "n[1,3]", "n[1,4]", "n[2-3]", "n[2,4]", "n[3-4]"}) {
    EXPECT_EQ(count(all, fmt::format(" submitted {} ", pair)), 1) << pair << "\n" << all;
  }
  EXPECT_EQ(count(all, " submitted "), 6) << all;
  EXPECT_EQ(count(all, "unhealthy: bench.min_busbw "), 12) << all << outputs();
  const auto status = sweep({"--status"});
  EXPECT_EQ(status.status, 0) << status.err;
  EXPECT_THAT(status.out,
              AllOf(HasSubstr("4 suspect, 0 confirmed\n"),
                    HasSubstr("pair: all nodes fail: look at the limit and at what they share\n")));
}

// Its program is slow wherever n3 takes part.
TEST_F(AllReduceSweep, TheNodeThatFailsWithEverybodyIsConfirmed) {
  write_rules("    kinds: [pair]\n    partners: 2\n", "");
  run_instead(
      fmt::format("limit=1B/s\n"
                  "[[ $SLURM_JOB_NODELIST != *3* ]] || limit=90000GB/s\n"
                  "exec {} \"$@\" --min-busbw=$limit\n",
                  MUSTER_BENCH_PROGRAM));
  std::string all;
  int status = 0;
  // On a busy machine a job may end without a result, and is run again after a while.
  EXPECT_TRUE(wait_for([&] {
    const auto swept = sweep();
    status = swept.status;
    all += swept.out + swept.err;
    return status != 0 || !wait_for_jobs();
  })) << all;
  EXPECT_EQ(status, 1) << all;
  EXPECT_EQ(count(all, " confirmed n"), 1) << all;
  EXPECT_THAT(all, HasSubstr(" confirmed n3 sweep: pair: it failed with "));
  EXPECT_THAT(muster({"history"}).out, HasSubstr(" confirmed n3 "));
  EXPECT_TRUE(cluster_->nodes().at("n3").is("idle"));  // a person decides
  const auto standing = sweep({"--status"});
  EXPECT_EQ(standing.status, 1);
  EXPECT_THAT(standing.out, HasSubstr("n3 pair: confirmed, swept at "));
}

// Its search is that of a model, whose nodes have the names of those of the job.
TEST_F(AllReduceSweep, OneSearchAmongAllIdleNodesConfirmsTheSlowOne) {
  write_rules("    kinds: [locate]\n", "");
  run_instead(
      fmt::format("[[ $SLURM_PROCID == 0 ]] || exit 0\n"
                  "for word; do [[ $word != --output=* ]] || file=${{word#--output=}}; done\n"
                  "status=0\n"
                  "{} \"$@\" --backend=sim --profile=generic "
                  "--sim=nodes=4,fault=slow_hca:2:1:0.5 || status=$?\n"
                  "sed -i 's/sim0/n1/g; s/sim1/n2/g; s/sim2/n3/g; s/sim3/n4/g' \"$file\"\n"
                  "exit $status\n",
                  MUSTER_BENCH_PROGRAM));
  std::string all;
  int status = 0;
  for (int pass = 0; pass < 4 && status == 0; ++pass) {
    const auto swept = sweep();
    status = swept.status;
    all += swept.out + swept.err;
    ASSERT_TRUE(wait_for_jobs());
  }
  EXPECT_EQ(status, 1) << all << outputs();
  EXPECT_THAT(all, HasSubstr(" submitted n[1-4] sweep job ")) << outputs();
  EXPECT_THAT(all, HasSubstr(" confirmed n3 sweep: locate: "));
  EXPECT_EQ(count(all, " confirmed n"), 1) << all;
  EXPECT_THAT(sweep({"--status"}).out, HasSubstr("n3 locate: confirmed, swept at "));
}

}  // namespace
}  // namespace muster::e2e
