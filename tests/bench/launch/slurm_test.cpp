// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/launch/sightings.hpp"

namespace muster::bench {
namespace {

using ::testing::ElementsAre;

TEST(TasksPerNodeTest, RepeatsWhatIsWrittenOnce) {
  EXPECT_THAT(parse_tasks_per_node("4").value(), ElementsAre(4));
  EXPECT_THAT(parse_tasks_per_node("2(x4)").value(), ElementsAre(2, 2, 2, 2));
  EXPECT_THAT(parse_tasks_per_node("3,1").value(), ElementsAre(3, 1));
  EXPECT_THAT(parse_tasks_per_node("2(x2),3,1").value(), ElementsAre(2, 2, 3, 1));
}

class BadTasksTest : public ::testing::TestWithParam<std::string_view> {};

TEST_P(BadTasksTest, IsAnError) { EXPECT_FALSE(parse_tasks_per_node(GetParam())); }

INSTANTIATE_TEST_SUITE_P(Texts, BadTasksTest,
                         ::testing::Values("", "x", "2(x)", "2(4)", "2(x4", "2(x4)3", "2,,3", "-1",
                                           "2(x99999999999)", "1(x65536),1"));

}  // namespace
}  // namespace muster::bench
