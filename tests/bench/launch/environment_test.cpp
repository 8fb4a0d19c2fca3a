// SPDX-License-Identifier: Apache-2.0
#include "bench/launch/environment.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/launch/detection.hpp"

namespace muster::bench {
namespace {

using ::testing::ElementsAre;

TEST(JobPortTest, IsBelowTheEphemeralPorts) {
  for (const std::string_view job : {"", "1.0", "1.1", "4294967295.65535"}) {
    EXPECT_GE(port_of_job(job), 10000);
    EXPECT_LT(port_of_job(job), 30000);
  }
  EXPECT_NE(port_of_job("1.0"), port_of_job("1.1"));
}

TEST(JobPortTest, StaysValidWithAnOffset) {
  EXPECT_EQ(shifted_port(29500, 97), 29597);
  EXPECT_EQ(shifted_port(65500, 97), 65403);
}

TEST(TasksPerNodeTest, AreExpanded) {
  EXPECT_THAT(parse_tasks_per_node("4").value(), ElementsAre(4));
  EXPECT_THAT(parse_tasks_per_node("2(x4)").value(), ElementsAre(2, 2, 2, 2));
  EXPECT_THAT(parse_tasks_per_node("2(x2),3,1").value(), ElementsAre(2, 2, 3, 1));
}

TEST(TasksPerNodeTest, AreRejectedIfMalformed) {
  for (const auto* text : {"", "x", "2(x)", "2(4)", "2(x4", "2(x4)3", "2,,3", "-1",
                           "2(x99999999999)", "1(x65536),1"}) {
    EXPECT_FALSE(parse_tasks_per_node(text)) << text;
  }
}

}  // namespace
}  // namespace muster::bench
