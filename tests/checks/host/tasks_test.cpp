// SPDX-License-Identifier: Apache-2.0
// The load and stuck tasks judged on literal nodes.
#include "tests/checks/ask.hpp"

namespace muster::host_tasks_test {
namespace {

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
  EXPECT_THAT(judge({.load5 = 1.0}, make_error("online: empty")), ElementsAre(unknown()));
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
       judge({.load1 = make_error("loadavg: garbled"), .load5 = 1.0, .running = std::uint64_t{24}}),
       {unknown()}},
      {"is unknown if nothing could be read",
       judge({.load5 = make_error("loadavg: garbled"), .running = make_error("loadavg: garbled")}),
       {unknown()}},
      {"is unknown if the load could not be read",
       judge({.load5 = make_error("loadavg: garbled"), .running = std::uint64_t{1}}),
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

// Half an hour ago, the kernel called the task with pid 77 hung.
Snapshot called_hung(Task task) {
  Snapshot snapshot = node({std::move(task)});
  snapshot.kernel_log->records = {
      {.time_us = 6120'000'000, .text = "INFO: task dd:77 blocked for more than 120 seconds."}};
  return snapshot;
}

Expected stuck(std::uint64_t pid, double seconds) {
  return fails(fmt::format("pid {}", pid), Remedy::reboot, {seconds, 600.0, "s"});
}

const Expected kOnlyWarned = warns("pid 77", Remedy::watch, {1200.0, 600.0, "s"});

// Two lines of C do it: if (vfork() == 0) for (;;) pause();
TEST(HostStuckTasksTest, WarnsOfAUsersTaskThatWaitsForItsOwnChildAndNamesHim) {
  const Task waiting = of_user(task(77, 6000.0), "kernel_clone");
  EXPECT_THAT(judge(node({waiting})), ElementsAre(kOnlyWarned));
  // FUSE makes its callers unkillable, and the kernel calls those hung.
  EXPECT_THAT(judge(called_hung(waiting)), ElementsAre(kOnlyWarned));
}

TEST(HostStuckTasksTest, FailsAUsersTaskOnlyByTheKernelsWord) {
  const Task waiting = of_user(task(77, 6000.0), "rpc_wait_bit_killable");
  EXPECT_THAT(judge(node({waiting})), ElementsAre(kOnlyWarned));
  EXPECT_THAT(judge(called_hung(waiting)), ElementsAre(is(Outcome::fail)));
}

TEST(HostStuckTasksTest, WarnsOfATaskOfTheSystemThatAUsersFileSystemHolds) {
  Task held = task(77, 6000.0);
  held.waits_in = std::string("fuse_lookup");
  EXPECT_THAT(judge(node({held})), ElementsAre(kOnlyWarned));
  // It may wait for a lock that another task holds, which waits for the file system.
  Snapshot snapshot = node({task(77, 6000.0)});
  snapshot.processes->fuse = std::vector<FuseUser>{{.user = 1001, .waiting = 3}};
  EXPECT_THAT(judge(snapshot), ElementsAre(kOnlyWarned));
}

TEST(HostStuckTasksTest, WarnsIfItIsUnknownWhoseTheTaskIs) {
  Task unknown = task(77, 6000.0);
  unknown.user = make_error("read /proc/77/status: No such process");
  EXPECT_THAT(judge(node({unknown})), ElementsAre(kOnlyWarned));
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

TEST(HostStuckTasksTest, BelievesTheKernelsLineAboutThisSleepOfThisTask) {
  expect_findings(
      judge, called_hung(task(77)),
      {{"the kernel calls it hung", [](Snapshot&) {}, {stuck(77, 1200)}},
       {"in the words of newer kernels",
        [](Snapshot& node) {
          node.kernel_log->records[0].text =
              "INFO: task dd:77 blocked in I/O wait for more than 120 seconds.";
        },
        {stuck(77, 1200)}},
       {"takes the pid after a name full of colons",
        [](Snapshot& node) {
          node.processes->uninterruptible->push_back(task(99));
          node.kernel_log->records[0].text =
              "INFO: task a:99 blocked b::77 blocked for more than 120 seconds.";
        },
        {stuck(77, 1200)}},
       {"it woke up since: a later run did not see it in this state",
        [](Snapshot& node) { node.earlier.processes_seen_uptime_s = 7000; },
        {passes()}},
       {"no later run could see the tasks",
        [](Snapshot& node) {
          node.earlier.last_uptime_s = 7000;
          node.earlier.processes_seen_uptime_s = 5000;
        },
        {stuck(77, 1200)}},
       {"later runs saw it in the same sleep",
        [](Snapshot& node) {
          node.processes->uninterruptible->at(0).stuck_since_s = 7000.0;
          node.processes->uninterruptible->at(0).awake_at_s = 5000.0;
          node.earlier.processes_seen_uptime_s = 7000;
        },
        {stuck(77, 1200)}},
       {"an earlier task had the same pid: this one began 7000 s after boot",
        [](Snapshot& node) { node.processes->uninterruptible->at(0).start_ticks = 700000; },
        {passes()}},
       {"the line is from user space",
        [](Snapshot& node) { node.kernel_log->records[0].facility = 1; },
        {passes()}},
       {"muster left the child behind",
        [](Snapshot& node) { node.processes->uninterruptible->at(0).of_muster = true; },
        {passes()}}});
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
  snapshot.processes->uninterruptible = make_error("list /proc: Permission denied");
  snapshot.processes->zombies = make_error("list /proc: Permission denied");
  EXPECT_THAT(judge(snapshot), ElementsAre(unknown(), unknown("zombies")));
}

TEST(HostStuckTasksTest, JudgesEachCase) {
  expect_each({
      {"fails no task that is seen for the first time", judge(node({task(77)})), {passes()}},
      {"passes a task at the limit", judge(node({task(77, 6600.0)})), {passes()}},
      {"is unknown without the section of processes",
       judge({.identity = observed(Identity{})}),
       {unknown()}},
  });
}

TEST(HostStuckTasksTest, TasksAreUnknownWithoutTheTimeSinceBoot) {
  Snapshot snapshot = node({task(77, 6000.0)});
  snapshot.identity->uptime_s = make_error("uptime: empty");
  EXPECT_THAT(judge(snapshot), ElementsAre(unknown()));
}

}  // namespace host_stuck_tasks

}  // namespace
}  // namespace muster::host_tasks_test
