// SPDX-License-Identifier: Apache-2.0
// A node whose history cannot be written: what makes it sick may be the reason, so that it is
// drained all the same, and stays so until an admin says otherwise.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <optional>

#include "slurm/cluster/node_memory.hpp"
#include "slurm/history/sqlite.hpp"
#include "tests/slurm/drains/enforce_fixture.hpp"

namespace muster::slurm {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::Not;

constexpr std::string_view kFate =
    "; its history cannot be written: it stays drained until it can, or an admin says muster "
    "resume "
    "n001";

// No file of this process can grow, as on a full disk.
class FullDisk {
 public:
  FullDisk() {
    static_cast<void>(::getrlimit(RLIMIT_FSIZE, &before_));
    const rlimit none{.rlim_cur = 0, .rlim_max = before_.rlim_max};
    static_cast<void>(::setrlimit(RLIMIT_FSIZE, &none));
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
  }

  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

  ~FullDisk() {
    static_cast<void>(std::signal(SIGXFSZ, handler_));
    static_cast<void>(::setrlimit(RLIMIT_FSIZE, &before_));
  }

 private:
  rlimit before_{};
  void (*handler_)(int) = nullptr;
};

enum class Trouble { not_there, read_only, disk_full };

class UnrecordedTest : public EnforceTest, public testing::WithParamInterface<Trouble> {
 protected:
  HookResult run_so(const Report& report) {
    order.report = &report;
    order.node = "n001";
    auto hands = hands_of("n001");
    if (GetParam() == Trouble::not_there) hands.history = nullptr;
    if (GetParam() == Trouble::read_only) {
      auto opened = History::read(dir.path() / "n001/history.db");
      EXPECT_TRUE(opened) << opened.error().message;
      auto read_only = std::move(opened.value());
      hands.history = &read_only;
      return enforce(order, hands);
    }
    std::optional<FullDisk> full;
    if (GetParam() == Trouble::disk_full) full.emplace();
    return enforce(order, hands);
  }
};

TEST_P(UnrecordedTest, DrainsASickNodeAndSaysWhoMustLiftIt) {
  const auto enforced = run_so(sick());
  EXPECT_EQ(cluster.node("n001").state, "drained");
  EXPECT_EQ(cluster.node("n001").reason, kReason);
  EXPECT_TRUE(enforced.drained);
  EXPECT_FALSE(enforced.out_of_reach);
  EXPECT_EQ(enforced.decision.action, Action::drain);
  EXPECT_EQ(enforced.events.back().kind, "drained");
  EXPECT_EQ(enforced.events.back().message, enforced.decision.why + std::string(kFate));
  EXPECT_EQ(enforced.events.back().reason, kReason);
  if (GetParam() == Trouble::not_there) {
    EXPECT_THAT(told, ElementsAre("drained"));
  } else {
    EXPECT_THAT(told, ElementsAre("trouble", "drained"));
    EXPECT_THAT(enforced.events.front().message, testing::HasSubstr("history.db: "));
  }
  EXPECT_EQ(record(), std::nullopt);
}

TEST_P(UnrecordedTest, LaterRunsKeepItSickOrWell) {
  run_so(sick());
  for (int i = 0; i < 2; ++i) {
    cluster.pass(kInterval);
    EXPECT_TRUE(run_so(sick()).drained);
  }
  EXPECT_EQ(parse_node_memory(cluster.node("n001").memory)->check, "gpu.persistence");
  for (int i = 0; i < 5; ++i) {
    cluster.pass(kInterval);
    run_so(healthy());
  }
  EXPECT_EQ(cluster.node("n001").reason, kReason);
  EXPECT_EQ(count("drain"), 1);
  EXPECT_EQ(count("resume"), 0);
}

// Slurm was asked in this boot before, and the node is well when the disk has room again.
TEST_P(UnrecordedTest, OnceTheHistoryCanBeWrittenItIsTakenOverAndResumed) {
  run(healthy());
  run(healthy());
  ASSERT_EQ(count("read"), 1);
  run_so(sick());
  ASSERT_EQ(cluster.node("n001").reason, kReason);
  cluster.pass(kInterval);
  EXPECT_THAT(kinds(run(healthy())), ElementsAre("adopted", "kept"));
  ASSERT_TRUE(record());
  EXPECT_EQ(record()->reason, kReason);
  EXPECT_EQ(record()->remedy, Remedy::restart_service);
  for (int i = 0; i < 2; ++i) run(healthy());
  EXPECT_EQ(cluster.node("n001").state, "idle");
  EXPECT_EQ(record(), std::nullopt);
  EXPECT_THAT(remembered(), ElementsAre("adopted", "kept", "kept", "resumed"));
}

TEST_P(UnrecordedTest, ItIsUndoneWhereTheShareIsUsedUp) {
  controller.before_drain = [&] {
    cluster.drain("n002", kReason);
    cluster.node("n002").since = cluster.now() - std::chrono::seconds(1);
  };
  const auto enforced = run_so(sick());
  EXPECT_EQ(cluster.node("n001").state, "idle");
  EXPECT_EQ(cluster.node("n002").state, "drained");
  EXPECT_FALSE(enforced.drained);
  EXPECT_TRUE(enforced.decision.loud);
  EXPECT_EQ(enforced.events.back().kind, "undone");
  EXPECT_THAT(enforced.events.back().message, Not(EndsWith(kFate)));
  EXPECT_EQ(record(), std::nullopt);
}

TEST_P(UnrecordedTest, TheSitesRulesHold) {
  order.rules.drain = false;
  EXPECT_EQ(run_so(sick()).events.front().kind, "refused");
  order.rules = {};
  order.dry_run = true;
  EXPECT_THAT(kinds(run_so(sick())), ElementsAre("dry_run"));
  EXPECT_EQ(cluster.drained(), 0);
}

TEST_P(UnrecordedTest, AnAdminsDrainMeanwhileSurvives) {
  controller.after_read = [&] {
    if (count("read") == 1) cluster.drain("n001", "swapping a cable", "alice");
  };
  EXPECT_TRUE(run_so(sick()).drained);
  EXPECT_EQ(cluster.node("n001").reason, "swapping a cable");
  EXPECT_EQ(count("drain"), 0);
}

TEST_P(UnrecordedTest, ADrainThatMayComeLateSaysWhoMustLiftIt) {
  controller.before_drain = [&] { cluster.be(FakeCluster::Health::hung); };
  const auto enforced = run_so(sick());
  EXPECT_TRUE(enforced.out_of_reach);
  EXPECT_EQ(enforced.events.back().message,
            "the drain may still come: scontrol did not answer within 8 s" + std::string(kFate));
}

INSTANTIATE_TEST_SUITE_P(Each, UnrecordedTest,
                         testing::Values(Trouble::not_there, Trouble::read_only,
                                         Trouble::disk_full));

// Only the drain cannot be written: what happened is in the history all the same.
TEST_F(EnforceTest, ADrainThatTheHistoryRefusesIsAnEventInIt) {
  history_of("n001");
  auto other = Connection::open(dir.path() / "n001/history.db", Connection::Access::write);
  ASSERT_TRUE(other) << other.error().message;
  ASSERT_TRUE(
      other->run("CREATE TRIGGER broken BEFORE INSERT ON drains BEGIN "
                 "SELECT RAISE(FAIL, 'database disk image is malformed'); END"));
  const auto enforced = run(sick());
  EXPECT_EQ(cluster.drained(), 1);
  EXPECT_THAT(enforced.events.back().message, EndsWith(kFate));
  EXPECT_THAT(remembered(), ElementsAre("trouble", "drained"));
}

}  // namespace
}  // namespace muster::slurm
