// SPDX-License-Identifier: Apache-2.0
// `muster hook --check-setup` on complete and on broken installations.
#include "slurm/commands/check_setup.hpp"

#include <gmock/gmock.h>

#include <map>

#include "tests/slurm/commands/fake_slurm.hpp"

namespace muster::app {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class CheckSetupTest : public ::testing::Test {
 public:
  CheckSetupTest() {
    fs::permissions(dir_.path(), fs::perms(0755));
    for (const auto* name : {"prolog", "epilog", "health_check"}) {
      dir_.write_program(
          fmt::format("hooks/{}", name),
          fmt::format("#!/bin/sh\nmuster={}\nexec \"$muster\" hook\n", dir_.path("muster")));
    }
    dir_.write_program("muster", "");
    fs::create_directory(dir_.path() / "state");
    config_ = {{"SLURM_VERSION", "22.05.8"},
               {"SlurmUser", fmt::format("me({})", ::geteuid())},
               {"SlurmdUser", fmt::format("me({})", ::geteuid())},
               {"Prolog", dir_.path("hooks/prolog")},
               {"Epilog", dir_.path("hooks/epilog")},
               {"HealthCheckProgram", dir_.path("hooks/health_check")},
               {"HealthCheckInterval", "300 sec"},
               {"HealthCheckNodeState", "CYCLE,ANY"},
               {"PrologFlags", "Alloc,Contain"},
               {"PrologEpilogTimeout", "60"},
               {"SchedulerParameters", "bf_interval=30,nohold_on_prolog_fail"},
               {"JobRequeue", "1"},
               {"MessageTimeout", "10 sec"}};
    write_site("");
  }

  void write_site(std::string_view more) const {
    slurm_.site(fmt::format("  conf: {}\n  memory: none\n{}", dir_.path("slurm.conf"), more));
  }

  // Its output. The environment is an admin's, which a hook does not have.
  std::string check() {
    std::string text = "Configuration data as of 2026-11-22T20:58:24\n";
    for (const auto& [key, value] : config_) text += fmt::format("{:<24}= {}\n", key, value);
    dir_.write("config", text);
    slurm_.program("scontrol", scontrol_);
    auto caller = caller_.caller();
    caller.variables = {{"SLURM_CONF", "/nowhere/slurm.conf"}, {"PATH", "/bin"}};
    if (!node_.empty()) caller.variables["SLURMD_NODENAME"] = node_;
    Deadline deadline(Clock::now() + std::chrono::seconds(120));
    const HookCommand command{.root = dir_.path("root"), .state = state_};
    const CheckNode check_node = [this](const HookCommand& asked, const std::string& /*check*/,
                                        const Caller& /*caller*/,
                                        Deadline& /*deadline*/) -> Attempt<CheckedNode> {
      EXPECT_TRUE(asked.dry_run);
      if (!profile_error_.empty()) return bad_configuration(Error{profile_error_});
      CheckedNode node;
      node.report.profile = profile_;
      return node;
    };
    status_ = run_check_setup(command, caller, deadline, check_node);
    return caller_.out();
  }

