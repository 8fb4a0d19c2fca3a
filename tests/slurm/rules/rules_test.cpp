// SPDX-License-Identifier: Apache-2.0
#include "slurm/rules/rules.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

namespace muster::slurm {
namespace {

using ::testing::HasSubstr;

TEST(ShareTest, IsAPercentage) {
  EXPECT_EQ(parse_share("10%"), 10);
  EXPECT_EQ(parse_share(" 2.5 % "), 2.5);
  for (const auto* const text : {"", "20", "%", "-5%", "10%%", "20 nodes", "1e999%"}) {
    EXPECT_EQ(parse_share(text), std::nullopt) << text;
  }
}

// The form of earlier versions is answered with the new keys.
TEST(RulesTest, ALimitIsAShareAndANumber) {
  EXPECT_EQ(check_values({}).key, "");
  for (const auto& [key, share, nodes] :
       {std::tuple{"most_drained", &Rules::most_drained, &Rules::most_drained_nodes},
        std::tuple{"most_standing", &Rules::most_standing, &Rules::most_standing_nodes},
        std::tuple{"most_in_repair", &Rules::most_in_repair, &Rules::most_in_repair_nodes},
        std::tuple{"most_by_check", &Rules::most_by_check, &Rules::most_by_check_nodes}}) {
    for (const auto* const text : {"max(3 nodes, min(5%, 10 nodes))", "20 nodes", "20"}) {
      Rules rules;
      rules.*share = text;
      const auto broken = check_values(rules);
      EXPECT_EQ(broken.key, key);
      EXPECT_THAT(broken.what, HasSubstr(std::string(key) + ": 10%"));
      EXPECT_THAT(broken.what, HasSubstr(std::string(key) + "_nodes: 20"));
    }
    Rules rules;
    rules.*share = "101%";
    EXPECT_EQ(check_values(rules).key, key);
    rules = {};
    rules.*nodes = -1;
    EXPECT_EQ(check_values(rules).key, std::string(key) + "_nodes");
  }
}

// A window of no time would switch off most_drained and the breaker.
TEST(RulesTest, WindowsAreAtLeastAMinute) {
  for (const auto& [key, window] : {std::pair{"drain_window", &Rules::drain_window},
                                    std::pair{"flap_window", &Rules::flap_window}}) {
    for (const auto& [seconds, is_valid] :
         {std::pair{0.0, false}, std::pair{59.0, false}, std::pair{60.0, true}}) {
      Rules rules;
      (rules.*window).value = seconds;
      EXPECT_EQ(check_values(rules).key, is_valid ? "" : key) << seconds;
    }
  }
}

TEST(RulesTest, TestsAreThoseOfMusterBenchNode) {
  for (const auto& [key, tests] : {std::pair{"epilog_tests", &Rules::epilog_tests},
                                   std::pair{"boot_tests", &Rules::boot_tests}}) {
    for (const auto* const text : {"", "gpu.copy,gpu.truth", "gpu.*, ib.loopback"}) {
      Rules rules;
      rules.*tests = text;
      EXPECT_EQ(check_values(rules).key, "") << text;
    }
    for (const auto* const text : {"host.latency,gpu.cpy", "gpu.copy,", "cpu.*"}) {
      Rules rules;
      rules.*tests = text;
      EXPECT_EQ(check_values(rules).key, key) << text;
      EXPECT_THAT(check_values(rules).what, HasSubstr("expected some of host.stream, "));
    }
  }
}

TEST(RulesTest, SlurmCountsTheTimesOfSweepsInMinutes) {
  EXPECT_EQ(check_values({.sweep = {.time = Seconds{90}}}).key, "sweep.time");
  EXPECT_EQ(check_values({.sweep = {.start_within = Seconds{90}}}).key, "sweep.start_within");
  EXPECT_EQ(check_values({.sweep = {.time = Seconds{120}}}).key, "");
}

TEST(RulesTest, AGateSweepNeedsTheGate) {
  EXPECT_EQ(check_values({.gate_sweep = "full"}).key, "gate_sweep");
  EXPECT_EQ(check_values({.gate_new_nodes = true, .gate_sweep = "full"}).key, "");
}

TEST(RulesTest, NodeExporterReadsTheFileOfMetrics) {
  for (const auto* const file : {"", "/var/lib/node_exporter/muster.prom"}) {
    EXPECT_EQ(check_values({.metrics = {.file = file}}).key, "") << file;
  }
  for (const auto* const file : {"muster.prom", "/var/lib/node_exporter/muster.txt"}) {
    EXPECT_EQ(check_values({.metrics = {.file = file}}).key, "metrics.file") << file;
  }
  EXPECT_EQ(check_values({.metrics = {.values = "all"}}).key, "");
  EXPECT_EQ(check_values({.metrics = {.values = "every"}}).key, "metrics.values");
}

TEST(RulesTest, TheSitesProgramIsCheckedWithoutRunningIt) {
  for (const auto& [tell, key] :
       {std::pair{TellRules{}, ""}, std::pair{TellRules{.program = "tell"}, "tell.program"},
        std::pair{TellRules{.deadline = Seconds{0}}, "tell.deadline"},
        std::pair{TellRules{.deadline = Seconds{31}}, "tell.deadline"},
        std::pair{TellRules{.user = ""}, "tell.user"},
        std::pair{TellRules{.events = {"drained", "draned"}}, "tell.events"}}) {
    EXPECT_EQ(check_values({.tell = tell}).key, key);
  }
}

}  // namespace
}  // namespace muster::slurm
