// SPDX-License-Identifier: Apache-2.0
// Observes and judges a node below an almost empty root.
#include <fmt/format.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "checks/app/inspect.hpp"
#include "lib/node/snapshot.hpp"
#include "lib/report/report.hpp"
#include "tests/checks/app/test_caller.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::app {
namespace {

using ::testing::Field;

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

  int check(const CheckCommand& command) { return run_check(command, caller_.caller(), deadline_); }

  // The report that `muster check` prints.
  Report report_of(const CheckCommand& command) {
    status_ = check(command);
    const auto report = parse_report(caller_.out());
    EXPECT_TRUE(report) << report.error().message;
    return report.value_or(Report{});
  }

  TempDir dir_;
  TestCaller caller_;
  Deadline deadline_{Clock::now() + std::chrono::seconds(30)};
  int status_ = 0;
};

TEST_F(CheckTest, ReportsOnTheNodeBelowTheRoot) {
  auto asked = command();
  asked.context = "prolog";
  asked.skip = {"muster.state"};
  const auto report = report_of(asked);
  EXPECT_EQ(report.node, "node-7");
  EXPECT_EQ(report.context, "prolog");
  EXPECT_EQ(report.profile, "generic");
  EXPECT_THAT(report.profile_evidence, ElementsAre("named by --profile"));
  EXPECT_GT(report.duration_ms, 0);
  EXPECT_THAT(report.checks, ElementsAre(Field(&CheckResult::id, "muster.probes")));
  EXPECT_EQ(status_, exit_status(report.verdict));
  EXPECT_EQ(caller_.notes(), "");
}

TEST_F(CheckTest, ChoosesTheProfileByTheHardware) {
  auto asked = command();
  asked.profile.clear();
  const auto report = report_of(asked);
  EXPECT_EQ(report.profile, "generic");
  EXPECT_FALSE(report.profile_evidence.empty());
}

TEST_F(CheckTest, ASavedSnapshotHasTheSameReport) {
  auto asked = command();
  asked.save_snapshot = path("node.json");
  const auto first = report_of(asked);
  TestCaller later;
  auto again = command();
  again.snapshots = {path("node.json")};
  EXPECT_EQ(run_replay(again, later.caller()), status_);
  const auto second = parse_report(later.out());
  ASSERT_TRUE(second);
  EXPECT_EQ(first.findings, second->findings);
  EXPECT_EQ(first.checks, second->checks);
}

TEST_F(CheckTest, SnapshotsAreReadableByTheirOwnerOnly) {
  auto asked = command();
  asked.save_snapshot = path("kept.json");
  (void)check(asked);
  EXPECT_EQ(
      run_snapshot({.profile = "generic", .output = path("written.json"), .root = path("root")},
                   caller_.caller(), deadline_),
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

TEST_F(CheckTest, FollowsNoLinkOfAnotherUserToTheState) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root gives files away";
  std::filesystem::create_directories(dir_.path() / "real");
  std::filesystem::create_directory_symlink("real", dir_.path() / "theirs");
  ASSERT_EQ(::lchown(path("theirs").c_str(), 1001, 1001), 0);
  for (const auto* name : {"theirs", "theirs/below"}) {
    auto asked = command();
    asked.state = path(name);
    EXPECT_EQ(check(asked), kExitUndecided);
    EXPECT_THAT(caller_.notes(), HasSubstr("theirs is a link of another user"));
  }
  EXPECT_TRUE(std::filesystem::is_empty(dir_.path() / "real"));
}

TEST_F(CheckTest, WritesNothingBelowAForeignRoot) {
  (void)check(command());
  EXPECT_FALSE(std::filesystem::exists(dir_.path() / "root/var"));
}

TEST_F(CheckTest, AStateThatCannotBeWrittenIsAWarning) {
  const auto without_state = report_of(command());
  auto asked = command();
  dir_.write("file", "in the way");
  asked.state = path("file/below");
  EXPECT_EQ(check(asked), exit_status(without_state.verdict));
  EXPECT_THAT(caller_.notes(), HasSubstr("muster: warning: cannot save the state of this run: "));
}

TEST_F(CheckTest, WritesTheReportToAFileOrForADashToStandardOutput) {
  auto asked = command();
  asked.output = path("report.json");
  (void)check(asked);
  EXPECT_EQ(caller_.out(), "");
  const auto report = parse_report(dir_.read("report.json"));
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->context, "manual");
  asked.output = "-";
  (void)report_of(asked);
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
  asked.profile.clear();  // recognised
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
  EXPECT_EQ(run_snapshot({.profile = "generic", .root = path("root")}, caller_.caller(), deadline_),
            0);
  const auto snapshot = parse_snapshot(caller_.out());
  ASSERT_TRUE(snapshot) << snapshot.error().message;
  EXPECT_EQ(snapshot->identity->hostname, "node-7");
}

