// SPDX-License-Identifier: Apache-2.0
// The commands for Slurm without a Slurm: a hook never fails a node for that.
#include <gmock/gmock.h>

#include <map>
#include <nlohmann/json.hpp>

#include "lib/base/text.hpp"
#include "slurm/drains/last_look.hpp"
#include "tests/slurm/commands/fake_slurm.hpp"
#include "tests/support/files.hpp"

namespace muster::app {
namespace {

using ::testing::_;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr slurm::Time kThen{std::chrono::seconds(1'800'000'000)};

class SlurmCommandsTest : public SlurmTest {
 protected:
  SlurmCommandsTest() { dir_.remove("slurm.conf"); }

  // A history with a drain of n1 long ago, and of n2 now, and a refusal.
  void write_history() const {
    auto history = slurm::History::open(history_file(path("state")));
    ASSERT_TRUE(history) << history.error().message;
    const slurm::Event drained{.at = kThen - std::chrono::hours(24 * 365 * 10),
                               .node = "n1",
                               .kind = "drained",
                               .context = "periodic",
                               .check = "ib.rate",
                               .device = "mlx5_ib5",
                               .message = "200 Gb/s, expected 400 Gb/s",
                               .reason = "muster: ib.rate mlx5_ib5: 200 Gb/s",
                               .boot_id = "b1"};
    auto refused = drained;
    refused.kind = "refused";
    refused.context = "prolog";
    refused.job = "4711";
    auto later = drained;
    later.node = "n2";
    later.at = wall_time();
    later.message = "line\nbreak";
    for (const auto& event : {drained, refused, later}) ASSERT_TRUE(history->add(event));
  }

  [[nodiscard]] std::vector<std::string> lines() const {
    const auto lines = split_lines(caller_.out());
    return {lines.begin(), lines.end()};
  }

  [[nodiscard]] DrainCommand cable() const {
    return {.nodes = {"n1"}, .reason = "cable", .root = path("root"), .state = path("state")};
  }
};

TEST_F(SlurmCommandsTest, HistoryListsDrainsAndNoRefusals) {
  write_history();
  EXPECT_EQ(run_history({.nodes = {"n1"}, .state = path("state")}, caller_.caller()), 0);
  EXPECT_EQ(caller_.out(),
            "2017-01-17T08:00:00Z drained n1 periodic: 200 Gb/s, expected 400 Gb/s\n");
}

TEST_F(SlurmCommandsTest, EventsListsAllAndNamesTheJob) {
  write_history();
  EXPECT_EQ(run_events({.state = path("state")}, caller_.caller()), 0);
  EXPECT_THAT(lines(), ElementsAre(HasSubstr(" drained n1 periodic: "),
                                   HasSubstr(" refused n1 prolog job 4711: "),
                                   HasSubstr(" drained n2 periodic: line\\x0abreak")));
}

TEST_F(SlurmCommandsTest, EventsAreJsonLinesOfTheirSchema) {
  write_history();
  EXPECT_EQ(run_events({.nodes = {"n1"}, .form = EventForm::json, .state = path("state")},
                       caller_.caller()),
            0);
  ASSERT_EQ(lines().size(), 2U);
  EXPECT_EQ(nlohmann::json::parse(lines().back()),
            (nlohmann::json{{"schema", "muster.event/1"},
                            {"id", 2},
                            {"at", "2017-01-17T08:00:00Z"},
                            {"node", "n1"},
                            {"kind", "refused"},
                            {"context", "prolog"},
                            {"job", "4711"},
                            {"check", "ib.rate"},
                            {"device", "mlx5_ib5"},
                            {"message", "200 Gb/s, expected 400 Gb/s"},
                            {"reason", "muster: ib.rate mlx5_ib5: 200 Gb/s"},
                            {"boot_id", "b1"}}));
}

TEST_F(SlurmCommandsTest, SinceLeavesOutWhatIsOlder) {
  write_history();
  EXPECT_EQ(run_history({.since = Seconds{3600}, .state = path("state")}, caller_.caller()), 0);
  EXPECT_THAT(lines(), ElementsAre(HasSubstr(" drained n2 ")));
}

TEST_F(SlurmCommandsTest, AHistoryThatCannotBeReadIsUndecided) {
  std::filesystem::create_directories(path("state/events.jsonl"));
  EXPECT_EQ(run_history({.state = path("state")}, caller_.caller()), kExitUndecided);
  EXPECT_EQ(run_events({.state = path("state")}, caller_.caller()), kExitUndecided);
  EXPECT_EQ(caller_.out(), "");
  EXPECT_THAT(caller_.notes(), HasSubstr("events.jsonl"));
}

TEST_F(SlurmCommandsTest, ANodeWithoutAHistoryIsNoError) {
  std::filesystem::create_directories(path("fresh"));
  for (const auto* folder : {"fresh", "none", "none/below"}) {
    EXPECT_EQ(run_history({.state = path(folder)}, caller_.caller()), 0);
    EXPECT_EQ(run_events({.state = path(folder)}, caller_.caller()), 0);
    EXPECT_THAT(caller_.notes(), HasSubstr(fmt::format("no events yet in {}\n", path(folder))));
  }
  EXPECT_EQ(caller_.out(), "");
}

TEST_F(SlurmCommandsTest, HostfileListsTheNodesOfThisJob) {
  auto caller = caller_.caller();
  caller.variables["SLURM_JOB_NODELIST"] = "gpu-[007-008],login1";
  EXPECT_EQ(run_hostfile({.slots = 8}, caller), 0);
  EXPECT_EQ(caller_.out(), "gpu-007 slots=8\ngpu-008 slots=8\nlogin1 slots=8\n");
}

TEST_F(SlurmCommandsTest, HostfileOfAListNeedsNoJob) {
  EXPECT_EQ(run_hostfile({.nodes = {"n1", "n2"}}, caller_.caller()), 0);
  EXPECT_EQ(caller_.out(), "n1\nn2\n");
}

TEST_F(SlurmCommandsTest, HostfileWithoutAJobIsBadUsage) {
  EXPECT_EQ(run_hostfile({}, caller_.caller()), kExitUsage);
  EXPECT_THAT(caller_.notes(), HasSubstr("SLURM_JOB_NODELIST is not set"));
}

TEST_F(SlurmCommandsTest, HostfileNamesTheVariableOfAnInvalidList) {
  auto caller = caller_.caller();
  caller.variables["SLURM_JOB_NODELIST"] = "gpu-[007-";
  EXPECT_EQ(run_hostfile({}, caller), kExitUndecided);
  EXPECT_THAT(caller_.notes(), StartsWith("muster: SLURM_JOB_NODELIST: "));
}

TEST_F(SlurmCommandsTest, AdminsLearnThatSlurmIsMissing) {
  EXPECT_EQ(run_drain(cable(), caller()), kExitUndecided);
  EXPECT_EQ(run_resume({.nodes = {"n1"}, .root = path("root"), .state = path("state")}, caller()),
            kExitUndecided);
  EXPECT_THAT(caller_.notes(), HasSubstr("SLURM_CONF names a missing file"));
}

TEST_F(SlurmCommandsTest, AdminsNeedNoHistoryAndADryRunCreatesNone) {
  auto dry = cable();
  dry.dry_run = true;
  EXPECT_EQ(run_drain(dry, caller()), kExitUndecided);  // without Slurm
  EXPECT_FALSE(std::filesystem::exists(path("state")));
  dir_.write("state", "no folder");
  EXPECT_EQ(run_drain(cable(), caller()), kExitUndecided);
  EXPECT_THAT(caller_.notes(),
              AllOf(HasSubstr("state/events.jsonl"), HasSubstr("SLURM_CONF names a missing file")));
}

TEST_F(SlurmCommandsTest, AdminsCommandsBelowARootNeedAStateFolder) {
  auto homeless = cable();
  homeless.state.clear();
  EXPECT_EQ(run_drain(homeless, caller()), kExitUndecided);
  EXPECT_THAT(caller_.notes(), HasSubstr("needs --state"));
}

// A script that tries again after status 2 would never end.
TEST_F(SlurmCommandsTest, OnlyAReportOfAJobCanNameNodesToDrain) {
  constexpr std::string_view kReport =
      R"({{"schema":"muster.report/1",{}"profile":"p","context":"manual","started":"",
"duration_ms":1,"verdict":"unhealthy","checks":[],"findings":[],"probes":[]}})";
  const auto drain = [&](std::string_view text) {
    dir_.write("report.json", std::string(text));
    auto command = cable();
    command.nodes.clear();
    command.reason.clear();
    command.report = path("report.json");
    return run_drain(command, caller());
  };
  for (const auto& text : {std::string(), std::string("{}"), std::string("text"),
                           fmt::format(kReport, R"("node":"n1",)"), fmt::format(kReport, "")}) {
    EXPECT_EQ(drain(text), kExitConfiguration) << text;
    EXPECT_THAT(caller_.notes(), HasSubstr("report.json: "));
  }
  EXPECT_EQ(drain(fmt::format(kReport, R"("nodes":["n1","n2"],"accused":[],)")), kExitHealthy);
}

// The example with its marks taken away; see the tests of the shipped profiles.
TEST_F(SlurmCommandsTest, TheExampleForASiteShowsEveryKeyWithItsDefault) {
  const auto shipped = source_file("configs/muster.yaml");
  std::string example;
  for (const auto line : split_lines(shipped)) {
    const bool prose = line.starts_with("# ") && !line.starts_with("#  ");
    const bool marked = line.starts_with('#') && !prose;
    example.append(marked ? line.substr(1) : line).append("\n");
  }
  dir_.write("etc/muster/muster.yaml", example);
  const auto rules = read_rules(dir_.path().string(), caller_.caller().variables);
  ASSERT_TRUE(rules) << rules.error().message;
  EXPECT_THAT(rules->unknown, ElementsAre(Pair("*", "keep"), Pair("gpu.present", "drain")));
  const auto block = example.substr(example.find("\nslurm:"));
  const auto document = source_file("docs/slurm-reference.md");
  const auto expect_shown = [&](std::string_view indent, std::string_view key) {
    EXPECT_THAT(block, HasSubstr(fmt::format("\n{}{}:", indent, key)));
    EXPECT_THAT(document, HasSubstr(fmt::format("\n| `{}` | ", key)));
  };
  const slurm::Rules defaults;
  for_each_field<slurm::Rules>([&](const auto& field) {
    if (field.name != "sweep" && field.name != "tell") expect_shown("  ", field.name);
    if (field.name == "unknown") return;
    EXPECT_TRUE((*rules).*field.member == defaults.*field.member) << field.name;
  });
  for_each_field<slurm::TellRules>([&](const auto& field) { expect_shown("    ", field.name); });
  for_each_field<slurm::SweepRules>([&](const auto& field) { expect_shown("    ", field.name); });
}

TEST_F(SlurmCommandsTest, TheGuideNamesEveryKeyOfAnEvent) {
  const auto document = source_file("docs/slurm-reference.md");
  const auto event = nlohmann::json::parse(slurm::to_json_line(slurm::Event{.node = "n1"}));
  for (const auto& [key, value] : event.items()) {
    EXPECT_THAT(document, HasSubstr(fmt::format("\n| `{}` | ", key)));
  }
}

// A node about which nothing is known. The site drains such nodes, so Slurm is needed.
class HookTest : public SlurmCommandsTest {
 protected:
  void begin_slurm(std::string_view rules) const {
    dir_.write("slurm.conf", "");
    slurm_.site(rules);
  }

