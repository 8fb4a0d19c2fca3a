// SPDX-License-Identifier: Apache-2.0
// The batch scripts of slurm/jobs, run by a real Slurm over two nodes, with host memory.
#include <fmt/format.h>

#include <memory>

#include "tests/e2e/slurm/cluster.hpp"
#include "tests/support/matchers.hpp"

namespace muster::e2e {
namespace {

using ::testing::ContainsRegex;

std::string script(std::string_view name) {
  return fmt::format("{}/slurm/jobs/{}.sbatch", MUSTER_SOURCE_DIR, name);
}

Words tasks_per_node(int tasks) {
  return {fmt::format("--ntasks-per-node={}", tasks), "--gpus-per-node=0"};
}

Variables variables() {
  return {{"MUSTER_BENCH", MUSTER_BENCH_PROGRAM},
          {"MUSTER_DATA_DIR", fmt::format("{}/configs", MUSTER_SOURCE_DIR)},
          {"OMPI_ALLOW_RUN_AS_ROOT", "1"},
          {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
          {"OMPI_MCA_mpi_yield_when_idle", "1"}};
}

#ifdef MUSTER_HAS_MPI
constexpr bool kHasMpi = true;
#else
constexpr bool kHasMpi = false;
#endif

// Returns why this script cannot be run here; empty if it can.
std::string why_not(std::string_view name, Cluster& cluster) {
  if (!kHasMpi) return "built without MPI";
  if (name == "all_reduce_mpirun") {
    const auto ran = cluster.run({"sh", "-c", "command -v mpirun"});
    return ran.status == 0 ? "" : "mpirun is not installed";
  }
  const auto ran = cluster.run({"srun", "--mpi=list"});
  const bool known = fmt::format("{}{}", ran.out, ran.err).find("pmix") != std::string::npos;
  return known ? "" : "this Slurm has no PMIx";
}

class AllReduceJob : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!why_no_cluster().empty()) GTEST_SKIP() << why_no_cluster();
    cluster = std::make_unique<Cluster>(ClusterOptions{.nodes = 2, .credential_s = 120});
    ASSERT_EQ(cluster->trouble(), "");
    if (const auto why = why_not(GetParam(), *cluster); !why.empty()) GTEST_SKIP() << why;
  }

  std::unique_ptr<Cluster> cluster;
};

TEST_P(AllReduceJob, RunsOverTwoNodesAndPassesOnItsStatus) {
  struct Case {
    int tasks_per_node;
    const char* option;
    const char* exit_code;
    const char* text;
  };

  for (const auto& [tasks, option, exit_code, text] :
       {Case{1, "--max=4KiB", "0:0", "the job on n1, n2 is healthy"},
        Case{2, "--max=1KiB", "0:0", "the job on n1, n2 is healthy"},
        Case{1, "--min-busbw=90000GB/s", "1:0", "the job on n1, n2 is unhealthy"},
        Case{1, "--sizes=nonsense", "64:0", "expected a number with a unit"}}) {
    const auto id = cluster->submit(
        script(GetParam()), tasks_per_node(tasks), variables(),
        {"--iterations=5", "--max=4KiB", "--profile=generic", "--min-busbw=1B/s", option});
    ASSERT_NE(id, "") << cluster->refusal();
    const auto job = cluster->wait_for_job(id);
    ASSERT_TRUE(job);
    EXPECT_EQ(job->exit_code, exit_code) << option << "\n" << cluster->output_of(id);
    EXPECT_EQ(job->nodes, "n[1-2]");
    EXPECT_THAT(cluster->output_of(id), HasSubstr(text)) << option;
  }
  EXPECT_THAT(cluster->stop(), IsEmpty());
}

// Uses MPI, not sockets: PMIx and mpirun bring the ranks together.
TEST_P(AllReduceJob, TalksByMpi) {
  const auto id = cluster->submit(script(GetParam()), tasks_per_node(1), variables(),
                                  {"--sizes=1KiB", "--iterations=3", "--profile=generic"});
  ASSERT_NE(id, "") << cluster->refusal();
  ASSERT_TRUE(cluster->wait_for_job(id));
  const auto output = cluster->output_of(id);
  EXPECT_THAT(output, HasSubstr("# muster-bench all_reduce, Open MPI"));
  EXPECT_THAT(output, ContainsRegex("Rank  0 .* on +n1 "));
  EXPECT_THAT(output, ContainsRegex("Rank  1 .* on +n2 "));
}

INSTANTIATE_TEST_SUITE_P(Each, AllReduceJob,
                         ::testing::Values("all_reduce_srun", "all_reduce_mpirun"),
                         [](const auto& it) { return std::string(it.param); });

