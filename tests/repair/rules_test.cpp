// SPDX-License-Identifier: Apache-2.0
#include "repair/rules.hpp"

#include <fmt/format.h>

#include "lib/base/text.hpp"
#include "tests/support/files.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::repair {
namespace {

class RepairRulesTest : public ::testing::Test {
 protected:
  [[nodiscard]] Result<RepairRules> rules(std::string_view block) const {
    dir_.write("muster.yaml", fmt::format("schema: muster.site/1\n{}", block));
    return read_repair_rules({.site = dir_.path()}, "/");
  }

  TempDir dir_;
};

TEST_F(RepairRulesTest, DoNothingByThemselvesWithoutTheBlock) {
  const auto none = read_repair_rules({.site = dir_.path()}, "/");
  ASSERT_TRUE(none) << none.error().message;
  EXPECT_FALSE(none->evidence);
  EXPECT_TRUE(none->automatic.empty());
  EXPECT_EQ(none->folder, "/var/lib/muster/repair");
  EXPECT_EQ(read_repair_rules({}, "/tree")->folder, "/tree/var/lib/muster/repair");
}

TEST_F(RepairRulesTest, AreReadOverTheDefaults) {
  const auto read = rules("repair: {automatic: [reset_gpu], most_at_once: 2%, evidence: true}\n");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->automatic, std::vector<std::string>{"reset_gpu"});
  EXPECT_EQ(read->most_at_once, Percent{2});
  EXPECT_EQ(read->most_at_once_nodes, 8);
}

TEST_F(RepairRulesTest, AWrongValueNamesTheFileTheLineAndTheKey) {
  struct Wrong {
    std::string_view key, text;
  };
  for (const auto& [key, text] : {Wrong{"most_at_once", "most_at_once: 101%"},
                                  Wrong{"most_at_once", "most_at_once: 5"},
                                  Wrong{"most_by_check", "most_by_check: -1%"},
                                  Wrong{"most_at_once_nodes", "most_at_once_nodes: 0"},
                                  Wrong{"actions_per_week", "actions_per_week: 0"},
                                  Wrong{"breaker_window", "breaker_window: 1 s"},
                                  Wrong{"reboot_within", "reboot_within: 59 s"},
                                  Wrong{"reboot_within", "reboot_within: 3 h"},
                                  Wrong{"automatic", "automatic: [claim]"},
                                  Wrong{"automatic", "automatic: [rebot]"},
                                  Wrong{"services", "services: [openibd]"},
                                  Wrong{"services", "services: [\"*.service\"]"},
                                  Wrong{"services", "services: [-H.service]"},
                                  Wrong{"provider", "provider: ibm"},
                                  Wrong{"folder", "folder: repair"},
                                  Wrong{"by", "by: ./reach"},
                                  Wrong{"azure.endpoint", "azure: {endpoint: \"http://x\"}"},
                                  Wrong{"azure.endpoint", "azure: {endpoint: \"https://x?y\"}"},
                                  Wrong{"azure.subscription", "azure: {subscription: a/b}"},
                                  Wrong{"gcp.zone", "gcp: {zone: \"a b\"}"},
                                  Wrong{"evidence", "evidence: maybe"},
                                  Wrong{"evidense", "evidense: true"}}) {
    const auto read = rules(fmt::format("repair:\n  {}\n", text));
    ASSERT_FALSE(read) << text;
    EXPECT_THAT(read.error().message,
                AllOf(StartsWith(fmt::format("{}/muster.yaml:3: ", dir_.path().string())),
                      HasSubstr(fmt::format("'repair.{}'", key))));
  }
}

// The example with its marks taken away; see the tests of the shipped profiles.
TEST_F(RepairRulesTest, TheExampleForASiteAndTheGuideHaveEveryKeyWithItsDefault) {
  const auto shipped = source_file("configs/muster.yaml");
  std::string example;
  const auto block = shipped.substr(shipped.find("\n#repair:") + 1);
  for (const auto line : split_lines(block)) {
    example.append(line.substr(1)).append("\n");
  }
  const auto document = source_file("docs/repair.md");
  const auto read = rules(example);
  ASSERT_TRUE(read) << read.error().message;
  const RepairRules defaults;
  for_each_field<RepairRules>([&](const auto& field) {
    EXPECT_THAT(example, HasSubstr(fmt::format("\n  {}:", field.name)));
    EXPECT_THAT(document, HasSubstr(fmt::format("\n| `{}` | ", field.name)));
    EXPECT_TRUE((*read).*field.member == defaults.*field.member) << field.name;
  });
}

}  // namespace
}  // namespace muster::repair
