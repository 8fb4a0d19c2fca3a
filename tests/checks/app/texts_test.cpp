// SPDX-License-Identifier: Apache-2.0
// `muster list`, `explain`, `profiles` and `validate`.
#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "accept/accept_checks.hpp"
#include "checks/app/limits_of.hpp"
#include "checks/catalogue.hpp"
#include "lib/base/text.hpp"
#include "lib/profile/yaml.hpp"
#include "lib/report/bench_checks.hpp"
#include "lib/report/report.hpp"
#include "tests/checks/app/test_caller.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::app {
namespace {

using ::testing::ContainsRegex;
using ::testing::Field;
using ::testing::Key;

class TextsTest : public ::testing::Test {
 protected:
  int explain(const ExplainCommand& command) {
    Deadline deadline(Clock::now() + std::chrono::seconds(30));
    return run_explain(command, caller_.caller(), deadline);
  }

  // The explanation of a check under a profile.
  std::string explained(std::string check, std::vector<std::string> settings = {}) {
    const auto before = caller_.out().size();
    EXPECT_EQ(
        explain({.check = std::move(check), .profile = "generic", .settings = std::move(settings)}),
        0);
    return caller_.out().substr(before);
  }

  // Runs `muster profiles` and returns its output.
  std::string printed(const ProfilesCommand& command) {
    EXPECT_EQ(run_profiles(command, caller_.caller()), 0);
    return caller_.out();
  }

