// SPDX-License-Identifier: Apache-2.0
// `muster sweep` with programs of Slurm that are scripts.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "lib/base/text.hpp"
#include "slurm/sweeps/sweep_job.hpp"
#include "tests/slurm/commands/fake_slurm.hpp"

namespace muster::app {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class SweepCommandTest : public SlurmTest {
 protected:
  SweepCommandTest() {
    std::filesystem::create_directory(dir_.path() / "results");
    slurm_.program("squeue", ":");
    slurm_.program("sbatch", "echo 4711");
    slurm_.nodes("n1|main|idle|Unknown|Unknown|none\nn2|main|idle|root|1|none\n");
    write_rules(fmt::format("    results: {}\n    kinds: [node]\n", path("results")));
  }

  void write_rules(std::string_view sweep, std::string_view user = "    as_root: true\n") const {
    slurm_.site(fmt::format("  conf: {}\n  sweep:\n{}{}", path("slurm.conf"), user, sweep));
  }

  [[nodiscard]] SweepCommand command() const {
    return {.root = path("root"), .state = path("state")};
  }

  int run(const SweepCommand& command) {
    Deadline deadline(Clock::now() + kSweepBudget);
    return run_sweep(command, caller_.caller(), deadline);
  }

  [[nodiscard]] slurm::History history() const {
    auto opened = slurm::History::open(history_file(path("state")));
    EXPECT_TRUE(opened) << opened.error().message;
    return *std::move(opened);
  }

  // Records a verdict of a minute ago.
  void record(std::string node, Verdict verdict) const {
    auto log = history();
    const slurm::SweepVerdict event{.at = wall_time() - std::chrono::seconds(60),
                                    .kind = "node",
                                    .node = std::move(node),
                                    .verdict = verdict,
                                    .text = std::string(slurm::sweep_word(verdict))};
    ASSERT_TRUE(log.add(slurm::event_of(event, {.kind = "node", .token = "node-1"})));
  }
};

TEST_F(SweepCommandTest, SubmitsAJobAndReportsIt) {
  EXPECT_EQ(run(command()), 0) << caller_.notes();
  EXPECT_THAT(caller_.out(), HasSubstr(" submitted n1 sweep job 4711: node in main\n"));
}

TEST_F(SweepCommandTest, RunsTheScriptOfTheSiteOrOfTheDataFolder) {
  slurm_.program("sbatch", fmt::format("echo \"$@\" >> {}; echo 4711", path("calls")));
  for (const auto& [line, expected] : {std::pair{"", " /opt/muster/jobs/sweep.sbatch node "},
                                       std::pair{"    script: /site/own\n", " /site/own node "}}) {
    write_rules(fmt::format("    results: {}\n    kinds: [node]\n{}", path("results"), line));
    auto caller = caller_.caller();
    caller.variables["MUSTER_DATA_DIR"] = "/opt/muster";
    Deadline deadline(Clock::now() + kSweepBudget);
    std::filesystem::remove_all(path("state"));
    EXPECT_EQ(run_sweep(command(), caller, deadline), 0) << caller_.notes();
    EXPECT_THAT(content("calls"), HasSubstr(expected));
  }
}

TEST_F(SweepCommandTest, ReportsAJobAsJson) {
  auto json = command();
  json.form = EventForm::json;
  EXPECT_EQ(run(json), 0);
  const auto lines = split_lines(caller_.out());
  const auto line = nlohmann::json::parse(lines.at(0));
  EXPECT_EQ(line.at("schema"), "muster.event/1");
  EXPECT_EQ(line.at("kind"), "submitted");
  EXPECT_EQ(line.at("job"), "4711");
}

TEST_F(SweepCommandTest, ADryRunWritesNothing) {
  auto dry = command();
  dry.dry_run = true;
  EXPECT_EQ(run(dry), 0);
  EXPECT_THAT(caller_.out(), HasSubstr(" dry_run n1 sweep: would submit node in main"));
  EXPECT_FALSE(std::filesystem::exists(path("state")));
}

TEST_F(SweepCommandTest, StatusListsNodesThatWereNeverSwept) {
  auto status = command();
  status.status = true;
  EXPECT_EQ(run(status), 0);
  EXPECT_EQ(caller_.out(),
            "n1 node: untested, never swept\n"
            "n2 node: untested, never swept\n"
            "node: 2 nodes, 2 of them not swept within 7 d; 0 suspect, 0 confirmed\n");
}

// squeue does not show its jobs to this user.
TEST_F(SweepCommandTest, TheHistoryOfAnotherUserIsLeftAlone) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root gives files away";
  ASSERT_EQ(run(command()), 0) << caller_.notes();
  constexpr ::uid_t kOtherUser = 4'000'000;
  ASSERT_EQ(::chown(history_file(path("state")).c_str(), kOtherUser, kOtherUser), 0);
  for (const bool status : {false, true}) {
    for (const bool dry_run : {false, true}) {
      auto other = command();
      other.status = status;
      other.dry_run = dry_run;
      EXPECT_EQ(run(other), kExitConfiguration);
      EXPECT_THAT(caller_.notes(), HasSubstr(" belongs to another user: run it as 4000000"));
    }
  }
  const auto left = slurm::History::read(history_file(path("state")));
  ASSERT_TRUE(left) << left.error().message;
  EXPECT_FALSE(slurm::read_sweep_log(*left, {}, wall_time())->open.empty());
}

