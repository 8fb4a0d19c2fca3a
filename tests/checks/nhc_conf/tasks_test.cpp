// SPDX-License-Identifier: Apache-2.0
// check_ps_loadavg, check_ps_service, check_ps_daemon and check_file_test on literal nodes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/nhc_conf/judging.hpp"
#include "tests/checks/nhc_conf/judge_as.hpp"
#include "tests/support/printers.hpp"

namespace muster::nhc::tasks_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Finding said(Outcome outcome, std::string message, std::string device) {
  return {.device = std::move(device), .outcome = outcome, .message = std::move(message)};
}

TEST(NhcLoadTest, ComparesEachAverageThatHasALimit) {
  const Snapshot snapshot{.processes =
                              observed(Processes{.load1 = 20.5, .load5 = 10.0, .load15 = 5.0})};
  EXPECT_THAT(judge_as("check_ps_loadavg", snapshot, {"30", "", "6"}),
              ElementsAre(said(Outcome::pass,
                               "the 1-minute load average is 20.5, the 15-minute load average is 5",
                               "node")));
  EXPECT_THAT(judge_as("check_ps_loadavg", snapshot, {"", "10"}),
              ElementsAre(Finding{.device = "node",
                                  .outcome = Outcome::fail,
                                  .message = "the 5-minute load average is 10, less than 10 wanted",
                                  .observed = 10.0,
                                  .limit = 10.0,
                                  .remedy = Remedy::watch}));
  EXPECT_THAT(
      judge_as("check_ps_loadavg", snapshot, {"high"}),
      ElementsAre(said(Outcome::unknown, "not judged: expects a load, got \"high\"", "node")));
  EXPECT_THAT(judge_as("check_ps_loadavg", snapshot, {""}),
              ElementsAre(said(Outcome::pass, "no load is limited", "node")));
  EXPECT_THAT(judge_as("check_ps_loadavg", {}, {"1"}),
              ElementsAre(said(Outcome::unknown,
                               "the 1-minute load average is not known: not observed", "node")));
}

const Snapshot kServices{.services = observed(Services{
                             .active = std::vector<std::string>{"munge.service", "sshd.service"},
                             .failed = std::vector<std::string>{"ntpd.service"},
                             .of_root = std::vector<std::string>{"sshd.service"}})};

const Finding kNtpd{.device = "ntpd.service",
                    .outcome = Outcome::fail,
                    .message = "ntpd.service has failed",
                    .remedy = Remedy::restart_service};

TEST(NhcServiceTest, GoesByTheUnit) {
  const auto active = said(Outcome::pass, "sshd.service is active", "sshd.service");
  EXPECT_THAT(judge_as("check_ps_service", kServices, {"-S", "sshd"}), ElementsAre(active));
  EXPECT_THAT(judge_as("check_ps_daemon", kServices, {"sshd"}), ElementsAre(active));
  EXPECT_THAT(judge_as("check_ps_service", kServices, {"ntpd"}), ElementsAre(kNtpd));
  auto warning = kNtpd;
  warning.outcome = Outcome::warn;
  EXPECT_THAT(judge_as("check_ps_service", kServices, {"-0", "ntpd.service"}),
              ElementsAre(warning));
}

TEST(NhcServiceTest, KnowsRootsOwn) {
  const auto roots = said(Outcome::pass, "sshd.service is active, and root's", "sshd.service");
  EXPECT_THAT(judge_as("check_ps_service", kServices, {"-u", "root", "-S", "sshd"}),
              ElementsAre(roots));
  EXPECT_THAT(judge_as("check_ps_service", kServices, {"-u", "0", "sshd"}), ElementsAre(roots));
  EXPECT_THAT(judge_as("check_ps_daemon", kServices, {"sshd", "root"}), ElementsAre(roots));
}