  TestCaller caller_;
};

void expect_eighty_columns(std::string_view text) {
  for (const auto line : split_lines(text)) EXPECT_LE(line.size(), 80U) << line;
}

TEST_F(TextsTest, ListNamesEveryCheckWithinEightyColumns) {
  EXPECT_EQ(run_list({}, caller_.caller()), 0);
  std::vector<std::string> ids;
  for (const auto line : split_lines(caller_.out())) {
    EXPECT_LE(line.size(), 80U) << line;
    if (!line.starts_with(' ')) ids.emplace_back(line.substr(0, line.find(' ')));
  }
  std::vector<std::string> expected;
  for (const auto* check : checks::kAll) expected.emplace_back(check->id);
  for (const auto& check : kBenchChecks) expected.emplace_back(check.id);
  for (const auto& check : accept::kAcceptChecks) expected.emplace_back(check.id);
  EXPECT_EQ(ids, expected);
}

TEST_F(TextsTest, ListAsJsonIsJson) {
  EXPECT_EQ(run_list({.form = ListCommand::Form::json}, caller_.caller()), 0);
  const auto list = nlohmann::json::parse(caller_.out(), nullptr, false);
  ASSERT_TRUE(list.is_array());
  EXPECT_EQ(list.size(), checks::kAll.size() + kBenchChecks.size() + accept::kAcceptChecks.size());
  EXPECT_EQ(list[0]["id"], "host.cpu");
  EXPECT_EQ(list[0]["program"], "muster check");
  EXPECT_EQ(list.back()["program"], "muster accept");
}

TEST_F(TextsTest, ExplainKnowsTheChecksOfMusterBench) {
  for (const auto& check : kBenchChecks) {
    EXPECT_EQ(explain({.check = std::string(check.id), .profile = "nd96isr_h100_v5"}), 0);
    EXPECT_THAT(caller_.out(), HasSubstr(std::string(check.id) + ": "));
  }
  EXPECT_THAT(caller_.out(), HasSubstr("Judged by muster-bench."));
  expect_eighty_columns(caller_.out());
}

TEST_F(TextsTest, ExplainKnowsTheChecksOfAnAcceptance) {
  EXPECT_EQ(explain({.check = "accept.order", .profile = "generic"}), 0);
  EXPECT_THAT(caller_.out(),
              AllOf(StartsWith("accept.order: "), HasSubstr("Judged by muster accept."),
                    HasSubstr("no limits of its own")));
  expect_eighty_columns(caller_.out());
}

TEST_F(TextsTest, ExplainGivesEachLimitWithItsPlaceAndSource) {
  EXPECT_THAT(
      explained("host.memory", {"host.memory.total=5 GiB"}),
      AllOf(StartsWith("host.memory: "), HasSubstr("Under profile generic: named by --profile\n"),
            ContainsRegex("  total +5 GiB +--set"),
            ContainsRegex(
                "  tolerance +3% +profiles/defaults.yaml:[0-9]+\n    source: [^\n]+, as of ")));
}

TEST_F(TextsTest, ExplainNamesTheLimitsThatAreNotJudged) {
  EXPECT_THAT(explained("host.memory"), ContainsRegex("  total +not set: not judged"));
  EXPECT_THAT(explained("gpu.power"),
              ContainsRegex("  limit +not set \\(enforced power limit; unset for"));
}

TEST_F(TextsTest, ExplainShortensAndSortsLongTablesAndPrintsASharedSourceOnce) {
  const auto text = explained("host.kernel_log");
  EXPECT_THAT(text, AllOf(HasSubstr("more: muster profiles show generic\n"),
                          ContainsRegex("\n  patterns 1 [^.]+pattern [^\n]+")));
  const auto limits = text.substr(text.find("\nLimits\n"));
  expect_eighty_columns(limits);
  const auto source = limits.find("source: ");
  EXPECT_NE(source, std::string::npos);
  EXPECT_EQ(limits.find("source: ", source + 1), std::string::npos) << limits;
}

TEST_F(TextsTest, ExplainAlignsColumnsAndQuotesValues) {
  EXPECT_THAT(explained("env.nccl"),
              AllOf(HasSubstr("\n  harmful.NCCL_ALGO         \"?*\"   profiles/defaults.yaml:"),
                    HasSubstr("\n  harmful.NCCL_P2P_DISABLE  1      profiles/defaults.yaml:"),
                    HasSubstr("\n  harmful.NCCL_TOPO_FILE    \"\"     profiles/defaults.yaml:")));
}

TEST_F(TextsTest, ExplainNamesTheContextsOfACheck) {
  EXPECT_THAT(explained("pci.acs", {"pci.acs.fail_as=warn"}),
              AllOf(HasSubstr("  Runs in: boot, manual, periodic. Left out in: epilog, prolog.\n"),
                    HasSubstr("  A failure counts as warn, a warning as warn.\n"),
                    HasSubstr("It has no limits of its own.")));
}

TEST_F(TextsTest, ExplainSuggestsTheNearestCheck) {
  EXPECT_EQ(explain({.check = "host.memry", .profile = "generic"}), kExitUsage);
  EXPECT_EQ(caller_.notes(),
            "muster: unknown check \"host.memry\"; did you mean host.memory? (see muster list)\n");
}

TEST_F(TextsTest, ProfilesAreListedWithTheirSummaries) {
  const TempDir data;
  std::filesystem::create_directory(data.path() / "profiles");
  for (const auto* name : {"defaults.yaml", "generic.yaml"}) {
    std::filesystem::copy(fmt::format("{}/configs/profiles/{}", MUSTER_SOURCE_DIR, name),
                          data.path() / "profiles");
  }
  std::filesystem::copy(MUSTER_SOURCE_DIR "/configs/xids.yaml", data.path());
  data.write("profiles/broken.yaml", "schema: muster.profile/1\nhots: {}\n");
  data.write("root/etc/muster/profiles/ours.yaml",
             "schema: muster.profile/1\nextends: generic\nsummary: Our own\n");
  auto caller = caller_.caller();
  caller.variables["MUSTER_DATA_DIR"] = data.path().string();
  EXPECT_EQ(run_profiles({.root = (data.path() / "root").string()}, caller), kExitConfiguration);
  EXPECT_THAT(caller_.out(), ::testing::MatchesRegex("generic +[^\n]+\nours +Our own\n"));
  EXPECT_THAT(caller_.notes(), AllOf(HasSubstr("broken.yaml"), HasSubstr("hots")));
}

TEST_F(TextsTest, ProfilesAreListedWithinEightyColumns) { expect_eighty_columns(printed({})); }

TEST_F(TextsTest, ShowPrintsTheOriginOfEachValue) {
  const auto text = printed({.show = "nd96isr_h100_v5", .settings = {"gpu.present.count=7"}});
  EXPECT_THAT(
      text,
      AllOf(
          StartsWith("# nd96isr_h100_v5: "), HasSubstr("\ngpu.present.count: 7  # --set"),
          HasSubstr("\nbench.hca_write.fail_below: 380 Gb/s"), Not(HasSubstr("not judged yet")),
          ContainsRegex("\nhost.memory.tolerance: [0-9.]+%  # profiles/[a-z0-9_]+.yaml:[0-9]+\n")));
  for (const auto line : split_lines(text)) {
    // A list without blanks cannot be broken.
    EXPECT_TRUE(line.size() <= 80 || line.find('[') != std::string_view::npos) << line;
  }
}

TEST_F(TextsTest, ShowChangedOmitsTheDefaults) {
  EXPECT_THAT(
      printed(
          {.show = "nd96isr_h100_v5", .changed = true, .settings = {"host.disk.fail_above=97%"}}),
      AllOf(HasSubstr("\ngpu.present.count: 8"), HasSubstr("\nhost.disk.fail_above: 97%"),
            Not(HasSubstr("defaults.yaml"))));
}

TEST_F(TextsTest, TheShippedProfilesAreExportedAsTheyAre) {
  const TempDir dir;
  const std::string folder = (dir.path() / "new").string();
  EXPECT_EQ(run_profiles({.export_to = folder}, caller_.caller()), 0);
  for (const auto& name : {"xids.yaml", "profiles/defaults.yaml", "profiles/generic.yaml"}) {
    EXPECT_EQ(read_yaml_text(std::filesystem::path(folder) / name),
              read_yaml_text(std::filesystem::path(MUSTER_SOURCE_DIR "/configs") / name))
        << name;
  }
  auto caller = caller_.caller();
  caller.variables["MUSTER_DATA_DIR"] = folder;
  EXPECT_EQ(run_profiles({.show = "nd96isr_h100_v5"}, caller), 0);
}

TEST_F(TextsTest, AnExportOverwritesNothing) {
  const TempDir dir;
  dir.write("profiles/generic.yaml", "ours");
  EXPECT_EQ(run_profiles({.export_to = dir.path().string()}, caller_.caller()), kExitUndecided);
  EXPECT_EQ(read_yaml_text(dir.path() / "profiles/generic.yaml"), "ours");
  EXPECT_FALSE(std::filesystem::exists(dir.path() / "xids.yaml"));
  EXPECT_THAT(caller_.notes(), HasSubstr("generic.yaml already exists; nothing was written"));
}

TEST_F(TextsTest, TheBuiltInProfilesAreThoseOfTheFolder) {
  const auto shown = [&](const std::string& folder) {
    TestCaller own;
    auto caller = own.caller();
    caller.variables["MUSTER_DATA_DIR"] = folder;
    EXPECT_EQ(run_profiles({.show = "nd96isr_h100_v5"}, caller), 0);
    return own.out();
  };
  EXPECT_EQ(shown(""), shown(MUSTER_SOURCE_DIR "/configs"));
}

TEST_F(TextsTest, AProfileThatDoesNotExistIsBadConfiguration) {
  EXPECT_EQ(run_profiles({.show = "nd96isr_h100_v55"}, caller_.caller()), kExitConfiguration);
  EXPECT_THAT(caller_.notes(), HasSubstr("nd96isr_h100_v5"));
}

TEST(LimitKeysTest, AreThoseOfTheChecksBlockAndOfBlocksWithinIt) {
  EXPECT_THAT(limit_keys("host.memory"),
              ElementsAre(Field(&LimitKey::name, "total"), Field(&LimitKey::name, "tolerance")));
  EXPECT_THAT(limit_keys("pci.link"), Contains(Field(&LimitKey::name, "gpu.speed")));
  EXPECT_THAT(limit_keys("ib.state"), IsEmpty());
  EXPECT_THAT(limit_keys("nothing"), IsEmpty());
}

TEST(ShownValueTest, IsQuotedIfNecessary) {
  EXPECT_EQ(shown_value("32 GT/s"), "32 GT/s");
  EXPECT_EQ(shown_value("[*, ib.*]"), "[*, ib.*]");
  EXPECT_EQ(shown_value(""), "\"\"");
  EXPECT_EQ(shown_value("?*"), "\"?*\"");
  EXPECT_EQ(shown_value(" a\"b"), "\" a\\\"b\"");
  EXPECT_EQ(shown_value(std::string(500, 'x')), std::string(500, 'x'));
}

TEST(NaturalOrderTest, CountsNumbersAsNumbers) {
  EXPECT_TRUE(comes_before("patterns.2", "patterns.10"));
  EXPECT_FALSE(comes_before("patterns.10", "patterns.2"));
  EXPECT_TRUE(comes_before("a.2.kind", "a.2.pattern"));
  EXPECT_TRUE(comes_before("a", "a.b"));
  EXPECT_FALSE(comes_before("a.1", "a.1"));
}

TEST(ValuesAtTest, FindsTheValueAndThoseBelow) {
  Profile profile;
  for (const auto* path : {"a.b", "a.b.c", "a.b_c", "a.b_c.d", "a.c"}) profile.values[path] = {"1"};
  EXPECT_THAT(values_at(profile, "a.b"), ElementsAre(Key("a.b"), Key("a.b.c")));
  EXPECT_THAT(values_at(profile, "a.b_c"), ElementsAre(Key("a.b_c"), Key("a.b_c.d")));
}

class ValidateTest : public ::testing::Test {
 protected:
  int validate() { return run_validate({.root = dir_.path().string()}, caller_.caller()); }

