// SPDX-License-Identifier: Apache-2.0
// Commands of NHC's configuration as words, and what is refused because it needs a shell.
#include "checks/nhc_conf/words.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::nhc::words_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const Variables kVariables{{"DISK", "/scratch"}, {"TWO", "a b"}, {"EMPTY", ""}, {"LOST", {}}};

std::vector<std::string> words_of(std::string_view text) {
  const auto command = read_command(text, kVariables);
  EXPECT_TRUE(command) << command.error().message;
  return command ? command->words : std::vector<std::string>();
}

std::string refusal_of(std::string_view text) {
  const auto command = read_command(text, kVariables);
  return command ? "" : command.error().message;
}

TEST(NhcWordsTest, AreSplitAtBlanks) {
  EXPECT_THAT(words_of(" check_hw_cpuinfo 2\t8  8 "),
              ElementsAre("check_hw_cpuinfo", "2", "8", "8"));
}

TEST(NhcWordsTest, QuotesKeepBlanksAndEmptyWords) {
  EXPECT_THAT(words_of(R"(a 'b $DISK' "c  \"d\" \x" "" '')"),
              ElementsAre("a", "b $DISK", "c  \"d\" \\x", "", ""));
}

TEST(NhcWordsTest, QuotesWithinAWordBelongToIt) {
  EXPECT_THAT(words_of(R"(a'b c'"d"\ e)"), ElementsAre("ab cd e"));
}

TEST(NhcWordsTest, ACommentEndsTheCommandAndAHashWithinAWordDoesNot) {
  EXPECT_THAT(words_of("a b#c # d"), ElementsAre("a", "b#c"));
}

TEST(NhcWordsTest, VariablesAreReplacedAndSplitUnlessQuoted) {
  EXPECT_THAT(words_of(R"(a $DISK/x ${DISK}y $TWO "$TWO" $EMPTY "$EMPTY")"),
              ElementsAre("a", "/scratch/x", "/scratchy", "a", "b", "a b", ""));
}

TEST(NhcWordsTest, ADollarSignWithoutANameStandsForItself) {
  EXPECT_THAT(words_of(R"(a '^x$' /y$/ "$")"), ElementsAre("a", "^x$", "/y$/", "$"));
}

TEST(NhcWordsTest, MatchStringsStandForThemselves) {
  EXPECT_THAT(words_of("a !root * [ab]? {n[1-4]} !/^x/"),
              ElementsAre("a", "!root", "*", "[ab]?", "{n[1-4]}", "!/^x/"));
}

TEST(NhcWordsTest, AVariableThatNobodySetsIsNamed) {
  const auto command = read_command("check_a $NOBODY/x", kVariables);
  ASSERT_TRUE(command);
  EXPECT_EQ(command->unresolved, "NOBODY");
  EXPECT_EQ(read_command("check_a \"$LOST\"", kVariables)->unresolved, "LOST");
}

TEST(NhcWordsTest, SettingsStandBeforeTheCheckOrBehindExport) {
  const auto command = read_command("A=1 B='2 3' check_a C=4", kVariables);
  ASSERT_TRUE(command);
  EXPECT_THAT(command->settings, ElementsAre(Setting{"A", "1"}, Setting{"B", "2 3"}));
  EXPECT_THAT(command->words, ElementsAre("check_a", "C=4"));
  const auto exported = read_command("export PATH=\"$DISK:/x\" OTHER", kVariables);
  ASSERT_TRUE(exported);
  EXPECT_THAT(exported->settings, ElementsAre(Setting{"PATH", "/scratch:/x"}));
  EXPECT_THAT(exported->words, IsEmpty());
}

TEST(NhcWordsTest, ASettingFromAnUnknownVariableIsNotKnown) {
  const auto command = read_command("A=$NOBODY", kVariables);
  ASSERT_TRUE(command);
  EXPECT_THAT(command->settings, ElementsAre(Setting{"A", std::nullopt}));
  EXPECT_EQ(command->unresolved, "");
}

TEST(NhcWordsTest, WhatNeedsAShellIsRefusedByName) {
  EXPECT_EQ(refusal_of("a $(date)"),
            "the command substitution $(…) needs a shell, and muster runs none");
  EXPECT_THAT(refusal_of("a \"$(date)\""), HasSubstr("$(…)"));
  EXPECT_THAT(refusal_of("a `date`"), HasSubstr("`…`"));
  EXPECT_THAT(refusal_of("a \"`date`\""), HasSubstr("`…`"));
  EXPECT_THAT(refusal_of("a ${X:-y}"), HasSubstr("\"${X:-y}\""));
  EXPECT_THAT(refusal_of("a $1"), HasSubstr("\"$1\""));
  EXPECT_THAT(refusal_of("a $'x'"), HasSubstr("$'…'"));
  EXPECT_THAT(refusal_of("a ~/x"), HasSubstr("\"~\""));
  EXPECT_THAT(refusal_of("a /dev/{null,zero}"), HasSubstr("{a,b}"));
  for (const auto* sign : {";", "|", "&", "<", ">", "(", ")"}) {
    EXPECT_THAT(refusal_of(fmt::format("a {} b", sign)),
                HasSubstr(fmt::format("\"{}\" needs a shell", sign)));
  }
}

TEST(NhcWordsTest, WhatIsNotClosedIsRefused) {
  EXPECT_EQ(refusal_of("a 'b"), "a quote ' is not closed");
  EXPECT_EQ(refusal_of("a \"b"), "a quote \" is not closed");
  EXPECT_EQ(refusal_of("a \\"), "a backslash stands at the end");
  EXPECT_THAT(refusal_of("a ${X"), HasSubstr("needs a shell"));
  EXPECT_EQ(refusal_of("export A-B"), "export of \"A-B\"");
}

}  // namespace
}  // namespace muster::nhc::words_test