// Its jobs would run as root on all nodes, and the right user could not continue its history.
TEST_F(SweepCommandTest, RootIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root is refused";
  write_rules(fmt::format("    results: {}\n", path("results")), "");
  for (const bool dry_run : {false, true}) {
    auto as_root = command();
    as_root.dry_run = dry_run;
    EXPECT_EQ(run(as_root), kExitConfiguration);
    EXPECT_THAT(caller_.notes(), HasSubstr("a sweep does not need root"));
    EXPECT_THAT(caller_.notes(), HasSubstr("slurm.sweep.as_root: true"));
  }
  EXPECT_FALSE(std::filesystem::exists(path("state")));
}

TEST_F(SweepCommandTest, AConfirmedNodeIsStatusOne) {
  record("n1", Verdict::unhealthy);
  record("n2", Verdict::healthy);
  record("n1", Verdict::unhealthy);
  EXPECT_EQ(run(command()), 1) << caller_.notes();
  auto status = command();
  status.status = true;
  EXPECT_EQ(run(status), 1);
  EXPECT_THAT(caller_.out(), HasSubstr("n1 node: confirmed, swept at "));
}

TEST_F(SweepCommandTest, EachNodeAndKindIsALineOfJson) {
  record("n1", Verdict::unhealthy);
  auto status = command();
  status.status = true;
  status.form = EventForm::json;
  EXPECT_EQ(run(status), 0);
  const auto lines = split_lines(caller_.out());
  ASSERT_EQ(lines.size(), 2U);
  auto line = nlohmann::json::parse(lines.front());
  EXPECT_NE(line.at("swept"), "");
  EXPECT_EQ(line.at("failures").at(0).at("found"), "unhealthy");
  line.erase("swept");
  line.erase("failures");
  EXPECT_EQ(line, (nlohmann::json{{"schema", "muster.sweep/1"},
                                  {"node", "n1"},
                                  {"partition", "main"},
                                  {"kind", "node"},
                                  {"trust", "suspect"},
                                  {"overdue", false}}));
}

TEST_F(SweepCommandTest, AFolderForResultsIsNeeded) {
  write_rules("    every: 3 d\n");
  EXPECT_EQ(run(command()), kExitConfiguration);
  EXPECT_THAT(caller_.notes(), HasSubstr("slurm.sweep.results in muster.yaml must name a folder"));
}

TEST_F(SweepCommandTest, SeveralPartitionsMustBeNamed) {
  slurm_.nodes("n1|a|idle|Unknown|Unknown|none\nn2|b|idle|Unknown|Unknown|none\n");
  EXPECT_EQ(run(command()), kExitConfiguration);
  EXPECT_THAT(caller_.notes(), HasSubstr("expected some of a, b"));
}

