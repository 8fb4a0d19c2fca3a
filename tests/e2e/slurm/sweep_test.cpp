// SPDX-License-Identifier: Apache-2.0
// `muster sweep` in a real Slurm of four nodes: its jobs run muster-bench on host memory.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>

#include "tests/e2e/slurm/cluster.hpp"
#include "tests/support/matchers.hpp"

namespace muster::e2e {
namespace {

namespace fs = std::filesystem;

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

// The label of the test depends on this name.
class AllReduceSweep : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!why_no_cluster().empty()) GTEST_SKIP() << why_no_cluster();
    if (!kSweepsByMpi) GTEST_SKIP() << "built without MPI";
    cluster_ = std::make_unique<Cluster>(ClusterOptions{.credential_s = 120});
    ASSERT_EQ(cluster_->trouble(), "");
    const auto mpi = cluster_->run({"srun", "--mpi=list"});
    if (fmt::format("{}{}", mpi.out, mpi.err).find("pmix") == std::string::npos) {
      GTEST_SKIP() << "this Slurm has no PMIx";
    }
    fs::create_directories(results());
  }

  // Lines of the block `sweep`; `bench` are more options of muster-bench. The profile has no
  // limits.
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
                    "    bench: [--size=1KiB, --per-repeat=1, --profile=generic{2}]\n"
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

  // Until the jobs of the last pass have ended and their nodes are idle.
  [[nodiscard]] bool wait_for_jobs() {
    // If squeue fails, it also prints nothing.
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

  // The jobs run this script in place of muster-bench; call it after write_rules().
  void run_instead(std::string_view script) const {
    const auto path = cluster_->write_program("bench", fmt::format("#!/bin/bash\n{}", script));
    auto rules = content_of(cluster_->folder() / "site/etc/muster/muster.yaml");
    const std::string program = fmt::format("MUSTER_BENCH: {}", MUSTER_BENCH_PROGRAM);
    rules.replace(rules.find(program), program.size(), fmt::format("MUSTER_BENCH: {}", path));
    (void)cluster_->write("site/etc/muster/muster.yaml", rules);
  }

  std::unique_ptr<Cluster> cluster_;
};

TEST_F(AllReduceSweep, SearchesAmongIdleNodesAndRecordsTheirVerdicts) {
  write_rules("    kinds: [locate]\n");
  const auto dry = sweep({"--dry-run"});
  EXPECT_EQ(dry.status, 0) << dry.err;
  EXPECT_EQ(count(dry.out, "would submit locate in main"), 1) << dry.out;
  EXPECT_EQ(cluster_->run({"squeue", "-h"}).out, "");
  EXPECT_FALSE(fs::exists(cluster_->folder() / "sweep"));

  const auto first = sweep();
  EXPECT_EQ(first.status, 0) << first.err;
  EXPECT_THAT(first.out, HasSubstr(" submitted n[1-4] sweep job "));
  EXPECT_THAT(cluster_->run({"squeue", "-h", "--states=all", "-o", "%j %y"}).out,
              HasSubstr("muster-sweep-locate 10000"));
  ASSERT_TRUE(wait_for_jobs());
  const auto printed = outputs();

  // On a busy machine nodes may differ by more than noise: each has some verdict.
  const auto second = sweep();
  EXPECT_NE(second.status, 2) << second.err;
  EXPECT_EQ(count(second.out, ": locate: "), 4) << second.out << printed;
  EXPECT_EQ(count(muster({"events", "n3"}).out, " sweep n3 sweep job "), 1);
  EXPECT_THAT(sweep({"--status"}).out, HasSubstr("locate: 4 nodes, "));
  EXPECT_THAT(cluster_->stop(), IsEmpty());
}

// In place of muster-bench: a search on a model whose nodes have the names of those of the job.
TEST_F(AllReduceSweep, ANodeThatTwoSearchesAccuseIsConfirmed) {
  write_rules("    kinds: [locate]\n", "");
  run_instead(
      fmt::format("[[ $SLURM_PROCID == 0 ]] || exit 0\n"
                  "for word; do [[ $word != --output=* ]] || file=${{word#--output=}}; done\n"
                  "status=0\n"
                  "{} locate --format=json --output=\"$file\" --backend=sim --profile=generic "
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
  EXPECT_THAT(all, HasSubstr(" confirmed n3 sweep: locate: "));
  EXPECT_EQ(count(all, " confirmed n"), 1) << all;
  EXPECT_THAT(muster({"history"}).out, HasSubstr(" confirmed n3 "));
  EXPECT_TRUE(cluster_->nodes().at("n3").is("idle"));  // without `drain: true`
  EXPECT_THAT(sweep({"--status"}).out, HasSubstr("n3 locate: confirmed, swept at "));
}

TEST_F(AllReduceSweep, TestsEachNodeByItself) {
  write_rules("    kinds: [node]\n", "");
  const auto first = sweep();
  EXPECT_EQ(first.status, 0) << first.err;
  EXPECT_EQ(count(first.out, " submitted n"), 4) << first.out;
  ASSERT_TRUE(wait_for_jobs());
  EXPECT_EQ(count(sweep().out, ": node: "), 4) << outputs();
}

}  // namespace
}  // namespace muster::e2e
