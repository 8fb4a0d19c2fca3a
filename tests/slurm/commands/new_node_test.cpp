// SPDX-License-Identifier: Apache-2.0
// The gate for new nodes: hooks with a node made of files, and fake Slurm programs.
#include "slurm/commands/new_node.hpp"

#include <gmock/gmock.h>

#include <optional>

#include "slurm/policy/node_memory.hpp"
#include "slurm/policy/reason.hpp"
#include "tests/slurm/commands/fake_slurm.hpp"

namespace muster::app {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class NewNodeTest : public SlurmTest {
 protected:
  NewNodeTest() { write_site("true"); }

  void write_site(std::string_view gate, std::string_view sweep = "none") const {
    slurm_.site(fmt::format(
        "  memory: none\n  spread: 0 s\n  gate_new_nodes: {}\n  gate_sweep: {}\n", gate, sweep));
  }

  int hook(const std::string& context, Verdict verdict, bool dry_run = false) {
    const CheckNode check_node = [&](const HookCommand& command, const std::string& /*check*/,
                                     const Caller& /*caller*/,
                                     Deadline& /*deadline*/) -> Attempt<CheckedNode> {
      judged_ = command.context;
      CheckedNode node{.boot_id = "boot-1"};
      node.report.verdict = verdict;
      node.report.context = command.context;
      node.report.checks = {{"muster.probes", Outcome::pass}};
      node.judge_drained = [report = node.report](const std::string& /*check*/) { return report; };
      return node;
    };
    const SweepNode sweep_node = [&](const HookCommand& /*command*/, const std::string& level,
                                     const Caller& /*caller*/,
                                     Clock::time_point until) -> Result<Report> {
      sweeps_.push_back(level);
      EXPECT_GT(until, Clock::now() + std::chrono::seconds(60));
      EXPECT_TRUE(is_drained_as_new()) << slurm_.node();
      if (!sweep_) return make_error("muster-bench is missing");
      Report report;
      report.verdict = *sweep_;
      return report;
    };
    return SlurmTest::hook({.context = context, .dry_run = dry_run}, check_node, sweep_node);
  }

  [[nodiscard]] bool is_drained_as_new() const {
    return is_drained() &&
           slurm_.node().find(fmt::format("|{}\n", slurm::kNewNode)) != std::string::npos;
  }

