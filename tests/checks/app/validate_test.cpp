// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "lib/report/report.hpp"
#include "tests/checks/app/test_caller.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::app {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

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
  EXPECT_THAT(caller_.out(), AllOf(HasSubstr("ok: no "), HasSubstr("the shipped values apply")));
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
  EXPECT_THAT(troubles_of("slurm:\n"
                          "  most_drained: 200%\n"
                          "  drain: yes please\n"
                          "  clen_runs: 2\n"
                          "  unknown: {gpu.presnt: drain}\n"
                          "  nhc_conf: /etc/nhc/nhc.conf\n"),
              AllOf(HasSubstr("muster.yaml:2: 'slurm.most_drained' is more than all nodes\n"),
                    HasSubstr("muster.yaml:3: 'slurm.drain' must be true or false, not \"yes "
                              "please\"\n"),
                    HasSubstr("muster.yaml:4: unknown key 'slurm.clen_runs'; did you mean "
                              "'clean_runs'?\n"),
                    HasSubstr("'slurm.unknown': unknown check \"gpu.presnt\"; did you mean "
                              "gpu.present?\n"),
                    HasSubstr("muster.yaml:6: 'slurm.nhc_conf' names "),
                    HasSubstr("/etc/nhc/nhc.conf: No such file or directory\n")));
  EXPECT_THAT(caller_.out(), Not(HasSubstr("muster.yaml\n")));
}

TEST_F(ValidateTest, ReportsContradictoryKeys) {
  EXPECT_THAT(troubles_of("slurm:\n  health_budget: 4 s\n  spread: 3 s\n"),
              HasSubstr("muster.yaml:3: 'slurm.spread' is more than half of health_budget\n"));
}

TEST_F(ValidateTest, RefusesAnImpossibleBudgetForTests) {
  EXPECT_THAT(troubles_of("slurm:\n  tests_budget: 1 h\n"),
              HasSubstr("muster.yaml:2: 'slurm.tests_budget' is 1 h; it must be 5 s to 10 min\n"));
}

TEST_F(ValidateTest, ReadsOverridesAndProfilesLikeARun) {
  EXPECT_THAT(troubles_of("overrides:\n  host: {dsik: {fail_above: 90%}}\n"),
              HasSubstr("muster.yaml:2: unknown key 'host.dsik'; did you mean 'disk'?\n"));
  EXPECT_THAT(troubles_of("profile: nd96isr_h100_v6\n"),
              HasSubstr("muster.yaml:1: 'profile': unknown profile 'nd96isr_h100_v6'; did you "
                        "mean 'nd96isr_h100_v5'?\n"));
  dir_.write("etc/muster/profiles/trainer.yaml", "must_observe: [gpus]\n");
  EXPECT_THAT(
      troubles_of("profile: generic\n"),
      HasSubstr(
          "trainer.yaml:1: 'must_observe' has the unknown name \"gpus\"; did you mean 'gpu'?\n"));
}

TEST_F(ValidateTest, NamesAFileThatIsNotYaml) {
  EXPECT_THAT(troubles_of("slurm: [\n"), HasSubstr("muster.yaml:"));
}

}  // namespace
}  // namespace muster::app
