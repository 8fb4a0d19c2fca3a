// SPDX-License-Identifier: Apache-2.0
// Lines of a configuration: how they are parsed, split into words and selected for a node.
#include "checks/nhc_conf/config.hpp"

#include <fmt/ranges.h>

#include "tests/support/matchers.hpp"

namespace muster::nhc {

// NOLINTNEXTLINE(readability-identifier-naming): the name that gtest looks for
inline void PrintTo(const Line& line, std::ostream* out) {
  *out << fmt::format("{}: {} || {} {}", line.number, line.target, line.command, line.complaint);
}

// NOLINTNEXTLINE(readability-identifier-naming): the name that gtest looks for
inline void PrintTo(const CheckLine& line, std::ostream* out) {
  *out << fmt::format("{}: {} {} {} {}", line.number, line.check, line.arguments, line.complaint,
                      line.unresolved);
}

namespace {

std::vector<Line> lines_of(std::string_view text) { return parse_config("nhc.conf", text).lines; }

std::vector<CheckLine> check_lines(std::string_view text, std::string_view node = "n3.cluster") {
  return nhc::check_lines(parse_config("nhc.conf", text), node);
}

TEST(NhcConfig, SplitsAtTheFirstBarsAndSkipsBlankLinesAndComments) {
  EXPECT_THAT(lines_of("# a\n\n   \t\n   # b || c\n"), IsEmpty());
  EXPECT_THAT(lines_of("  n*  ||  check_a '||' \r\n*||check_b"),
              ElementsAre(Line{.number = 1, .target = "n*", .command = "check_a '||'"},
                          Line{.number = 2, .target = "*", .command = "check_b"}));
  // A byte order mark.
  EXPECT_THAT(lines_of("\xEF\xBB\xBF* || check_a\n"),
              ElementsAre(Line{.number = 1, .target = "*", .command = "check_a"}));
}

TEST(NhcConfig, ReportsLinesThatNhcIgnoresSilently) {
  EXPECT_THAT(
      lines_of("check_a 1\n || check_b\n * ||\n"),
      ElementsAre(Line{.number = 1, .complaint = "no || in \"check_a 1\""},
                  Line{.number = 2, .command = "check_b", .complaint = "no target before ||"},
                  Line{.number = 3, .target = "*", .complaint = "no check after ||"}));
}

TEST(NhcConfig, BackslashesJoinLinesAndAreDropped) {
  EXPECT_THAT(lines_of("* || check_a \\\n  1\n/\\.gpu/ || check_b\n"),
              ElementsAre(Line{.number = 1, .target = "*", .command = "check_a   1"},
                          Line{.number = 3, .target = "/.gpu/", .command = "check_b"}));
}

TEST(NhcCheckLines, AreThoseForTheNode) {
  EXPECT_THAT(check_lines("* || check_a 1\n"
                          "!n3* || check_b\n"
                          "{n[1-4].cluster} || check_c\n"
                          "/^x/ || check_d\n"
                          "n3 || check_e\n"),
              ElementsAre(CheckLine{.number = 1, .check = "check_a", .arguments = {"1"}},
                          CheckLine{.number = 3, .check = "check_c"}));
}

TEST(NhcCheckLines, SettingsApplyToLaterLinesOfTheNodesTheyAreFor) {
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

TEST(NhcCheckLines, KeepLinesThatCannotBeRead) {
  EXPECT_THAT(check_lines("* || A=$OTHER\n* || check_a $A\n"),
              ElementsAre(CheckLine{
                  .number = 2, .check = "check_a", .arguments = {"$A"}, .unresolved = "A"}));
  auto lines = check_lines("x\n* || A=$(date)\n/(/ || check_a\n");
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_THAT(lines[0].complaint, HasSubstr("no ||"));
  EXPECT_THAT(lines[1].complaint, HasSubstr("needs a shell"));
  EXPECT_THAT(lines[2].complaint, HasSubstr("the expression /(/: "));
  lines = check_lines("* || check_a\nn* || check_b\n", "");
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].check, "check_a");
  EXPECT_THAT(lines[1].complaint, HasSubstr("name of this node is unknown"));
}

const Variables kVariables{{"DISK", "/scratch"}, {"TWO", "a b"}, {"EMPTY", ""}};

Result<CheckLine> read(std::string_view text) {
  auto variables = kVariables;
  CheckLine line;
  return read_command(text, variables, line).map([&] { return line; });
}

TEST(NhcWords, AreSplitAsAShellSplitsThem) {
  struct Case {
    std::string_view text;
    std::vector<std::string> words;
  };

  const std::vector<Case> cases{
      {" check_hw_cpuinfo 2\t8  8 ", {"check_hw_cpuinfo", "2", "8", "8"}},
      {R"(a 'b $DISK' "c  \"d\" \x" "" '')", {"a", "b $DISK", "c  \"d\" \\x", "", ""}},
      {R"(a'b c'"d"\ e)", {"ab cd e"}},
      {"a b#c # d", {"a", "b#c"}},
      {R"(a $DISK/x ${DISK}y $TWO "$TWO" $EMPTY "$EMPTY")",
       {"a", "/scratch/x", "/scratchy", "a", "b", "a b", ""}},
      {R"(a '^x$' /y$/ "$")", {"a", "^x$", "/y$/", "$"}},
      {"a !root * [ab]? {n[1-4]} !/^x/", {"a", "!root", "*", "[ab]?", "{n[1-4]}", "!/^x/"}}};
  for (const auto& [text, words] : cases) {
    const auto line = read(text);
    ASSERT_TRUE(line) << line.error().message;
    auto seen = line->arguments;
    seen.insert(seen.begin(), line->check);
    EXPECT_EQ(seen, words) << text;
  }
}

