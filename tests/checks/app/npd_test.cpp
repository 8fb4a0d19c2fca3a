// SPDX-License-Identifier: Apache-2.0
// The shipped configuration of node-problem-detector: it is what that program accepts, and its
// rules are command lines of muster.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "checks/app/commands.hpp"
#include "lib/base/quantity.hpp"
#include "tests/checks/app/test_caller.hpp"
#include "tests/support/documents.hpp"

namespace muster::app {
namespace {

using ::testing::IsSubsetOf;

class NpdConfigurationTest : public ::testing::Test {
 protected:
  // Parses the command line of the rule for a condition.
  [[nodiscard]] CheckCommand command_for(const std::string& condition) const {
    for (const auto& rule : document_.at("rules")) {
      if (rule.at("condition") != condition) continue;
      std::string line;
      for (const std::string word : rule.at("args")) line += word + ' ';
      return parsed<CheckCommand>(line);
    }
    ADD_FAILURE() << "no rule for " << condition;
    return {};
  }

  nlohmann::json document_ =
      nlohmann::json::parse(source_file("deploy/kubernetes/chart/files/muster.json"));
};

std::vector<std::string> keys_of(const nlohmann::json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  return keys;
}

// It ignores keys that it does not know.
TEST_F(NpdConfigurationTest, HasOnlyKeysThatAreRead) {
  EXPECT_THAT(keys_of(document_), IsSubsetOf({"plugin", "pluginConfig", "source",
                                              "metricsReporting", "conditions", "rules"}));
  EXPECT_THAT(keys_of(document_.at("pluginConfig")),
              IsSubsetOf({"invoke_interval", "timeout", "max_output_length", "concurrency",
                          "enable_message_change_based_condition_update", "skip_initial_status"}));
  for (const auto& rule : document_.at("rules")) {
    EXPECT_THAT(keys_of(rule),
                IsSubsetOf({"type", "condition", "reason", "path", "args", "timeout"}));
  }
}

// It refuses to start with a permanent rule whose condition is not listed.
TEST_F(NpdConfigurationTest, EveryConditionHasARuleAndANeutralReason) {
  std::set<std::string> conditions, ruled;
  for (const auto& each : document_.at("conditions")) {
    conditions.insert(each.at("type"));
    EXPECT_EQ(each.at("reason"), "NoFinding");  // also that of Unknown
  }
  for (const auto& rule : document_.at("rules")) {
    ruled.insert(rule.at("condition"));
    EXPECT_EQ(rule.at("type"), "permanent");
  }
  EXPECT_EQ(conditions, (std::set<std::string>{"MusterUndecided", "MusterUnfit"}));
  EXPECT_EQ(ruled, conditions);
}

TEST_F(NpdConfigurationTest, RulesObserveTheHostInTheFormOfTheirCondition) {
  EXPECT_EQ(command_for("MusterUnfit").format, Format::npd);
  EXPECT_EQ(command_for("MusterUndecided").format, Format::npd_undecided);
  for (const auto* condition : {"MusterUnfit", "MusterUndecided"}) {
    EXPECT_TRUE(command_for(condition).host);
    EXPECT_EQ(command_for(condition).context, "periodic");
  }
}

// A run that node-problem-detector kills has no message.
TEST_F(NpdConfigurationTest, RunsEndBeforeTheyAreKilled) {
  const std::string text = document_.at("pluginConfig").at("timeout");
  const auto timeout = parse_quantity<SecondsKind>(text);
  ASSERT_TRUE(timeout);
  for (const auto* condition : {"MusterUnfit", "MusterUndecided"}) {
    const auto deadline = command_for(condition).deadline;
    ASSERT_TRUE(deadline);
    EXPECT_LE(deadline->value + 5, timeout->value);
  }
}

}  // namespace
}  // namespace muster::app
