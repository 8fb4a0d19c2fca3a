// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/catalogue.hpp"
#include "tests/checks/ask.hpp"
#include "tests/checks/gpu/gpu_node.hpp"
#include "tests/support/printers.hpp"

namespace muster {
namespace {

using ::testing::ElementsAre;

Findings judge(const Snapshot& snapshot, const Profile& profile = gpu_node::profile()) {
  return ask(checks::gpu_ecc_remapped_rows, snapshot, profile);
}

TEST(GpuEccRemappedRowsTest, PassesWhereEveryBankHasSpares) {
  EXPECT_THAT(judge(gpu_node::node()), ElementsAre(gpu_node::well("with sound memory rows")));
}

TEST(GpuEccRemappedRowsTest, AFailedRemappingCallsForReplacement) {
  Snapshot node = gpu_node::bare_metal();
  gpu_node::gpu(node, 1).remapped_rows->failed = true;
  gpu_node::gpu(node, 1).remapped_rows->pending = true;
  EXPECT_EQ(judge(node).front(),
            (Finding{.device = "gpu1",
                     .outcome = Outcome::fail,
                     .message = "row remapping failed: no spare row was left for a bad one (serial "
                                "165092301)",
                     .observed = true,
                     .limit = false,
                     .remedy = Remedy::reseat_or_replace}));
}

TEST(GpuEccRemappedRowsTest, APendingOneCallsForAReset) {
  Snapshot node = gpu_node::bare_metal();
  gpu_node::gpu(node, 0).remapped_rows->pending = true;
  EXPECT_EQ(judge(node).front(),
            (Finding{.device = "gpu0",
                     .outcome = Outcome::fail,
                     .message = "a bad row waits for a reset to be remapped (serial 165092300)",
                     .observed = true,
                     .limit = false,
                     .remedy = Remedy::reset_gpu}));
}

TEST(GpuEccRemappedRowsTest, BeforeAndBesideJobsAPendingOneIsAWarning) {
  Snapshot node = gpu_node::bare_metal();
  gpu_node::gpu(node, 0).remapped_rows->pending = true;
  const auto outcome_in = [&](const Context& context) {
    return checks::gpu_ecc_remapped_rows.judge_in(node, gpu_node::profile(), context)
        .front()
        .outcome;
  };
  EXPECT_EQ(outcome_in({.resets_wait = true}), Outcome::warn);
  EXPECT_EQ(outcome_in({}), Outcome::fail);
}

TEST(GpuEccRemappedRowsTest, InAVirtualMachineAResetIsAReboot) {
  Snapshot node = gpu_node::node();
  gpu_node::gpu(node, 0).remapped_rows->pending = true;
  EXPECT_EQ(judge(node).front().remedy, Remedy::reboot);
}

TEST(GpuEccRemappedRowsTest, ARepairOfAChannelWaitsForAResetToo) {
  Snapshot node = gpu_node::bare_metal();
  gpu_node::gpu(node, 0).repairs->channel_pending = true;
  EXPECT_EQ(judge(node).front().message, "a repair waits for a reset (serial 165092300)");
}

TEST(GpuEccRemappedRowsTest, ABankWithoutSparesIsWatched) {
  Snapshot node = gpu_node::node();
  gpu_node::gpu(node, 0).remapped_rows->uncorrected = 8;
  gpu_node::gpu(node, 0).spare_rows->none = 1;
  EXPECT_EQ(judge(node).front(),
            (Finding{.device = "gpu0",
                     .outcome = Outcome::warn,
                     .message = "1 bank of memory without a spare row left: the next bad row there "
                                "cannot be remapped (serial 165092300)",
                     .observed = std::int64_t{8},
                     .unit = "rows",
                     .remedy = Remedy::watch}));
}

TEST(GpuEccRemappedRowsTest, ManyRemappedRowsAreWatched) {
  Snapshot node = gpu_node::node();
  gpu_node::gpu(node, 0).remapped_rows->corrected = 6;
  gpu_node::gpu(node, 0).remapped_rows->uncorrected = 5;
  EXPECT_EQ(judge(node).front(),
            (Finding{.device = "gpu0",
                     .outcome = Outcome::warn,
                     .message = "11 rows of memory remapped, more than 10 (serial 165092300)",
                     .observed = std::int64_t{11},
                     .limit = std::int64_t{10},
                     .unit = "rows",
                     .remedy = Remedy::watch}));
}

TEST(GpuEccRemappedRowsTest, BehindMigTheyAreUnknownAndNotClean) {
  Snapshot node = gpu_node::node();
  gpu_node::gpu(node, 0).remapped_rows = Fact<GpuRemappedRows>::absent("not supported");
  EXPECT_EQ(judge(node).front().outcome, Outcome::skip);
  gpu_node::gpu(node, 0).modes.mig = true;
  EXPECT_EQ(judge(node).front().outcome, Outcome::unknown);
}

}  // namespace
}  // namespace muster
