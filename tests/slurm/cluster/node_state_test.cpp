// SPDX-License-Identifier: Apache-2.0

#include "slurm/cluster/node_state.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::slurm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Time since_second(std::int64_t seconds) { return Time(std::chrono::seconds(seconds)); }

constexpr std::string_view kNonce = "5eed";

std::vector<NodeState> parse(std::string_view text) {
  const auto nodes = parse_sinfo(text, kNonce);
  EXPECT_TRUE(nodes.has_value()) << (nodes ? "" : nodes.error().message);
  return nodes.value_or(std::vector<NodeState>{});
}

// The output of sinfo: "node|partition|state|user|time|", the memory and the reason.
std::string line(std::string_view begin, std::string_view reason, std::string_view memory = "") {
  std::string text;
  for (const char c : begin) text.append(c == '|' ? "|5eed|" : std::string(1, c));
  return fmt::format("{}{}|5eed|{}|5eed.\n", text, memory, reason);
}

TEST(SinfoFormatTest, AsksForWholeFieldsWithTheNonceBehindEach) {
  EXPECT_EQ(sinfo_format("Extra", "5eed"),
            "NodeList:0|5eed|,PartitionName:0|5eed|,StateLong:0|5eed|,User:0|5eed|,"
            "TimeStamp:0|5eed|,Extra:0|5eed|,Reason:0|5eed.");
  EXPECT_EQ(sinfo_format("", "1"),
            "NodeList:0|1|,PartitionName:0|1|,StateLong:0|1|,User:0|1|,TimeStamp:0|1|,Reason:0|1.");
}

TEST(ParseSinfoTest, ReadsEachNode) {
  EXPECT_THAT(parse(line("n1|main|idle|Unknown|Unknown|", "none") +
                    line("n2|main|drained*|root|1795321800|", "muster: gpu.count: 7 of 8",
                         "muster/1 clean=1")),
              ElementsAre(NodeState{.name = "n1", .partitions = {"main"}, .state = "idle"},
                          NodeState{.name = "n2",
                                    .partitions = {"main"},
                                    .state = "drained*",
                                    .reason = "muster: gpu.count: 7 of 8",
                                    .user = "root",
                                    .since = since_second(1795321800),
                                    .memory = "muster/1 clean=1"}));
}

// Slurm 24.11 keeps who gave the last reason, and when.
TEST(ParseSinfoTest, WithoutAReasonNobodyGaveOne) {
  EXPECT_THAT(parse(line("n1|main|idle|root|1795321800|", "none")),
              ElementsAre(NodeState{.name = "n1", .partitions = {"main"}, .state = "idle"}));
}

// An older sinfo prints nothing for the field.
TEST(ParseSinfoTest, WithoutAFieldForItThereIsNoMemory) {
  EXPECT_THAT(parse("n1|5eed|main|5eed|idle|5eed|Unknown|5eed|Unknown|5eed|none|5eed.\n"),
              ElementsAre(NodeState{.name = "n1", .partitions = {"main"}, .state = "idle"}));
  EXPECT_EQ(parse(line("n1|main|idle|Unknown|Unknown|", "none", "(null)")).front().memory, "");
}

TEST(ParseSinfoTest, PutsTheLinesOfSeveralPartitionsTogether) {
  constexpr std::string_view kIdle = "idle|Unknown|Unknown|";
  EXPECT_THAT(parse(line(fmt::format("n2|main|{}", kIdle), "none") +
                    line(fmt::format("n1|main|{}", kIdle), "none") +
                    line(fmt::format("n2|long|{}", kIdle), "none") +
                    line(fmt::format("n2|main|{}", kIdle), "none")),
              ElementsAre(NodeState{.name = "n2", .partitions = {"main", "long"}, .state = "idle"},
                          NodeState{.name = "n1", .partitions = {"main"}, .state = "idle"}));
}

