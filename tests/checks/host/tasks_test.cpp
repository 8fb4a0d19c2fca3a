// SPDX-License-Identifier: Apache-2.0
// The load and stuck tasks judged on literal nodes.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

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

TEST(HostLoadTest, PassesAtTheLimit) {
  EXPECT_THAT(judge({.load5 = 16.0, .running = std::uint64_t{16}}), ElementsAre(passes()));
}

TEST(HostLoadTest, WarnsOnceOfHighLoadAndTheTasksThatMakeIt) {
  EXPECT_THAT(judge({.load5 = 20.0, .running = std::uint64_t{40}}),
              ElementsAre(warns("node", Remedy::watch, {2.5, 2.0, "load per CPU"})));
}

TEST(HostLoadTest, WarnsOfManyRunnableTasksBeforeTheLoadShowsThem) {
  EXPECT_THAT(judge({.load1 = 17.0, .load5 = 1.0, .running = std::uint64_t{24}}),
              ElementsAre(warns("node", Remedy::watch, {3.0, 2.0, "tasks per CPU"})));
}

TEST(HostLoadTest, DoesNotWarnOfTasksThatRunForAMomentOnly) {
  EXPECT_THAT(judge({.load1 = 16.0, .load5 = 1.0, .running = std::uint64_t{24}}),
              ElementsAre(passes()));
}

TEST(HostLoadTest, IsUndecidedAboutManyRunnableTasksWithoutTheLoad) {
  EXPECT_THAT(judge({.load1 = Fact<double>::unreadable("loadavg: garbled"),
                     .load5 = 1.0,
                     .running = std::uint64_t{24}}),
              ElementsAre(unknown()));
}

TEST(HostLoadTest, IsUndecidedWhereNothingOfItCouldBeRead) {
  EXPECT_THAT(judge({.load5 = Fact<double>::unreadable("loadavg: garbled"),
                     .running = Fact<std::uint64_t>::unreadable("loadavg: garbled")}),
              ElementsAre(unknown()));
}

TEST(HostLoadTest, IsUndecidedWhereTheLoadCouldNotBeRead) {
  EXPECT_THAT(
      judge({.load5 = Fact<double>::unreadable("loadavg: garbled"), .running = std::uint64_t{1}}),
      ElementsAre(unknown()));
}

TEST(HostLoadTest, IsUndecidedWithoutTheNumberOfCpus) {
  EXPECT_THAT(judge({.load5 = 1.0}, 0U), ElementsAre(unknown()));
  EXPECT_THAT(judge({.load5 = 1.0}, Fact<unsigned>::unreadable("online: empty")),
              ElementsAre(unknown()));
}

TEST(HostLoadTest, JudgesRunnableTasksAlone) {
  EXPECT_THAT(judge({.running = std::uint64_t{3}}, 8U,
                    {.host = HostLimits{.load = {.running_warn_above_per_core = 2.0}}}),
              ElementsAre(passes()));
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

Expected stuck(std::uint64_t pid, double seconds) {
  return {.device = fmt::format("pid {}", pid),
          .outcome = Outcome::fail,
          .observed = seconds,
          .limit = 600.0,
          .unit = "s",
          .remedy = Remedy::reboot};
}

const Expected kNotForLong{.device = "node", .outcome = Outcome::pass};

TEST(HostStuckTasksTest, PassesWithoutTasksInUninterruptibleSleep) {
  EXPECT_THAT(ask(checks::host_stuck_tasks::check, node({}), kTenMinutes), ElementsAre(passes()));
}

TEST(HostStuckTasksTest, FailsNoTaskThatIsSeenForTheFirstTime) {
  EXPECT_THAT(ask(checks::host_stuck_tasks::check, node({task(77)}), kTenMinutes),
              ElementsAre(kNotForLong));
}

TEST(HostStuckTasksTest, FailsATaskThatEarlierRunsSawStuckAlready) {
  EXPECT_THAT(ask(checks::host_stuck_tasks::check, node({task(77, 6000.0)}), kTenMinutes),
              ElementsAre(stuck(77, 1200)));
}

TEST(HostStuckTasksTest, PassesATaskAtTheLimit) {
  EXPECT_THAT(ask(checks::host_stuck_tasks::check, node({task(77, 6600.0)}), kTenMinutes),
              ElementsAre(kNotForLong));
}

TEST(HostStuckTasksTest, FailsATaskThatTheKernelCallsHung) {
  Snapshot snapshot = node({task(77)});
  snapshot.kernel_log->records = {
      said_at(6120, "INFO: task dd:77 blocked for more than 120 seconds.")};
  EXPECT_THAT(ask(checks::host_stuck_tasks::check, snapshot, kTenMinutes),
              ElementsAre(stuck(77, 1200)));
}

TEST(HostStuckTasksTest, KnowsTheWordsOfNewerKernels) {
  Snapshot snapshot = node({task(77)});
  snapshot.kernel_log->records = {
      said_at(6120, "INFO: task dd:77 blocked in I/O wait for more than 120 seconds.")};
  EXPECT_THAT(ask(checks::host_stuck_tasks::check, snapshot, kTenMinutes),
              ElementsAre(stuck(77, 1200)));
}

// Two lines of C do it: if (vfork() == 0) for (;;) pause();
TEST(HostStuckTasksTest, WarnsOfAUsersTaskThatWaitsForItsOwnChildAndNamesHim) {
  Snapshot snapshot = node({of_user(task(77, 6000.0), "kernel_clone")});
  Expected expected{.device = "pid 77",
                    .outcome = Outcome::warn,
                    .observed = 1200.0,
                    .limit = 600.0,
                    .unit = "s",
                    .remedy = Remedy::watch};
  EXPECT_THAT(ask(checks::host_stuck_tasks::check, snapshot, kTenMinutes), ElementsAre(expected));
  // FUSE makes its callers unkillable, and the kernel calls those hung.
  snapshot.kernel_log->records = {
      said_at(6120, "INFO: task dd:77 blocked for more than 120 seconds.")};
  EXPECT_THAT(ask(checks::host_stuck_tasks::check, snapshot, kTenMinutes), ElementsAre(expected));
}

TEST(HostStuckTasksTest, FailsAUsersTaskOnlyByTheKernelsWord) {
  Snapshot snapshot = node({of_user(task(77, 6000.0), "rpc_wait_bit_killable")});
  auto findings = ask(checks::host_stuck_tasks::check, snapshot, kTenMinutes);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].outcome, Outcome::warn);
  EXPECT_EQ(findings[0], warns("pid 77", Remedy::watch, {1200.0, 600.0, "s"}));
  snapshot.kernel_log->records = {
      said_at(6120, "INFO: task dd:77 blocked for more than 120 seconds.")};
  findings = ask(checks::host_stuck_tasks::check, snapshot, kTenMinutes);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].outcome, Outcome::fail);
}

