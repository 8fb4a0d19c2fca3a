// SPDX-License-Identifier: Apache-2.0
// What a sweep makes of what its jobs leave, or do not leave.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "lib/report/bench_checks.hpp"
#include "lib/report/format.hpp"
#include "slurm/sweeps/sweep_job.hpp"
#include "tests/slurm/sweeps/sweep_passes.hpp"

namespace muster::slurm {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): literals only
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

TEST_F(SweepPassTest, WhatAJobLeavesIsNotTrusted) {
  pass();
  leave("pair-1", Verdict::unhealthy, "'; rm -rf / `x` $(y)\n\x1b[31m * \"quoted\"");
  dir.write("results/pair-2.json", R"({"schema": "muster.report/1")");
  pass();
  const auto events = history.events({});
  ASSERT_THAT(*events, SizeIs(4));
  EXPECT_EQ((*events)[0].message,
            "pair with n002: unhealthy: bench.min_busbw job:, rm -rf / x y x0a x1b 31m quoted, 1 "
            "of 1 check");
  EXPECT_THAT((*events)[2].message,
              StartsWith("pair with n004: undecided: its result cannot be read: "));
  EXPECT_THAT(outcomes(), Contains(SweepOutcome::undecided));
  EXPECT_TRUE(exists("pair-2.json"));
}

struct JudgedCase {
  std::string_view name;
  std::vector<CheckResult> checks;
  bool judged;
};

// NOLINTNEXTLINE(readability-identifier-naming): the name that gtest looks for
void PrintTo(const JudgedCase& test, std::ostream* out) { *out << test.name; }

class SweepJudged : public SweepPassTest, public ::testing::WithParamInterface<JudgedCase> {};

TEST_P(SweepJudged, IsHealthyOnlyByABandwidth) {
  const auto& test = GetParam();
  pass();
  Report report{.node = "n001", .verdict = Verdict::healthy, .checks = test.checks};
  dir.write("results/pair-1.json", to_json(report));
  pass();
  EXPECT_THAT(outcomes(), Contains(test.judged ? SweepOutcome::healthy : SweepOutcome::undecided));
  const auto* const undecided =
      "sweep n001 101: pair with n002: undecided: no bandwidth was judged: slurm.sweep.bench in "
      "muster.yaml needs --min-busbw, or the nodes a profile with limits";
  if (test.judged) return;
  EXPECT_THAT(told, Contains(undecided));
}

INSTANTIATE_TEST_SUITE_P(
    Each, SweepJudged,
    ::testing::Values(JudgedCase{"no_checks", {}, false},
                      JudgedCase{"data", {{"bench.data", Outcome::pass}}, false},
                      JudgedCase{
                          "no_limit",
                          {{"bench.data", Outcome::pass}, {"bench.job_all_reduce", Outcome::skip}},
                          false},
                      JudgedCase{"a_node", {{"bench.node_all_reduce", Outcome::pass}}, true},
                      JudgedCase{"a_job", {{"bench.job_all_reduce", Outcome::pass}}, true},
                      JudgedCase{"a_part_of_a_node", {{"bench.hca_write", Outcome::pass}}, true},
                      JudgedCase{"that_nobody_works", {{"bench.in_use", Outcome::pass}}, false},
                      JudgedCase{"near_the_limit", {{"bench.job_all_reduce", Outcome::warn}}, true},
                      JudgedCase{"what_was_asked", {{"bench.min_busbw", Outcome::pass}}, true}),
    [](const auto& it) { return std::string(it.param.name); });

// None is forgotten where another one comes.
TEST(SweepJudgedTest, KnowsEachCheckOfANode) {
  for (const auto id : kBandwidthChecks) {
    EXPECT_TRUE(judges_nodes({.checks = {{std::string(id), Outcome::pass}}})) << id;
  }
  for (const auto* const id : {"bench.loopback_all_reduce", "bench.train_step", "bench.gpu_soak"}) {
    EXPECT_TRUE(judges_nodes({.checks = {{id, Outcome::pass}}})) << id;
  }
  for (const auto* const id : {"bench.diagnosis", "bench.split", "gpu.present", "bench.no_such"}) {
    EXPECT_FALSE(judges_nodes({.checks = {{id, Outcome::pass}}})) << id;
  }
}

TEST_F(SweepPassTest, AResultWithoutEndIsNotRead) {
  pass();
  dir.write("results/pair-1.json", std::string(9UL * 1024 * 1024, ' '));
  std::filesystem::create_directory(dir.path() / "results/pair-2.json");
  pass();
  EXPECT_THAT(told,
              AllOf(Contains(HasSubstr("n001 101: pair with n002: undecided: its result cannot")),
                    Contains(HasSubstr("n003 102: pair with n004: undecided: its result cannot"))));
}

struct EndCase {
  std::string_view name;
  std::optional<QueuedJob> job;  // as Slurm knows it two minutes after the submission
  std::string_view told;         // of n001; nothing: it is waited for
};

// NOLINTNEXTLINE(readability-identifier-naming): the name that gtest looks for
void PrintTo(const EndCase& test, std::ostream* out) { *out << test.name; }

class SweepEnd : public SweepPassTest, public ::testing::WithParamInterface<EndCase> {};

TEST_P(SweepEnd, OfAJobThatLeftNoResult) {
  pass();
  queue.queued.clear();
  cluster.pass(300s);
  if (const auto& job = GetParam().job) {
    queue.queued.push_back(*job);
    if (job->ended) queue.queued.back().ended = cluster.now() - (kMonday - *job->ended);
  }
  pass();
  if (GetParam().told.empty()) {
    EXPECT_THAT(told, Not(Contains(HasSubstr("n001"))));
    return;
  }
  EXPECT_THAT(told, Contains(fmt::format("sweep n001 101: pair with n002: {}", GetParam().told)));
  for (const auto& standing : sweep_status({rules, cluster.now()}, hands()).standings) {
    EXPECT_EQ(standing.trust, Trust::untested);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Each, SweepEnd,
    ::testing::Values(
        EndCase{"pending", QueuedJob{"101", "PENDING", std::nullopt, ""}, ""},
        EndCase{"running", QueuedJob{"101", "RUNNING", kMonday + 60s, ""}, ""},
        EndCase{"a_new_word", QueuedJob{"101", "DREAMING", std::nullopt, ""}, ""},
        EndCase{"just_ended", QueuedJob{"101", "COMPLETED", kMonday - 60s, ""}, ""},
        EndCase{"ended", QueuedJob{"101", "FAILED", kMonday - 180s, ""},
                "undecided: the job ended as FAILED and left no result"},
        EndCase{"out_of_time", QueuedJob{"101", "TIMEOUT", kMonday - 180s, ""},
                "undecided: the job ended as TIMEOUT and left no result"},
        EndCase{"cancelled", QueuedJob{"101", "CANCELLED", kMonday - 180s, ""},
                "undecided: the job ended as CANCELLED and left no result"},
        EndCase{"never_started", QueuedJob{"101", "DEADLINE", kMonday, ""},
                "undecided: the job could not start in time"},
        EndCase{"forgotten", std::nullopt,
                "undecided: Slurm does not know the job any more, and it left no result"}),
    [](const auto& it) { return std::string(it.param.name); });

}  // namespace
}  // namespace muster::slurm