TEST(ParseSinfoTest, KeepsReasonsWordForWord) {
  EXPECT_EQ(parse(line("n1|main|drained|alice|1|", "a|b | none|")).front().reason, "a|b | none|");
  EXPECT_EQ(parse(line("n1|main|drained|alice|1|", "")).front().reason, "");
  EXPECT_THAT(parse(line("n1|main|drained|alice|1|", "first\nsecond\n") +
                    line("n2|main|idle|Unknown|Unknown|", "none") +
                    line("n1|long|drained|alice|1|", "first\nsecond\n")),
              ElementsAre(NodeState{.name = "n1",
                                    .partitions = {"main", "long"},
                                    .state = "drained",
                                    .reason = "first\nsecond\n",
                                    .user = "alice",
                                    .since = since_second(1)},
                          NodeState{.name = "n2", .partitions = {"main"}, .state = "idle"}));
}

TEST(ParseSinfoTest, AReasonOrAMemoryForgesNoNode) {
  for (const std::string forged : {"x\nn4|main|drained|root|1|muster: fake",
                                   "x|none|.\nn4|0000|main|0000|idle|0000|root|0000|1|0000||0000|"
                                   "none|0000.\nn5"}) {
    const auto nodes = parse(line("n1|main|drained|eve|1|", forged) +
                             line("n3|main|idle|Unknown|Unknown|", "none", forged) +
                             line("n4|main|idle|Unknown|Unknown|", "none"));
    ASSERT_EQ(nodes.size(), 3);
    EXPECT_EQ(nodes[0].reason, forged);
    EXPECT_EQ(nodes[1].memory, forged);
    EXPECT_EQ(nodes[2].reason, "");
  }
}

TEST(ParseSinfoTest, KnowsOnlySecondsAsATime) {
  for (const auto* const time :
       {"Unknown", "2026-11-22T04:30:00", "None", "", "0", "-1", "99999999999999999999"}) {
    const auto nodes = parse(line(fmt::format("n1|main|drained|root|{}|", time), "x"));
    EXPECT_EQ(nodes.front().since, std::nullopt) << time;
  }
}

TEST(ParseSinfoTest, OfNothingIsNothing) { EXPECT_THAT(parse(""), IsEmpty()); }

TEST(ParseSinfoTest, RefusesWhatIsNotOfThatForm) {
  EXPECT_EQ(parse_sinfo("PARTITION AVAIL\n", kNonce).error().message,
            "sinfo: unexpected output \"PARTITION AVAIL\\x0a\"");
  EXPECT_FALSE(parse_sinfo(line("|main|idle|Unknown|Unknown|", "none"), kNonce));
  EXPECT_FALSE(parse_sinfo(line("n1|main|idle|Unknown", "none"), kNonce));
  EXPECT_FALSE(parse_sinfo(line("n1|main|idle|Unknown|Unknown|", "none"), "other"));
}

struct StateCase {
  std::string_view state;
  Standing standing;
};

class StandingTest : public ::testing::TestWithParam<StateCase> {};

TEST_P(StandingTest, FollowsFromTheWordAndItsSuffix) {
  EXPECT_EQ(standing_of({.state = std::string(GetParam().state)}), GetParam().standing)
      << GetParam().state;
}

INSTANTIATE_TEST_SUITE_P(
    InService, StandingTest,
    ::testing::Values(
        StateCase{"idle", Standing::in_service}, StateCase{"IDLE", Standing::in_service},
        StateCase{"idle-", Standing::in_service}, StateCase{"mixed", Standing::in_service},
        StateCase{"mix", Standing::in_service}, StateCase{"mixed-", Standing::in_service},
        StateCase{"allocated", Standing::in_service}, StateCase{"alloc", Standing::in_service},
        StateCase{"allocated+", Standing::in_service},
        StateCase{"completing", Standing::in_service}, StateCase{"comp", Standing::in_service},
        StateCase{"planned", Standing::in_service}, StateCase{"plnd", Standing::in_service},
        StateCase{"reserved", Standing::in_service}, StateCase{"resv", Standing::in_service},
        StateCase{"blocked", Standing::in_service}));

INSTANTIATE_TEST_SUITE_P(Drained, StandingTest,
                         ::testing::Values(StateCase{"drained", Standing::drained},
                                           StateCase{"drained*", Standing::drained},
                                           StateCase{"drained$", Standing::drained},
                                           StateCase{"drained~", Standing::drained},
                                           StateCase{"drain", Standing::drained},
                                           StateCase{"DRAIN", Standing::drained},
                                           StateCase{"draining", Standing::drained},
                                           StateCase{"drng", Standing::drained}));

