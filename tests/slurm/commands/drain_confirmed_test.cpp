// SPDX-License-Identifier: Apache-2.0
// Drains of nodes that sweeps have confirmed, or that a search accuses.
#include "slurm/commands/drain_confirmed.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/slurm/fake_controller.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::app {
namespace {

using slurm::SweepStanding;
using slurm::Trust;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class DrainConfirmedTest : public ::testing::Test {
 protected:
  [[nodiscard]] SweepStanding standing(std::string node, Trust trust) const {
    return {.node = std::move(node),
            .kind = "locate",
            .partition = "gpu",
            .trust = trust,
            .last = "unhealthy: bench.locate HCA 3 is slow",
            .failures = {{.at = cluster_.now()}, {.at = cluster_.now()}}};
  }

  void drain(const std::vector<SweepStanding>& standings, bool dry_run = false) {
    drain_confirmed(standings, rules_, services(), dry_run);
  }

  [[nodiscard]] slurm::HookServices services() {
    return {.controller = &controller_,
            .history = &*history_,
            .now = [this] { return cluster_.now(); },
            .sleep = [this](std::chrono::milliseconds time) { cluster_.pass(time); },
            .tell = [this](const slurm::Event& event) { told_.push_back(event); }};
  }

  [[nodiscard]] std::string reason(std::string_view node) { return cluster_.node(node).reason; }

  TempDir dir_;
  slurm::Rules rules_{.memory = "none"};
  slurm::FakeCluster cluster_{20};
  slurm::FakeController controller_{cluster_};
  Result<slurm::History> history_ = slurm::History::open(dir_.path() / "events.jsonl");
  std::vector<slurm::Event> told_;
};

TEST_F(DrainConfirmedTest, DrainsOnlyConfirmedNodes) {
  drain({standing("n001", Trust::suspect), standing("n002", Trust::confirmed),
         standing("n003", Trust::good)});
  EXPECT_EQ(cluster_.drained(), 1U);
  EXPECT_EQ(reason("n002"),
            "muster: bench.sweep: locate: it failed 2 times in a row while others passed: "
            "unhealthy: bench.locate HCA 3 is slow; report to the provider");
  ASSERT_THAT(told_, SizeIs(1));
  EXPECT_EQ(told_[0].kind, "drained");
  EXPECT_EQ(told_[0].context, "sweep");
}

TEST_F(DrainConfirmedTest, ANodeThatAnAdminResumedIsLeftAloneUntilItFailsAgain) {
  const auto failed = standing("n002", Trust::confirmed);
  drain({failed});
  cluster_.pass(std::chrono::hours(1));
  cluster_.resume("n002");
  drain({failed});
  EXPECT_EQ(cluster_.drained(), 0U);
  cluster_.pass(std::chrono::hours(1));
  drain({standing("n002", Trust::confirmed)});
  EXPECT_EQ(cluster_.drained(), 1U);
}

TEST_F(DrainConfirmedTest, KeepsToTheShare) {
  rules_.most_drained = "10%";
  std::vector<SweepStanding> all;
  for (int i = 1; i <= 20; ++i) all.push_back(standing(fmt::format("n{:03}", i), Trust::confirmed));
  drain(all);
  EXPECT_EQ(cluster_.drained(), 2U);
  EXPECT_EQ(std::ranges::count(told_, "refused", &slurm::Event::kind), 18);
}

TEST_F(DrainConfirmedTest, LeavesANodeThatAnAdminDrainedAlone) {
  cluster_.drain("n002", "swapping a cable");
  drain({standing("n002", Trust::confirmed)});
  EXPECT_EQ(reason("n002"), "swapping a cable");
}

TEST_F(DrainConfirmedTest, ADryRunReportsTheDrain) {
  drain({standing("n002", Trust::confirmed)}, true);
  EXPECT_EQ(cluster_.drained(), 0U);
  ASSERT_THAT(told_, SizeIs(1));
  EXPECT_THAT(told_[0].message, HasSubstr("would drain: bench.sweep"));
}

// A report of `muster-bench locate` over ten nodes, whose hosts have other names.
class DrainAccusedTest : public DrainConfirmedTest {
 protected:
  [[nodiscard]] static Report report_accusing(const std::vector<std::string>& hosts) {
    Report report;
    report.accused = hosts;
    for (const auto& host : hosts) {
      report.findings.push_back({.check = "bench.locate",
                                 .device = host,
                                 .outcome = Outcome::fail,
                                 .message = "HCA 3: 93.5 GB/s, 50% of its peers",
                                 .remedy = Remedy::report_to_provider});
    }
    report.findings.push_back({.check = "bench.locate",
                               .device = "host008",
                               .outcome = Outcome::warn,
                               .message = "it still reaches the limit"});
    return report;
  }

  bool drain(const Report& report, bool dry_run = false) {
    std::vector<slurm::NodeName> names;
    for (const auto& node : cluster_.nodes()) {
      names.push_back({.node = node.name, .host = fmt::format("host{}", node.name.substr(1))});
    }
    return drain_accused(report, names, rules_, services(), dry_run);
  }
};

TEST_F(DrainAccusedTest, DrainsTheAccusedAndNamesThePart) {
  EXPECT_TRUE(drain(report_accusing({"host002"})));
  EXPECT_EQ(cluster_.drained(), 1U);
  EXPECT_EQ(reason("n002"),
            "muster: bench.locate: HCA 3: 93.5 GB/s, 50% of its peers; report to the "
            "provider");
}

// As the report of a collective names a GPU.
TEST_F(DrainAccusedTest, DrainsANodeThatIsAccusedOfADevicesFault) {
  auto report = report_accusing({"host002"});
  report.findings[0].device = "host002/gpu3 0003:00:00.0";
  EXPECT_TRUE(drain(report));
  EXPECT_THAT(reason("n002"), HasSubstr("muster: bench.locate gpu3 0003:00:00.0: HCA 3: "));
  report.findings[0].device = "host0020";
  EXPECT_FALSE(drain(report));
  EXPECT_THAT(told_.back().message, HasSubstr("has no failure of it"));
}

TEST_F(DrainAccusedTest, ReportsNodesBeyondTheShare) {
  rules_.most_drained = "10%";
  EXPECT_FALSE(drain(report_accusing({"host002", "host003", "host004"})));
  EXPECT_EQ(cluster_.drained(), 2U);
  EXPECT_EQ(std::ranges::count(told_, "refused", &slurm::Event::kind), 1);
}

TEST_F(DrainAccusedTest, AnUnknownHostIsTroubleAndTheOthersAreDrained) {
  EXPECT_FALSE(drain(report_accusing({"login1", "host005"})));
  EXPECT_EQ(cluster_.drained(), 1U);
  ASSERT_FALSE(told_.empty());
  EXPECT_EQ(told_[0].kind, "trouble");
}

TEST_F(DrainAccusedTest, ADryRunReportsTheDrain) {
  EXPECT_TRUE(drain(report_accusing({"host002"}), true));
  EXPECT_EQ(cluster_.drained(), 0U);
  ASSERT_THAT(told_, SizeIs(1));
  EXPECT_THAT(told_[0].message, HasSubstr("would drain: bench.locate"));
}

}  // namespace
}  // namespace muster::app