TEST(HostStuckTasksTest, WarnsOfATaskOfTheSystemThatAUsersFileSystemHolds) {
  Task held = task(77, 6000.0);
  held.waits_in = std::string("fuse_lookup");
  Snapshot snapshot = node({held});
  EXPECT_EQ(ask(checks::host_stuck_tasks::check, snapshot, kTenMinutes).at(0).outcome,
            Outcome::warn);
  // It may wait for a lock that another task holds, which waits for the file system.
  snapshot = node({task(77, 6000.0)});
  snapshot.processes->fuse = std::vector<FuseUser>{{.user = 1001, .waiting = 3}};
  const auto findings = ask(checks::host_stuck_tasks::check, snapshot, kTenMinutes);
  EXPECT_EQ(findings.at(0).outcome, Outcome::warn);
  EXPECT_EQ(findings.at(0), warns("pid 77", Remedy::watch, {1200.0, 600.0, "s"}));
}

TEST(HostStuckTasksTest, WarnsWhereItIsNotKnownWhoseTheTaskIs) {
  Task unknown = task(77, 6000.0);
  unknown.user = Fact<std::uint64_t>::unreadable("read /proc/77/status: No such process");
  EXPECT_EQ(ask(checks::host_stuck_tasks::check, node({unknown}), kTenMinutes).at(0).outcome,
            Outcome::warn);
}

TEST(HostStuckTasksTest, AccusesNoChildThatMusterLeftBehind) {
  Task own = task(77, 6000.0);
  own.of_muster = true;
  EXPECT_THAT(ask(checks::host_stuck_tasks::check, node({own}), kTenMinutes),
              ElementsAre(kNotForLong));
}

TEST(HostStuckTasksTest, NamesFailuresBeforeWarnings) {
  std::vector<Task> tasks;
  for (std::uint64_t pid = 100; pid < 130; ++pid) {
    tasks.push_back(of_user(task(pid, 6000.0), "kernel_clone"));
  }
  tasks.push_back(task(777, 6000.0));
  const Findings findings = ask(checks::host_stuck_tasks::check, node(tasks), kTenMinutes);
  ASSERT_THAT(findings, SizeIs(21));
  EXPECT_EQ(findings.front(), stuck(777, 1200));
  EXPECT_EQ(findings.back().outcome, Outcome::warn);
}

TEST(HostStuckTasksTest, TakesThePidAfterANameFullOfColons) {
  Snapshot snapshot = node({task(77), task(99)});
  snapshot.kernel_log->records = {
      said_at(6120, "INFO: task a:99 blocked b::77 blocked for more than 120 seconds.")};
  EXPECT_THAT(ask(checks::host_stuck_tasks::check, snapshot, kTenMinutes),
              ElementsAre(stuck(77, 1200)));
}

TEST(HostStuckTasksTest, IgnoresTheKernelsLineAboutATaskThatWokeUpSince) {
  Snapshot snapshot = node({task(77)});
  snapshot.kernel_log->records = {
      said_at(6120, "INFO: task dd:77 blocked for more than 120 seconds.")};
  snapshot.earlier.processes_seen_uptime_s = 7000;  // and that run did not see it in this state
  EXPECT_THAT(ask(checks::host_stuck_tasks::check, snapshot, kTenMinutes),
              ElementsAre(kNotForLong));
}

