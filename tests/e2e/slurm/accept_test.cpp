// SPDX-License-Identifier: Apache-2.0
// `muster accept` as the driver of a job in a real Slurm: its steps, resuming after a requeue, jobs
// that end early, and nodes that go down. Scripts that answer at once replace muster and
// muster-bench on the nodes.
#include <fmt/format.h>
#include <sys/types.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <memory>
#include <string>

#include "tests/e2e/slurm/cluster.hpp"
#include "tests/support/matchers.hpp"

namespace muster::e2e {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kHealthyReport =
    R"({"schema":"muster.report/1","profile":"p","context":"boot","started":"","duration_ms":1,)"
    R"("verdict":"healthy","checks":[],"findings":[],"probes":[],"measurements":[]})";

// muster on a node: an answer with a GPU.
constexpr std::string_view kMusterOnNode = R"SH(#!/bin/bash
node=$(sed 's/.*"node":"\([^"]*\)".*/\1/' <<<"$3")
case $3 in *'"stage":"{stage}"'*) touch "${{0%/*}}/busy.$node"; {work} ;; esac
answer='{{"schema":"muster.step/1","host":"'$node'","muster":"{version}","boot_id":"b-'$node'",'
answer+='"parts":[{{"kind":"gpu","device":"gpu0","serial":"'$node'"}}],"reports":[{report}]}}'
sum=$(printf %s "$answer" | sha256sum)
echo "muster1 $node ${{#answer}} ${{sum%% *}} $(printf %s "$answer" | base64 --wrap 0)"
)SH";

// muster-bench in a group of nodes.
constexpr std::string_view kBenchOnNodes = R"SH(#!/bin/bash
case $1 in {bench}) touch "${{0%/*}}/busy.$SLURMD_NODENAME"; {work} ;; esac
[ "$SLURM_PROCID" = 0 ] && echo '{report}'
)SH";

constexpr std::string_view kShortPlan =
    "soak_s: 60\nslice_s: 60\nround_s: 3600\nwait_s: 60\nreturn_s: 60\n";

// The work of the nodes in one stage, as a line of a shell.
struct Work {
  std::string stage = "soak", line = "sleep 1";
};

constexpr std::chrono::minutes kLongRun{5};

