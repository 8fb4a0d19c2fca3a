// SPDX-License-Identifier: Apache-2.0
// How many of a hundred nodes a wrong limit takes out of service.
#include <pthread.h>

#include "tests/slurm/drains/enforce_fixture.hpp"

namespace muster::slurm {
namespace {

using Health = FakeCluster::Health;

class BlastRadiusTest : public EnforceTest {
 protected:
  BlastRadiusTest() {
    cluster = FakeCluster(kNodes);
    order.rules.most_by_check = "100%";  // the share alone: the breaker has tests of its own
    order.rules.most_by_check_nodes = 0;
  }

  static std::string name(std::size_t i) { return fmt::format("n{:03}", i); }

  // All drains are sent before any is looked at: each node's sleep is the next one's run.
  void run_at_once(std::size_t i, bool backwards) {
    if (i > size) return;
    const auto report = sick();
    const auto node = name(backwards ? size + 1 - i : i);
    HookRequest own = order;
    own.report = &report;
    own.node = node;
    auto services = services_of(node);
    bool slept = false;
    StaleController stale(cluster, before);
    services.controller = &stale;
    services.sleep = [&](std::chrono::milliseconds time) {
      if (!std::exchange(slept, true)) run_at_once(i + 1, backwards);
      if (i == size) cluster.pass(time);
    };
    for (const auto& event : enforce(own, services).events) ++events[event.kind];
  }

  // On a stack for all runs within each other, with the frames of a sanitizer.
  void run_all_at_once() {
    constexpr std::size_t kStack = 1UL << 30U;
    pthread_attr_t attributes;
    ASSERT_EQ(::pthread_attr_init(&attributes), 0);
    ASSERT_EQ(::pthread_attr_setstacksize(&attributes, kStack), 0);
    pthread_t thread{};
    const auto run = [](void* self) -> void* {
      static_cast<BlastRadiusTest*>(self)->run_at_once(1, false);
      return nullptr;
    };
    ASSERT_EQ(::pthread_create(&thread, &attributes, run, this), 0);
    ASSERT_EQ(::pthread_join(thread, nullptr), 0);
    ASSERT_EQ(::pthread_attr_destroy(&attributes), 0);
  }

  static constexpr std::size_t kNodes = 100;
  std::size_t size = kNodes;

  // Shows the cluster as it was before, until this node has sent its drain.
  class StaleController final : public FakeController {
   public:
    StaleController(FakeCluster& cluster, const std::vector<NodeState>& before)
        : FakeController(cluster), before_(before) {}

    Result<std::vector<NodeState>> nodes(std::string_view node) override {
      if (std::ranges::count(calls, "drain") == 0) return before_;
      return FakeController::nodes(node);
    }

   private:
    const std::vector<NodeState>& before_;
  };

  HookResult run_stale(const std::string& node) {
    StaleController stale(cluster, before);
    auto services = services_of(node);
    services.controller = &stale;
    return run_with(sick(), node, services);
  }

