// SPDX-License-Identifier: Apache-2.0
// The whole of `muster check` below a root that holds next to nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "lib/node/snapshot.hpp"
#include "lib/report/report.hpp"
#include "tests/checks/app/test_caller.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::app {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

class CheckTest : public ::testing::Test {
 protected:
  CheckTest() {
    dir_.write("root/proc/sys/kernel/hostname", "node-7\n");
    dir_.write("root/proc/sys/kernel/random/boot_id", "a2c7b7a0-0000-4000-8000-000000000001\n");
    dir_.write("root/proc/uptime", "1000.00 2000.00\n");
  }

  [[nodiscard]] CheckCommand command() const {
    return {
        .profile = "generic", .only = {"muster.*"}, .format = Format::json, .root = path("root")};
  }

  [[nodiscard]] std::string path(std::string_view name) const {
    return (dir_.path() / name).string();
  }

  int check(const CheckCommand& command) {
    Deadline deadline(Clock::now() + std::chrono::seconds(30));
    return run_check(command, caller_.caller(), deadline);
  }

  TempDir dir_;
  TestCaller caller_;
};

TEST_F(CheckTest, ReportsOnTheNodeBelowTheRoot) {
  auto asked = command();
  asked.context = "prolog";
  const int status = check(asked);
  const auto report = parse_report(caller_.out());
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->node, "node-7");
  EXPECT_EQ(report->context, "prolog");
  EXPECT_EQ(report->profile, "generic");
  EXPECT_THAT(report->profile_evidence, ElementsAre("named by --profile"));
  EXPECT_GT(report->duration_ms, 0);
  EXPECT_EQ(status, exit_status(report->verdict));
  EXPECT_EQ(caller_.notes(), "");
}

TEST_F(CheckTest, ChoosesTheProfileByTheHardware) {
  auto asked = command();
  asked.profile.clear();
  (void)check(asked);
  const auto report = parse_report(caller_.out());
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->profile, "generic");
  EXPECT_FALSE(report->profile_evidence.empty());
}

TEST_F(CheckTest, RunsOnlyTheSelectedChecks) {
  auto asked = command();
  asked.skip = {"muster.state"};
  (void)check(asked);
  const auto report = parse_report(caller_.out());
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_EQ(report->checks.size(), 1U);
  EXPECT_EQ(report->checks[0].id, "muster.probes");
}

TEST_F(CheckTest, ASavedSnapshotHasTheSameReport) {
  auto asked = command();
  asked.save_snapshot = path("node.json");
  const int status = check(asked);
  TestCaller later;
  auto again = command();
  again.snapshots = {path("node.json")};
  EXPECT_EQ(run_replay(again, later.caller()), status);
  const auto first = parse_report(caller_.out());
  const auto second = parse_report(later.out());
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->findings, second->findings);
  EXPECT_EQ(first->checks, second->checks);
}

TEST_F(CheckTest, SnapshotsAreReadableByTheirOwnerOnly) {
  auto asked = command();
  asked.save_snapshot = path("kept.json");
  (void)check(asked);
  Deadline deadline(Clock::now() + std::chrono::seconds(30));
  EXPECT_EQ(
      run_snapshot({.profile = "generic", .output = path("written.json"), .root = path("root")},
                   caller_.caller(), deadline),
      0);
  for (const auto* name : {"kept.json", "written.json"}) {
    EXPECT_EQ(std::filesystem::status(path(name)).permissions(), std::filesystem::perms{0600})
        << name;
  }
}

TEST_F(CheckTest, WritesTheStateToTheGivenFolder) {
  auto asked = command();
  asked.state = path("state");
  std::filesystem::create_directory(dir_.path() / "state");
  (void)check(asked);
  EXPECT_TRUE(std::filesystem::is_regular_file(dir_.path() / "state/state.json"));
  EXPECT_EQ(caller_.notes(), "");
}

TEST_F(CheckTest, WritesNothingBelowAForeignRoot) {
  (void)check(command());
  EXPECT_FALSE(std::filesystem::exists(dir_.path() / "root/var"));
}

TEST_F(CheckTest, AStateThatCannotBeWrittenIsAWarning) {
  (void)check(command());
  const auto without_state = parse_report(caller_.out());
  TestCaller other;
  auto asked = command();
  dir_.write("file", "in the way");
  asked.state = path("file/below");
  Deadline deadline(Clock::now() + std::chrono::seconds(30));
  const int status = run_check(asked, other.caller(), deadline);
  EXPECT_THAT(other.notes(), HasSubstr("muster: warning: cannot write the state of this run: "));
  ASSERT_TRUE(without_state);
  EXPECT_EQ(status, exit_status(without_state->verdict));
}