TEST(NhcWords, NameTheFirstUnresolvedVariable) {
  EXPECT_EQ(read("check_a $UNSET/x $LOST")->unresolved, "UNSET");
  EXPECT_EQ(read("A=$LOST check_a \"$UNSET\"")->unresolved, "UNSET");
}

TEST(NhcWords, SettingsComeBeforeTheCheckOrAfterExport) {
  auto variables = kVariables;
  CheckLine line;
  ASSERT_TRUE(read_command("A=1 B='2 3' check_a D=4", variables, line));
  EXPECT_EQ(line, (CheckLine{.check = "check_a", .arguments = {"D=4"}}));
  EXPECT_EQ(variables, kVariables);
  line = {};
  ASSERT_TRUE(read_command("export PATH=\"$DISK:/x\" TWO=$UNSET OTHER", variables, line));
  EXPECT_EQ(line, CheckLine());
  EXPECT_EQ(variables, (Variables{{"DISK", "/scratch"}, {"EMPTY", ""}, {"PATH", "/scratch:/x"}}));
}

TEST(NhcWords, RefuseConstructsThatNeedAShell) {
  for (const auto* text : {"a $(date)", "a \"$(date)\"", "a `date`", "a \"`date`\"", "a ${X:-y}",
                           "a ${X", "a $1", "a $'x'", "a ~/x", "a /dev/{null,zero}", "a {1..3}",
                           "a ; b", "a | b", "a & b", "a < b", "a > b", "(a)"}) {
    const auto command = read(text);
    ASSERT_FALSE(command) << text;
    EXPECT_THAT(command.error().message, HasSubstr("needs a shell: not translated")) << text;
  }
  for (const auto* text : {"a 'b", "a \"b", "a \\", "export A-B", "'' a"}) {
    EXPECT_FALSE(read(text)) << text;
  }
}

struct Match {
  std::string_view expression, name;
  bool expected;
};

TEST(NhcMatch, UnderstandsGlobsExpressionsAndRanges) {
  for (const auto& [expression, name, expected] :
       {Match{"*", "n1", true}, Match{"n*.viz", "n17.gpu", false}, Match{"n[!12]", "n2", false},
        Match{"n?", "n12", false}, Match{"n1", "n12", false}, Match{"!ln*", "n1", true},
        Match{"!ln*", "ln1", false}, Match{"@(n|m)+([0-9])?(-*)", "n012-ib", true},
        Match{"/n000[0-9]/", "xn0001", true}, Match{"/^n00[0-5][0-9]$/", "n0083", false},
        Match{"!/\\.(gpu|htc)/", "n1.gpu", false}, Match{"/a{2}/", "baab", true},
        Match{"/^([0-9a-f]{8}-[0-9a-f]{4}|(n|m)[0-9]{3})$/", "n012", true},
        Match{"{n[1-4],x[01-10]}", "n4", true}, Match{"{n[1-4],x[01-10]}", "x7", false},
        Match{"{n00[00-99].phys,n1.bio}", "n0030.phys", true},
        Match{"!{n03,n05,n0[7-9]}", "n08", false}}) {
    const auto found = matches(expression, name);
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(*found, expected) << expression << " " << name;
  }
}

TEST(NhcMatch, ReportsInvalidExpressions) {
  EXPECT_THAT(matches("/(/", "n1").error().message, HasSubstr("the expression /(/: "));
  EXPECT_THAT(matches("{n[1-}", "n1").error().message, HasSubstr("the range {n[1-}: "));
  EXPECT_FALSE(matches("!", "n1"));
}

// The C library would run out of stack, memory or time.
TEST(NhcMatch, RefusesExpressionsThatCostTooMuch) {
  const auto times = [](int count, std::string_view text) {
    std::string all;
    for (int i = 0; i < count; ++i) all += text;
    return all;
  };
  for (const auto& expression :
       {fmt::format("/{}a{}/", times(1'000, "("), times(1'000, ")")),
        fmt::format("/a{}/", times(4'000, "*")), fmt::format("/{}b/", times(100'000, "a|")),
        std::string("/(((a{1,255}){1,255}){1,255}){1,255}/"), std::string("/(a*)*\\1/"),
        fmt::format("{}a{}", times(100'000, "*("), times(100'000, ")")), std::string("*(*(a))"),
        std::string("!+(@(*(a)))")}) {
    EXPECT_FALSE(matches(expression, std::string(100, 'a') + "b")) << expression.substr(0, 40);
  }
}

}  // namespace
}  // namespace muster::nhc
