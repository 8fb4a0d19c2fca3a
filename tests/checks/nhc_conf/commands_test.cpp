// SPDX-License-Identifier: Apache-2.0
#include "checks/nhc_conf/commands.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "checks/nhc_conf/judge.hpp"
#include "tests/support/printers.hpp"

namespace muster::nhc::commands_test {
namespace {

using ::testing::ElementsAre;
using Words = std::vector<std::string>;

Config lines(std::string_view text) { return parse_config("nhc.conf", text); }

CommandFact ended(Words words, int status, std::string output = {}) {
  CommandFact fact{.words = std::move(words), .program = "/usr/bin/x"};
  fact.status = status;
  fact.output = std::move(output);
  return fact;
}

Snapshot node() {
  CommandFact slow{.words = {"slow"}, .program = "/usr/bin/slow", .timed_out = true};
  slow.status = Fact<int>::unreadable("slow did not answer within 5 s");
  CommandFact refused{.words = {"rm", "-r"}};
  refused.status = Fact<int>::absent("the site does not allow it");
  Environment environment;
  environment.commands = {ended({"good"}, 0, "Status: ok\nfans: 4\n\nlast line"),
                          ended({"bad", "-x"}, 3),
                          ended({"dmesg"}, 0, "[1] NVRM: fine"),
                          ended({"ping", "-q", "-n", "-t", "2", "-c", "1", "-w", "1", "up"}, 0),
                          ended({"ping", "-q", "-n", "-t", "2", "-c", "1", "-w", "1", "down"}, 1),
                          slow,
                          refused};
  return {.identity = observed(Identity{.hostname = "n3"}),
          .environment = observed(std::move(environment))};
}

struct Case {
  std::string_view line, outcome;
};

class NhcCommandTest : public ::testing::TestWithParam<Case> {};

TEST_P(NhcCommandTest, IsJudgedAsNhcDoes) {
  const auto report = judge(node(), {}, lines(fmt::format("* || {}\n", GetParam().line)), "manual");
  EXPECT_EQ(to_string(report.findings.front().outcome), GetParam().outcome)
      << GetParam().line << ": " << report.findings.front().message;
}

INSTANTIATE_TEST_SUITE_P(
    Commands, NhcCommandTest,
    ::testing::Values(
        Case{"check_cmd_status good", "pass"}, Case{"check_cmd_status -r 0 good", "pass"},
        Case{"check_cmd_status -r 1 good", "fail"}, Case{"check_cmd_status bad -x", "fail"},
        Case{"check_cmd_status -t 2 -r 3 bad -x", "pass"}, Case{"check_cmd_status slow", "fail"},
        Case{"check_cmd_status rm -r", "unknown"}, Case{"check_cmd_status other", "unknown"},
        Case{"check_cmd_status -t soon good", "unknown"},
        Case{"check_cmd_status -z good", "unknown"}, Case{"check_cmd_output -m '*ok' good", "pass"},
        Case{"check_cmd_output -m '/^fans: [0-9]+$/' -m '*ok' -e good", "pass"},
        Case{"check_cmd_output -m '*ok' -m 'fans: 5' good", "fail"},
        Case{"check_cmd_output -m '!*ok' good", "fail"},
        Case{"check_cmd_output -m '!*error*' good", "pass"},
        Case{"check_cmd_output -m '/^$/' good", "pass"},
        Case{"check_cmd_output -r 3 -m '*' -e 'bad  -x'", "pass"},
        Case{"check_cmd_output -m '*' -e 'bad -x'", "fail"},
        Case{"check_cmd_output -m '/(/' good", "unknown"},
        Case{"check_cmd_output -m '*ok'", "unknown"}, Case{"check_cmd_dmesg -m '!*Xid*'", "pass"},
        Case{"check_cmd_dmesg -m '!*NVRM*'", "fail"}, Case{"check_net_ping up", "pass"},
        Case{"check_net_ping down", "fail"}, Case{"check_net_ping -w 4 up", "unknown"}));

TEST(NhcCommandPlanTest, OnlyLinesForThisNodeAreRun) {
  const auto config = lines(
      "n3 || check_cmd_status -t 7 reboot-me --now\n"
      "n4 || check_cmd_status poweroff\n"
      "*  || check_net_ping -c 3 -w 9 -I ib0 a b\n"
      "*  || check_cmd_status $UNKNOWN\n");
  EXPECT_TRUE(names_commands(config));
  EXPECT_FALSE(names_commands(lines("* || check_hw_eth eth0\n")));
  constexpr std::chrono::seconds kPing{11};
  EXPECT_THAT(
      commands_on(config, "n3"),
      ElementsAre(
          PlannedCommand{.words = {"reboot-me", "--now"}, .deadline = std::chrono::seconds(7)},
          PlannedCommand{
              .words = {"ping", "-q", "-n", "-I", "ib0", "-t", "2", "-c", "3", "-w", "9", "a"},
              .deadline = kPing},
          PlannedCommand{
              .words = {"ping", "-q", "-n", "-I", "ib0", "-t", "2", "-c", "3", "-w", "9", "b"},
              .deadline = kPing}));
}

TEST(NhcCommandPlanTest, TheSiteNamesProgramsByTheirPath) {
  EXPECT_TRUE(check_rules({.commands = {"/usr/bin/ping *"}}).key.empty());
  EXPECT_EQ(check_rules({.commands = {"/usr/bin/ping *", "*"}}).key, "commands");
}

}  // namespace
}  // namespace muster::nhc::commands_test