  // The output for a site file with these lines.
  std::string troubles_of(std::string_view text) {
    dir_.write("etc/muster/muster.yaml", std::string(text));
    EXPECT_EQ(validate(), kExitConfiguration) << text;
    return caller_.notes();
  }

  TempDir dir_;
  TestCaller caller_;
};

TEST_F(ValidateTest, AMissingSiteFileIsValid) {
  EXPECT_EQ(validate(), 0);
  EXPECT_THAT(caller_.out(), AllOf(HasSubstr("ok: no "), HasSubstr("using built-in defaults")));
  EXPECT_EQ(caller_.notes(), "");
}

TEST_F(ValidateTest, NamesValidFiles) {
  dir_.write("etc/muster/muster.yaml",
             "profile: trainer\nslurm: {most_drained: 5%, unknown: {\"gpu.*\": drain}}\n");
  dir_.write("etc/muster/profiles/trainer.yaml",
             "extends: generic\nhost: {disk: {enabled: true}}\n");
  EXPECT_EQ(validate(), 0) << caller_.notes();
  EXPECT_THAT(caller_.out(),
              AllOf(HasSubstr("ok: " + dir_.path().string() + "/etc/muster/muster.yaml\n"),
                    HasSubstr("/profiles/trainer.yaml\n")));
}

TEST_F(ValidateTest, ReportsEveryMistakeWithItsLine) {
  EXPECT_THAT(
      troubles_of("slurm:\n"
                  "  most_drained: 200%\n"
                  "  drain: yes please\n"
                  "  clen_runs: 2\n"
                  "  unknown: {gpu.presnt: drain}\n"
                  "  nhc_conf: /etc/nhc/nhc.conf\n"),
      AllOf(HasSubstr("muster.yaml:2: 'slurm.most_drained' is more than all nodes\n"),
            HasSubstr("muster.yaml:3: 'slurm.drain' must be true or false, not \"yes "
                      "please\"\n"),
            HasSubstr("muster.yaml:4: unknown key 'slurm.clen_runs'; did you mean "
                      "'slurm.clean_runs'?\n"),
            HasSubstr("muster.yaml:5: 'slurm.unknown': unknown check \"gpu.presnt\"; did you mean "
                      "gpu.present?\n"),
            HasSubstr("muster.yaml:6: 'slurm.nhc_conf' names "),
            HasSubstr("/etc/nhc/nhc.conf: No such file or directory\n")));
  EXPECT_THAT(caller_.out(), Not(HasSubstr("muster.yaml\n")));
}

TEST_F(ValidateTest, ReportsWhatAKeyMustNotHave) {
  EXPECT_THAT(troubles_of("slurm: [\n"), HasSubstr("muster.yaml:"));
  EXPECT_THAT(troubles_of("slurm:\n  health_budget: 4 s\n  spread: 3 s\n"),
              HasSubstr("muster.yaml:3: 'slurm.spread' is more than half of health_budget\n"));
  EXPECT_THAT(troubles_of("slurm:\n  drain_window: 0 s\n"),
              HasSubstr("muster.yaml:2: 'slurm.drain_window' must be 1 min to 365 d\n"));
  EXPECT_THAT(troubles_of("slurm:\n  epilog_tests: 'host.latency,gpu.cpy'\n"),
              HasSubstr("muster.yaml:2: 'slurm.epilog_tests' has \"gpu.cpy\"; expected some of "));
  EXPECT_THAT(troubles_of("slurm:\n  gate_sweep: full\n"),
              HasSubstr("muster.yaml:2: 'slurm.gate_sweep' has no effect without "
                        "gate_new_nodes: true\n"));
  EXPECT_THAT(troubles_of("slurm:\n  tests_budget: 1 h\n"),
              HasSubstr("muster.yaml:2: 'slurm.tests_budget' must be 5 s to 10 min\n"));
  EXPECT_THAT(troubles_of("repair:\n  automatic: [claim]\n"),
              HasSubstr("etc/muster/muster.yaml:2: 'repair.automatic' has \"claim\""));
  EXPECT_THAT(troubles_of("overrides:\n  host:\n    kernel_log: {kinds: {foo: fail}}\n"),
              AllOf(HasSubstr("kinds.foo' has the unknown name \"foo\"; known here: "),
                    Not(HasSubstr("ignore, ignore"))));
}

// Such as a spread that fits only the site's own budget.
TEST_F(ValidateTest, JudgesKeysThatBelongTogetherTogether) {
  dir_.write("etc/muster/muster.yaml",
             "slurm:\n  spread: 25 s\n  health_budget: 55 s\n"
             "  gate_sweep: full\n  gate_new_nodes: true\n");
  EXPECT_EQ(validate(), 0) << caller_.notes();
}

TEST_F(ValidateTest, ChecksTheProgramsThatItNames) {
  dir_.write("bin/reach", "");
  std::filesystem::create_directories(dir_.path() / "opt");
  for (const auto& [program, why] :
       {std::pair{"/none", "No such file or directory"},
        std::pair{"/bin/reach", "Permission denied"}, std::pair{"/opt", "Is a directory"}}) {
    EXPECT_THAT(troubles_of(fmt::format("repair:\n  by: {}\n", program)),
                EndsWith(fmt::format("muster.yaml:2: 'repair.by' names {}{}: {}\n",
                                     dir_.path().string(), program, why)));
    EXPECT_THAT(troubles_of(fmt::format("slurm:\n  tell: {{program: {}}}\n", program)),
                HasSubstr(fmt::format("'slurm.tell.program' names {}{}: {}\n", dir_.path().string(),
                                      program, why)));
  }
  std::filesystem::permissions(dir_.path() / "bin/reach", std::filesystem::perms(0755));
  dir_.write("etc/muster/muster.yaml", "repair: {by: /bin/reach}\n");
  EXPECT_EQ(validate(), 0) << caller_.notes();
}

TEST_F(ValidateTest, ReadsOverridesAndProfilesLikeARun) {
  EXPECT_THAT(troubles_of("overrides:\n  host: {dsik: {fail_above: 90%}}\n"),
              HasSubstr("muster.yaml:2: unknown key 'host.dsik'; did you mean 'host.disk'?\n"));
  EXPECT_THAT(troubles_of("profile: nd96isr_h100_v6\n"),
              HasSubstr("muster.yaml:1: 'profile': unknown profile 'nd96isr_h100_v6'; did you "
                        "mean 'nd96isr_h100_v5'?\n"));
  dir_.write("etc/muster/profiles/trainer.yaml", "must_observe: [gpus]\n");
  EXPECT_THAT(
      troubles_of("profile: generic\n"),
      HasSubstr(
          "trainer.yaml:1: 'must_observe' has the unknown name \"gpus\"; did you mean 'gpu'?\n"));
}

TEST_F(ValidateTest, ARootThatDoesNotExistIsNotValid) {
  for (const auto* name : {"none", "file"}) {
    dir_.write("file", "");
    const auto root = (dir_.path() / name).string();
    EXPECT_EQ(run_validate({.root = root}, caller_.caller()), kExitConfiguration);
    EXPECT_THAT(caller_.notes(), HasSubstr(root));
    EXPECT_EQ(run_profiles({.root = root}, caller_.caller()), kExitConfiguration);
    EXPECT_EQ(run_profiles({.show = "generic", .root = root}, caller_.caller()),
              kExitConfiguration);
  }
  EXPECT_EQ(caller_.out(), "");
}

TEST_F(ValidateTest, NamesMissingFoldersOfSlurmsPrograms) {
  std::filesystem::create_directories(dir_.path() / "opt/slurm/bin");
  EXPECT_THAT(troubles_of("slurm:\n  programs: /opt/slurm/bin:/opt/none\n"),
              AllOf(HasSubstr("muster.yaml:2: 'slurm.programs' names "),
                    HasSubstr("/opt/none: No such file or directory\n"),
                    Not(HasSubstr("/opt/slurm/bin:"))));
  dir_.write("etc/muster/muster.yaml", "slurm:\n  programs: /opt/slurm/bin\n");
  EXPECT_EQ(validate(), 0);
}

}  // namespace
}  // namespace muster::app
