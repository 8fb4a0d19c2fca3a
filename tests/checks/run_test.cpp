// SPDX-License-Identifier: Apache-2.0
#include "checks/run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/catalogue.hpp"
#include "tests/support/printers.hpp"

namespace muster {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr double kGib = 1024.0 * 1024 * 1024;

// A node on which host.swap passes, until a test makes it otherwise.
Snapshot node(std::uint64_t swap_bytes = 0) {
  Snapshot snapshot;
  snapshot.taken = "2026-11-20T12:00:00Z";
  snapshot.identity =
      observed(Identity{.hostname = "gpu-0007", .physical_host = std::string("X1")});
  snapshot.memory = observed(Memory{.swap_total_bytes = swap_bytes});
  return snapshot;
}

Profile no_swap() {
  Profile profile;
  profile.name = "test";
  profile.host.swap.total = Bytes{0};
  return profile;
}

const Selection kSwap{.only = {"host.swap"}};

TEST(JudgeTest, IsHealthyWhenARuleHeld) {
  const Report report = judge(node(), no_swap(), kSwap);
  EXPECT_EQ(report.verdict, Verdict::healthy);
  EXPECT_THAT(report.checks, ElementsAre(CheckResult{"host.swap", Outcome::pass}));
  EXPECT_EQ(report.node, "gpu-0007");
  EXPECT_EQ(report.profile, "test");
  EXPECT_EQ(report.physical_host, "X1");
  EXPECT_EQ(report.started, "2026-11-20T12:00:00Z");
}

TEST(JudgeTest, NamesTheProbesThatWereAskedAndNoOthers) {
  Snapshot snapshot = node();
  snapshot.infiniband = {.status = Status::absent, .reason = "no RDMA stack"};
  EXPECT_THAT(judge(snapshot, no_swap(), kSwap).probes,
              ElementsAre(ProbeResult{"identity", "ok", "", 0},
                          ProbeResult{"memory", "ok", "", 0},
                          ProbeResult{"infiniband", "absent", "no RDMA stack", 0}));
}

TEST(JudgeTest, AWarningIsHealthyUnlessThePolicyCallsItAFailure) {
  Profile profile = no_swap();
  EXPECT_EQ(judge(node(8 * static_cast<std::uint64_t>(kGib)), profile, kSwap).verdict,
            Verdict::healthy);
  profile.policies["host.swap"].warn_as = "fail";
  const Report report = judge(node(8 * static_cast<std::uint64_t>(kGib)), profile, kSwap);
  EXPECT_EQ(report.verdict, Verdict::unhealthy);
  EXPECT_THAT(report.checks, ElementsAre(CheckResult{"host.swap", Outcome::fail}));
}

TEST(JudgeTest, ASectionThatTimedOutMakesTheCheckUnknown) {
  Snapshot snapshot = node();
  snapshot.memory = {.status = Status::timeout, .reason = "no answer within 5 s"};
  const Report report = judge(snapshot, no_swap(), kSwap);
  EXPECT_EQ(report.verdict, Verdict::unknown);
  EXPECT_THAT(report.findings,
              ElementsAre(Finding{
                  .check = "host.swap",
                  .device = "node",
                  .outcome = Outcome::unknown,
                  .message = "not judged, the memory probe says timeout: no answer within 5 s"}));
}

TEST(JudgeTest, NothingJudgedIsNotHealthy) {
  const Report report = judge(node(), Profile{}, kSwap);
  EXPECT_THAT(report.findings, Each(Field(&Finding::outcome, Outcome::skip)));
  EXPECT_EQ(report.verdict, Verdict::unknown);
  EXPECT_EQ(judge(node(), no_swap(), {.only = {"no.such"}}).verdict, Verdict::unknown);
}

TEST(JudgeTest, AContextDecidesWhichUnknownsCount) {
  Snapshot snapshot = node();
  snapshot.memory->swap_total_bytes = Fact<std::uint64_t>::unreadable("garbled");
  Profile profile = no_swap();
  profile.contexts["prolog"].count_unknown = {"ib.*"};
  const Selection both{.only = {"host.swap", "muster.probes"}};
  EXPECT_EQ(judge(snapshot, profile, both).verdict, Verdict::unknown);
  EXPECT_EQ(judge(snapshot, profile, {.context = "prolog", .only = both.only}).verdict,
            Verdict::healthy);
}

TEST(JudgeTest, PutsTheWorstFirst) {
  Snapshot snapshot = node(1);
  snapshot.cpu = {.status = Status::error, .reason = "killed by signal 11"};
  snapshot.mounts = {.status = Status::timeout, .reason = "no answer"};
  Profile profile = no_swap();
  profile.muster.probes.fatal = {"mounts"};
  const Report report = judge(snapshot, profile, {.only = {"host.swap", "muster.*"}});
  std::vector<Outcome> outcomes;
  for (const auto& finding : report.findings) outcomes.push_back(finding.outcome);
  EXPECT_THAT(outcomes, ElementsAre(Outcome::fail, Outcome::unknown, Outcome::warn, Outcome::skip));
}

TEST(JudgeTest, HostileTextInAFindingIsInert) {
  Snapshot snapshot = node();
  snapshot.cpu = {.status = Status::error, .reason = "\x1b[2J\nhealthy"};
  const Report report = judge(snapshot, no_swap(), {.only = {"muster.probes"}});
  EXPECT_EQ(report.findings.front().message, "the cpu probe failed: \\x1b[2J\\x0ahealthy");
}

TEST(SelectTest, RunsWhatTheContextRunsAndTheProfileEnables) {
  Profile profile;
  profile.contexts["prolog"] = {.run = {"host.*"}, .skip = {"host.h*"}};
  profile.policies["host.swap"].enabled = false;
  std::vector<std::string_view> ids;
  for (const auto* check : select_checks(profile, {.context = "prolog", .skip = {"host.*s"}})) {
    ids.push_back(check->id);
  }
  EXPECT_THAT(ids, ::testing::Contains("host.cpu"));
  for (const auto* left_out : {"host.hugepages", "host.swap", "host.mounts", "ib.rate"}) {
    EXPECT_THAT(ids, ::testing::Not(::testing::Contains(left_out)));
  }
}

TEST(SelectTest, OnlyReachesWhatTheContextLeavesOutButNothingDisabled) {
  Profile profile;
  profile.contexts["prolog"].run = {};
  EXPECT_THAT(select_checks(profile, {.context = "prolog", .only = {"host.swap"}}), SizeIs(1));
  profile.policies["host.swap"].enabled = false;
  EXPECT_THAT(select_checks(profile, {.context = "prolog", .only = {"host.swap"}}), IsEmpty());
}

TEST(SelectTest, ObservesOnlyWhatTheChecksNeed) {
  const auto needed = probes_needed(select_checks(Profile{}, kSwap));
  EXPECT_TRUE(needed.contains(Probe::memory));
  EXPECT_FALSE(needed.contains(Probe::topology));
}

}  // namespace
}  // namespace muster