class ExamineTest : public CheckTest {
 protected:
  [[nodiscard]] Attempt<ObservedNode> examine_root(const std::string& profile) {
    const ObservationRequest request{
        .profile = profile, .root = (dir_.path() / "root").string(), .probes = [](const Profile*) {
          return ProbeSet(Probe::environment);
        }};
    const std::map<std::string, std::string> variables{{"NCCL_DEBUG", "TRACE"}};
    return observe_node(request, variables, Clock::now(), deadline_);
  }
};

TEST_F(ExamineTest, ReadsTheNcclSettingsOfAForeignNodeInsteadOfTheCallers) {
  auto observed = examine_root("generic");
  ASSERT_TRUE(observed) << observed.error().message;
  ASSERT_TRUE(observed->snapshot.environment->nccl);
  EXPECT_THAT(*observed->snapshot.environment->nccl, IsEmpty());
  dir_.write("root/etc/nccl.conf", "NCCL_DEBUG=INFO\n");
  observed = examine_root("generic");
  ASSERT_TRUE(observed->snapshot.environment->nccl);
  EXPECT_THAT(*observed->snapshot.environment->nccl,
              ElementsAre(Field(&NcclSetting::value, "INFO")));
}

TEST_F(ExamineTest, AnUnknownCheckInTheSiteFileIsBadConfiguration) {
  dir_.write("root/etc/muster/muster.yaml",
             "overrides:\n  contexts:\n    manual:\n      run: [ib.stat, host.mounts]\n");
  for (const auto* profile : {"generic", ""}) {
    const auto observed = examine_root(profile);
    ASSERT_FALSE(observed);
    EXPECT_EQ(observed.error().status, 78);
    EXPECT_EQ(observed.error().message,
              fmt::format("{}/root/etc/muster/muster.yaml:4: 'contexts.manual.run' names unknown "
                          "check \"ib.stat\"; did you mean 'ib.state'?",
                          dir_.path().string()));
  }
}

TEST(WantedTest, IsNamedByTheProfile) {
  Profile profile;
  profile.host->sysctl.values = {{"vm.zone_reclaim_mode", "0"}};
  profile.host->programs = {.executable = {"/usr/bin/enroot"}, .present = {"/etc/slurm"}};
  profile.host->container_storage.paths = {"/mnt/nvme"};
  profile.host->mounts.answer_within = Seconds{1.5};
  profile.env->libraries.required = {"libibverbs.so.1"};
  profile.env->libraries.optional = {"libnccl.so.2"};
  profile.topo->nccl_file.path = "/opt/topo.xml";
  const auto wanted = wanted_of(profile);
  EXPECT_THAT(wanted.sysctls, ElementsAre("vm.zone_reclaim_mode"));
  EXPECT_THAT(wanted.files, ElementsAre("/usr/bin/enroot", "/etc/slurm", "/mnt/nvme"));
  EXPECT_THAT(wanted.libraries, ElementsAre("libibverbs.so.1", "libnccl.so.2"));
  EXPECT_EQ(wanted.nccl_topology, "/opt/topo.xml");
  EXPECT_EQ(wanted.statfs_deadline, std::chrono::milliseconds(1500));
}

class NhcConfTest : public CheckTest {
 protected:
  NhcConfTest() { dir_.write("root/sys/class/net/eth0/operstate", "up\n"); }

  int check_lines(std::string_view configuration, CheckCommand command = {}) {
    dir_.write("nhc.conf", configuration);
    command.profile = "generic";
    if (command.nhc_conf.empty()) command.nhc_conf = path("nhc.conf");
    command.format = Format::json;
    if (command.snapshots.empty()) command.root = path("root");
    TestCaller caller;
    const int status = command.snapshots.empty() ? run_check(command, caller.caller(), deadline_)
                                                 : run_replay(command, caller.caller());
    notes_ = caller.notes();
    report_ = parse_report(caller.out()).value_or(Report{});
    return status;
  }

