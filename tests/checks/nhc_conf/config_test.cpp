// SPDX-License-Identifier: Apache-2.0
// The lines of a configuration, and which of them are for a node. Nothing in it is lost.
#include "checks/nhc_conf/config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/checks/nhc_conf/printers.hpp"

namespace muster::nhc::config_test {

namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<Line> lines_of(std::string_view text) { return parse_config("nhc.conf", text).lines; }

std::vector<CheckLine> check_lines(std::string_view text, std::string_view node = "n3.cluster") {
  return check_lines_on(parse_config("nhc.conf", text), node);
}

TEST(NhcConfigTest, LeavesOutBlankLinesAndComments) {
  EXPECT_THAT(lines_of("# a\n\n   \t\n   # b || c\n"), IsEmpty());
}

TEST(NhcConfigTest, SplitsAtTheFirstBars) {
  EXPECT_THAT(lines_of("  n*  ||  check_a '||' \n*||check_b\n"),
              ElementsAre(Line{.number = 1, .target = "n*", .command = "check_a '||'"},
                          Line{.number = 2, .target = "*", .command = "check_b"}));
}

TEST(NhcConfigTest, ReadsALastLineWithoutItsEnd) {
  EXPECT_THAT(lines_of("* || check_a"),
              ElementsAre(Line{.number = 1, .target = "*", .command = "check_a"}));
}

TEST(NhcConfigTest, ReadsLinesAsDosEndsThem) {
  EXPECT_THAT(lines_of("* || check_a\r\n"),
              ElementsAre(Line{.number = 1, .target = "*", .command = "check_a"}));
}

TEST(NhcConfigTest, NamesWhatNhcSkipsInSilence) {
  EXPECT_THAT(
      lines_of("check_a 1\n || check_b\n * ||\n"),
      ElementsAre(Line{.number = 1, .complaint = "no || in \"check_a 1\""},
                  Line{.number = 2, .command = "check_b", .complaint = "no target before ||"},
                  Line{.number = 3, .target = "*", .complaint = "no check behind ||"}));
}

TEST(NhcConfigTest, BackslashesJoinLinesAndLeaveTheCharacterBehindThem) {
  EXPECT_THAT(lines_of("* || check_a \\\n  1\n/\\.gpu/ || check_b\n"),
              ElementsAre(Line{.number = 1, .target = "*", .command = "check_a   1"},
                          Line{.number = 3, .target = "/.gpu/", .command = "check_b"}));
}

TEST(NhcDemandsTest, AreThoseForTheNode) {
  EXPECT_THAT(check_lines("* || check_a 1\n"
                          "!n3* || check_b\n"
                          "{n[1-4].cluster} || check_c\n"
                          "/^x/ || check_d\n"
                          "n3 || check_e\n"),
              ElementsAre(CheckLine{.number = 1, .check = "check_a", .arguments = {"1"}},
                          CheckLine{.number = 3, .check = "check_c"}));
}

TEST(NhcDemandsTest, SettingsHoldForLaterLinesOfTheNodesTheyAreFor) {
  EXPECT_THAT(
      check_lines("* || A=1\n"
                  "x* || A=2\n"
                  "* || check_a $A\n"
                  "* || export A=\"$A$A\"\n"
                  "* || A=5 check_b $A\n"
                  "* || check_c $A $HOSTNAME ${HOSTNAME_S}\n"),
      ElementsAre(
          CheckLine{.number = 3, .check = "check_a", .arguments = {"1"}},
          CheckLine{.number = 5, .check = "check_b", .arguments = {"11"}},
          CheckLine{.number = 6, .check = "check_c", .arguments = {"11", "n3.cluster", "n3"}}));
}

TEST(NhcDemandsTest, TheSearchPathThatNhcSetsIsKnown) {
  EXPECT_THAT(check_lines("* || export PATH=\"$PATH:/opt/bin\"\n* || check_a $PATH\n"),
              ElementsAre(CheckLine{.number = 2,
                                    .check = "check_a",
                                    .arguments = {"/sbin:/usr/sbin:/bin:/usr/bin:/opt/bin"}}));
}

TEST(NhcDemandsTest, NameWhatIsNotKnown) {
  EXPECT_THAT(check_lines("* || A=$OTHER\n* || check_a $A\n"),
              ElementsAre(CheckLine{
                  .number = 2, .check = "check_a", .arguments = {"$A"}, .unresolved = "A"}));
}

TEST(NhcDemandsTest, KeepTheComplaintsOfLinesThatCannotBeRead) {
  EXPECT_THAT(
      check_lines("x\n* || A=$(date)\n/(/ || check_a\n"),
      ElementsAre(
          CheckLine{.number = 1, .complaint = "no || in \"x\""},
          CheckLine{
              .number = 2,
              .complaint = "the command substitution $(…) needs a shell, and muster runs none"},
          CheckLine{.number = 3, .complaint = "the expression /(/: Unmatched ( or \\("}));
}

TEST(NhcDemandsTest, OfANodeWithoutANameOnlyLinesForAllAreUnderstood) {
  EXPECT_THAT(check_lines("* || check_a\nn* || check_b\n", ""),
              ElementsAre(CheckLine{.number = 1, .check = "check_a"},
                          CheckLine{.number = 2, .complaint = "the node's own name is not known"}));
}

TEST(NhcDemandsTest, AllDemandsAreThoseOfEveryNode) {
  EXPECT_THAT(all_check_lines(parse_config("f", "a || check_a\nb || check_b\n")),
              ElementsAre(CheckLine{.number = 1, .check = "check_a"},
                          CheckLine{.number = 2, .check = "check_b"}));
}

}  // namespace
}  // namespace muster::nhc::config_test