  TempDir dir_{"/tmp"};
  FakeSlurm slurm_{dir_};
  TestCaller caller_;
  std::map<std::string, std::string> config_;
  std::string scontrol_ = "cat \"$D/config\"";
  std::string node_ = "n7";
  std::string state_ = dir_.path("state");
  std::string profile_ = "nd96isr_h100_v5";
  std::string profile_error_;
  int status_ = -1;
};

TEST_F(CheckSetupTest, AWholeInstallationHasNoFailure) {
  const auto lines = check();
  EXPECT_EQ(status_, 0) << lines;
  EXPECT_THAT(lines, Not(HasSubstr("failure"))) << lines;
  EXPECT_THAT(lines, HasSubstr("ok        Slurm: 22.05.8 answers"));
  EXPECT_THAT(lines, HasSubstr("ok        node: n7 is \"idle\" in Slurm\n"));
  EXPECT_THAT(lines, HasSubstr("ok        profile: nd96isr_h100_v5\n"));
  EXPECT_TRUE(fs::is_empty(dir_.path() / "state"));
}

struct BrokenCase {
  const char* name;
  void (*break_it)(CheckSetupTest&);
  std::string_view line;
};

class BrokenSetups : public CheckSetupTest, public ::testing::WithParamInterface<BrokenCase> {};

TEST_P(BrokenSetups, IsNamed) {
  GetParam().break_it(*this);
  const auto lines = check();
  EXPECT_EQ(status_, 78) << lines;
  EXPECT_THAT(lines, HasSubstr(GetParam().line));
}

using T = CheckSetupTest;

INSTANTIATE_TEST_SUITE_P(
    Installations, BrokenSetups,
    ::testing::Values(
        BrokenCase{
            "NoPrograms",
            [](T& setup) { fs::remove_all(setup.dir_.path() / "bin"), setup.scontrol_ = ""; },
            "failure   Slurm: "},
        BrokenCase{"ConfIsGone", [](T& setup) { setup.dir_.remove("slurm.conf"); },
                   "failure   Slurm: slurm.conf in muster.yaml names a missing file"},
        BrokenCase{"KeyOfTheSite", [](T& setup) { setup.write_site("  drian: true\n"); },
                   "failure   muster.yaml: "},
        BrokenCase{"NodeOfAnotherName", [](T& setup) { setup.node_ = "n8"; },
                   "failure   node: no Slurm partition has a node n8"},
        BrokenCase{"PrologIsGone", [](T& setup) { setup.dir_.remove("hooks/prolog"); },
                   "hooks/prolog does not exist: Slurm drains every node that gets a job"},
        BrokenCase{
            "EpilogIsNotExecutable",
            [](T& setup) { fs::permissions(setup.dir_.path("hooks/epilog"), fs::perms(0644)); },
            "hooks/epilog cannot be read and executed: chmod 755"},
        BrokenCase{"MusterIsGone", [](T& setup) { setup.dir_.remove("muster"); },
                   "/muster, which does not exist"},
        BrokenCase{"PrologsRunTooLate", [](T& setup) { setup.config_["PrologFlags"] = "Contain"; },
                   "failure   PrologFlags: lacks Alloc"},
        BrokenCase{"DrainedNodesAreNotChecked",
                   [](T& setup) { setup.config_["HealthCheckNodeState"] = "IDLE"; },
                   "failure   HealthCheckNodeState: is IDLE: drained nodes are not checked, and "
                   "muster resumes none"},
        BrokenCase{"HealthChecksNeverRun",
                   [](T& setup) { setup.config_["HealthCheckInterval"] = "0 sec"; },
                   "failure   HealthCheckInterval: is 0"},
        BrokenCase{"SlurmEndsHooksFirst",
                   [](T& setup) { setup.config_["PrologEpilogTimeout"] = "20"; },
                   "failure   PrologEpilogTimeout: is 20 s, and a hook may take 25 s"},
        BrokenCase{"SlurmEndsTestsFirst",
                   [](T& setup) {
                     setup.config_["PrologEpilogTimeout"] = "50";
                     setup.write_site("  epilog_tests: gpu.copy\n");
                   },
                   "failure   PrologEpilogTimeout: is 50 s, and a hook may take 55 s"},
        BrokenCase{"SlurmEndsLongTestsFirst",
                   [](T& setup) {
                     setup.write_site("  epilog_tests: gpu.copy\n  tests_budget: 10 min\n");
                   },
                   "is 60 s, and a hook may take 625 s and a little more if something hangs: Slurm "
                   "drains the node of a hook that it ends; set 630, or"},
        BrokenCase{"NoTimeToReportAHang",
                   [](T& setup) { setup.config_["PrologEpilogTimeout"] = "26"; },
                   "failure   PrologEpilogTimeout: is 26 s"},
        BrokenCase{"TestsCannotRun", [](T& setup) { setup.write_site("  boot_tests: gpu.*\n"); },
                   "muster-bench cannot be run: no node could be tested"},
        BrokenCase{"StateFolderIsWritableByAll",
                   [](T& setup) { fs::permissions(setup.dir_.path("state"), fs::perms(0777)); },
                   "failure   state folder: "},
        BrokenCase{"HistoryIsALink",
                   [](T& setup) { setup.dir_.link("state/events.jsonl", "/etc/passwd"); },
                   "events.jsonl is a link: remove it"},
        BrokenCase{"HistoryIsAFolder",
                   [](T& setup) { fs::create_directories(setup.dir_.path("state/events.jsonl")); },
                   "events.jsonl: not a regular file"},
        BrokenCase{"StateFolderIsAFile",
                   [](T& setup) {
                     setup.dir_.write("file", "");
                     setup.state_ = setup.dir_.path("file");
                   },
                   "/file is not a folder"},
        BrokenCase{"ProfileWithAMistake",
                   [](T& setup) { setup.profile_error_ = "site.yaml:3: unknown key"; },
                   "failure   profile: site.yaml:3: unknown key"},
        BrokenCase{"NhcConfIsGone",
                   [](T& setup) { setup.write_site("  nhc_conf: /etc/nhc/nhc.conf\n"); },
                   "/etc/nhc/nhc.conf cannot be read"},
        BrokenCase{"TellProgramIsGone",
                   [](T& setup) { setup.write_site("  tell: {program: /nowhere/tell}\n"); },
                   "failure   tell.program: /nowhere/tell: No such file or directory"},
        BrokenCase{"TellProgramIsWritableByAll",
                   [](T& setup) {
                     setup.dir_.write_program("tell", "#!/bin/sh\n");
                     fs::permissions(setup.dir_.path("tell"), fs::perms(0777));
                     setup.write_site(
                         fmt::format("  tell: {{program: {}}}\n", setup.dir_.path("tell")));
                   },
                   "/tell is writable by others: chmod go-w"},
        BrokenCase{"TellProgramsUserIsUnknown",
                   [](T& setup) {
                     setup.dir_.write_program("tell", "#!/bin/sh\n");
                     setup.write_site(fmt::format("  tell: {{program: {}, user: no-such-user}}\n",
                                                  setup.dir_.path("tell")));
                   },
                   "failure   tell.program: unknown user no-such-user"},
        BrokenCase{"SweepWithoutItsFolder",
                   [](T& setup) { setup.write_site("  sweep: {results: /nowhere/results}\n"); },
                   "failure   sweep.results: /nowhere/results is not a folder"}),
    [](const auto& each) { return each.param.name; });

TEST_F(CheckSetupTest, IsUndecidedWithoutSlurm) {
  scontrol_ = "echo 'slurm_load_ctl_conf error: Unable to contact slurm controller' >&2; exit 1";
  const auto lines = check();
  EXPECT_EQ(status_, 2) << lines;
  EXPECT_THAT(lines, HasSubstr("no answer Slurm: "));
  EXPECT_THAT(lines, HasSubstr("Unable to contact slurm controller"));
  EXPECT_THAT(lines, HasSubstr("ok        profile: "));  // the rest is still checked
}

TEST_F(CheckSetupTest, AUserWhoMayNotDrainNodesIsToldWhoMay) {
  if (::geteuid() == 0) {
    config_["SlurmdUser"] = "slurm(64030)";
    EXPECT_THAT(check(), HasSubstr("warning   user: slurmd runs hooks as "));
    EXPECT_EQ(status_, 0);
    return;
  }
  config_["SlurmUser"] = "slurm(64030)";
  EXPECT_THAT(
      check(),
      HasSubstr(
          "may not drain nodes: run this as the user of the hooks, which is root or SlurmUser"));
  EXPECT_EQ(status_, 78);
}

TEST_F(CheckSetupTest, LesserFaultsAreWarnings) {
  config_["JobRequeue"] = "0";
  config_["SchedulerParameters"] = "(null)";
  config_["PrologEpilogTimeout"] = "65534";
  config_["HealthCheckNodeState"] = "ANY";
  config_["Epilog"] = "(null)";
  dir_.write_program("hooks/health_check", "#!/bin/sh\nexit 0\n");
  profile_ = "generic";
  const auto lines = check();
  EXPECT_EQ(status_, 0) << lines;
  for (const auto* line :
       {"warning   JobRequeue: is 0", "warning   SchedulerParameters: lacks nohold_on_prolog_fail",
        "warning   PrologEpilogTimeout: is not set", "warning   HealthCheckNodeState: lacks CYCLE",
        "warning   Epilog: is not set in slurm.conf",
        "does not name muster: it must call muster hook periodic", "warning   profile: generic"}) {
    EXPECT_THAT(lines, HasSubstr(line));
  }
}

struct PowerSavingCase {
  std::map<std::string, std::string> config;
  std::string partition;  // words of its line
  std::vector<std::string> lines, none;
};

TEST_F(CheckSetupTest, PowerSavingOfADrainedNodeIsNamed) {
  const std::vector<PowerSavingCase> cases = {
      {{}, "SuspendTime=GLOBAL", {}, {"Suspend", "PrivateData"}},
      {{{"SuspendTime", "INFINITE"}},
       "SuspendTime=300",
       {"warning   SuspendTime: is 300 s in partition main: Slurm powers a drained node down",
        "set SuspendTime=INFINITE for its partition, or SuspendExcNodes in slurm.conf",
        "warning   PrivateData: lacks cloud"},
       {"idle_on"}},
      {{{"SuspendTime", "600 sec"}, {"SLURM_VERSION", "24.11.5"}},
       "SuspendTime=GLOBAL",
       {"warning   SuspendTime: is 600 s: ", "set SuspendExcStates=DRAIN in slurm.conf"},
       {"PrivateData"}},
      {{{"SuspendTime", "600 sec"}, {"PrivateData", "jobs,cloud"}},
       "SuspendTime=INFINITE",
       {"ok        SuspendTime: this node is not powered down"},
       {"PrivateData"}},
      {{{"SuspendTime", "600 sec"}, {"SuspendExcNodes", "n[1-9]"}},
       "",
       {"ok        SuspendTime: this node is not powered down"},
       {}},
      {{{"SuspendTime", "600 sec"}, {"SuspendExcNodes", "n[1-9]:2"}},
       "",
       {"warning   SuspendTime: is 600 s"},
       {}},
      {{{"SuspendTime", "600 sec"}, {"SuspendExcParts", "main"}},
       "",
       {"ok        SuspendTime: this node is not powered down"},
       {}},
      {{{"SuspendTime", "600 sec"},
        {"SuspendExcStates", "CLOUD,DRAIN"},
        {"SLURM_VERSION", "23.02.0"},
        {"SlurmctldParameters", "cloud_dns,idle_on_node_suspend"}},
       "",
       {"ok        SuspendTime: a drained node stays up",
        "warning   SlurmctldParameters: has idle_on_node_suspend"},
       {}}};
  const auto whole = config_;
  for (const auto& test : cases) {
    config_ = whole;
    if (!test.config.empty()) config_["SuspendProgram"] = "/usr/sbin/suspend";
    for (const auto& [key, value] : test.config) config_[key] = value;
    scontrol_ = fmt::format(
        "case $* in *partition*) echo 'PartitionName=main Nodes=n7 {}' ;; *) cat \"$D/config\" ;; "
        "esac",
        test.partition);
    caller_ = TestCaller();
    const auto lines = check();
    EXPECT_EQ(status_, 0) << lines;
    for (const auto& line : test.lines) EXPECT_THAT(lines, HasSubstr(line));
    for (const auto& line : test.none) {
      EXPECT_THAT(lines.substr(lines.find("node: n7")), Not(HasSubstr(line)));
    }
  }
}

TEST_F(CheckSetupTest, ChecksEachFileOfAFolderOfPrologs) {
  config_["Prolog"] = dir_.path("hooks/*");
  EXPECT_THAT(check(), HasSubstr("ok        Prolog: "));
  EXPECT_EQ(status_, 0);
  dir_.write_program("hooks/zz", "#!/bin/sh\n");
  fs::permissions(dir_.path("hooks/zz"), fs::perms(0600));
  EXPECT_THAT(check(), HasSubstr("hooks/zz cannot be read and executed"));
}

TEST_F(CheckSetupTest, DoesNotCreateAMissingStateFolder) {
  state_ = dir_.path("new/state");
  EXPECT_THAT(check(), HasSubstr("ok        state folder: "));
  EXPECT_EQ(status_, 0);
  EXPECT_FALSE(fs::exists(dir_.path() / "new"));
}

// The commonest mistake: an admin's shell has it, and a health check does not.
TEST_F(CheckSetupTest, NamesASlurmConfThatOnlyTheShellHas) {
  slurm_.site("  memory: none\n");
  scontrol_ = "echo 'fatal: Could not establish a configuration source' >&2; exit 1";
  const auto lines = check();
  if (fs::exists("/etc/slurm/slurm.conf")) GTEST_SKIP() << "this machine has Slurm's own";
  EXPECT_EQ(status_, 78) << lines;
  EXPECT_THAT(lines,
              AllOf(HasSubstr("failure   slurm.conf: slurmd gives a health check no SLURM_CONF"),
                    HasSubstr("write slurm: conf: /nowhere/slurm.conf into muster.yaml")));
}

}  // namespace
}  // namespace muster::app
