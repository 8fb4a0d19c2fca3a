// SPDX-License-Identifier: Apache-2.0
#include "slurm/cluster/node_names.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::slurm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(NodeNamesTest, ANodeOfSeveralPartitionsIsOne) {
  const auto names = parse_names("n2|gpu-2\nn1|gpu-1.example.org\nn2|gpu-2\n");
  ASSERT_TRUE(names) << names.error().message;
  EXPECT_THAT(*names, ElementsAre(NodeName{"n1", "gpu-1.example.org"}, NodeName{"n2", "gpu-2"}));
}

TEST(NodeNamesTest, WhatIsNoPairOfNamesIsAnError) {
  for (const auto* text : {"n1\n", "|gpu-1\n", "n1|\n"}) {
    EXPECT_FALSE(parse_names(text)) << text;
  }
  EXPECT_EQ(parse_names("sorry\n").error().message,
            "sinfo: invalid line \"sorry\", expected %N|%n");
}

TEST(NodeNamesTest, TheHostDecidesAndNotTheNodesName) {
  const std::vector<NodeName> names{{"gpu-1", "gpu-2"}, {"n1", "gpu-1"}};
  EXPECT_EQ(node_on(names, "gpu-1").value(), "n1");
  EXPECT_EQ(node_on(names, "gpu-2").value(), "gpu-1");
}

TEST(NodeNamesTest, AHostIsTheSameWithItsDomainAndWithout) {
  const std::vector<NodeName> names{{"n1", "gpu-1"}, {"n2", "gpu-2.a.org"}};
  EXPECT_EQ(node_on(names, "gpu-1.a.org").value(), "n1");
  EXPECT_EQ(node_on(names, "gpu-2").value(), "n2");
  EXPECT_EQ(node_on(names, "gpu-2.a.org").value(), "n2");
  EXPECT_FALSE(node_on(names, "gpu-2.b.org"));
}

TEST(NodeNamesTest, AHostWithoutANodeIsMissing) {
  const auto node = node_on({{"n1", "gpu-1"}}, "login");
  ASSERT_FALSE(node);
  EXPECT_EQ(node.error(),
            (Error{.message = "Slurm has no node on the host login", .missing = true}));
}

TEST(NodeNamesTest, OfSeveralNodesOfAHostOnlyTheOneOfItsNameCanBeMeant) {
  EXPECT_EQ(node_on({{"gpu-1", "gpu-1"}, {"n1", "gpu-1"}}, "gpu-1.a.org").value(), "gpu-1");
  EXPECT_THAT(node_on({{"n1", "localhost"}, {"n2", "localhost"}}, "localhost").error().message,
              HasSubstr("the host localhost has 2 nodes in Slurm, as n1 and n2: SLURMD_NODENAME"));
}

}  // namespace
}  // namespace muster::slurm