  std::vector<NodeState> before = FakeCluster(kNodes).nodes();
  std::map<std::string, int> events;
};

TEST_F(BlastRadiusTest, AWrongLimitOnAHundredNodesAtOnceDrainsTen) {
  for (const bool backwards : {false, true}) {
    cluster = FakeCluster(kNodes);
    histories.clear();
    events.clear();
    run_at_once(1, backwards);
    EXPECT_EQ(cluster.drained(), 10);
    EXPECT_EQ(events["drained"], 10);
    EXPECT_EQ(events["undone"], 90);
    for (std::size_t i = 1; i <= 10; ++i) EXPECT_EQ(cluster.node(name(i)).reason, kReason);
    std::filesystem::remove_all(dir.path());
  }
}

// It stays wrong for hours: the share of one hour is added to those of all hours before.
TEST_F(BlastRadiusTest, AWrongLimitThatStaysStopsAtHalf) {
  std::string last;
  for (int hour = 0; hour < 7; ++hour) {
    for (std::size_t i = 1; i <= kNodes; ++i) {
      if (cluster.node(name(i)).state != "idle") continue;
      const auto enforced = run(sick(), name(i));
      if (!enforced.drained && !enforced.events.empty()) last = enforced.events.back().message;
    }
    EXPECT_EQ(cluster.drained(), std::min(50, 10 * (hour + 1)));
    cluster.pass(std::chrono::hours(1));
  }
  EXPECT_EQ(last,
            "gpu.persistence gpu3: 50 of 50 nodes that may be drained by muster at a time in "
            "partition gpu are drained");
}

// No kind of fault bypasses the share, nor does a Slurm without memories.
TEST_F(BlastRadiusTest, AHundredNodesAtOnceWithoutHistoryAndMemoryDrainTen) {
  with_history = false;
  order.rules.memory = "none";
  run_at_once(1, false);
  EXPECT_EQ(cluster.drained(), 10);
  EXPECT_EQ(events["drained"], 10);
  EXPECT_EQ(events["undone"], 90);
}

TEST_F(BlastRadiusTest, AWrongLimitOnAHundredNodesInTurnDrainsTen) {
  for (std::size_t i = 1; i <= kNodes; ++i) run(sick(), name(kNodes + 1 - i));
  EXPECT_EQ(cluster.drained(), 10);
  EXPECT_EQ(std::count(told.begin(), told.end(), "drained"), 10);
  EXPECT_EQ(std::count(told.begin(), told.end(), "refused"), 90);
}

// Each node sees the others' drains only after its own, after different delays.
TEST_F(BlastRadiusTest, AWrongLimitThatIsSeenLateDrainsTen) {
  for (std::size_t i = 1; i <= kNodes; ++i) {
    for (const auto& event : run_stale(name(kNodes + 1 - i)).events) ++events[event.kind];
  }
  EXPECT_EQ(cluster.drained(), 10);
  EXPECT_EQ(events["drained"], 10);
  EXPECT_EQ(events["undone"], 90);
}

// The breaker: with the rules as they are, and each node with its own history.
TEST_F(BlastRadiusTest, AWrongLimitOnTwoHundredNodesAtOnceDrainsTenAndStopsTheCheck) {
  order.rules = Rules{};
  size = 200;
  cluster = FakeCluster(size);
  before = cluster.nodes();
  run_all_at_once();
  EXPECT_EQ(cluster.drained(), 10);
  EXPECT_EQ(events["drained"], 10);
  EXPECT_EQ(events["undone"], 190);
  EXPECT_EQ(events["stopped"], 1);
}

// It stays that way even if the hour's share has room.
TEST_F(BlastRadiusTest, AStoppedCheckDrainsNoNodeUntilAnAdminAcceptsIt) {
  order.rules = Rules{};
  std::map<std::string, std::string> last;
  for (int day = 0; day < 3; ++day) {
    for (std::size_t i = 1; i <= kNodes; ++i) {
      if (cluster.node(name(i)).state != "idle") continue;
      for (const auto& event : run(sick(), name(i)).events) last[event.kind] = event.message;
    }
    EXPECT_EQ(cluster.drained(), 5);
    cluster.pass(std::chrono::hours(24));
  }
  const std::string stopped =
      "gpu.persistence has drained 5 nodes of partition gpu within 1 h, which looks like a bad "
      "limit: it drains no more there until an admin runs muster resume --check gpu.persistence";
  EXPECT_EQ(last["stopped"], stopped);
  EXPECT_EQ(last["refused"], "gpu.persistence gpu3: " + stopped);
}

// All of them had given up on slurmctld when it woke up and drained them.
TEST_F(BlastRadiusTest, DrainsAppliedLateAreUndoneBeyondTheShare) {
  cluster.be(Health::hung);
  // Each of them read just before slurmctld hung.
  for (std::size_t i = 1; i <= kNodes; ++i) EXPECT_TRUE(run_stale(name(i)).out_of_reach);
  cluster.be(Health::well);
  EXPECT_EQ(cluster.drained(), kNodes);
  for (std::size_t i = 1; i <= kNodes; ++i) {
    for (const auto& event : run(sick(), name(i)).events) ++events[event.kind];
  }
  EXPECT_EQ(cluster.drained(), 10);
  EXPECT_EQ(events["undone"], 90);
  EXPECT_EQ(events["kept"], 10);
}

}  // namespace
}  // namespace muster::slurm