TEST(HostStuckTasksTest, BelievesTheKernelsLineWhereNoLaterRunCouldSeeTheTasks) {
  Snapshot snapshot = node({task(77)});
  snapshot.kernel_log->records = {
      said_at(6120, "INFO: task dd:77 blocked for more than 120 seconds.")};
  snapshot.earlier.last_uptime_s = 7000;
  snapshot.earlier.processes_seen_uptime_s = 5000;
  EXPECT_THAT(ask(checks::host_stuck_tasks::check, snapshot, kTenMinutes),
              ElementsAre(stuck(77, 1200)));
}

TEST(HostStuckTasksTest, GoesOnBelievingItWhenLaterRunsSawTheTaskInTheSameSleep) {
  Snapshot snapshot = node({task(77, 7000.0)});
  snapshot.processes->uninterruptible->at(0).awake_at_s = 5000.0;
  snapshot.kernel_log->records = {
      said_at(6120, "INFO: task dd:77 blocked for more than 120 seconds.")};
  snapshot.earlier.processes_seen_uptime_s = 7000;
  EXPECT_THAT(ask(checks::host_stuck_tasks::check, snapshot, kTenMinutes),
              ElementsAre(stuck(77, 1200)));
}

TEST(HostStuckTasksTest, IgnoresTheKernelsLineAboutAnEarlierTaskOfTheSamePid) {
  Snapshot snapshot = node({task(77)});
  snapshot.processes->uninterruptible->at(0).start_ticks = 700000;  // 7000 s after boot
  snapshot.kernel_log->records = {
      said_at(6120, "INFO: task dd:77 blocked for more than 120 seconds.")};
  EXPECT_THAT(ask(checks::host_stuck_tasks::check, snapshot, kTenMinutes),
              ElementsAre(kNotForLong));
}

TEST(HostStuckTasksTest, IgnoresLinesFromUserSpaceInTheKernelLog) {
  Snapshot snapshot = node({task(77)});
  snapshot.kernel_log->records = {
      said_at(6120, "INFO: task dd:77 blocked for more than 120 seconds.")};
  snapshot.kernel_log->records[0].facility = 1;
  EXPECT_THAT(ask(checks::host_stuck_tasks::check, snapshot, kTenMinutes),
              ElementsAre(kNotForLong));
}

TEST(HostStuckTasksTest, NamesTwentyTasksAndCountsTheRest) {
  std::vector<Task> tasks;
  for (std::uint64_t pid = 100; pid < 125; ++pid) tasks.push_back(task(pid, 6000.0));
  const Findings findings = ask(checks::host_stuck_tasks::check, node(tasks), kTenMinutes);
  ASSERT_THAT(findings, SizeIs(21));
  EXPECT_EQ(findings.back(),
            (fails("node", Remedy::reboot, {std::int64_t{5}, std::int64_t{0}, "tasks"})));
}

TEST(HostStuckTasksTest, WarnsOfZombiesAndNamesTheFirst) {
  std::vector<Task> zombies;
  for (std::uint64_t pid = 1; pid <= 6; ++pid)
    zombies.push_back({.pid = pid, .name = "sh\n", .parent = 9});
  EXPECT_THAT(ask(checks::host_stuck_tasks::check, node({}, zombies), kTenMinutes),
              ElementsAre(warns("zombies", Remedy::restart_service,
                                {std::int64_t{6}, std::int64_t{2}, "tasks"})));
}

TEST(HostStuckTasksTest, NeedsNoKernelLog) {
  Snapshot snapshot = node({task(77, 6000.0)});
  snapshot.kernel_log = {};
  EXPECT_THAT(ask(checks::host_stuck_tasks::check, snapshot, kTenMinutes),
              ElementsAre(stuck(77, 1200)));
}

TEST(HostStuckTasksTest, IsUndecidedWithoutTheListsOfTasks) {
  Snapshot snapshot = node({});
  snapshot.processes->uninterruptible =
      Fact<std::vector<Task>>::unreadable("list /proc: Permission denied");
  snapshot.processes->zombies =
      Fact<std::vector<Task>>::unreadable("list /proc: Permission denied");
  EXPECT_THAT(ask(checks::host_stuck_tasks::check, snapshot, kTenMinutes),
              ElementsAre(unknown(), unknown("zombies")));
}

TEST(HostStuckTasksTest, IsUndecidedWithoutTheSectionOfProcesses) {
  EXPECT_THAT(ask(checks::host_stuck_tasks::check, {.identity = observed(Identity{})}, kTenMinutes),
              ElementsAre(unknown()));
}

TEST(HostStuckTasksTest, IsUndecidedAboutTasksWithoutTheTimeSinceBoot) {
  Snapshot snapshot = node({task(77, 6000.0)});
  snapshot.identity->uptime_s = Fact<double>::unreadable("uptime: empty");
  EXPECT_THAT(ask(checks::host_stuck_tasks::check, snapshot, kTenMinutes), ElementsAre(unknown()));
}

}  // namespace host_stuck_tasks

}  // namespace
}  // namespace muster::host_tasks_test