INSTANTIATE_TEST_SUITE_P(
    Down, StandingTest,
    ::testing::Values(StateCase{"down", Standing::down}, StateCase{"down*", Standing::down},
                      StateCase{"DOWN$", Standing::down}, StateCase{"mixed*", Standing::down},
                      StateCase{"allocated*", Standing::down},
                      StateCase{"completing*", Standing::down}, StateCase{"fail", Standing::down},
                      StateCase{"failing", Standing::down}, StateCase{"failg", Standing::down},
                      StateCase{"inval", Standing::down}, StateCase{"down~", Standing::down},
                      StateCase{"DOWN+CLOUD+POWERED_DOWN", Standing::down},
                      StateCase{"powered_down", Standing::down},
                      StateCase{"pow_dn", Standing::down}));

INSTANTIATE_TEST_SUITE_P(Asleep, StandingTest,
                         ::testing::Values(StateCase{"idle~", Standing::asleep},
                                           StateCase{"IDLE~", Standing::asleep},
                                           StateCase{"planned~", Standing::asleep},
                                           StateCase{"IDLE+CLOUD+POWERED_DOWN", Standing::asleep}));

// States as scontrol prints them, and sinfo with StateComplete.
INSTANTIATE_TEST_SUITE_P(
    Flags, StandingTest,
    ::testing::Values(StateCase{"IDLE+CLOUD", Standing::in_service},
                      StateCase{"MIXED+PLANNED", Standing::in_service},
                      StateCase{"allocated+completing", Standing::in_service},
                      StateCase{"IDLE+DRAIN", Standing::drained},
                      StateCase{"IDLE+CLOUD+DRAIN+POWERED_DOWN", Standing::drained},
                      StateCase{"MIXED+CLOUD+DRAIN+NOT_RESPONDING", Standing::drained},
                      StateCase{"DOWN+DRAIN", Standing::drained},
                      StateCase{"IDLE+FAIL", Standing::down},
                      StateCase{"IDLE+CLOUD+POWERING_UP", Standing::away},
                      StateCase{"IDLE+CLOUD+POWERING_DOWN", Standing::away},
                      StateCase{"IDLE+DRAIN+POWER_DOWN", Standing::away},
                      StateCase{"IDLE+MAINTENANCE", Standing::away},
                      StateCase{"IDLE+REBOOT_ISSUED", Standing::away},
                      StateCase{"IDLE+SOMETHING_NEW", Standing::away}));

INSTANTIATE_TEST_SUITE_P(
    Away, StandingTest,
    ::testing::Values(StateCase{"idle*", Standing::away}, StateCase{"idle@", Standing::away},
                      StateCase{"mixed@", Standing::away}, StateCase{"drained@", Standing::away},
                      StateCase{"drained^", Standing::away}, StateCase{"down^", Standing::away},
                      StateCase{"idle#", Standing::away}, StateCase{"idle%", Standing::away},
                      StateCase{"idle!", Standing::away}, StateCase{"idle$", Standing::away},
                      StateCase{"maint", Standing::away}, StateCase{"reboot", Standing::away},
                      StateCase{"reboot^", Standing::away},
                      StateCase{"powering_up", Standing::away},
                      StateCase{"powering_down", Standing::away},
                      StateCase{"unknown", Standing::away}, StateCase{"unk*", Standing::away},
                      StateCase{"future", Standing::away}, StateCase{"idle?", Standing::away},
                      StateCase{"novel", Standing::away}, StateCase{"", Standing::away}));

TEST(PowerTest, FollowsFromSuffixesAndFlags) {
  const auto power = [](std::string_view state) { return power_of({.state = std::string(state)}); };
  for (const auto* const state : {"idle", "drained*", "mixed-", "IDLE+CLOUD", "maint", ""}) {
    EXPECT_EQ(power(state), Power::on) << state;
  }
  for (const auto* const state : {"idle~", "drained~", "IDLE+CLOUD+DRAIN+POWERED_DOWN"}) {
    EXPECT_EQ(power(state), Power::off) << state;
  }
  for (const auto* const state : {"idle%", "drained!", "drained%", "IDLE+POWERING_DOWN"}) {
    EXPECT_EQ(power(state), Power::turning_off) << state;
  }
  for (const auto* const state : {"idle#", "mixed#", "drained#", "IDLE+CLOUD+POWERING_UP"}) {
    EXPECT_EQ(power(state), Power::turning_on) << state;
  }
}