class AcceptInSlurm : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!why_no_cluster().empty()) GTEST_SKIP() << why_no_cluster();
    cluster = std::make_unique<Cluster>(ClusterOptions{.nodes = 4, .credential_s = 120});
    ASSERT_EQ(cluster->trouble(), "");
    static_cast<void>(cluster->write("short.yaml", kShortPlan));
  }

  // The batch script of a run over n[1-4].
  std::string script(const Work& work = {}) {
    auto version = cluster->run({MUSTER_PROGRAM, "--version"}).out;
    version = version.substr(version.find(' ') + 1);
    version.pop_back();
    const auto on_nodes = cluster->write_program(
        "muster",
        fmt::format(kMusterOnNode, fmt::arg("stage", work.stage), fmt::arg("work", work.line),
                    fmt::arg("version", version), fmt::arg("report", kHealthyReport)));
    static_cast<void>(cluster->write_program(
        "muster-bench", fmt::format(kBenchOnNodes, fmt::arg("work", work.line),
                                    fmt::arg("bench", work.stage == "fabric" ? "locate" : "none"),
                                    fmt::arg("report", kHealthyReport))));
    return cluster->write_program(
        "accept", fmt::format("#!/bin/bash\nexec {0} accept n[1-4] --run {1}/delivery --plan "
                              "{1}/short.yaml --muster {2}\n",
                              MUSTER_PROGRAM, cluster->folder().string(), on_nodes));
  }

  // A job whose n3 has begun its work.
  std::string submit_until_busy(const Work& work, const Words& options) {
    auto id = cluster->submit(script(work), options);
    EXPECT_NE(id, "") << cluster->refusal();
    const auto busy = cluster->folder() / "busy.n3";
    EXPECT_TRUE(wait_for([&] { return fs::exists(busy); })) << cluster->output_of(id);
    return id;
  }

  [[nodiscard]] fs::path delivery() const { return cluster->folder() / "delivery"; }

  [[nodiscard]] bool exists(const std::string& file) const { return fs::exists(delivery() / file); }

  [[nodiscard]] std::string content(const std::string& file) const {
    return content_of(delivery() / file);
  }

  // The steps have ended, the page is a draft, and another job continues with the soak.
  void expect_that_another_job_goes_on() {
    const auto is_step = [](const LiveProcess& process) {
      return process.words.find(" accept --step ") != std::string::npos;
    };
    EXPECT_TRUE(wait_for([&] { return std::ranges::none_of(other_processes(), is_step); }));
    EXPECT_THAT(content("page.html"), HasSubstr("DRAFT"));
    EXPECT_THAT(content("accept.json"), HasSubstr(R"("state":"draft")"));
    const auto id = cluster->submit(script(), {"--nodes=4", "--exclusive"});
    const auto job = cluster->wait_for_job(id, kLongRun);
    ASSERT_TRUE(job);
    EXPECT_EQ(job->exit_code, "0:0") << cluster->output_of(id);
    EXPECT_THAT(content("page.html"), Not(HasSubstr("DRAFT")));
    EXPECT_THAT(status(), HasSubstr("4 nodes: 4 accepted"));
    for (const auto* node : {"n1", "n2", "n3", "n4"}) {
      EXPECT_FALSE(exists(fmt::format("nodes/{}/check.2.json", node)));
      EXPECT_THAT(content(fmt::format("nodes/{}/soak.1.json", node)),
                  HasSubstr(R"("end":"interrupted")"));
    }
    EXPECT_FALSE(exists("group/fabric.2.json"));
  }

  // Kills all processes of a node, like a loss of power; Slurm marks it as down.
  void take_down(const std::string& node) {
    const auto host_of = [](pid_t pid) {
      std::error_code gone;
      return fs::read_symlink(fmt::format("/proc/{}/ns/uts", pid), gone);
    };
    const auto host = host_of(cluster->slurmd_of(node));
    for (const auto& each : other_processes()) {
      if (host_of(each.pid) == host && each.pid != cluster->slurmd_of(node)) {
        ::kill(each.pid, SIGKILL);
      }
    }
    cluster->kill_slurmd(node);
    EXPECT_EQ(set_state(node, {"state=down", "reason=power"}), 0);
  }

  int set_state(const std::string& node, const Words& words) {
    Words all{"update", fmt::format("nodename={}", node)};
    all.insert(all.end(), words.begin(), words.end());
    return cluster->scontrol(all).status;
  }

  std::string status() {
    return cluster->run({MUSTER_PROGRAM, "accept", "--run", delivery().string(), "--status"}).out;
  }

  std::unique_ptr<Cluster> cluster;
};

TEST_F(AcceptInSlurm, AcceptsTheNodesOfItsJob) {
  const auto id = cluster->submit(script(), {"--nodes=4", "--exclusive"});
  ASSERT_NE(id, "") << cluster->refusal();
  const auto job = cluster->wait_for_job(id, kLongRun);
  ASSERT_TRUE(job);
  const auto output = cluster->output_of(id);
  EXPECT_EQ(job->exit_code, "0:0") << output;
  EXPECT_THAT(output, HasSubstr("4 nodes fabric: pass"));
  EXPECT_THAT(output, HasSubstr("4 nodes: 4 accepted"));
}

TEST_F(AcceptInSlurm, ContinuesAfterARequeue) {
  const auto id =
      submit_until_busy({.line = "sleep 20"}, {"--nodes=4", "--exclusive", "--requeue"});
  ASSERT_EQ(cluster->scontrol({"requeue", id}).status, 0);
  const auto job = cluster->wait_for_job(id, kLongRun);
  ASSERT_TRUE(job);
  EXPECT_EQ(job->restarts, 1);
  EXPECT_THAT(status(), HasSubstr("4 nodes: 4 accepted"));
  // Stages that had ended are not run again.
  EXPECT_FALSE(exists("nodes/n3/check.2.json"));
  EXPECT_TRUE(exists("nodes/n3/soak.2.json"));
}

TEST_F(AcceptInSlurm, WaitsForNodesOutsideOfItsJob) {
  const auto id = cluster->submit(script(), {"--nodes=2", "--exclusive", "--nodelist=n[1-2]"});
  ASSERT_NE(id, "") << cluster->refusal();
  const auto job = cluster->wait_for_job(id, kLongRun);
  ASSERT_TRUE(job);
  EXPECT_EQ(job->exit_code, "2:0") << cluster->output_of(id);
  EXPECT_THAT(status(), HasSubstr("n[3-4]: for stage inventory"));
  const auto rest = cluster->submit(script(), {"--nodes=2", "--exclusive", "--nodelist=n[3-4]"});
  ASSERT_TRUE(cluster->wait_for_job(rest, kLongRun));
  EXPECT_THAT(status(), Not(HasSubstr("waiting"))) << cluster->output_of(rest);
}

