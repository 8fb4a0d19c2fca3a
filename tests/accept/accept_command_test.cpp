// SPDX-License-Identifier: Apache-2.0
// Whole runs of the command, on simulated nodes.
#include "accept/accept_command.hpp"

#include <string>

#include "lib/accept/delivery.hpp"
#include "lib/base/json_read.hpp"
#include "tests/support/files.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/temp_dir.hpp"
#include "tests/support/test_caller.hpp"

namespace muster::app {
namespace {

class AcceptCommandTest : public ::testing::Test {
 protected:
  // Returns the exit status.
  int run(AcceptCommand command) {
    command.run = temp_.path("run");
    caller_ = TestCaller();
    return run_accept(command, caller_.caller());
  }

  int begin(const std::string& sim = "") {
    return run({.words = {"sim[1-3]"}, .plan = "quick", .by = "sim", .sim = sim});
  }

  [[nodiscard]] accept::Delivery delivery() const {
    const auto read = from_json<accept::Delivery>(content_of(temp_.path() / "run/accept.json"));
    EXPECT_TRUE(read);
    return read.value_or(accept::Delivery{});
  }

  TempDir temp_;
  TestCaller caller_;
};

TEST_F(AcceptCommandTest, AWithdrawnNodeKeepsItsHistory) {
  EXPECT_EQ(begin(), 0);
  EXPECT_EQ(run({.withdraw = "sim2", .why = "sent back"}), 0);
  EXPECT_EQ(run({.page = true}), 1);
  const auto row = delivery().nodes.at(1);
  EXPECT_EQ(row.verdict, accept::NodeVerdict::withdrawn);
  EXPECT_EQ(row.stage, accept::Stage::after);
  EXPECT_EQ(row.soak_hours, 0.5);
}

TEST_F(AcceptCommandTest, ARetestContinuesTheSimulation) {
  EXPECT_EQ(begin("fault=row_remap:sim2:1"), 1);
  EXPECT_EQ(run({.retest = "sim2"}), 0);
  EXPECT_EQ(run({}), 1);
  EXPECT_THAT(caller_.out(), HasSubstr("rejected    sim2: gpu.ecc_remapped_rows gpu1"));
  EXPECT_EQ(run({.retest = "sim2"}), 0);
  EXPECT_EQ(run({.by = "sim", .sim = "failures=0"}), 0) << caller_.out();  // it was repaired
}

TEST_F(AcceptCommandTest, RealAndSimulatedResultsAreNotMixed) {
  EXPECT_EQ(begin(), 0);
  EXPECT_EQ(run({.by = "ssh"}), kExitConfiguration);
  EXPECT_THAT(caller_.notes(), HasSubstr("its nodes are simulated"));
}

TEST_F(AcceptCommandTest, ASoakIsComparedWithThePlanOfTheRun) {
  EXPECT_EQ(begin(), 0);
  EXPECT_EQ(run({.soak = "30min"}), 0) << caller_.notes();
  EXPECT_EQ(run({.soak = "3h"}), kExitConfiguration);
  EXPECT_THAT(caller_.notes(), HasSubstr("soak_s was 1800 in its plan and is 10800 now"));
  EXPECT_EQ(run({.soak = "1s"}), kExitUsage);
  EXPECT_THAT(caller_.notes(), HasSubstr("--soak: "));
}

TEST_F(AcceptCommandTest, ADryRunChecksHowNodesAreReached) {
  AcceptCommand command{.words = {"sim[1-3]"}, .by = "sim", .sim = "fault=foo:1", .dry_run = true};
  EXPECT_EQ(run(command), kExitUsage);
  EXPECT_THAT(caller_.notes(), HasSubstr("unknown fault"));
  command.by = "./nope";
  EXPECT_EQ(run(command), kExitUsage);
  command.by = "slurm";
  EXPECT_EQ(run(command), 0) << caller_.notes();
}

TEST_F(AcceptCommandTest, ThePageOfASimulationSaysSo) {
  EXPECT_EQ(begin("fault=row_remap:sim2:1"), 1);
  const auto page = content_of(temp_.path() / "run/page.html");
  EXPECT_THAT(page, AllOf(HasSubstr("<b>Simulated.</b>"), HasSubstr("Claim for")));
  EXPECT_TRUE(delivery().simulated);
}

}  // namespace
}  // namespace muster::app