TEST(NhcServiceTest, OneThatIsToBeEndedMustNotRun) {
  for (const auto& ending : {Arguments{"-s"}, {"-k"}, {"-E", "logger it runs"}}) {
    auto arguments = ending;
    arguments.emplace_back("sshd");
    EXPECT_THAT(judge_as("check_ps_service", kServices, arguments),
                ElementsAre(Finding{.device = "sshd.service",
                                    .outcome = Outcome::fail,
                                    .message = "sshd.service is active, and must not be",
                                    .remedy = Remedy::fix_config}));
    arguments.back() = "ntpd";
    EXPECT_THAT(judge_as("check_ps_service", kServices, arguments),
                ElementsAre(said(Outcome::unknown,
                                 "not judged: whether ntpd runs is not observed where its unit is "
                                 "not active",
                                 "ntpd.service")));
  }
  EXPECT_EQ(judge_as("check_ps_service", kServices, {"-0", "-s", "sshd"}).front().outcome,
            Outcome::warn);
  EXPECT_EQ(judge_as("check_ps_service", kServices, {"-u", "root", "-s", "sshd"}).front().outcome,
            Outcome::fail);
  EXPECT_EQ(judge_as("check_ps_service", kServices, {"-u", "root", "-s", "munge"}).front().outcome,
            Outcome::unknown);
  for (const auto* verify : {"-v", "-V"}) {
    EXPECT_THAT(judge_as("check_ps_service", kServices, {"-k", verify, "sshd"}),
                ElementsAre(said(Outcome::unknown,
                                 "not judged: sshd.service is active, and muster ends nothing",
                                 "sshd.service")));
  }
}

TEST(NhcServiceTest, KnowsTheNamesThatDebianGivesUnits) {
  const Snapshot debian{
      .services = observed(Services{.active = std::vector<std::string>{"ssh.service"},
                                    .failed = std::vector<std::string>{"munge.service"}})};
  EXPECT_THAT(judge_as("check_ps_daemon", debian, {"sshd"}),
              ElementsAre(said(Outcome::pass, "ssh.service is active", "ssh.service")));
  EXPECT_EQ(judge_as("check_ps_daemon", debian, {"munged"}).front().outcome, Outcome::fail);
  EXPECT_EQ(judge_as("check_ps_daemon", debian, {"crond"}).front().outcome, Outcome::unknown);
}

TEST(NhcServiceTest, IsUndecidedWhereOnlyProcessesWouldTell) {
  EXPECT_THAT(judge_as("check_ps_service", kServices, {"crond"}),
              ElementsAre(said(Outcome::unknown,
                               "not judged: no unit crond.service is known to be active, and "
                               "processes are not observed",
                               "crond.service")));
  EXPECT_THAT(judge_as("check_ps_service", kServices, {"-u", "root", "munge"}),
              ElementsAre(said(Outcome::unknown,
                               "not judged: munge.service is active, and of the owners of its "
                               "processes only root is observed",
                               "munge.service")));
  EXPECT_EQ(judge_as("check_ps_service", kServices, {"-u", "munge", "munge"}).front().outcome,
            Outcome::unknown);
  EXPECT_EQ(judge_as("check_ps_daemon", kServices, {"sshd", "nobody"}).front().outcome,
            Outcome::unknown);
  EXPECT_THAT(
      judge_as("check_ps_service", kServices, {"-m", "*x", "sshd"}),
      ElementsAre(said(Outcome::unknown,
                       "not judged: processes are not observed, so -m cannot be told", "sshd")));
  EXPECT_THAT(judge_as("check_ps_service", kServices, {"a", "b"}),
              ElementsAre(said(Outcome::unknown, "not judged: expects one service", "node")));
  EXPECT_THAT(judge_as("check_ps_service", kServices, {"-x"}),
              ElementsAre(said(Outcome::unknown, "not judged: there is no option -x", "node")));
}

const Snapshot kFiles{
    .environment = observed(Environment{
        .files = {{.path = "/bin/tool", .exists = true, .executable = true, .writable = true},
                  {.path = "/data",
                   .exists = true,
                   .directory = true,
                   .writable = false,
                   .mode = 01777U,
                   .read_only = true},
                  {.path = "/note", .exists = true},
                  {.path = "/shadow",
                   .exists = true,
                   .writable = false,
                   .type = std::string("regular"),
                   .mode = 0U,
                   .size_bytes = std::uint64_t{0},
                   .read_only = false},
                  {.path = "/dev/null",
                   .exists = true,
                   .writable = true,
                   .type = std::string("character"),
                   .mode = 0666U,
                   .size_bytes = std::uint64_t{0},
                   .read_only = true},
                  {.path = "/gone"}}})};