// The steps ignore SIGTERM: Slurm kills them and the driver.
TEST_F(AcceptInSlurm, AnotherJobContinuesAfterScancel) {
  const auto id =
      submit_until_busy({.line = "trap '' TERM; sleep 60"}, {"--nodes=4", "--exclusive"});
  ASSERT_EQ(cluster->run({"scancel", id}).status, 0);
  const auto job = cluster->wait_for_job(id);
  ASSERT_TRUE(job);
  EXPECT_EQ(job->state, "CANCELLED") << cluster->output_of(id);
  expect_that_another_job_goes_on();
}

TEST_F(AcceptInSlurm, AnotherJobContinuesAfterTheTimeLimit) {
  const auto id =
      submit_until_busy({.line = "sleep 180"}, {"--nodes=4", "--exclusive", "--time=1"});
  const auto job = cluster->wait_for_job(id, kLongRun);
  ASSERT_TRUE(job);
  EXPECT_EQ(job->state, "TIMEOUT") << cluster->output_of(id);
  expect_that_another_job_goes_on();
}

// As docs/accept.md describes: the driver has time to end on its own. A step ends with its input.
TEST_F(AcceptInSlurm, ADriverWarnedOfTheTimeLimitEndsOnItsOwn) {
  const auto id = submit_until_busy({.line = "timeout 180 cat && exit 2"},
                                    {"--nodes=4", "--exclusive", "--time=1", "--signal=B:TERM@1"});
  ASSERT_TRUE(cluster->wait_for_job(id, kLongRun));
  EXPECT_THAT(cluster->output_of(id), HasSubstr("\nstopped     muster accept --run "));
  EXPECT_THAT(content("nodes/n3/soak.1.json"), HasSubstr("the run was stopped"));
  expect_that_another_job_goes_on();
}

TEST_F(AcceptInSlurm, ANodeThatStaysDownIsRejected) {
  const auto id = submit_until_busy({.stage = "node", .line = "sleep 8"},
                                    {"--nodes=4", "--exclusive", "--no-kill"});
  take_down("n3");
  const auto job = cluster->wait_for_job(id, kLongRun);
  ASSERT_TRUE(job);
  EXPECT_EQ(job->exit_code, "1:0") << cluster->output_of(id);
  EXPECT_THAT(content("nodes/n3/node.1.json"), HasSubstr(R"("end":"lost")"));
  EXPECT_THAT(status(), HasSubstr("4 nodes: 3 accepted, 1 rejected"));
  EXPECT_THAT(status(), HasSubstr("n3: it did not return within 1 min: "));
  EXPECT_FALSE(exists("nodes/n2/node.2.json"));
}

// Slurm does not return the node to the job, so the node waits for another one.
TEST_F(AcceptInSlurm, ANodeThatReturnsIsRetriedInAnotherJob) {
  const auto id = submit_until_busy({.stage = "fabric", .line = "sleep 8"},
                                    {"--nodes=4", "--exclusive", "--no-kill"});
  take_down("n3");
  ASSERT_TRUE(wait_for([&] { return exists("group/fabric.1.json"); })) << cluster->output_of(id);
  EXPECT_THAT(content("group/fabric.1.json"), HasSubstr(R"("lost":["n3"])"));
  cluster->start_slurmd("n3");
  const auto responds = [](const SlurmNode& node) { return node.is("down"); };
  ASSERT_TRUE(cluster->wait_until("n3", responds));
  ASSERT_EQ(set_state("n3", {"state=resume"}), 0);
  const auto job = cluster->wait_for_job(id, kLongRun);
  ASSERT_TRUE(job);
  EXPECT_EQ(job->exit_code, "2:0") << cluster->output_of(id);
  EXPECT_THAT(status(), HasSubstr("3 accepted"));
  EXPECT_THAT(status(), Not(HasSubstr("rejected")));
  EXPECT_FALSE(exists("nodes/n2/node.2.json"));
  const auto next = cluster->submit(script(), {"--nodes=4", "--exclusive"});
  const auto last = cluster->wait_for_job(next, kLongRun);
  ASSERT_TRUE(last);
  EXPECT_EQ(last->exit_code, "0:0") << cluster->output_of(next);
  EXPECT_THAT(status(), Not(HasSubstr("waiting")));
  EXPECT_THAT(content("accept.json"), HasSubstr(R"("verdict":"accepted_with_remarks")"));
}

}  // namespace
}  // namespace muster::e2e
