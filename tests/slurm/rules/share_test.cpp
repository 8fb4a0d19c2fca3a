// SPDX-License-Identifier: Apache-2.0
// A share of a partition's nodes, a number of them, or both.
#include "slurm/rules/share.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "slurm/rules/rules.hpp"

namespace muster::slurm {
namespace {

using ::testing::HasSubstr;

TEST(ShareTest, IsOfAPartition) {
  struct Case {
    std::string_view share;
    std::size_t size, nodes;
  };

  for (const auto& test :
       {Case{"10%", 1000, 100}, Case{" 10 % ", 19, 1}, Case{"2.5%", 1000, 25},
        Case{"20 nodes", 7, 20}, Case{"1 node", 7, 1}, Case{"min(10%, 20 nodes)", 1000, 20},
        Case{"min(10%, 20 nodes)", 50, 5}, Case{"min(20 nodes,10%)", 50, 5},
        Case{"max(10%, 2 nodes, 30%)", 10, 3}, Case{"max(3 nodes, min(5%, 10 nodes))", 10, 3},
        Case{"max(3 nodes, min( 5% , 10 nodes ) )", 100000, 10}}) {
    const auto nodes = count_nodes(test.share, test.size);
    ASSERT_TRUE(nodes) << test.share << ": " << nodes.error().message;
    EXPECT_EQ(*nodes, test.nodes) << test.share << " of " << test.size;
  }
}

TEST(ShareTest, RefusesWhatIsNone) {
  for (const auto* const text : {"",
                                 "20",
                                 "10",
                                 "%",
                                 "nodes",
                                 "-1 nodes",
                                 "-5%",
                                 "1.5 nodes",
                                 "1e3 nodes",
                                 "10%%",
                                 "10% 20 nodes",
                                 "20 nodesx",
                                 "min",
                                 "min()",
                                 "min(10%",
                                 "min(10%,)",
                                 "min(10% 20 nodes)",
                                 "min 10%, 20 nodes",
                                 "most(10%)",
                                 "10%)",
                                 "99999999999999999999 nodes"}) {
    const auto nodes = count_nodes(text, 100);
    ASSERT_FALSE(nodes) << text;
    EXPECT_THAT(nodes.error().message, HasSubstr("min(10%, 20 nodes)")) << text;
  }
  std::string nested;
  for (int i = 0; i < 100000; ++i) nested += "min(";
  EXPECT_FALSE(count_nodes(nested, 100));
  EXPECT_EQ(count_nodes("101%", 100).error().message, "is more than all nodes");
  EXPECT_EQ(count_nodes("min(10%, 101%)", 100).error().message, "is more than all nodes");
}

TEST(ShareTest, EachKeyOfTheRulesIsJudged) {
  EXPECT_EQ(check_values(Rules{}).key, "");
  const auto key_of = [](std::string Rules::*share) {
    Rules rules;
    rules.*share = "20";
    return check_values(rules).key;
  };
  EXPECT_EQ(key_of(&Rules::most_drained), "most_drained");
  EXPECT_EQ(key_of(&Rules::most_standing), "most_standing");
  EXPECT_EQ(key_of(&Rules::most_in_repair), "most_in_repair");
  EXPECT_EQ(key_of(&Rules::most_by_check), "most_by_check");
}

}  // namespace
}  // namespace muster::slurm