struct Case {
  Arguments arguments;
  Outcome outcome;
  std::string_view message;
};

class NhcFileTest : public ::testing::TestWithParam<Case> {};

TEST_P(NhcFileTest, TestsWhatIsKnownOfAFile) {
  const auto& [arguments, outcome, message] = GetParam();
  const auto findings = judge_as("check_file_test", kFiles, arguments);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings.front().outcome, outcome);
  EXPECT_EQ(findings.front().message, message);
}

INSTANTIATE_TEST_SUITE_P(
    Held, NhcFileTest,
    ::testing::Values(
        Case{{"-e", "/note"}, Outcome::pass, "-e holds for /note"},
        Case{{"-f", "-x", "-w", "/bin/tool"}, Outcome::pass, "-fxw holds for /bin/tool"},
        Case{{"-a", "/note", "/data"}, Outcome::pass, "-a holds for /note /data"},
        Case{{"-d", "/data"}, Outcome::pass, "-d holds for /data"},
        Case{{"-r", "-x", "-k", "/data"}, Outcome::pass, "-rxk holds for /data"},
        Case{{"-c", "-r", "-w", "/dev/null"}, Outcome::pass, "-crw holds for /dev/null"},
        Case{{"-f", "/shadow"}, Outcome::pass, "-f holds for /shadow"},
        Case{{"-!", "-e", "/gone"}, Outcome::pass, "-e /gone does not hold"}));

INSTANTIATE_TEST_SUITE_P(
    Failed, NhcFileTest,
    ::testing::Values(Case{{"-e", "/gone"}, Outcome::fail, "-e /gone does not hold"},
                      Case{{"-r", "/gone"}, Outcome::fail, "-r /gone does not hold"},
                      Case{{"-w", "/gone"}, Outcome::fail, "-w /gone does not hold"},
                      Case{{"-w", "/data"}, Outcome::fail, "-w /data does not hold"},
                      Case{{"-f", "/data"}, Outcome::fail, "-f /data does not hold"},
                      Case{{"-b", "/dev/null"}, Outcome::fail, "-b /dev/null does not hold"},
                      Case{{"-s", "/shadow"}, Outcome::fail, "-s /shadow does not hold"},
                      Case{{"-u", "/shadow"}, Outcome::fail, "-u /shadow does not hold"},
                      Case{{"-x", "/note"}, Outcome::fail, "-x /note does not hold"},
                      Case{{"-d", "/note"}, Outcome::fail, "-d /note does not hold"},
                      Case{{"-!", "-e", "/note"}, Outcome::fail, "-e holds for /note"}));

INSTANTIATE_TEST_SUITE_P(
    Undecided, NhcFileTest,
    ::testing::Values(
        Case{{"-f", "/note"}, Outcome::unknown, "not judged: -f /note is not observed"},
        Case{{"-w", "/shadow"}, Outcome::unknown, "not judged: -w /shadow is not observed"},
        Case{{"-x", "/dev/null"}, Outcome::unknown, "not judged: -x /dev/null is not observed"},
        Case{{"-L", "/gone"}, Outcome::unknown, "not judged: -L /gone is not observed"},
        Case{{"-O", "/note"}, Outcome::unknown, "not judged: -O /note is not observed"},
        Case{{"-r", "/note"}, Outcome::unknown, "not judged: -r /note is not observed"},
        Case{{"-w", "/note"}, Outcome::unknown, "not judged: -w /note is not observed"},
        Case{{"-e", "/else"}, Outcome::unknown, "not judged: -e /else is not observed"},
        Case{{"-e"}, Outcome::unknown, "not judged: no file is named"},
        Case{{"/note"}, Outcome::unknown, "not judged: no test is named"},
        Case{{"-q", "/note"}, Outcome::unknown, "not judged: there is no option -q"}));

TEST(NhcTestedFilesTest, AreThoseToLookFor) {
  const auto tested_files = row_named("check_file_test")->files_of;
  EXPECT_THAT(tested_files({"-e", "/a", "b", "/c"}), ElementsAre("/a", "/c"));
  EXPECT_THAT(tested_files({"/a"}), IsEmpty());
}

}  // namespace
}  // namespace muster::nhc::tasks_test
