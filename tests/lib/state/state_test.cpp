// SPDX-License-Identifier: Apache-2.0
#include "lib/state/state.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <chrono>
#include <thread>
#include <vector>

#include "lib/base/descriptor.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster {
namespace {

namespace fs = std::filesystem;

Snapshot node(double uptime_s, std::uint64_t link_downed, const char* boot = "boot-1") {
  Snapshot s;
  s.identity = observed(Identity{.boot_id = std::string(boot), .uptime_s = uptime_s});
  s.infiniband = observed(Infiniband{
      .hcas = {{.name = "mlx5_ib0",
                .ports = std::vector<IbPort>{
                    {.counters = ByName<Fact<std::uint64_t>>{{"link_downed", link_downed}}}}}}});
  return s;
}

constexpr const char* kKey = "ib.mlx5_ib0.1.link_downed";

class StateTest : public ::testing::Test {
 protected:
  TempDir dir_;
  fs::path file_ = dir_.path() / "state.json";
};

TEST_F(StateTest, RemembersChangesOnly) {
  file_ = dir_.path() / "var/lib/muster/state.json";
  for (const auto& [uptime, value] : {std::pair{10.0, 0U}, {20.0, 0U}, {30.0, 2U}}) {
    ASSERT_TRUE(write_state(file_, node(uptime, value)));
  }
  const Earlier earlier = read_state(file_, "boot-1");
  EXPECT_EQ(earlier.note, "");
  EXPECT_EQ(earlier.last_uptime_s, 30);
  EXPECT_THAT(earlier.counters.at(kKey), ElementsAre(CounterChange{10, 0}, CounterChange{30, 2}));
}

TEST_F(StateTest, IsPrivate) {
  file_ = dir_.path() / "new/state.json";
  ASSERT_TRUE(write_state(file_, node(1, 0)));
  EXPECT_EQ(fs::status(file_).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(fs::status(file_.parent_path()).permissions(), fs::perms::owner_all);
}

TEST_F(StateTest, IsEmptyOnTheFirstRun) { EXPECT_EQ(read_state(file_, "boot-1"), Earlier{}); }

TEST_F(StateTest, KeepsXidsOfOtherBoots) {
  Snapshot snapshot = node(1000, 7);
  snapshot.kernel_log = observed(KernelLog{
      .records = {{.time_us = 900'000'000, .text = "NVRM: Xid (PCI:0001:00:00): 79, lost"}}});
  snapshot.xids = find_xids(*snapshot.kernel_log);
  ASSERT_TRUE(write_state(file_, snapshot));
  EXPECT_EQ(read_state(file_, "boot-2").xids.at(0).code, 79U);
  EXPECT_EQ(read_state(file_, "boot-2").counters.size(), 0U);
}

TEST_F(StateTest, StartsAgainAfterAnotherBoot) {
  ASSERT_TRUE(write_state(file_, node(1000, 7)));
  EXPECT_EQ(read_state(file_, "boot-2").note,
            "the state of earlier runs is from another boot; rates start afresh");
  ASSERT_TRUE(write_state(file_, node(5, 1, "boot-2")));
  const Earlier earlier = read_state(file_, "boot-2");
  EXPECT_EQ(earlier.note, "");
  EXPECT_THAT(earlier.counters.at(kKey), ElementsAre(CounterChange{5, 1}));
}

TEST_F(StateTest, MovesAnInvalidFileAway) {
  for (const auto& [text, why] :
       {std::pair{R"({"schema": "muster.state/1", "boot_id": 5})", "/boot_id: expected a string"},
        {R"({"schema": "muster.state/2", "boot_id": "boot-1"})", "/schema: expected"},
        {R"({"status": "ok", "facts": {"boot_id": "boot-1"}})", "/schema: expected"}}) {
    dir_.write("state.json", text);
    EXPECT_THAT(read_state(file_, "boot-1").note, HasSubstr(why));
    EXPECT_TRUE(fs::exists(dir_.path() / "state.json.bad"));
    EXPECT_EQ(read_state(file_, "boot-1"), Earlier{});
  }
}

TEST_F(StateTest, DoesNotTrustAFileThatOthersCanWrite) {
  ASSERT_TRUE(write_state(file_, node(1, 0)));
  fs::permissions(file_, fs::perms::others_write, fs::perm_options::add);
  EXPECT_THAT(read_state(file_, "boot-1").note, HasSubstr("others can write to it"));
}

TEST_F(StateTest, DoesNotFollowALink) {
  ASSERT_TRUE(write_state(dir_.path() / "other.json", node(1, 9)));
  dir_.link("state.json", "other.json");
  EXPECT_THAT(read_state(file_, "boot-1").note, HasSubstr("Too many levels of symbolic links"));
}

TEST_F(StateTest, LimitsTheChangesOfACounter) {
  for (unsigned i = 0; i < 200; ++i) ASSERT_TRUE(write_state(file_, node(i * 60.0, i)));
  const auto changes = read_state(file_, "boot-1").counters.at(kKey);
  EXPECT_LE(changes.size(), 65U);
  EXPECT_EQ(changes.front(), (CounterChange{0, 0}));
  EXPECT_EQ(changes.back().value, 199U);
}

Task asleep(std::uint64_t pid, Fact<std::uint64_t> switches) {
  return {.pid = pid, .name = "dd", .start_ticks = 5, .switches = std::move(switches)};
}

Snapshot with_tasks(double uptime_s, std::vector<Task> tasks) {
  Snapshot snapshot = node(uptime_s, 0);
  snapshot.processes = observed(Processes{.uninterruptible = std::move(tasks)});
  return snapshot;
}

// Adds the observations of earlier runs, then stores this one.
Snapshot run(const fs::path& file, Snapshot snapshot) {
  snapshot.earlier = read_state(file, "boot-1");
  recall_stuck_tasks(snapshot);
  EXPECT_TRUE(write_state(file, snapshot));
  return snapshot;
}

Task first_task(const Snapshot& snapshot) { return snapshot.processes->uninterruptible->at(0); }

TEST_F(StateTest, KnowsSinceWhenATaskIsStuck) {
  run(file_, with_tasks(100, {}));
  run(file_, with_tasks(200, {asleep(7, 150U)}));
  run(file_, with_tasks(300, {asleep(7, 150U)}));
  EXPECT_THAT(read_state(file_, "boot-1").stuck, ElementsAre(StuckTask{7, 5, 200, 100, 150U}));
  Task expected = asleep(7, 150U);
  expected.stuck_since_s = 200.0;
  expected.awake_at_s = 100.0;
  EXPECT_EQ(first_task(run(file_, with_tasks(400, {asleep(7, 150U)}))), expected);
}

TEST_F(StateTest, KeepsTasksIfProcessesAreUnreadable) {
  run(file_, with_tasks(200, {asleep(7, 150U)}));
  run(file_, node(300, 0));
  Snapshot unreadable = with_tasks(400, {});
  unreadable.processes->uninterruptible = Fact<std::vector<Task>>::unreadable("list /proc: denied");
  run(file_, unreadable);
  const Earlier earlier = read_state(file_, "boot-1");
  EXPECT_EQ(earlier.last_uptime_s, 400);
  EXPECT_EQ(earlier.processes_seen_uptime_s, 200);
  EXPECT_EQ(first_task(run(file_, with_tasks(500, {asleep(7, 150U)}))).stuck_since_s, 200.0);
}

TEST_F(StateTest, DoesNotMistakeShortSleepsForALongOne) {
  run(file_, with_tasks(200, {asleep(7, 150U)}));
  EXPECT_FALSE(first_task(run(file_, with_tasks(300, {asleep(7, 152U)}))).stuck_since_s);
  EXPECT_THAT(read_state(file_, "boot-1").stuck, ElementsAre(StuckTask{7, 5, 300, 200, 152U}));
}

TEST_F(StateTest, IgnoresTasksWithUnknownContextSwitches) {
  const auto denied = Fact<std::uint64_t>::unreadable("read /proc/7/status: denied");
  run(file_, with_tasks(200, {asleep(7, denied)}));
  EXPECT_FALSE(first_task(run(file_, with_tasks(300, {asleep(7, 150U)}))).stuck_since_s);
  EXPECT_FALSE(first_task(run(file_, with_tasks(400, {asleep(7, denied)}))).stuck_since_s);
}

TEST_F(StateTest, ForgetsATaskThatWokeUp) {
  run(file_, with_tasks(200, {asleep(7, 150U)}));
  run(file_, with_tasks(300, {}));
  EXPECT_EQ(read_state(file_, "boot-1").stuck, std::vector<StuckTask>{});
}

TEST_F(StateTest, HasTheDocumentedKeys) {
  run(file_, with_tasks(12.5, {asleep(7, 150U)}));
  EXPECT_EQ(dir_.read("state.json"),
            R"({"schema":"muster.state/1","boot_id":"boot-1","last_uptime_s":12.5,)"
            R"("processes_seen_uptime_s":12.5,)"
            R"("counters":{"ib.mlx5_ib0.1.link_downed":[{"uptime_s":12.5,"value":0}]},)"
            R"("stuck":[{"pid":7,"start_ticks":5,"since_s":12.5,"awake_at_s":0.0,)"
            R"("switches":150}],"xids":[],"jobs":[],"driver_loaded_s":0.0})");
}

TEST_F(StateTest, WaitsForTheLock) {
  ASSERT_TRUE(write_state(file_, node(1, 0)));
  const Descriptor others(::open((dir_.path() / "state.json.lock").c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(::flock(others.get(), LOCK_EX), 0);
  std::thread release([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(600));
    ::flock(others.get(), LOCK_UN);
  });
  EXPECT_TRUE(write_state(file_, node(2, 0)));
  release.join();
}

TEST_F(StateTest, LosesNoObservationOfConcurrentRuns) {
  constexpr unsigned kRuns = 16;
  std::vector<std::thread> runs;
  for (unsigned i = 0; i < kRuns; ++i) {
    runs.emplace_back([this, i] {
      Snapshot snapshot = node(1, i);
      snapshot.infiniband->hcas.front().name = fmt::format("mlx5_ib{}", i);
      EXPECT_TRUE(write_state(file_, snapshot));
    });
  }
  for (auto& each : runs) each.join();
  EXPECT_EQ(read_state(file_, "boot-1").counters.size(), kRuns);
}

TEST_F(StateTest, NamesAFileThatCannotBeWritten) {
  EXPECT_THAT(write_state("/proc/nowhere/state.json", node(1, 0)).error().message,
              HasSubstr("/proc/nowhere"));
}

}  // namespace
}  // namespace muster
