// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "checks/app/commands.hpp"
#include "checks/app/option_table.hpp"
#include "tests/checks/app/parsing.hpp"

namespace muster::app {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

TEST(ParseTest, CheckObservesThisNodeAndPrintsTextByDefault) {
  const auto check = parsed<CheckCommand>({"check"});
  EXPECT_EQ(check.profile, "");
  EXPECT_EQ(check.context, "manual");
  EXPECT_EQ(check.format, Format::text);
  EXPECT_EQ(check.root, "/");
  EXPECT_EQ(check.deadline, std::nullopt);
  EXPECT_THAT(check.snapshots, IsEmpty());
}

TEST(ParseTest, CheckTakesEveryOption) {
  const auto check = parsed<CheckCommand>({"check",
                                           "--profile",
                                           "nd96isr_h100_v5",
                                           "--context=prolog",
                                           "--only",
                                           "host.*,ib.rate",
                                           "--skip",
                                           "host.swap",
                                           "--set",
                                           "host.memory.tolerance=3%",
                                           "--set=ib.rate.expected=400 Gb/s",
                                           "--format",
                                           "json",
                                           "--output",
                                           "report.json",
                                           "--save-snapshot",
                                           "node.json",
                                           "--root",
                                           "/tmp/n",
                                           "--state",
                                           "/run/m",
                                           "--deadline",
                                           "2500ms",
                                           "-v"});
  EXPECT_EQ(check.profile, "nd96isr_h100_v5");
  EXPECT_EQ(check.context, "prolog");
  EXPECT_THAT(check.only, ElementsAre("host.*", "ib.rate"));
  EXPECT_THAT(check.skip, ElementsAre("host.swap"));
  EXPECT_THAT(check.settings, ElementsAre("host.memory.tolerance=3%", "ib.rate.expected=400 Gb/s"));
  EXPECT_EQ(check.format, Format::json);
  EXPECT_EQ(check.output, "report.json");
  EXPECT_EQ(check.save_snapshot, "node.json");
  EXPECT_EQ(check.root, "/tmp/n");
  EXPECT_EQ(check.state, "/run/m");
  EXPECT_EQ(check.deadline, Seconds{2.5});
  EXPECT_TRUE(check.verbose);
}

TEST(ParseTest, SnapshotOfCheckTakesAllValuesUpToTheNextOption) {
  const auto check = parsed<CheckCommand>(
      {"check", "--snapshot", "a.json", "dir", "-", "--format", "json", "--snapshot", "b"});
  EXPECT_THAT(check.snapshots, ElementsAre("a.json", "dir", "-", "b"));
}

TEST(ParseTest, TheLastOfARepeatedSingleOptionCounts) {
  EXPECT_EQ(parsed<CheckCommand>({"check", "--format", "npd", "--format", "nhc"}).format,
            Format::nhc);
}

TEST(ParseTest, HelpIsACommand) {
  EXPECT_EQ(parsed<PrintCommand>({"help"}).text, parsed<PrintCommand>({"--help"}).text);
  EXPECT_EQ(parsed<PrintCommand>({"help", "check"}).text,
            parsed<PrintCommand>({"check", "--help"}).text);
  EXPECT_EQ(parsed<PrintCommand>({"--help", "check"}).text,
            parsed<PrintCommand>({"check", "--help"}).text);
}

TEST(ParseTest, AFlagTakesNoValue) {
  EXPECT_EQ(refusal({"check", "-v", "--verbose=false"}),
            "check: --verbose: takes no value, got \"false\" (see muster check --help)");
  EXPECT_EQ(refusal({"hook", "prolog", "--dry-run=maybe"}),
            "hook: --dry-run: takes no value, got \"maybe\" (see muster hook --help)");
  EXPECT_TRUE(parsed<CheckCommand>({"check", "-v", "--verbose"}).verbose);
}

TEST(ParseTest, OtherCommandsTakeTheirOwnOptions) {
  EXPECT_TRUE(parsed<SnapshotCommand>({"snapshot", "--describe"}).describe);
  EXPECT_EQ(parsed<SnapshotCommand>({"snapshot", "--context", "boot"}).context, "boot");
  EXPECT_EQ(parsed<ListCommand>({"list", "--format", "markdown"}).form,
            ListCommand::Form::markdown);
  EXPECT_EQ(parsed<ExplainCommand>({"explain", "host.memory", "--profile", "generic"}).check,
            "host.memory");
  EXPECT_EQ(parsed<ProfilesCommand>({"profiles"}).show, "");
  EXPECT_EQ(parsed<ProfilesCommand>({"profiles", "show", "generic"}).show, "generic");
  EXPECT_EQ(parsed<ProfilesCommand>({"profiles", "export", "x"}).export_to, "x");
}

TEST(ParseTest, HelpAndVersionPrintText) {
  EXPECT_THAT(parsed<PrintCommand>({"--version"}).text, StartsWith("muster 0."));
  EXPECT_THAT(parsed<PrintCommand>({"--help"}).text, StartsWith("Usage: muster COMMAND"));
  EXPECT_THAT(parsed<PrintCommand>({"check", "-h"}).text,
              StartsWith("Usage: muster check [OPTION]...\n"));
}

TEST(ParseTest, HelpWinsOverOtherErrors) {
  EXPECT_THAT(parsed<PrintCommand>({"check", "--format", "nonsense", "--help"}).text,
              StartsWith("Usage:"));
}

TEST(ParseTest, SuggestsTheNearestOption) {
  EXPECT_EQ(refusal({"check", "--fromat", "json"}),
            "check: unknown option --fromat; did you mean --format? (see muster check --help)");
  EXPECT_EQ(refusal({"check", "--deadlin=2s"}),
            "check: unknown option --deadlin; did you mean --deadline? (see muster check --help)");
}

TEST(ParseTest, SuggestsTheNearestCommand) {
  EXPECT_EQ(refusal({"--verison"}),
            "unknown option --verison; did you mean --version? (see muster --help)");
  EXPECT_EQ(refusal({"chek"}), "unknown command chek; did you mean check? (see muster --help)");
  EXPECT_EQ(refusal({"zzzzzz"}), "unknown command zzzzzz (see muster --help)");
  EXPECT_EQ(refusal({}), "expected a command (see muster --help)");
}

TEST(ParseTest, SuggestsTheNearestChoice) {
  EXPECT_THAT(refusal({"check", "--format", "jsn"}),
              StartsWith("check: --format: expects text|json|prometheus|junit|npd|nhc|html, got "
                         "\"jsn\"; did you mean json?"));
  EXPECT_THAT(refusal({"check", "--context", "Prolog"}), HasSubstr("did you mean prolog?"));
}

TEST(ParseTest, ANhcConfigurationExcludesOnlyAndSkip) {
  EXPECT_EQ(parsed<CheckCommand>({"check", "--nhc-conf", "/etc/nhc/nhc.conf"}).nhc_conf,
            "/etc/nhc/nhc.conf");
  for (const auto* option : {"--only", "--skip"}) {
    EXPECT_THAT(refusal({"check", "--nhc-conf", "/etc/nhc/nhc.conf", option, "ib.*"}),
                HasSubstr("excludes --only and --skip"));
  }
}

TEST(ParseTest, ActiveNeedsANhcConfigurationAndThisNode) {
  EXPECT_FALSE(parsed<CheckCommand>({"check", "--nhc-conf", "a"}).active);
  EXPECT_TRUE(parsed<CheckCommand>({"check", "--nhc-conf", "a", "--active"}).active);
  EXPECT_THAT(refusal({"check", "--active"}), StartsWith("check: --active needs --nhc-conf"));
  EXPECT_THAT(refusal({"check", "--nhc-conf", "a", "--active", "--snapshot", "b"}),
              HasSubstr("excludes --snapshot"));
  EXPECT_THAT(refusal({"check", "--nhc-conf", "a", "--active", "--root", "/elsewhere"}),
              HasSubstr("excludes --root"));
}

TEST(ParseTest, OnlyAndSkipMustMatchACheck) {
  EXPECT_THAT(refusal({"check", "--only", "host.*,ib.rates"}),
              StartsWith("check: --only: no check matches \"ib.rates\"; did you mean ib.rate?"));
  EXPECT_THAT(refusal({"check", "--skip", "ib.rat"}),
              StartsWith("check: --skip: no check matches \"ib.rat\"; did you mean ib.rate?"));
  EXPECT_THAT(refusal({"check", "--only", ""}), StartsWith("check: --only: no check matches \"\""));
}

TEST(ParseTest, RefusesAnInvalidSetting) {
  EXPECT_THAT(refusal({"check", "--set", "host.memory.tolerance"}),
              StartsWith("check: --set: invalid setting"));
}

TEST(ParseTest, RefusesADeadlineWithoutAUnitOrOutOfBounds) {
  EXPECT_THAT(refusal({"check", "--deadline", "20"}), StartsWith("check: --deadline: "));
  EXPECT_THAT(refusal({"check", "--deadline", "0 s"}), HasSubstr("above zero"));
  EXPECT_THAT(refusal({"check", "--deadline", "2 d"}), HasSubstr("up to 24 h"));
}

TEST(ParseTest, RefusesContradictions) {
  EXPECT_THAT(refusal({"check", "-v", "-q"}), StartsWith("check: -v and -q exclude each other"));
  EXPECT_THAT(refusal({"check", "--nhc-conf", "a", "--only", "gpu.*"}),
              HasSubstr("excludes --only and --skip"));
  EXPECT_THAT(refusal({"check", "--nhc-conf", "a", "--skip", "gpu.*"}),
              HasSubstr("excludes --only and --skip"));
  EXPECT_THAT(refusal({"check", "--nhc-conf", ""}), HasSubstr("expected a file"));
  EXPECT_THAT(refusal({"check", "--snapshot", "a", "--save-snapshot", "b"}),
              HasSubstr("excludes --save-snapshot"));
  EXPECT_THAT(refusal({"check", "--snapshot", "a", "--state", "b"}), HasSubstr("excludes --state"));
  EXPECT_THAT(refusal({"check", "--snapshot", "a", "--nvml", "b"}), HasSubstr("excludes --nvml"));
  EXPECT_THAT(refusal({"check", "--snapshot", "-", "-"}), HasSubstr("read only once"));
}

TEST(ParseTest, RefusesStrayWords) {
  EXPECT_THAT(refusal({"check", "now"}), StartsWith("check: unexpected argument \"now\""));
  EXPECT_THAT(refusal({"explain"}), StartsWith("explain: expected one check"));
  EXPECT_THAT(refusal({"explain", "a", "b"}), StartsWith("explain: expected one check"));
  EXPECT_THAT(refusal({"profiles", "hide", "x"}),
              StartsWith("profiles: unexpected word \"hide\", expected show NAME"));
  EXPECT_THAT(refusal({"profiles", "show"}), StartsWith("profiles: show: expected one profile"));
  EXPECT_THAT(refusal({"profiles", "export"}), StartsWith("profiles: export: expected one folder"));
  EXPECT_THAT(refusal({"profiles", "--set", "a.b=1"}),
              StartsWith("profiles: --set and --changed need show"));
  EXPECT_THAT(refusal({"--root", "/", "check"}), StartsWith("unknown option --root"));
}

TEST(ParseTest, RefusesAnOptionWithoutItsValue) {
  EXPECT_NE(refusal({"check", "--profile"}), "accepted");
  EXPECT_NE(refusal({"check", "--profile", ""}), "accepted");
  EXPECT_NE(refusal({"check", "--format", "--context", "prolog"}), "accepted");
}

TEST(ParseTest, ARefusalIsPrintable) {
  EXPECT_THAT(refusal({"check", "--\x1b[2J"}), HasSubstr("--\\x1b[2J"));
}

TEST(HelpTest, NamesEveryOptionOfEveryCommand) {
  for (const auto& command : command_texts()) {
    const auto help = command_help(command);
    for (const auto& option : command.options) {
      EXPECT_THAT(help, HasSubstr(std::string(option.help.substr(0, 12)))) << option.name;
    }
    EXPECT_THAT(overview_help(), HasSubstr(std::string(command.name)));
  }
}

TEST(HelpTest, FitsATerminal) {
  for (const auto& command : command_texts()) {
    std::string line;
    for (const char c : command_help(command)) {
      if (c == '\n') {
        line.clear();
      } else {
        line.push_back(c);
      }
      EXPECT_LE(line.size(), 100U) << line;
    }
  }
}

}  // namespace
}  // namespace muster::app
