// SPDX-License-Identifier: Apache-2.0
// Limits that no hardware and no node can mean, and the whole text that says so.
#include <gtest/gtest.h>

#include "tests/lib/profile/profile_files.hpp"

namespace muster {
namespace {

class LimitRulesTest : public ::testing::Test {
 protected:
  ProfileFiles files;
};

TEST_F(LimitRulesTest, ARateIsAtMostWhatItsLanesCarry) {
  EXPECT_EQ(files.error_in("ib: {rate: {expected: 900 Gb/s, width: 4X, speed: NDR}}\n"),
            "profiles/x.yaml:2: 'ib.rate.expected' is 900 Gb/s, above its physical ceiling of 400 "
            "Gb/s (4X NDR)");
  EXPECT_EQ(files.error_in("ib: {rate: {expected: 400 Gb/s, width: 2X, speed: NDR}}\n"),
            "profiles/x.yaml:2: 'ib.rate.expected' is 400 Gb/s, above its physical ceiling of 200 "
            "Gb/s (2X NDR)");
  EXPECT_EQ(files.error_in("ib: {rate: {expected: 56 Gb/s, width: 4X, speed: FDR}}\n"), "");
}

TEST_F(LimitRulesTest, ARateAloneIsAtMostThatOfTheFastestPort) {
  EXPECT_EQ(files.error_in("ib: {rate: {expected: 900 Gb/s}}\n"),
            "profiles/x.yaml:2: 'ib.rate.expected' is 900 Gb/s, above its physical ceiling of 800 "
            "Gb/s (4X XDR)");
  EXPECT_EQ(files.error_in("ib: {rate: {expected: 800 Gb/s}}\n"), "");
}

TEST_F(LimitRulesTest, NoHcaHasMoreThanFourLanes) {
  EXPECT_EQ(files.error_in("ib: {rate: {width: 8X}}\n"),
            "profiles/x.yaml:2: 'ib.rate.width' is \"8X\"; it must be 1X, 2X or 4X");
}

TEST_F(LimitRulesTest, ALaneSpeedIsOneOfInfiniBands) {
  EXPECT_EQ(files.error_in("ib: {rate: {speed: NDR200}}\n"),
            "profiles/x.yaml:2: 'ib.rate.speed' is \"NDR200\"; it must be SDR, DDR, QDR, FDR10, "
            "FDR, EDR, HDR, NDR or XDR");
}

TEST_F(LimitRulesTest, TheCeilingOfASettingNamesWhereItComesFrom) {
  files.shipped("x", R"(ib: {rate: {expected: 400 Gb/s, width: 4X, speed: NDR}}
bench: {hca_write: {expected: 391 Gb/s}}
)");
  EXPECT_EQ(files.error_of("x", {"ib.rate.expected=200 Gb/s"}),
            "profiles/x.yaml:3: 'bench.hca_write.expected' is 391 Gb/s, above its physical ceiling "
            "of 200 Gb/s (the rate of an HCA; 'ib.rate.expected' from --set)");
  EXPECT_EQ(
      files.error_of("x", {"ib.rate.expected=900 Gb/s"}),
      "--set: 'ib.rate.expected' is 900 Gb/s, above its physical ceiling of 400 Gb/s (4X NDR; "
      "'ib.rate.width' from profiles/x.yaml:2; 'ib.rate.speed' from profiles/x.yaml:2)");
}

TEST_F(LimitRulesTest, AShareIsBelowTheWhole) {
  EXPECT_EQ(files.error_in("host: {disk: {fail_above: 195%}}\n"),
            "profiles/x.yaml:2: 'host.disk.fail_above' is 195%; it must be below 100%");
  EXPECT_EQ(files.error_in("host: {memory: {tolerance: 100%}}\n"),
            "profiles/x.yaml:2: 'host.memory.tolerance' is 100%; it must be below 100%");
  EXPECT_EQ(files.error_in("host: {memory: {tolerance: 99%}}\n"), "");
}

TEST_F(LimitRulesTest, AWarningComesBeforeTheFailure) {
  EXPECT_EQ(files.error_in("host: {disk: {warn_above: 90%, fail_above: 80%}}\n"),
            "profiles/x.yaml:2: 'host.disk.warn_above' is 90%; it never warns before 'fail_above' "
            "of 80% fails");
  EXPECT_EQ(files.error_in("host: {disk: {inodes_warn_above: 90%, inodes_fail_above: 80%}}\n"),
            "profiles/x.yaml:2: 'host.disk.inodes_warn_above' is 90%; it never warns before "
            "'inodes_fail_above' of 80% fails");
  EXPECT_EQ(files.error_in("ib: {errors: {counters: {symbol_error: {warn_above_per_hour: 5, "
                           "fail_above_per_hour: 4}}}}\n"),
            "profiles/x.yaml:2: 'ib.errors.counters.symbol_error.warn_above_per_hour' is 5; it "
            "never warns before 'fail_above_per_hour' of 4 fails");
  EXPECT_EQ(files.error_in("host: {disk: {warn_above: 90%, fail_above: 90%}}\n"), "");
}

TEST_F(LimitRulesTest, ADeadlineAndAWindowHaveALength) {
  EXPECT_EQ(files.error_in("contexts: {manual: {deadline: 0 s}}\n"),
            "profiles/x.yaml:2: 'contexts.manual.deadline' is 0 s; it must be above 0 s");
  EXPECT_EQ(files.error_in("host: {mounts: {answer_within: 0 s}}\n"),
            "profiles/x.yaml:2: 'host.mounts.answer_within' is 0 s; it must be above 0 s");
  EXPECT_EQ(files.error_in("ib: {errors: {window: 0 s}}\n"),
            "profiles/x.yaml:2: 'ib.errors.window' is 0 s; it must be above 0 s");
}

}  // namespace
}  // namespace muster