  void write_rules(std::string_view rules) const {
    dir_.write("root/etc/muster/muster.yaml",
               fmt::format("schema: muster.site/1\nslurm:\n{}", rules));
  }

  [[nodiscard]] static HookCommand command(std::string context) {
    return {.context = std::move(context), .profile = "generic"};
  }

  int hook(const HookCommand& command) { return SlurmTest::hook(command, check_node, {}, late); }

  [[nodiscard]] static HookCommand dry(std::string context) {
    auto dry = command(std::move(context));
    dry.dry_run = true;
    return dry;
  }

  // All files of the test, and when each was written last.
  [[nodiscard]] std::map<std::string, std::filesystem::file_time_type> files() const {
    std::map<std::string, std::filesystem::file_time_type> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(dir_.path())) {
      found.emplace(entry.path().string(), entry.last_write_time());
    }
    return found;
  }

  static constexpr std::string_view kDrainUnknown = "  unknown: {\"*\": drain}\n";

  std::chrono::milliseconds late{0};  // how long a hook has been running
};

TEST_F(HookTest, PassesWithoutSlurmAndReportsIt) {
  write_rules(kDrainUnknown);
  EXPECT_EQ(hook(command("boot")), 0);
  EXPECT_THAT(caller_.out(),
              HasSubstr("muster: refused n7: host.cpu: cannot reach Slurm: SLURM_CONF names a "
                        "missing file"));
  EXPECT_THAT(events(), ElementsAre(StartsWith("refused boot: host.cpu: cannot reach Slurm")));
}