TEST_F(CheckTest, WritesTheReportToAFile) {
  auto asked = command();
  asked.output = path("report.json");
  (void)check(asked);
  EXPECT_EQ(caller_.out(), "");
  EXPECT_TRUE(parse_report(content_of(dir_.path() / "report.json")));
}

TEST_F(CheckTest, ADashIsStandardOutput) {
  auto asked = command();
  asked.output = "-";
  (void)check(asked);
  EXPECT_TRUE(parse_report(caller_.out()));
}

TEST_F(CheckTest, AReportThatCannotBeWrittenIsUndecided) {
  auto asked = command();
  asked.output = path("missing/report.json");
  EXPECT_EQ(check(asked), kExitUndecided);
  EXPECT_THAT(caller_.notes(), HasSubstr("No such file or directory"));
  EXPECT_TRUE(parse_report(caller_.out())) << "it is printed, then: " << caller_.out();

  caller_.break_output("write to standard output: No space left on device");
  EXPECT_EQ(check(command()), kExitUndecided);
  EXPECT_THAT(caller_.notes(), HasSubstr("No space left on device"));
}

TEST_F(CheckTest, ASnapshotThatCannotBeSavedIsUndecidedUnlessTheNodeIsUnhealthy) {
  dir_.write("root/proc/meminfo", "MemTotal: 1024 kB\nSwapTotal: 0 kB\n");
  auto asked = command();
  asked.only = {"host.swap"};
  asked.settings = {"host.swap.total=0 B"};
  ASSERT_EQ(check(asked), kExitHealthy) << caller_.out();
  asked.save_snapshot = path("missing/node.json");
  EXPECT_EQ(check(asked), kExitUndecided);
  asked.settings = {"host.swap.total=1 GiB", "host.swap.warn_as=fail"};
  EXPECT_EQ(check(asked), kExitUnhealthy);
  EXPECT_THAT(caller_.notes(), HasSubstr("missing/node.json"));
}

TEST_F(CheckTest, ReportsBadConfigurationWithoutObserving) {
  auto asked = command();
  asked.settings = {"host.memory.total=5"};
  EXPECT_EQ(check(asked), kExitConfiguration);
  EXPECT_THAT(caller_.out(), IsEmpty());
  EXPECT_THAT(caller_.notes(), HasSubstr("host.memory.total"));
}

TEST_F(CheckTest, ReportsBadConfigurationOfARecognisedProfile) {
  auto asked = command();
  asked.profile.clear();
  asked.settings = {"host.memory.total=5"};
  EXPECT_EQ(check(asked), kExitConfiguration);
}

TEST_F(CheckTest, ARootThatIsNotADirectoryIsUndecided) {
  auto asked = command();
  asked.root = path("nowhere");
  EXPECT_EQ(check(asked), kExitUndecided);
  EXPECT_THAT(caller_.notes(), HasSubstr("nowhere"));
}

TEST_F(CheckTest, TheDefaultDeadlineIsTheContexts) {
  const auto caller = caller_.caller();
  Deadline deadline(caller.started + std::chrono::seconds(20));
  auto asked = command();
  asked.context = "boot";
  asked.settings = {"contexts.boot.deadline=40 s"};
  (void)run_check(asked, caller, deadline);
  EXPECT_EQ(deadline.when(), caller.started + std::chrono::seconds(40));

  asked.deadline = Seconds{10};
  deadline.move(caller.started + std::chrono::seconds(10));
  (void)run_check(asked, caller, deadline);
  EXPECT_EQ(deadline.when(), caller.started + std::chrono::seconds(10));
}

TEST_F(CheckTest, SnapshotPrintsWhatWasObserved) {
  Deadline deadline(Clock::now() + std::chrono::seconds(30));
  EXPECT_EQ(run_snapshot({.profile = "generic", .root = path("root")}, caller_.caller(), deadline),
            0);
  const auto snapshot = parse_snapshot(caller_.out());
  ASSERT_TRUE(snapshot) << snapshot.error().message;
  EXPECT_EQ(snapshot->identity->hostname, "node-7");
}

}  // namespace
}  // namespace muster::app
