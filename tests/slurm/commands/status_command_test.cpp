// SPDX-License-Identifier: Apache-2.0
// `muster status` by Slurm's programs: what it asks, what it prints and how it ends.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "slurm/commands/slurm_commands.hpp"
#include "tests/checks/app/test_caller.hpp"
#include "tests/slurm/commands/fake_slurm.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::app {
namespace {

using ::testing::HasSubstr;

class StatusCommandTest : public ::testing::Test {
 protected:
  StatusCommandTest() { slurm_.site(""); }

  int status(StatusCommand command = {}) {
    command.root = (dir_.path() / "root").string();
    auto caller = caller_.caller();
    caller.variables["SLURM_CONF"] = (dir_.path() / "slurm.conf").string();
    return run_status(command, caller);
  }

  TempDir dir_;
  FakeSlurm slurm_{dir_};
  TestCaller caller_;
};

// A wrong limit, of which the breaker let ten drains through.
TEST_F(StatusCommandTest, OfAThousandNodesItNamesTheStoppedCheck) {
  std::string lines;
  for (int i = 1; i <= 1000; ++i) {
    const auto* const rest =
        i <= 10 ? "drained|root|1800000000|muster: host.limits: low; fix the configuration"
                : "idle|Unknown|Unknown|none";
    for (const auto* const partition : {"gpu", "all"}) {
      lines += fmt::format("n{:04}|{}|{}\n", i, partition, rest);
    }
  }
  slurm_.nodes(lines);
  EXPECT_EQ(status({.form = EventForm::json}), 0);
  const auto json = nlohmann::json::parse(caller_.out());
  EXPECT_EQ(json["schema"], "muster.status/1");
  EXPECT_EQ(json["nodes"], 1000);
  EXPECT_EQ(json["drained_by_muster"], 10);
  ASSERT_EQ(json["stopped"].size(), 2U);
  EXPECT_EQ(json["stopped"][1]["check"], "host.limits");
  EXPECT_EQ(json["stopped"][1]["partition"], "gpu");
  EXPECT_NE(json["refused_unknown"], "");
}

TEST_F(StatusCommandTest, AsksSlurmOnce) {
  slurm_.program("sinfo", "echo asked >>\"$D/asked\"; fake_sinfo \"$@\" <\"$D/node\"");
  EXPECT_EQ(status(), 0);
  EXPECT_THAT(caller_.out(), HasSubstr("1 nodes: 1 in service"));
  std::ifstream file(dir_.path() / "asked");
  const std::string asked{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(asked, "asked\n");
}

TEST_F(StatusCommandTest, WithoutAnAnswerItIsUndecided) {
  slurm_.program("sinfo", "echo 'Unable to contact slurm controller' >&2; exit 1");
  EXPECT_EQ(status(), kExitUndecided);
  EXPECT_EQ(caller_.out(), "");
  EXPECT_THAT(caller_.notes(), HasSubstr("Unable to contact slurm controller"));
}

TEST_F(StatusCommandTest, BadRulesAreBadConfiguration) {
  slurm_.site("  most_drained: 20\n");
  EXPECT_EQ(status(), kExitConfiguration);
  EXPECT_THAT(caller_.notes(), HasSubstr("muster.yaml:4: 'slurm.most_drained' is \"20\"; write"));
}

}  // namespace
}  // namespace muster::app