TEST(PowerTest, OfANodeThatIsPoweringUpTheRestOfTheStateIsKnown) {
  EXPECT_EQ(without_powering_up("mixed#"), "mixed");
  EXPECT_EQ(without_powering_up("drained#"), "drained");
  EXPECT_EQ(without_powering_up("IDLE+CLOUD+DRAIN+NOT_RESPONDING+POWERING_UP"), "IDLE+CLOUD+DRAIN");
  for (const auto* const state : {"idle", "drained~", "idle%", "idle*", "reboot^"}) {
    EXPECT_EQ(without_powering_up(state), state);
  }
}

TEST(IsUpTest, LeavesOutWhatIsNotThere) {
  const auto up = [](std::string_view state) { return is_up({.state = std::string(state)}); };
  for (const auto* const state : {"idle",
                                  "idle*",  // right after it was resumed
                                  "idle$", "idle@", "mixed-", "allocated", "allocated*", "DRAINED",
                                  "draining", "drained*", "drained$"}) {
    EXPECT_TRUE(up(state)) << state;
  }
  for (const auto* const state :
       {"idle~",         "idle#",    "idle%",   "idle!", "idle^", "mixed#",       "allocated#",
        "drained~",      "drained%", "down",    "down*", "down~", "powered_down", "powering_up",
        "powering_down", "future",   "unknown", "inval", "maint", "novel",        ""}) {
    EXPECT_FALSE(up(state)) << state;
  }
}

TEST(NodeNamesTest, ANodeOfSeveralPartitionsIsOne) {
  const auto names = parse_names("n2|gpu-2\nn1|gpu-1.example.org\nn2|gpu-2\n");
  ASSERT_TRUE(names) << names.error().message;
  EXPECT_THAT(*names, ElementsAre(NodeName{"n1", "gpu-1.example.org"}, NodeName{"n2", "gpu-2"}));
}

TEST(NodeNamesTest, WhatIsNoPairOfNamesIsAnError) {
  for (const auto* text : {"n1\n", "|gpu-1\n", "n1|\n"}) {
    EXPECT_FALSE(parse_names(text)) << text;
  }
  EXPECT_EQ(parse_names("sorry\n").error().message,
            "sinfo: invalid line \"sorry\", expected %N|%n");
}

TEST(NodeNamesTest, TheHostDecidesAndNotTheNodesName) {
  const std::vector<NodeName> names{{"gpu-1", "gpu-2"}, {"n1", "gpu-1"}};
  EXPECT_EQ(node_on(names, "gpu-1").value(), "n1");
  EXPECT_EQ(node_on(names, "gpu-2").value(), "gpu-1");
}

TEST(NodeNamesTest, AHostIsTheSameWithItsDomainAndWithout) {
  const std::vector<NodeName> names{{"n1", "gpu-1"}, {"n2", "gpu-2.a.org"}};
  EXPECT_EQ(node_on(names, "gpu-1.a.org").value(), "n1");
  EXPECT_EQ(node_on(names, "gpu-2").value(), "n2");
  EXPECT_EQ(node_on(names, "gpu-2.a.org").value(), "n2");
  EXPECT_FALSE(node_on(names, "gpu-2.b.org"));
}

TEST(NodeNamesTest, AHostWithoutANodeIsMissing) {
  const auto node = node_on({{"n1", "gpu-1"}}, "login");
  ASSERT_FALSE(node);
  EXPECT_EQ(node.error(),
            (Error{.message = "Slurm has no node on the host login", .missing = true}));
}

TEST(NodeNamesTest, OfSeveralNodesOfAHostOnlyTheOneOfItsNameCanBeMeant) {
  EXPECT_EQ(node_on({{"gpu-1", "gpu-1"}, {"n1", "gpu-1"}}, "gpu-1.a.org").value(), "gpu-1");
  EXPECT_THAT(node_on({{"n1", "localhost"}, {"n2", "localhost"}}, "localhost").error().message,
              HasSubstr("the host localhost has 2 nodes in Slurm, as n1 and n2: SLURMD_NODENAME"));
}

}  // namespace
}  // namespace muster::slurm