TEST_F(HookTest, DoesNotAskSlurmAboutAHealthyNodeSeenRecently) {
  begin_slurm("");
  slurm_.program("sinfo", "exit 1");
  const slurm::LastLook look(path("state"), "n7");
  std::filesystem::create_directories(path("state"));
  ASSERT_TRUE(look.note("", wall_time()));
  EXPECT_EQ(hook(command("boot")), 0);
  EXPECT_THAT(caller_.out(), Not(HasSubstr("Slurm")));
  EXPECT_THAT(events(), ::testing::IsEmpty());
}

// A wrong installation must be noticed before the first node is sick.
TEST_F(HookTest, AHealthyNodeReportsOncePerBootThatSlurmCannotBeAsked) {
  write_rules("  spread: 0 s\n");
  const auto boot = [&](std::string_view id) {
    dir_.write("root/proc/sys/kernel/random/boot_id", fmt::format("{}\n", id));
  };
  boot("1d0ab6c2-3a5e-4c0e-9a54-0d3c3f0a1b01");
  for (const auto* context : {"periodic", "prolog", "periodic"}) {
    EXPECT_EQ(hook(command(context)), 0);
  }
  const auto says = StartsWith("trouble periodic: cannot reach Slurm: SLURM_CONF names");
  EXPECT_THAT(events(), ElementsAre(says));
  boot("1d0ab6c2-3a5e-4c0e-9a54-0d3c3f0a1b02");
  EXPECT_EQ(hook(command("periodic")), 0);
  EXPECT_THAT(events(), ElementsAre(says, says));
}