TEST_F(SweepCommandTest, AnUnreachableSlurmIsStatusTwo) {
  slurm_.program("sinfo", "echo 'Unable to contact slurm controller' >&2; exit 1");
  EXPECT_EQ(run(command()), kExitUndecided);
  EXPECT_THAT(caller_.notes(), HasSubstr("Unable to contact slurm controller"));
  dir_.remove("bin/sbatch");
  EXPECT_EQ(run(command()), kExitUndecided);
  EXPECT_THAT(caller_.notes(), HasSubstr("no sbatch next to "));
}

TEST_F(SweepCommandTest, AHistoryThatCannotBeReadIsStatusTwo) {
  dir_.write("state", "no folder");
  EXPECT_EQ(run(command()), kExitUndecided);
  auto homeless = command();
  homeless.state.clear();
  EXPECT_EQ(run(homeless), kExitUndecided);
  EXPECT_THAT(caller_.notes(), HasSubstr("needs --state"));
}

TEST_F(SweepCommandTest, ASecondPassAtTheSameTimeEndsWithANote) {
  EXPECT_EQ(run(command()), 0);
  const LockHolder other(path("state/sweep.lock"));
  EXPECT_TRUE(other.has_lock());
  EXPECT_EQ(run(command()), 0);
  EXPECT_THAT(caller_.notes(), HasSubstr("another pass of the sweep is running"));
}

TEST_F(SweepCommandTest, ABadRuleIsNamedByFileLineAndKey) {
  struct Case {
    std::string_view line, complaint;
  };

  const std::vector<Case> cases{
      {"evry: 7 d", "evry"},
      {"every: 7", "slurm.sweep.every"},
      {"every: 10 min", "'slurm.sweep.every' must be 1 h to 365 d"},
      {"time: 10 s", "'slurm.sweep.time' must be 1 min to 1 d"},
      {"start_within: 8 d", "'slurm.sweep.start_within' must be 1 min to 7 d"},
      {"most_jobs: 0", "'slurm.sweep.most_jobs' must be 1 to 1000"},
      {"nice: -5", "'slurm.sweep.nice' must be 0 or more, not \"-5\""},
      {"kinds: [pear]", "'slurm.sweep.kinds' has \"pear\"; write locate or node"},
      {"kinds: []", "'slurm.sweep.kinds' is empty; write locate or node, or both"},
      {"kinds: [node, node]", "'slurm.sweep.kinds' has \"node\" twice"},
      {"partitions: [\"a,b\"]", "'slurm.sweep.partitions' has \"a,b\""},
      {"account: \"a b\"", "'slurm.sweep.account' is \"a b\""},
      {"script: sweep.sbatch", "'slurm.sweep.script' is \"sweep.sbatch\"; write an absolute path"},
      {"options: [--nodelist=n1]",
       "'slurm.sweep.options' has \"--nodelist\", which the sweep decides"},
      {"options: [--nodel=n1]", "'slurm.sweep.options' has \"--nodel\", which the sweep decides"},
      {"options: [/bin/evil]",
       "'slurm.sweep.options' has \"/bin/evil\"; write each option as --name or "
       "--name=value"},
      {"bench: [--output=x]", "'slurm.sweep.bench' has \"--output\", which the sweep decides"},
      {"environment: {\"A B\": x}", "'slurm.sweep.environment.A B' is not a valid variable name"}};
  for (const auto& [line, complaint] : cases) {
    caller_ = TestCaller();
    write_rules(fmt::format("    results: {}\n    {}\n", path("results"), line));
    EXPECT_EQ(run(command()), kExitConfiguration) << line;
    EXPECT_THAT(caller_.notes(),
                AllOf(HasSubstr("muster.yaml:8: "), HasSubstr(std::string(complaint))));
  }
}

}  // namespace
}  // namespace muster::app
