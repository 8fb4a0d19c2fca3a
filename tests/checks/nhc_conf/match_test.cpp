// SPDX-License-Identifier: Apache-2.0
// NHC's match strings on names of nodes.
#include "checks/nhc_conf/match.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace muster::nhc::match_test {
namespace {

using ::testing::HasSubstr;

struct Case {
  std::string_view expression;
  std::string_view name;
  bool expected;
};

class NhcMatchTest : public ::testing::TestWithParam<Case> {};

TEST_P(NhcMatchTest, AnswersAsNhcDoes) {
  const auto [expression, name, expected] = GetParam();
  const auto found = matches(expression, name);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(*found, expected) << expression << " " << name;
}

INSTANTIATE_TEST_SUITE_P(Globs, NhcMatchTest,
                         ::testing::Values(Case{"*", "n1", true}, Case{"n*.viz", "n17.viz", true},
                                           Case{"n*.viz", "n17.gpu", false},
                                           Case{"n[12]", "n2", true}, Case{"n[!12]", "n2", false},
                                           Case{"n?", "n12", false}, Case{"n1", "n12", false},
                                           Case{"!ln*", "n1", true}, Case{"!ln*", "ln1", false}));

INSTANTIATE_TEST_SUITE_P(Expressions, NhcMatchTest,
                         ::testing::Values(Case{"/n000[0-9]/", "xn0001", true},
                                           Case{"/^n00[0-5][0-9]$/", "n0017", true},
                                           Case{"/^n00[0-5][0-9]$/", "n0083", false},
                                           Case{"!/\\.(gpu|htc)/", "n1.gpu", false},
                                           Case{"!/\\.(gpu|htc)/", "n1.cpu", true},
                                           Case{"/a{2}/", "baab", true}));

INSTANTIATE_TEST_SUITE_P(Ranges, NhcMatchTest,
                         ::testing::Values(Case{"{n[1-4],x[01-10]}", "n4", true},
                                           Case{"{n[1-4],x[01-10]}", "x07", true},
                                           Case{"{n[1-4],x[01-10]}", "x7", false},
                                           Case{"{n[1-4],x[01-10]}", "n5", false},
                                           Case{"{n00[00-99].phys,n1.bio}", "n0030.phys", true},
                                           Case{"{n00[00-99].phys,n1.bio}", "n0030", false},
                                           Case{"!{n03,n05,n0[7-9]}", "n08", false},
                                           Case{"!{n03,n05,n0[7-9]}", "n04", true},
                                           Case{"{n00[10-21,23]}", "n0023", true}));

TEST(NhcMatchErrorTest, SaysWhatCannotBeUnderstood) {
  EXPECT_THAT(matches("/(/", "n1").error().message, HasSubstr("the expression /(/: "));
  EXPECT_THAT(matches("{n[1-}", "n1").error().message, HasSubstr("the range {n[1-}: "));
  EXPECT_EQ(matches("!", "n1").error().message, "an empty match string");
}

// The C library runs out of stack, memory or time with each of these.
TEST(NhcMatchErrorTest, RefusesWhatCannotBeMatchedInTime) {
  const auto times = [](int count, std::string_view text) {
    std::string all;
    for (int i = 0; i < count; ++i) all += text;
    return all;
  };
  for (const auto& expression :
       {fmt::format("/{}a{}/", times(100'000, "("), times(100'000, ")")),
        fmt::format("/{}a{}/", times(1'000, "("), times(1'000, ")")),
        fmt::format("/a{}/", times(4'000, "*")), fmt::format("/{}b/", times(100'000, "a|")),
        std::string("/(((a{1,255}){1,255}){1,255}){1,255}/"), std::string("/(a*)*\\1/"),
        fmt::format("{}a{}", times(100'000, "*("), times(100'000, ")")), std::string("*(*(a))"),
        std::string("!+(@(*(a)))")}) {
    const auto found = matches(expression, std::string(100, 'a') + "b");
    EXPECT_FALSE(found) << expression.substr(0, 40);
  }
  EXPECT_FALSE(matches_pattern("*(*(a))", std::string(100, 'a') + "b"));
}

TEST(NhcMatchErrorTest, TakesWhatSitesWrite) {
  EXPECT_TRUE(matches("/^([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{12}|(n|m)[0-9]{3})$/", "n012").value());
  EXPECT_TRUE(matches("@(n|m)+([0-9])?(-*)", "n012-ib").value());
}

}  // namespace
}  // namespace muster::nhc::match_test