// After Slurm could be asked in this boot.
TEST_F(HookTest, AHealthCheckReportsThatSlurmsProgramsBroke) {
  begin_slurm("  spread: 0 s\n");
  dir_.write("root/proc/sys/kernel/random/boot_id", "1d0ab6c2-3a5e-4c0e-9a54-0d3c3f0a1b01\n");
  const auto check = [&] { EXPECT_EQ(hook(command("periodic")), 0); };
  check();
  EXPECT_THAT(events(), ::testing::IsEmpty());
  slurm_.program("scontrol", "echo 'libslurm.so.38: cannot open shared object file' >&2; exit 127");
  for (int i = 0; i < 3; ++i) check();
  const auto broken =
      "trouble periodic: cannot reach Slurm: scontrol ended with status 127: "
      "libslurm.so.38: cannot open shared object file";
  EXPECT_THAT(events(), ElementsAre(broken));
  EXPECT_THAT(caller_.out(), HasSubstr("muster: trouble n7: cannot reach Slurm: scontrol"));
  std::filesystem::remove(path("bin/sinfo"));
  check();
  EXPECT_THAT(events(), ElementsAre(broken));
}

// Like the drain's reason.
TEST_F(HookTest, TheLineLeadsWithTheFaultThatTheNodeIsDrainedFor) {
  begin_slurm("");
  const CheckNode two_faults = [](const auto&...) -> Attempt<CheckedNode> {
    CheckedNode checked;
    checked.report = {.node = "n7",
                      .context = "prolog",
                      .verdict = Verdict::unhealthy,
                      .checks = {{"host.limits", Outcome::fail}, {"ib.rate", Outcome::fail}},
                      .findings = {{.check = "host.limits",
                                    .device = "node",
                                    .outcome = Outcome::fail,
                                    .message = "64 locked pages",
                                    .remedy = Remedy::fix_config},
                                   {.check = "ib.rate",
                                    .device = "mlx5_ib0",
                                    .outcome = Outcome::fail,
                                    .message = "200 Gb/s",
                                    .remedy = Remedy::report_to_provider}}};
    return checked;
  };
  EXPECT_EQ(SlurmTest::hook(command("prolog"), two_faults), 1);
  EXPECT_THAT(slurm_.node(), HasSubstr("|muster: ib.rate mlx5_ib0: 200 Gb/s, and 1 more"));
  EXPECT_THAT(caller_.out(), HasSubstr("muster: unhealthy: ib.rate mlx5_ib0: 200 Gb/s"));
}

TEST_F(HookTest, ADryRunReportsThatSlurmCannotBeAsked) {
  dir_.write("root/proc/sys/kernel/random/boot_id", "1d0ab6c2-3a5e-4c0e-9a54-0d3c3f0a1b01\n");
  for (int run = 1; run <= 2; ++run) {
    EXPECT_EQ(hook(dry("periodic")), 0);
    EXPECT_THAT(caller_.out(), HasSubstr("muster: trouble n7: cannot reach Slurm: "));
  }
  EXPECT_FALSE(std::filesystem::exists(path("state")));
}

