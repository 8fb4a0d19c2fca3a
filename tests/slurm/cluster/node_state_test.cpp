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
TEST(ParseSinfoTest, LeavesOutTheUserWithoutAReason) {
  EXPECT_THAT(parse(line("n1|main|idle|root|1795321800|", "none")),
              ElementsAre(NodeState{.name = "n1", .partitions = {"main"}, .state = "idle"}));
}

// An older sinfo prints nothing for the field.
TEST(ParseSinfoTest, LeavesOutTheMemoryIfSinfoHasNoFieldForIt) {
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

TEST(ParseSinfoTest, DoesNotChangeReasons) {
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

TEST(ParseSinfoTest, NoReasonOrMemoryCanForgeANode) {
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

TEST(ParseSinfoTest, ReturnsNoNodesForNoOutput) { EXPECT_THAT(parse(""), IsEmpty()); }

TEST(ParseSinfoTest, RefusesOtherOutput) {
  EXPECT_EQ(parse_sinfo("PARTITION AVAIL\n", kNonce).error().message,
            "sinfo: unexpected output \"PARTITION AVAIL\\x0a\"");
  EXPECT_FALSE(parse_sinfo(line("|main|idle|Unknown|Unknown|", "none"), kNonce));
  EXPECT_FALSE(parse_sinfo(line("n1|main|idle|Unknown", "none"), kNonce));
  EXPECT_FALSE(parse_sinfo(line("n1|main|idle|Unknown|Unknown|", "none"), "other"));
}

void expect_standings(
    const std::vector<std::pair<Standing, std::vector<std::string_view>>>& cases) {
  for (const auto& [standing, states] : cases) {
    for (const auto state : states) {
      EXPECT_EQ(standing_of({.state = std::string(state)}), standing) << state;
    }
  }
}

TEST(StandingTest, FollowsFromTheWordAndItsSuffix) {
  expect_standings(
      {{Standing::in_service,
        {"idle", "IDLE", "idle-", "mixed", "mix", "mixed-", "allocated", "alloc", "allocated+",
         "completing", "comp", "planned", "plnd", "reserved", "resv", "blocked"}},
       {Standing::drained,
        {"drained", "drained*", "drained$", "drained~", "drain", "DRAIN", "draining", "drng"}},
       {Standing::down,
        {"down", "down*", "DOWN$", "mixed*", "allocated*", "completing*", "fail", "failing",
         "failg", "inval", "down~", "DOWN+CLOUD+POWERED_DOWN", "powered_down", "pow_dn"}},
       {Standing::asleep, {"idle~", "IDLE~", "planned~", "IDLE+CLOUD+POWERED_DOWN"}},
       {Standing::unavailable,
        {"idle*",         "idle@",   "mixed@", "drained@", "drained^", "down^",   "idle#",
         "idle%",         "idle!",   "idle$",  "maint",    "reboot",   "reboot^", "powering_up",
         "powering_down", "unknown", "unk*",   "future",   "idle?",    "novel",   ""}}});
}

// States as scontrol prints them, and sinfo with StateComplete.
TEST(StandingTest, FollowsFromFlags) {
  expect_standings({{Standing::in_service, {"IDLE+CLOUD", "MIXED+PLANNED", "allocated+completing"}},
                    {Standing::drained,
                     {"IDLE+DRAIN", "IDLE+CLOUD+DRAIN+POWERED_DOWN",
                      "MIXED+CLOUD+DRAIN+NOT_RESPONDING", "DOWN+DRAIN"}},
                    {Standing::down, {"IDLE+FAIL"}},
                    {Standing::unavailable,
                     {"IDLE+CLOUD+POWERING_UP", "IDLE+CLOUD+POWERING_DOWN", "IDLE+DRAIN+POWER_DOWN",
                      "IDLE+MAINTENANCE", "IDLE+REBOOT_ISSUED", "IDLE+SOMETHING_NEW"}}});
}

TEST(PowerTest, FollowsFromSuffixesAndFlags) {
  const std::vector<std::pair<Power, std::vector<std::string>>> cases{
      {Power::on, {"idle", "drained*", "mixed-", "IDLE+CLOUD", "maint", ""}},
      {Power::off, {"idle~", "drained~", "IDLE+CLOUD+DRAIN+POWERED_DOWN"}},
      {Power::turning_off, {"idle%", "drained!", "drained%", "IDLE+POWERING_DOWN"}},
      {Power::turning_on, {"idle#", "mixed#", "drained#", "IDLE+CLOUD+POWERING_UP"}}};
  for (const auto& [power, states] : cases) {
    for (const auto& state : states) EXPECT_EQ(power_of({.state = state}), power) << state;
  }
}

TEST(PowerTest, RemovesPoweringUpFromTheState) {
  EXPECT_EQ(without_powering_up("mixed#"), "mixed");
  EXPECT_EQ(without_powering_up("drained#"), "drained");
  EXPECT_EQ(without_powering_up("IDLE+CLOUD+DRAIN+NOT_RESPONDING+POWERING_UP"), "IDLE+CLOUD+DRAIN");
  for (const auto* const state : {"idle", "drained~", "idle%", "idle*", "reboot^"}) {
    EXPECT_EQ(without_powering_up(state), state);
  }
}

TEST(IsUpTest, IsFalseForNodesThatAreDownOrOff) {
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

TEST(NodeNamesTest, ALineWithoutTwoNamesIsAnError) {
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
            (Error{.message = "no Slurm partition has a node on the host login", .missing = true}));
}

TEST(NodeNamesTest, PrefersTheNodeWithTheHostsName) {
  EXPECT_EQ(node_on({{"gpu-1", "gpu-1"}, {"n1", "gpu-1"}}, "gpu-1.a.org").value(), "gpu-1");
  EXPECT_THAT(
      node_on({{"n1", "localhost"}, {"n2", "localhost"}}, "localhost").error().message,
      HasSubstr("the host localhost has 2 nodes in Slurm, as n1 and n2: set SLURMD_NODENAME"));
}

}  // namespace
}  // namespace muster::slurm
