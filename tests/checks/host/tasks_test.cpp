// SPDX-License-Identifier: Apache-2.0
// The load and stuck tasks judged on literal nodes.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/catalogue.hpp"
#include "lib/profile/limits/host.hpp"
#include "tests/checks/ask.hpp"
#include "tests/support/printers.hpp"

namespace muster::host_tasks_test {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

namespace host_load {

const Profile kTwoPerCore{
    .host = HostLimits{.load = {.warn_above_per_core = 2.0, .running_warn_above_per_core = 2.0}}};

Findings judge(Processes processes, Fact<unsigned> threads = 8U,
               const Profile& profile = kTwoPerCore) {
  return ask(checks::host_load::check,
             {.cpu = observed(Cpu{.threads = std::move(threads)}),
              .processes = observed(std::move(processes))},
             profile);
}

TEST(HostLoadTest, IsUnknownWithoutTheNumberOfCpus) {
  EXPECT_THAT(judge({.load5 = 1.0}, 0U), ElementsAre(unknown()));
  EXPECT_THAT(judge({.load5 = 1.0}, Fact<unsigned>::unreadable("online: empty")),
              ElementsAre(unknown()));
}

TEST(HostLoadTest, JudgesEachCase) {
  expect_each({
      {"passes at the limit", judge({.load5 = 16.0, .running = std::uint64_t{16}}), {passes()}},
      {"warns once of high load and the tasks that make it",
       judge({.load5 = 20.0, .running = std::uint64_t{40}}),
       {warns("node", Remedy::watch, {2.5, 2.0, "load per CPU"})}},
      {"warns of many runnable tasks before the load shows them",
       judge({.load1 = 17.0, .load5 = 1.0, .running = std::uint64_t{24}}),
       {warns("node", Remedy::watch, {3.0, 2.0, "tasks per CPU"})}},
      {"does not warn of tasks that run for a moment only",
       judge({.load1 = 16.0, .load5 = 1.0, .running = std::uint64_t{24}}),
       {passes()}},
      {"many runnable tasks are unknown without the load",
       judge({.load1 = Fact<double>::unreadable("loadavg: garbled"),
              .load5 = 1.0,
              .running = std::uint64_t{24}}),
       {unknown()}},
      {"is unknown if nothing could be read",
       judge({.load5 = Fact<double>::unreadable("loadavg: garbled"),
              .running = Fact<std::uint64_t>::unreadable("loadavg: garbled")}),
       {unknown()}},
      {"is unknown if the load could not be read",
       judge({.load5 = Fact<double>::unreadable("loadavg: garbled"), .running = std::uint64_t{1}}),
       {unknown()}},
      {"judges runnable tasks alone",
       judge({.running = std::uint64_t{3}}, 8U,
             {.host = HostLimits{.load = {.running_warn_above_per_core = 2.0}}}),
       {passes()}},
  });
}

}  // namespace host_load

namespace host_stuck_tasks {

const Profile kTenMinutes{
    .host = HostLimits{.stuck_tasks = {.uninterruptible_for = Seconds{600},
                                       .waits_of_users = {"kernel_clone", "*fuse_*"},
                                       .zombies_warn_above = 2}}};

Task task(std::uint64_t pid, Fact<double> since = {}) {
  return {.pid = pid,
          .name = "dd",
          .start_ticks = 1000,
          .parent = 1,
          .user = 0U,
          .stuck_since_s = std::move(since)};
}

Task of_user(Task task, std::string waits_in) {
  task.user = 1001U;
  task.waits_in = std::move(waits_in);
  return task;
}

Findings judge(const Snapshot& node) {
  return ask(checks::host_stuck_tasks::check, node, kTenMinutes);
}

// Two hours after boot.
Snapshot node(std::vector<Task> uninterruptible, std::vector<Task> zombies = {}) {
  return {.identity = observed(Identity{.uptime_s = 7200.0}),
          .processes = observed(Processes{.uninterruptible = std::move(uninterruptible),
                                          .zombies = std::move(zombies)}),
          .kernel_log = observed(KernelLog{})};
}

KernelRecord said_at(double uptime_s, std::string text) {
  return {
      .time_us = static_cast<std::uint64_t>(uptime_s * 1e6), .level = 3, .text = std::move(text)};
}

// Half an hour ago, the kernel called the task with pid 77 hung.
Snapshot called_hung(Task task) {
  Snapshot snapshot = node({std::move(task)});
  snapshot.kernel_log->records = {
      said_at(6120, "INFO: task dd:77 blocked for more than 120 seconds.")};
  return snapshot;
}

Expected stuck(std::uint64_t pid, double seconds) {
  return {.device = fmt::format("pid {}", pid),
          .outcome = Outcome::fail,
          .observed = seconds,
          .limit = 600.0,
          .unit = "s",
          .remedy = Remedy::reboot};
}

const Expected kNotForLong{.device = "node", .outcome = Outcome::pass};

TEST(HostStuckTasksTest, FailsATaskThatTheKernelCallsHung) {
  Snapshot snapshot = called_hung(task(77));
  EXPECT_THAT(judge(snapshot), ElementsAre(stuck(77, 1200)));
}

TEST(HostStuckTasksTest, KnowsTheWordsOfNewerKernels) {
  Snapshot snapshot = node({task(77)});
  snapshot.kernel_log->records = {
      said_at(6120, "INFO: task dd:77 blocked in I/O wait for more than 120 seconds.")};
  EXPECT_THAT(judge(snapshot), ElementsAre(stuck(77, 1200)));
}

// Two lines of C do it: if (vfork() == 0) for (;;) pause();
TEST(HostStuckTasksTest, WarnsOfAUsersTaskThatWaitsForItsOwnChildAndNamesHim) {
  const Task waiting = of_user(task(77, 6000.0), "kernel_clone");
  const Expected expected = warns("pid 77", Remedy::watch, {1200.0, 600.0, "s"});
  EXPECT_THAT(judge(node({waiting})), ElementsAre(expected));
  // FUSE makes its callers unkillable, and the kernel calls those hung.
  EXPECT_THAT(judge(called_hung(waiting)), ElementsAre(expected));
}

TEST(HostStuckTasksTest, FailsAUsersTaskOnlyByTheKernelsWord) {
  Snapshot snapshot = node({of_user(task(77, 6000.0), "rpc_wait_bit_killable")});
  EXPECT_THAT(judge(snapshot), ElementsAre(warns("pid 77", Remedy::watch, {1200.0, 600.0, "s"})));
  snapshot = called_hung(of_user(task(77, 6000.0), "rpc_wait_bit_killable"));
  EXPECT_THAT(judge(snapshot), ElementsAre(is(Outcome::fail)));
}

TEST(HostStuckTasksTest, WarnsOfATaskOfTheSystemThatAUsersFileSystemHolds) {
  Task held = task(77, 6000.0);
  held.waits_in = std::string("fuse_lookup");
  Snapshot snapshot = node({held});
  EXPECT_EQ(judge(snapshot).at(0).outcome, Outcome::warn);
  // It may wait for a lock that another task holds, which waits for the file system.
  snapshot = node({task(77, 6000.0)});
  snapshot.processes->fuse = std::vector<FuseUser>{{.user = 1001, .waiting = 3}};
  EXPECT_EQ(judge(snapshot).at(0), warns("pid 77", Remedy::watch, {1200.0, 600.0, "s"}));
}

TEST(HostStuckTasksTest, WarnsIfItIsUnknownWhoseTheTaskIs) {
  Task unknown = task(77, 6000.0);
  unknown.user = Fact<std::uint64_t>::unreadable("read /proc/77/status: No such process");
  EXPECT_EQ(judge(node({unknown})).at(0).outcome, Outcome::warn);
}

TEST(HostStuckTasksTest, AccusesNoChildThatMusterLeftBehind) {
  Task own = task(77, 6000.0);
  own.of_muster = true;
  EXPECT_THAT(judge(node({own})), ElementsAre(kNotForLong));
}

TEST(HostStuckTasksTest, NamesFailuresBeforeWarnings) {
  std::vector<Task> tasks;
  for (std::uint64_t pid = 100; pid < 130; ++pid) {
    tasks.push_back(of_user(task(pid, 6000.0), "kernel_clone"));
  }
  tasks.push_back(task(777, 6000.0));
  const Findings findings = judge(node(tasks));
  ASSERT_THAT(findings, SizeIs(21));
  EXPECT_EQ(findings.front(), stuck(777, 1200));
  EXPECT_EQ(findings.back().outcome, Outcome::warn);
}

TEST(HostStuckTasksTest, TakesThePidAfterANameFullOfColons) {
  Snapshot snapshot = node({task(77), task(99)});
  snapshot.kernel_log->records = {
      said_at(6120, "INFO: task a:99 blocked b::77 blocked for more than 120 seconds.")};
  EXPECT_THAT(judge(snapshot), ElementsAre(stuck(77, 1200)));
}

TEST(HostStuckTasksTest, IgnoresTheKernelsLineAboutATaskThatWokeUpSince) {
  Snapshot snapshot = called_hung(task(77));
  snapshot.earlier.processes_seen_uptime_s = 7000;  // and that run did not see it in this state
  EXPECT_THAT(judge(snapshot), ElementsAre(kNotForLong));
}

TEST(HostStuckTasksTest, BelievesTheKernelsLineIfNoLaterRunCouldSeeTheTasks) {
  Snapshot snapshot = called_hung(task(77));
  snapshot.earlier.last_uptime_s = 7000;
  snapshot.earlier.processes_seen_uptime_s = 5000;
  EXPECT_THAT(judge(snapshot), ElementsAre(stuck(77, 1200)));
}

TEST(HostStuckTasksTest, GoesOnBelievingItWhenLaterRunsSawTheTaskInTheSameSleep) {
  Snapshot snapshot = called_hung(task(77, 7000.0));
  snapshot.processes->uninterruptible->at(0).awake_at_s = 5000.0;
  snapshot.earlier.processes_seen_uptime_s = 7000;
  EXPECT_THAT(judge(snapshot), ElementsAre(stuck(77, 1200)));
}

TEST(HostStuckTasksTest, IgnoresTheKernelsLineAboutAnEarlierTaskOfTheSamePid) {
  Snapshot snapshot = called_hung(task(77));
  snapshot.processes->uninterruptible->at(0).start_ticks = 700000;  // 7000 s after boot
  EXPECT_THAT(judge(snapshot), ElementsAre(kNotForLong));
}

TEST(HostStuckTasksTest, IgnoresLinesFromUserSpaceInTheKernelLog) {
  Snapshot snapshot = called_hung(task(77));
  snapshot.kernel_log->records[0].facility = 1;
  EXPECT_THAT(judge(snapshot), ElementsAre(kNotForLong));
}

TEST(HostStuckTasksTest, NamesTwentyTasksAndCountsTheRest) {
  std::vector<Task> tasks;
  for (std::uint64_t pid = 100; pid < 125; ++pid) tasks.push_back(task(pid, 6000.0));
  const Findings findings = judge(node(tasks));
  ASSERT_THAT(findings, SizeIs(21));
  EXPECT_EQ(findings.back(),
            (fails("node", Remedy::reboot, {std::int64_t{5}, std::int64_t{0}, "tasks"})));
}

TEST(HostStuckTasksTest, NeedsNoKernelLog) {
  Snapshot snapshot = node({task(77, 6000.0)});
  snapshot.kernel_log = {};
  EXPECT_THAT(judge(snapshot), ElementsAre(stuck(77, 1200)));
}

TEST(HostStuckTasksTest, IsUnknownWithoutTheListsOfTasks) {
  Snapshot snapshot = node({});
  snapshot.processes->uninterruptible =
      Fact<std::vector<Task>>::unreadable("list /proc: Permission denied");
  snapshot.processes->zombies =
      Fact<std::vector<Task>>::unreadable("list /proc: Permission denied");
  EXPECT_THAT(judge(snapshot), ElementsAre(unknown(), unknown("zombies")));
}

TEST(HostStuckTasksTest, JudgesEachCase) {
  expect_each({
      {"fails no task that is seen for the first time", judge(node({task(77)})), {kNotForLong}},
      {"passes a task at the limit", judge(node({task(77, 6600.0)})), {kNotForLong}},
      {"is unknown without the section of processes",
       judge({.identity = observed(Identity{})}),
       {unknown()}},
  });
}

TEST(HostStuckTasksTest, TasksAreUnknownWithoutTheTimeSinceBoot) {
  Snapshot snapshot = node({task(77, 6000.0)});
  snapshot.identity->uptime_s = Fact<double>::unreadable("uptime: empty");
  EXPECT_THAT(judge(snapshot), ElementsAre(unknown()));
}

}  // namespace host_stuck_tasks

}  // namespace
}  // namespace muster::host_tasks_test