// Otherwise a hanging process would keep the nodes until the job's time limit.
TEST(AllReduceBySrun, EndsAndNamesTheRankIfOneHangs) {
  if (!why_no_cluster().empty()) GTEST_SKIP() << why_no_cluster();
  Cluster cluster({.nodes = 2, .credential_s = 120});
  ASSERT_EQ(cluster.trouble(), "");
  if (const auto why = why_not("all_reduce_srun", cluster); !why.empty()) GTEST_SKIP() << why;
  auto more = variables();
  more["MUSTER_BENCH"] = cluster.write_program(
      "hangs",
      // Once the head of the table is written, all ranks are in operations.
      fmt::format("#!/bin/bash\n"
                  "if [[ $SLURM_PROCID == 1 ]]; then\n"
                  "  (until grep -qF '(GB/s)' {}/$SLURM_JOB_ID.out; do sleep 0.1; done\n"
                  "   kill -STOP $$) &\n"
                  "fi\n"
                  "exec {} \"$@\"\n",
                  cluster.folder().string(), MUSTER_BENCH_PROGRAM));
  more["MUSTER_SRUN"] = "--wait=2";
  const auto id = cluster.submit(
      script("all_reduce_srun"), tasks_per_node(1), more,
      {"--max=4KiB", "--iterations=10000000", "--profile=generic", "--operation-deadline=3s"});
  ASSERT_NE(id, "") << cluster.refusal();
  const auto job = cluster.wait_for_job(id);
  ASSERT_TRUE(job);
  EXPECT_EQ(job->state, "FAILED");
  EXPECT_EQ(job->exit_code, "137:0");
  EXPECT_THAT(cluster.output_of(id), HasSubstr("rank 1 on n2 did not finish all_reduce"));
}

class JobScript : public ::testing::TestWithParam<const char*> {};

TEST_P(JobScript, IsTakenBySlurmAsItIs) {
  if (!why_no_cluster().empty()) GTEST_SKIP() << why_no_cluster();
  Cluster cluster({.nodes = 2, .credential_s = 120});
  ASSERT_EQ(cluster.trouble(), "");
  EXPECT_EQ(cluster.run({"bash", "-n", script(GetParam())}).status, 0);
  const auto ran = cluster.run({"sbatch", "--test-only", script(GetParam())});
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("using 16 processors on nodes n[1-2] in partition main"));
}

INSTANTIATE_TEST_SUITE_P(Each, JobScript,
                         ::testing::Values("all_reduce_srun", "all_reduce_mpirun",
                                           "all_reduce_container"),
                         [](const auto& it) { return std::string(it.param); });

class JobBySrun : public ::testing::TestWithParam<const char*> {};

TEST_P(JobBySrun, HasItsRanksMeetByARingUnlessTheSiteSaysOtherwise) {
  if (!why_no_cluster().empty()) GTEST_SKIP() << why_no_cluster();
  Cluster cluster({.nodes = 1});
  ASSERT_EQ(cluster.trouble(), "");
  const std::filesystem::path srun =
      cluster.write_program("bin/srun", "#!/bin/sh\necho \"fences by $SLURM_PMIX_FENCE\"\n");
  Variables more{
      {"PATH", fmt::format("{}:{}", srun.parent_path().string(), cluster.variables().at("PATH"))},
      {"MUSTER_IMAGE", "image"}};
  EXPECT_EQ(cluster.run({"bash", script(GetParam())}, more).out, "fences by ring\n");
  more["SLURM_PMIX_FENCE"] = "tree";
  EXPECT_EQ(cluster.run({"bash", script(GetParam())}, more).out, "fences by tree\n");
}

INSTANTIATE_TEST_SUITE_P(Each, JobBySrun,
                         ::testing::Values("all_reduce_srun", "all_reduce_container", "sweep"),
                         [](const auto& it) { return std::string(it.param); });

// A stand-in for srun with pyxis: prints the container and runs the rest without it.
constexpr const char* kSrun = R"(#!/bin/bash
words=()
for word in "$@"; do
  case $word in
    --container-* | --no-container-*) echo "pyxis $word" ;;
    *) words+=("$word") ;;
  esac
done
PATH=$REAL_PATH exec srun "${words[@]}"
)";

TEST(AllReduceInContainer, GivesPyxisTheImageAndItsMountsAndPassesOnTheStatus) {
  if (!why_no_cluster().empty()) GTEST_SKIP() << why_no_cluster();
  Cluster cluster({.nodes = 2, .credential_s = 120});
  ASSERT_EQ(cluster.trouble(), "");
  if (const auto why = why_not("all_reduce_container", cluster); !why.empty()) {
    GTEST_SKIP() << why;
  }
  const auto path = cluster.variables().at("PATH");
  const std::filesystem::path fake = cluster.write_program("bin/srun", kSrun);
  auto more = variables();
  more["PATH"] = fmt::format("{}:{}", fake.parent_path().string(), path);
  more["REAL_PATH"] = path;
  more["MUSTER_MOUNTS"] = "/data:/data";
  const Words options{"--max=1KiB", "--iterations=3", "--profile=generic", "--min-busbw=1B/s"};

  const auto refused =
      cluster.submit(script("all_reduce_container"), tasks_per_node(1), more, options);
  EXPECT_EQ(cluster.wait_for_job(refused).value_or(SlurmJob{}).exit_code, "64:0");
  EXPECT_THAT(cluster.output_of(refused), HasSubstr("MUSTER_IMAGE does not name an image"));

  more["MUSTER_IMAGE"] = "/shared/an image.sqsh";
  const auto id = cluster.submit(script("all_reduce_container"), tasks_per_node(1), more, options);
  EXPECT_EQ(cluster.wait_for_job(id).value_or(SlurmJob{}).exit_code, "0:0");
  const auto output = cluster.output_of(id);
  EXPECT_THAT(output, HasSubstr("pyxis --container-image=/shared/an image.sqsh\n"));
  EXPECT_THAT(output, HasSubstr("pyxis --container-mounts=/data:/data"));
  EXPECT_THAT(output, HasSubstr("pyxis --no-container-mount-home\n"));
  EXPECT_THAT(output, HasSubstr("the job on n1, n2 is healthy"));
}

}  // namespace
}  // namespace muster::e2e
