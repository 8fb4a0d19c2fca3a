// SPDX-License-Identifier: Apache-2.0
#include "accept/remote.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <string>

#include "accept/frame.hpp"
#include "accept/run_folder.hpp"
#include "lib/base/json_write.hpp"
#include "lib/command/version.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::accept {
namespace {

TEST(NodeCommandTest, QuotesForTheShellOfSsh) {
  const auto words = node_command("ssh", "gpu-1", {"/opt/my muster", "it's"});
  EXPECT_EQ(words.front(), "ssh");
  EXPECT_THAT(words, Contains("BatchMode=yes"));
  EXPECT_EQ(words.at(words.size() - 2), "gpu-1");
  EXPECT_EQ(words.at(words.size() - 3), "--");
  EXPECT_EQ(words.back(), R"('/opt/my muster' 'it'\''s')");
}

TEST(NodeCommandTest, PassesAProgramTheNodeAndTheWords) {
  EXPECT_THAT(node_command("./reach", "gpu-1", {"a b", "c"}),
              ElementsAre("./reach", "gpu-1", "a b", "c"));
  EXPECT_THAT(node_command("local", "gpu-1", {"a"}), ElementsAre("a"));
  EXPECT_THAT(node_command("slurm", "gpu-1", {"a"}), Contains("--nodelist=gpu-1"));
}

TEST(GroupCommandTest, StartsTheProcessesOfEachNode) {
  const auto slurm = group_command("slurm", {"n1", "n2", "n4"}, 8, "", {"bench"});
  EXPECT_THAT(slurm, Contains("--nodelist=n[1-2,4]"));
  EXPECT_THAT(slurm, Contains("--ntasks-per-node=8"));
  const auto mpi = group_command("ssh", {"n1", "n2"}, 8, "hosts", {"bench"});
  EXPECT_EQ(mpi.front(), "mpirun");
  EXPECT_THAT(mpi, Contains("16"));
  EXPECT_THAT(mpi, Contains("ppr:8:node"));
}

TEST(UnansweredTest, TellsLostFromRefusedAndInterrupted) {
  const auto kind = [](int status, std::string_view errors) {
    return unanswered(status, errors, "no answer").kind;
  };
  using Kind = Unanswered::Kind;
  EXPECT_EQ(kind(255, "ssh: connect to host n1 port 22: Connection refused"), Kind::lost);
  EXPECT_EQ(kind(255, "Timeout, server n1 not responding."), Kind::lost);
  EXPECT_EQ(kind(255, "me@n1: Permission denied (publickey)."), Kind::refused);
  EXPECT_EQ(kind(255, "ssh: Could not resolve hostname n1: Name or service not known"),
            Kind::refused);
  EXPECT_EQ(kind(127, "sh: 1: muster: not found"), Kind::refused);
  EXPECT_EQ(kind(1,
                 "srun: error: Unable to create step for job 1: Requested node configuration is "
                 "not available"),
            Kind::outside);
  EXPECT_EQ(kind(137, ""), Kind::interrupted);
}

TEST(UnansweredTest, SaysWhy) {
  const auto why = [](int status, std::string_view errors) {
    return unanswered(status, errors, "no answer").why;
  };
  EXPECT_EQ(why(0, ""), "no answer");
  EXPECT_EQ(why(3, ""), "no answer (status 3)");
  EXPECT_EQ(why(3, "first\nlast\n"), "no answer (status 3): last");
  EXPECT_EQ(why(255, "ssh: n1: Connection refused\nmpirun: lost\n"), "ssh: n1: Connection refused");
  const std::string ruler(74, '-');
  EXPECT_EQ(why(1, fmt::format("a warning\n{0}\nmpirun has detected an attempt to\nrun as root.\n\n"
                               "Running as root is discouraged.\n{0}\n",
                               ruler)),
            "no answer (status 1): mpirun has detected an attempt to run as root.");
  EXPECT_EQ(why(1, fmt::format("{0}\nA warning.\n{0}\nlast\n", ruler)),
            "no answer (status 1): last");
}

// A program that reaches nodes, as a shell script: $1 is the node.
class ProgramFleetTest : public ::testing::Test {
 protected:
  [[nodiscard]] EndedStep run(const std::string& script, std::int64_t wait = 20) const {
    temp_.write_program("reach", fmt::format("#!/bin/sh\n{}\n", script));
    auto fleet = make_remote_fleet(order_, {.by = temp_.path("reach"),
                                            .muster = "/usr/bin/muster",
                                            .folder = temp_.path(),
                                            .variables = {{"PATH", "/usr/bin:/bin"}},
                                            .gpus = [] { return std::vector<std::size_t>{8}; }});
    EXPECT_TRUE(fleet);
    (*fleet)->start(NodeStart{.node = 0, .stage = Stage::check, .number = 1});
    const auto ended = (*fleet)->wait((*fleet)->now() + wait);
    return ended.empty() ? EndedStep{.why = "nothing ended"} : ended.front();
  }

