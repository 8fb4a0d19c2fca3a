// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "lib/report/summary.hpp"

namespace muster {
namespace {

struct Case {
  std::string_view text;
  std::string_view safe;
};

class HarmlessTest : public ::testing::TestWithParam<Case> {};

TEST_P(HarmlessTest, ReplacesSpecialCharacters) {
  EXPECT_EQ(harmless(GetParam().text, 200), GetParam().safe);
}

INSTANTIATE_TEST_SUITE_P(
    Texts, HarmlessTest,
    ::testing::Values(Case{"", ""}, Case{"12 of 18 links are active", "12 of 18 links are active"},
                      Case{"98.5%, a=b@c: d/e_f+g^h", "98.5%, a=b@c: d/e_f+g^h"},
                      Case{"one; two ; three", "one, two, three"},
                      Case{"x' ; touch /tmp/a ; echo '", "x, touch /tmp/a, echo"},
                      Case{"$(reboot) `reboot` ${HOME}", "reboot reboot HOME"},
                      Case{"a*b?c[0-9]!d#e~f|g&h<i>j\\k\"l", "a b c 0-9 d e f g h i j k l"},
                      Case{"line\nline\r\n\tline\x7f\x01", "line line line"},
                      Case{std::string_view("a\0b", 3), "a b"},
                      Case{"caf\xc3\xa9 \xe2\x80\xa6", "caf- -"}, Case{"\xff\x80", "-"},
                      Case{"  blanks   ", "blanks"}));

TEST(HarmlessTest, MarksTextThatWasCut) {
  EXPECT_EQ(harmless("one two three", 13), "one two three");
  EXPECT_EQ(harmless("one two three", 12), "one two t...");
  EXPECT_EQ(harmless("one two three", 11), "one two...");
  EXPECT_EQ(harmless("one two three", 2), "..");
  EXPECT_EQ(harmless("one two three", 0), "");
}

TEST(HarmlessTest, IsIdempotent) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all.push_back(static_cast<char>(byte));
  const auto once = harmless(all, 400);
  EXPECT_EQ(harmless(once, 400), once);
}

}  // namespace
}  // namespace muster