  std::string judged_;
  std::optional<Verdict> sweep_;  // nothing: it cannot be run
  std::vector<std::string> sweeps_;
};

TEST_F(NewNodeTest, StaysDrainedUntilACleanBootCheck) {
  EXPECT_EQ(hook("prolog", Verdict::healthy), 1);
  EXPECT_TRUE(is_drained_as_new()) << slurm_.node();
  for (int run = 1; run <= 2; ++run) EXPECT_EQ(hook("boot", Verdict::unknown), 0);
  EXPECT_TRUE(is_drained_as_new());
  EXPECT_EQ(hook("boot", Verdict::healthy), 0);
  EXPECT_THAT(slurm_.node(), HasSubstr("|idle|"));
  EXPECT_EQ(hook("prolog", Verdict::healthy), 0);
  EXPECT_THAT(slurm_.node(), HasSubstr("|idle|"));
  EXPECT_THAT(events(), ElementsAre("drained prolog: a new node, drained until a clean boot check",
                                    StartsWith("kept boot: not accepted: "),
                                    "resumed boot: accepted after a clean boot check"));
}

TEST_F(NewNodeTest, AHealthCheckJudgesItAsAfterABootAndAcceptsIt) {
  EXPECT_EQ(hook("periodic", Verdict::unhealthy), 0);
  EXPECT_EQ(judged_, "boot");
  EXPECT_TRUE(is_drained_as_new());
  EXPECT_EQ(hook("periodic", Verdict::healthy), 0);
  EXPECT_THAT(slurm_.node(), HasSubstr("|idle|"));
  EXPECT_EQ(hook("periodic", Verdict::healthy), 0);
  EXPECT_EQ(judged_, "periodic");
}

TEST_F(NewNodeTest, AnAdminWhoPutsItIntoServiceAcceptsIt) {
  EXPECT_EQ(hook("periodic", Verdict::unknown), 0);
  EXPECT_TRUE(is_drained_as_new());
  slurm_.nodes("n7|main|idle|Unknown|Unknown|none\n");
  EXPECT_EQ(hook("prolog", Verdict::healthy), 0);
  EXPECT_THAT(slurm_.node(), HasSubstr("|idle|"));
  EXPECT_THAT(events(),
              ElementsAre(StartsWith("drained periodic: "),
                          "resumed prolog: accepted: it was put into service, but not by muster"));
}

// slurmd's check at its start is the only one before Slurm gives an idle machine back.
TEST_F(NewNodeTest, IsAcceptedOrRefusedWhileItPowersUp) {
  slurm_.nodes("n7|main|mixed#|Unknown|Unknown|none\n");
  EXPECT_EQ(hook("periodic", Verdict::unhealthy), 0);
  EXPECT_TRUE(is_drained_as_new()) << slurm_.node();
  slurm_.nodes(fmt::format("n7|main|drained#|root|1795326230|{}\n", slurm::kNewNode));
  EXPECT_EQ(hook("periodic", Verdict::healthy), 0);
  EXPECT_THAT(slurm_.node(), HasSubstr("|idle|"));
}

TEST_F(NewNodeTest, AHealthyNodeThatPowersUpIsAccepted) {
  slurm_.nodes("n7|main|mixed#|Unknown|Unknown|none\n");
  EXPECT_EQ(hook("periodic", Verdict::healthy), 0);
  EXPECT_THAT(slurm_.node(), HasSubstr("|mixed#|"));
  EXPECT_THAT(events(), ElementsAre("resumed periodic: accepted after a clean boot check"));
}

// Slurm gave it back unaccepted, and dropped the reason when it powered it up again.
TEST_F(NewNodeTest, WithoutItsReasonItIsStillKnownAsANewNode) {
  slurm_.site("  spread: 0 s\n  gate_new_nodes: true\n");
  EXPECT_EQ(hook("periodic", Verdict::unhealthy), 0);
  ASSERT_TRUE(is_drained_as_new());
  std::filesystem::remove_all(path("state"));
  slurm_.nodes("n7|main|drained|Unknown|Unknown|none\n");
  EXPECT_EQ(hook("periodic", Verdict::unhealthy), 0);
  EXPECT_THAT(slurm_.node(), HasSubstr("|drained|"));
  EXPECT_EQ(hook("periodic", Verdict::healthy), 0);
  EXPECT_THAT(slurm_.node(), HasSubstr("|idle|"));
  EXPECT_EQ(content("memory"), "\n");
}

// Slurm powered it down and up, without its disk and without the reason.
TEST_F(NewNodeTest, ADrainForAFaultIsEndedFirst) {
  slurm_.site("  spread: 0 s\n  gate_new_nodes: true\n  clean_runs: 1\n");
  slurm_.nodes("n7|main|drained|Unknown|Unknown|none\n");
  const slurm::NodeMemory drain{
      .check = "muster.probes", .at = wall_time(), .boot = "boot-1", .settled = true};
  slurm_.memory(to_text(drain));
  EXPECT_EQ(hook("periodic", Verdict::unhealthy), 0);
  EXPECT_THAT(slurm_.node(), HasSubstr("|drained|"));
  EXPECT_EQ(hook("periodic", Verdict::healthy), 0);
  EXPECT_THAT(slurm_.node(), HasSubstr("|idle|"));
  EXPECT_EQ(hook("prolog", Verdict::unhealthy), 1);
  EXPECT_TRUE(is_drained_as_new());
}

TEST_F(NewNodeTest, AnAdminsDrainIsLeftAlone) {
  slurm_.nodes("n7|main|drained|alice|1795326230|being installed\n");
  EXPECT_EQ(hook("boot", Verdict::healthy), 0);
  EXPECT_THAT(caller_.out(),
              HasSubstr("muster: n7 is new, and left alone: it is drained by others"));
  EXPECT_EQ(hook("prolog", Verdict::healthy), 0);
  EXPECT_THAT(slurm_.node(), HasSubstr("being installed"));
  slurm_.nodes("n7|main|idle|Unknown|Unknown|none\n");
  EXPECT_EQ(hook("prolog", Verdict::healthy), 1);  // still new
  EXPECT_TRUE(is_drained_as_new());
}

TEST_F(NewNodeTest, NeedsACleanSweepIfTheSiteWantsOne) {
  write_site("true", "quick");
  EXPECT_EQ(hook("prolog", Verdict::healthy), 1);
  EXPECT_TRUE(is_drained_as_new());
  EXPECT_EQ(hook("boot", Verdict::unhealthy), 0);
  EXPECT_THAT(sweeps_, IsEmpty());  // a sick node needs none
  EXPECT_EQ(hook("periodic", Verdict::healthy), 0);
  EXPECT_THAT(sweeps_, IsEmpty());  // nor has a health check the time
  for (const auto verdict : {std::optional<Verdict>(), std::optional(Verdict::unknown),
                             std::optional(Verdict::unhealthy)}) {
    sweep_ = verdict;
    EXPECT_EQ(hook("boot", Verdict::healthy), 0);
    EXPECT_TRUE(is_drained_as_new());
  }
  sweep_ = Verdict::healthy;
  EXPECT_EQ(hook("boot", Verdict::healthy), 0);
  EXPECT_THAT(slurm_.node(), HasSubstr("|idle|"));
  EXPECT_THAT(sweeps_, ElementsAre("quick", "quick", "quick", "quick"));
  EXPECT_EQ(hook("boot", Verdict::healthy), 0);
  EXPECT_EQ(sweeps_.size(), 4U);  // it is no longer new
  EXPECT_THAT(
      events(),
      ElementsAre(
          "drained prolog: a new node, drained until a clean boot check and a clean sweep",
          StartsWith("kept boot: not accepted: "),
          "kept periodic: not accepted: a clean sweep is missing, which muster hook boot runs",
          ::testing::AllOf(StartsWith("kept boot: not accepted: its sweep: "),
                           HasSubstr("muster-bench is missing")),
          StartsWith("kept boot: not accepted: its sweep: "),
          StartsWith("kept boot: not accepted: its sweep: "),
          "resumed boot: accepted after a clean boot check and a clean sweep"));
}

TEST_F(NewNodeTest, TheFirstHookOfTheBootDrainsAndSweepsAtOnceUnlessJobsStillRun) {
  write_site("true", "full");
  sweep_ = Verdict::healthy;
  EXPECT_EQ(hook("boot", Verdict::healthy), 0);
  EXPECT_THAT(sweeps_, ElementsAre("full"));
  EXPECT_THAT(slurm_.node(), HasSubstr("|idle|"));
}

TEST_F(NewNodeTest, ANodeOnWhichJobsStillRunIsNotSwept) {
  write_site("true", "quick");
  sweep_ = Verdict::healthy;
  slurm_.nodes(fmt::format("n7|main|draining|root|1795326230|{}\n", slurm::kNewNode));
  EXPECT_EQ(hook("boot", Verdict::healthy), 0);
  EXPECT_THAT(sweeps_, IsEmpty());
  EXPECT_THAT(slurm_.node(), HasSubstr("|draining|"));
}

TEST_F(NewNodeTest, ADrainThatFailsDoesNotAcceptIt) {
  slurm_.program("scontrol", "exit 1");
  EXPECT_EQ(hook("prolog", Verdict::healthy), 0);
  slurm_.program("scontrol", FakeSlurm::kScontrol);
  EXPECT_EQ(hook("prolog", Verdict::healthy), 1);
  EXPECT_TRUE(is_drained_as_new());
  EXPECT_THAT(events(), ElementsAre("trouble prolog: scontrol ended with status 1: no output",
                                    StartsWith("drained prolog: a new node")));
}

// The first hook has noted its drain, and Slurm has not applied it yet.
TEST_F(NewNodeTest, ASecondHookAtTheSameTimeDoesNotAcceptIt) {
  slurm_.program("scontrol", fmt::format("sleep 0.5\n{}", FakeSlurm::kScontrol));
  const ::pid_t first = ::fork();
  if (first == 0) ::_exit(hook("prolog", Verdict::healthy));
  for (int i = 0; i < 2000 && content("state/n7.seen").empty(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(hook("periodic", Verdict::unhealthy), 0);
  int status = -1;
  EXPECT_EQ(::waitpid(first, &status, 0), first);
  EXPECT_EQ(WEXITSTATUS(status), 1);
  EXPECT_TRUE(is_drained_as_new());
  EXPECT_THAT(events(), ElementsAre(StartsWith("drained prolog: a new node"),
                                    StartsWith("kept periodic: not accepted: ")));
}

// It was drained as a new node before it got another disk.
TEST_F(NewNodeTest, AnAdminAcceptsItAfterItLostItsState) {
  EXPECT_EQ(hook("boot", Verdict::unhealthy), 0);
  std::filesystem::remove_all(path("state"));
  EXPECT_EQ(hook("boot", Verdict::unhealthy), 0);
  EXPECT_TRUE(is_drained_as_new());
  slurm_.nodes("n7|main|idle|Unknown|Unknown|none\n");
  EXPECT_EQ(hook("prolog", Verdict::healthy), 0);
  EXPECT_THAT(slurm_.node(), HasSubstr("|idle|"));
  EXPECT_THAT(events(),
              ElementsAre(StartsWith("kept boot: "),
                          "resumed prolog: accepted: it was put into service, but not by muster"));
}

// The gate is turned on in a cluster that is in use.
TEST_F(NewNodeTest, ANodeThatHooksKnowIsNotNew) {
  write_site("false");
  EXPECT_EQ(hook("periodic", Verdict::healthy), 0);
  write_site("true");
  EXPECT_EQ(hook("prolog", Verdict::unknown), 0);
  EXPECT_THAT(slurm_.node(), HasSubstr("|idle|"));
  EXPECT_THAT(events(), IsEmpty());
}

// Before any hook has written a history.
TEST_F(NewNodeTest, TheFirstDryRunKnowsTheGate) {
  for (const auto verdict : {Verdict::healthy, Verdict::unhealthy}) {
    EXPECT_EQ(hook("prolog", verdict, true), 0);
    EXPECT_THAT(caller_.out(), HasSubstr("dry_run n7: would drain: a new node"));
  }
  EXPECT_THAT(slurm_.node(), HasSubstr("|idle|"));
  EXPECT_FALSE(std::filesystem::exists(path("state")));
}

TEST_F(NewNodeTest, ADryRunOnlyReports) {
  ASSERT_EQ(hook("boot", Verdict::unhealthy), 0);  // drained: there is a history now
  ASSERT_TRUE(is_drained_as_new());
  const auto before = events();
  EXPECT_EQ(hook("boot", Verdict::healthy, true), 0);
  EXPECT_THAT(caller_.out(), HasSubstr("would resume after a clean boot check"));
  EXPECT_TRUE(is_drained_as_new());
  EXPECT_EQ(events(), before);
}

}  // namespace
}  // namespace muster::app