// 23.3 s of 25 s are over and 0.3 s are reserved; a drain takes at least 1.5 s.
TEST_F(HookTest, ADrainWithoutEnoughTimeIsNotSent) {
  begin_slurm(kDrainUnknown);
  late = std::chrono::milliseconds(23'300);
  EXPECT_EQ(hook(command("prolog")), 0);
  EXPECT_THAT(slurm_.node(), StartsWith("n7|main|idle|"));
  EXPECT_THAT(
      events(),
      // The check depends on how much a busy machine did not observe in time.
      ElementsAre(AllOf(StartsWith("refused prolog: "),
                        // On a busy machine there may not even be time to ask for the node's state.
                        AnyOf(EndsWith(": not drained: too little of the hook's time is left to "
                                       "verify the drain"),
                              HasSubstr(": cannot reach Slurm: ")))));
}

TEST_F(HookTest, ASickNodeIsDrainedEvenIfTheHistoryCannotBeWritten) {
  begin_slurm(kDrainUnknown);
  dir_.write("state", "no folder");
  EXPECT_EQ(hook(command("prolog")), 1);
  EXPECT_THAT(slurm_.node(), AllOf(StartsWith("n7|main|drained|root|"), HasSubstr("|muster: ")));
  EXPECT_THAT(caller_.out(),
              AllOf(HasSubstr("muster: trouble n7: "), HasSubstr("muster: drained n7: ")));
}

TEST_F(HookTest, AJobStartsOnASickNodeThatCouldNotBeDrained) {
  write_rules(kDrainUnknown);
  EXPECT_EQ(hook(command("prolog")), 0);
  EXPECT_EQ(hook(command("epilog")), 0);
}

TEST_F(HookTest, ADryRunWritesNoFile) {
  write_rules(kDrainUnknown);
  const auto before = files();
  for (const auto* context : {"prolog", "epilog", "periodic", "boot"}) {
    EXPECT_EQ(hook(dry(context)), 0) << context;
  }
  EXPECT_THAT(caller_.out(), HasSubstr("cannot reach Slurm"));
  EXPECT_EQ(files(), before);
}

TEST_F(HookTest, ADryRunDoesNotChangeAHistory) {
  write_rules(kDrainUnknown);
  ASSERT_EQ(hook(command("boot")), 0);
  const auto before = files();
  ASSERT_THAT(before, Contains(Pair(EndsWith("/events.jsonl"), _)));
  EXPECT_EQ(hook(dry("periodic")), 0);
  EXPECT_EQ(files(), before);
  EXPECT_THAT(events(), SizeIs(1));
}

TEST_F(HookTest, ADryRunNeverFails) {
  write_rules("  on_trouble: fail\n");
  const auto before = files();
  auto broken = dry("prolog");
  broken.profile = path("nowhere.yaml");
  EXPECT_EQ(hook(broken), 0);
  EXPECT_THAT(caller_.out(), AllOf(HasSubstr("muster: trouble n7: "), HasSubstr("nowhere.yaml")));
  EXPECT_EQ(files(), before);
}

// A command line that cannot be parsed cannot request a failure either.
TEST_F(HookTest, RulesThatCannotBeReadPassAndNameFileAndLine) {
  write_rules("  on_trouble: fail\n  clean_runs: 0\n");
  EXPECT_EQ(hook(command("prolog")), 0);
  EXPECT_THAT(caller_.out(),
              AllOf(StartsWith("muster: trouble n7: "),
                    HasSubstr("muster.yaml:4: 'slurm.clean_runs' must be at least 1")));
  EXPECT_THAT(events(), ElementsAre(HasSubstr("'slurm.clean_runs' must be at least 1")));
}

TEST_F(HookTest, AnUnknownKeyOfTheRulesIsNamed) {
  write_rules("  drian: false\n");
  EXPECT_EQ(hook(command("periodic")), 0);
  EXPECT_THAT(caller_.out(), AllOf(HasSubstr("muster.yaml:3"), HasSubstr("drian")));
}

TEST_F(HookTest, MustersOwnTroublePassesUnlessTheSiteWantsAFailure) {
  auto broken = command("prolog");
  broken.profile = path("nowhere.yaml");
  EXPECT_EQ(hook(broken), 0);
  write_rules("  on_trouble: fail\n");
  EXPECT_EQ(hook(broken), 1);
  EXPECT_THAT(events(),
              ElementsAre(AllOf(StartsWith("trouble prolog: "), HasSubstr("nowhere.yaml")),
                          AllOf(StartsWith("trouble prolog: "), HasSubstr("nowhere.yaml"))));
}

TEST_F(HookTest, BelowARootNeedsAStateFolder) {
  Deadline deadline(Clock::now() + std::chrono::seconds(30));
  EXPECT_EQ(run_hook({.context = "boot", .root = path("root")}, caller(), deadline, check_node), 0);
  EXPECT_THAT(caller_.out(), HasSubstr("needs --state"));
}

}  // namespace
}  // namespace muster::app