  [[nodiscard]] static std::string framed(const std::string& version) {
    return frame("n1", to_json_line(StepAnswer{.host = "one", .muster = version}));
  }

  TempDir temp_{"/tmp"};
  Order order_ = make_order(Plan{}, {{.name = "n1"}});
};

TEST_F(ProgramFleetTest, ReturnsTheAnswerBehindAGreeting) {
  const auto ended =
      run(fmt::format("echo Welcome to $1; echo '{}'", framed(std::string(kVersion))));
  ASSERT_TRUE(ended.answer) << ended.why;
  EXPECT_EQ(ended.answer->host, "one");
  EXPECT_EQ(ended.answer->refused, "");
}

TEST_F(ProgramFleetTest, RefusesAnotherVersion) {
  const auto ended = run(fmt::format("echo '{}'", framed("9.9")));
  ASSERT_TRUE(ended.answer);
  EXPECT_THAT(ended.answer->refused, HasSubstr("the node has muster 9.9"));
}

TEST_F(ProgramFleetTest, InterruptsAStepWhoseAnswerIsCut) {
  const auto line = framed(std::string(kVersion));
  const auto ended = run(fmt::format("echo '{}'", line.substr(0, line.size() / 2)));
  EXPECT_FALSE(ended.answer);
  EXPECT_FALSE(ended.lost);
  EXPECT_THAT(ended.why, HasSubstr("cut off"));
}

TEST_F(ProgramFleetTest, LosesANodeThatDoesNotAnswer) {
  const auto ended = run("echo 'connect to host n1: No route to host' >&2; exit 255");
  EXPECT_TRUE(ended.lost);
  EXPECT_THAT(ended.why, HasSubstr("No route to host"));
}

TEST_F(ProgramFleetTest, HoldsANodeWithoutMuster) {
  const auto ended = run("echo 'sh: muster: not found' >&2; exit 127");
  ASSERT_TRUE(ended.answer);
  EXPECT_THAT(ended.answer->refused, HasSubstr("muster: not found"));
}

TEST_F(ProgramFleetTest, EndsWaitingSteps) {
  auto fleet = make_remote_fleet(order_, {.by = "/bin/cat", .muster = "/x", .variables = {}});
  ASSERT_TRUE(fleet);
  (*fleet)->start(NodeStart{.node = 0, .stage = Stage::check, .number = 1});
  (*fleet)->stop();
  const auto ended = (*fleet)->wait((*fleet)->now() + 20);
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended[0].why, "the run was stopped");
  EXPECT_FALSE(ended[0].lost);
}

TEST(SlurmFleetTest, ANodeThatLeftTheJobIsLostWhileItIsDown) {
  const TempDir temp;
  const auto order = make_order(Plan{}, {{.name = "n1"}});
  for (const std::string state : {"down", "idle*", "idle"}) {
    temp.write_program(
        "srun", "#!/bin/sh\necho 'Requested node configuration is not available' >&2\nexit 1");
    temp.write_program("sinfo", fmt::format("#!/bin/sh\necho '{}'", state));
    const auto fleet = make_remote_fleet(
        order, {.by = "slurm",
                .muster = "/x",
                .variables = {{"PATH", temp.path().string()}, {"SLURM_JOB_NODELIST", "n1"}}});
    ASSERT_TRUE(fleet);
    (*fleet)->start(NodeStart{.node = 0, .stage = Stage::check, .number = 1});
    const auto ended = (*fleet)->wait((*fleet)->now() + 20);
    ASSERT_EQ(ended.size(), 1U);
    EXPECT_EQ(ended[0].lost, state != "idle") << ended[0].why;
    EXPECT_EQ((*fleet)->reachable().front(), state != "idle");
  }
}

TEST(RemoteFleetTest, RefusesWaysThatCannotWork) {
  const auto order = make_order(Plan{}, {{.name = "n1"}, {.name = "n2"}});
  EXPECT_THAT(make_remote_fleet(order, {.by = "slurm"}).error().message,
              HasSubstr("works in an allocation"));
  EXPECT_THAT(make_remote_fleet(order, {.by = "local"}).error().message,
              HasSubstr("only this machine"));
  EXPECT_THAT(make_remote_fleet(order, {.by = "/no/such"}).error().message,
              HasSubstr("not a program"));
}

}  // namespace
}  // namespace muster::accept
