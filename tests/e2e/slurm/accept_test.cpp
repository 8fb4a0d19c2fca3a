// SPDX-License-Identifier: Apache-2.0
// `muster accept` as the driver of a job of a real Slurm: its steps, and a requeue as resumption.
// The nodes have scripts in place of muster and muster-bench, which answer at once.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>

#include "tests/e2e/slurm/cluster.hpp"

namespace muster::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kHealthyReport =
    R"({"schema":"muster.report/1","profile":"p","context":"boot","started":"","duration_ms":1,)"
    R"("verdict":"healthy","checks":[],"findings":[],"probes":[],"measurements":[]})";

// muster on a node: an answer with a GPU.
constexpr std::string_view kMusterOnNode = R"SH(#!/bin/bash
node=$(sed 's/.*"node":"\([^"]*\)".*/\1/' <<<"$3")
case $3 in *'"stage":"soak"'*) sleep {seconds} ;; esac
answer='{{"schema":"muster.step/1","host":"'$node'","muster":"{version}","boot_id":"b-'$node'",'
answer+='"parts":[{{"kind":"gpu","device":"gpu0","serial":"'$node'"}}],"reports":[{report}]}}'
sum=$(printf %s "$answer" | sha256sum)
echo "muster1 $node ${{#answer}} ${{sum%% *}} $(printf %s "$answer" | base64 --wrap 0)"
)SH";

constexpr std::string_view kShortPlan =
    "soak_s: 60\nslice_s: 60\nround_s: 3600\nwait_s: 60\nreturn_s: 60\n";

class AcceptInSlurm : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!why_no_cluster().empty()) GTEST_SKIP() << why_no_cluster();
    cluster = std::make_unique<Cluster>(ClusterOptions{.nodes = 4, .credential_s = 120});
    ASSERT_EQ(cluster->trouble(), "");
    static_cast<void>(cluster->write("short.yaml", kShortPlan));
  }

  // The batch script of a run over n[1-4], whose slices last this long.
  std::string script(int seconds) {
    auto version = cluster->run({MUSTER_PROGRAM, "--version"}).out;
    version = version.substr(version.find(' ') + 1);
    version.pop_back();
    const auto on_nodes = cluster->write_program(
        "muster", fmt::format(kMusterOnNode, fmt::arg("seconds", seconds),
                              fmt::arg("version", version), fmt::arg("report", kHealthyReport)));
    static_cast<void>(
        cluster->write_program("muster-bench", fmt::format("#!/bin/sh\n[ \"$SLURM_PROCID\" = 0 ] "
                                                           "&& echo '{}'\n",
                                                           kHealthyReport)));
    return cluster->write_program(
        "accept", fmt::format("#!/bin/bash\nexec {0} accept n[1-4] --run {1}/delivery --plan "
                              "{1}/short.yaml --muster {2}\n",
                              MUSTER_PROGRAM, cluster->folder().string(), on_nodes));
  }

  std::string status() {
    return cluster
        ->run({MUSTER_PROGRAM, "accept", "--run", (cluster->folder() / "delivery").string(),
               "--status"})
        .out;
  }

  std::unique_ptr<Cluster> cluster;
};

constexpr std::chrono::minutes kLongRun{5};

TEST_F(AcceptInSlurm, AcceptsTheNodesOfItsJob) {
  const auto id = cluster->submit(script(1), {"--nodes=4", "--exclusive"});
  ASSERT_NE(id, "") << cluster->refusal();
  const auto job = cluster->wait_for_job(id, kLongRun);
  ASSERT_TRUE(job);
  const auto output = cluster->output_of(id);
  EXPECT_EQ(job->exit_code, "0:0") << output;
  EXPECT_THAT(output, HasSubstr("4 nodes fabric: pass"));
  EXPECT_THAT(output, HasSubstr("4 nodes: 4 accepted"));
}

TEST_F(AcceptInSlurm, GoesOnAfterARequeue) {
  const auto id = cluster->submit(script(20), {"--nodes=4", "--exclusive", "--requeue"});
  ASSERT_NE(id, "") << cluster->refusal();
  const auto started = cluster->folder() / "delivery/nodes/n3/soak.1.started";
  ASSERT_TRUE(wait_for([&] { return std::filesystem::exists(started); })) << cluster->output_of(id);
  ASSERT_EQ(cluster->scontrol({"requeue", id}).status, 0);
  const auto job = cluster->wait_for_job(id, kLongRun);
  ASSERT_TRUE(job);
  EXPECT_EQ(job->restarts, 1);
  EXPECT_THAT(status(), HasSubstr("4 nodes: 4 accepted"));
  // Stages that had ended are not run again.
  EXPECT_FALSE(std::filesystem::exists(cluster->folder() / "delivery/nodes/n3/check.2.json"));
  EXPECT_TRUE(std::filesystem::exists(cluster->folder() / "delivery/nodes/n3/soak.2.json"));
}

TEST_F(AcceptInSlurm, WaitsForNodesOutsideOfItsJob) {
  const auto id = cluster->submit(script(1), {"--nodes=2", "--exclusive", "--nodelist=n[1-2]"});
  ASSERT_NE(id, "") << cluster->refusal();
  const auto job = cluster->wait_for_job(id, kLongRun);
  ASSERT_TRUE(job);
  EXPECT_EQ(job->exit_code, "2:0") << cluster->output_of(id);
  EXPECT_THAT(status(), HasSubstr("n[3-4]: for stage inventory"));
  const auto rest = cluster->submit(script(1), {"--nodes=2", "--exclusive", "--nodelist=n[3-4]"});
  ASSERT_TRUE(cluster->wait_for_job(rest, kLongRun));
  EXPECT_THAT(status(), Not(HasSubstr("waiting"))) << cluster->output_of(rest);
}

}  // namespace
}  // namespace muster::e2e
