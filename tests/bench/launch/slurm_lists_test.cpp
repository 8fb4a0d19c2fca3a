// SPDX-License-Identifier: Apache-2.0
#include "bench/launch/slurm_lists.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::bench {
namespace {

using ::testing::ElementsAre;

struct HostCase {
  std::string_view list;
  std::string_view first;  // empty: an error
};

class FirstHostTest : public ::testing::TestWithParam<HostCase> {};

TEST_P(FirstHostTest, IsTheFirstOneWrittenOut) {
  const auto host = first_host(GetParam().list);
  ASSERT_EQ(host.has_value(), !GetParam().first.empty()) << (host ? *host : host.error().message);
  EXPECT_EQ(host.value_or(""), GetParam().first);
}

INSTANTIATE_TEST_SUITE_P(Lists,
                         FirstHostTest,
                         ::testing::Values(HostCase{"node1", "node1"},
                                           HostCase{"node1,node2", "node1"},
                                           HostCase{"login,gpu-[1-4]", "login"},
                                           HostCase{"gpu-[0007-0010,12]", "gpu-0007"},
                                           HostCase{"gpu-[12,3-4]", "gpu-12"},
                                           HostCase{"gpu-[5]", "gpu-5"},
                                           HostCase{"gpu-[08-11]-ib0,login", "gpu-08-ib0"},
                                           HostCase{"rack[2-3]n[001-016]", "rack2n001"},
                                           HostCase{"[10-12]", "10"},
                                           HostCase{"a.b.example,c", "a.b.example"},
                                           HostCase{"", ""},
                                           HostCase{",node1", ""},
                                           HostCase{"gpu-[1-4", ""},
                                           HostCase{"gpu-[]", ""},
                                           HostCase{"gpu-[a-b]", ""},
                                           HostCase{"gpu-[-4]", ""}));

TEST(TasksPerNodeTest, RepeatsWhatIsWrittenOnce) {
  EXPECT_THAT(parse_tasks_per_node("4").value(), ElementsAre(4));
  EXPECT_THAT(parse_tasks_per_node("2(x4)").value(), ElementsAre(2, 2, 2, 2));
  EXPECT_THAT(parse_tasks_per_node("3,1").value(), ElementsAre(3, 1));
  EXPECT_THAT(parse_tasks_per_node("2(x2),3,1").value(), ElementsAre(2, 2, 3, 1));
}

class BadTasksTest : public ::testing::TestWithParam<std::string_view> {};

TEST_P(BadTasksTest, IsAnError) { EXPECT_FALSE(parse_tasks_per_node(GetParam())); }

INSTANTIATE_TEST_SUITE_P(
    Texts,
    BadTasksTest,
    ::testing::Values(
        "", "x", "2(x)", "2(4)", "2(x4", "2(x4)3", "2,,3", "-1", "2(x99999999999)", "1(x65536),1"));

}  // namespace
}  // namespace muster::bench