  [[nodiscard]] std::vector<std::string> outcomes() const {
    std::vector<std::string> outcomes;
    for (const auto& check : report_.checks) {
      outcomes.push_back(fmt::format("{} {}", to_string(check.outcome), check.id));
    }
    return outcomes;
  }

  Report report_;
  std::string notes_;
};

TEST_F(NhcConfTest, TheLinesForThisNodeDecide) {
  EXPECT_EQ(check_lines("* || check_hw_eth eth0\nnode-8 || check_hw_eth eth9\n"), 0);
  EXPECT_THAT(outcomes(), ElementsAre("pass nhc.check_hw_eth"));
  EXPECT_EQ(report_.node, "node-7");
  EXPECT_EQ(report_.profile, "generic");
  EXPECT_EQ(check_lines("node-[0-9] || check_hw_eth eth9\n"), 1);
  ASSERT_EQ(report_.findings.size(), 1U);
  EXPECT_EQ(report_.findings.front().message,
            fmt::format("no interface eth9 ({}:1)", path("nhc.conf")));
  EXPECT_EQ(check_lines("* || check_hw_eth eth0\n* || check_this\n"), 2);
  EXPECT_THAT(outcomes(), ElementsAre("pass nhc.check_hw_eth", "unknown nhc.check_this"));
}

TEST_F(NhcConfTest, ASavedSnapshotHasTheSameReport) {
  constexpr std::string_view kLines = "* || check_hw_eth eth0\n* || check_hw_eth eth9\n";
  EXPECT_EQ(check_lines(kLines, {.save_snapshot = path("node.json")}), 1);
  const auto first = outcomes();
  EXPECT_EQ(check_lines(kLines, {.snapshots = {path("node.json")}}), 1);
  EXPECT_EQ(outcomes(), first);
}

TEST_F(NhcConfTest, AFileThatCannotBeReadIsBadConfiguration) {
  for (const auto& snapshots : {std::vector<std::string>{}, {path("node.json")}}) {
    EXPECT_EQ(check_lines("", {.nhc_conf = path("gone.conf"), .snapshots = snapshots}),
              kExitConfiguration);
    EXPECT_THAT(notes_, HasSubstr("gone.conf: No such file or directory"));
    EXPECT_TRUE(report_.checks.empty());
  }
}

TEST_F(NhcConfTest, InAFolderReadsTheFileForTheSize) {
  dir_.write("conf/nd96isr_h100_v5.conf", "* || check_hw_eth eth0\n");
  dir_.write("conf/hb120rs_v3.conf", "* || check_hw_eth eth9\n");
  const CheckCommand asked{.nhc_conf = path("conf"), .save_snapshot = path("sized.json")};
  EXPECT_EQ(check_lines("", asked), kExitConfiguration);
  EXPECT_THAT(notes_, HasSubstr("the size of this node is unknown"));
  dir_.write(
      "root/run/cloud-init/instance-data.json",
      R"({"ds": {"meta_data": {"imds": {"compute": {"vmSize": "Standard_ND96isr_H100_v5"}}}}})");
  EXPECT_EQ(check_lines("", asked), 0);
  EXPECT_EQ(outcomes(), std::vector<std::string>{"pass nhc.check_hw_eth"});
  EXPECT_EQ(check_lines("", {.nhc_conf = path("conf"), .snapshots = {path("sized.json")}}), 0);
  EXPECT_EQ(outcomes(), std::vector<std::string>{"pass nhc.check_hw_eth"});
  dir_.remove("conf/nd96isr_h100_v5.conf");
  EXPECT_EQ(check_lines("", asked), kExitConfiguration);
  EXPECT_THAT(notes_, HasSubstr("nd96isr_h100_v5.conf: No such file or directory"));
}

TEST_F(NhcConfTest, AFileThatIsTooLargeIsBadConfiguration) {
  EXPECT_EQ(check_lines(std::string(1024UL * 1024 + 1, '#')), kExitConfiguration);
  EXPECT_THAT(notes_, HasSubstr("nhc.conf"));
}

}  // namespace
}  // namespace muster::app
