// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "checks/catalogue.hpp"
#include "lib/profile/limits/gpu.hpp"
#include "tests/checks/ask.hpp"
#include "tests/checks/gpu/gpu_node.hpp"
#include "tests/support/printers.hpp"

namespace muster::gpu_ecc_remapped_rows_test {
namespace {

using ::testing::ElementsAre;

Findings judge(const Snapshot& snapshot, const Profile& profile = gpu_node::profile()) {
  return ask(checks::gpu_ecc_remapped_rows::check, snapshot, profile);
}

TEST(GpuEccRemappedRowsTest, PassesWhereEveryBankHasSpares) {
  EXPECT_THAT(judge(gpu_node::node()), ElementsAre(passes()));
}

TEST(GpuEccRemappedRowsTest, AFailedRemappingCallsForReplacement) {
  Snapshot node = gpu_node::bare_metal();
  gpu_node::gpu(node, 1).remapped_rows->failed = true;
  gpu_node::gpu(node, 1).remapped_rows->pending = true;
  EXPECT_EQ(judge(node).front(), (fails("gpu1", Remedy::reseat_or_replace, {true, false})));
}

TEST(GpuEccRemappedRowsTest, APendingOneCallsForAReset) {
  Snapshot node = gpu_node::bare_metal();
  gpu_node::gpu(node, 0).remapped_rows->pending = true;
  EXPECT_EQ(judge(node).front(), (fails("gpu0", Remedy::reset_gpu, {true, false})));
}

TEST(GpuEccRemappedRowsTest, InAVirtualMachineAResetIsAReboot) {
  Snapshot node = gpu_node::node();
  gpu_node::gpu(node, 0).remapped_rows->pending = true;
  EXPECT_EQ(judge(node).front().remedy, Remedy::reboot);
}

TEST(GpuEccRemappedRowsTest, ARepairOfAChannelWaitsForAResetToo) {
  Snapshot node = gpu_node::bare_metal();
  gpu_node::gpu(node, 0).repairs->channel_pending = true;
  EXPECT_EQ(judge(node).front(), fails("gpu0", Remedy::reset_gpu, {true, false}));
}

TEST(GpuEccRemappedRowsTest, ABankWithoutSparesIsWatched) {
  Snapshot node = gpu_node::node();
  gpu_node::gpu(node, 0).remapped_rows->uncorrected = 8;
  gpu_node::gpu(node, 0).spare_rows->none = 1;
  EXPECT_EQ(judge(node).front(), (warns("gpu0", Remedy::watch, {std::int64_t{8}, {}, "rows"})));
}

TEST(GpuEccRemappedRowsTest, ManyRemappedRowsAreWatched) {
  Snapshot node = gpu_node::node();
  gpu_node::gpu(node, 0).remapped_rows->corrected = 6;
  gpu_node::gpu(node, 0).remapped_rows->uncorrected = 5;
  EXPECT_EQ(judge(node).front(),
            (warns("gpu0", Remedy::watch, {std::int64_t{11}, std::int64_t{10}, "rows"})));
}

TEST(GpuEccRemappedRowsTest, WithUnexpectedMigRowsAreUnknown) {
  Snapshot node = gpu_node::node();
  gpu_node::gpu(node, 0).remapped_rows = Fact<GpuRemappedRows>::absent("not supported");
  gpu_node::gpu(node, 0).modes.mig = true;
  EXPECT_EQ(judge(node).front().outcome, Outcome::unknown);
}

TEST(GpuEccRemappedRowsTest, WhereMigIsExpectedTheyAreSkippedOnceUnlessTheyCannotBeRead) {
  Profile profile = gpu_node::profile();
  profile.gpu->mig.expected = true;
  Snapshot node = gpu_node::node();
  for (auto& gpu : node.nvml->gpus) {
    gpu.modes.mig = true;
    gpu.remapped_rows = Fact<GpuRemappedRows>::absent("not supported");
  }
  const auto skip_of = []() { return skips(); };
  EXPECT_THAT(judge(node, profile), ElementsAre(skip_of()));

  gpu_node::gpu(node, 1).remapped_rows = Fact<GpuRemappedRows>::unreadable("unknown error");
  EXPECT_THAT(judge(node, profile), ElementsAre(unknown("gpu1"), skip_of()));

  gpu_node::gpu(node, 1).remapped_rows = GpuRemappedRows{.failed = true};
  EXPECT_EQ(judge(node, profile).front().outcome, Outcome::fail);
}

TEST(GpuEccRemappedRowsTest, AFactMissingUnlikeSistersIsUnknown) {
  Snapshot node = gpu_node::node();
  gpu_node::gpu(node, 1).remapped_rows = Fact<GpuRemappedRows>::absent("not supported");
  EXPECT_EQ(judge(node).front(), (unknown("gpu1")));
}

TEST(GpuEccRemappedRowsTest, AFactMissingWithoutSistersIsSkipped) {
  struct Case {
    const char* what;
    void (*change)(Snapshot&);
  };

  const std::vector<Case> cases{
      Case{"no other tells",
           [](Snapshot& node) {
             gpu_node::gpu(node, 0).remapped_rows = Fact<GpuRemappedRows>::absent("no");
           }},
      Case{"the other is of another model",
           [](Snapshot& node) { gpu_node::gpu(node, 0).model = std::string("Tesla"); }},
      Case{"its own model is not known",
           [](Snapshot& node) {
             gpu_node::gpu(node, 1).model = Fact<std::string>::unreadable("no");
           }},
      Case{"the other is lost",
           [](Snapshot& node) { gpu_node::gpu(node, 0).lost = "GPU is lost (15)"; }},
      Case{"it has no ECC", [](Snapshot& node) { gpu_node::gpu(node, 1).modes.ecc = false; }}};
  for (const Case& each : cases) {
    Snapshot node = gpu_node::node();
    gpu_node::gpu(node, 1).remapped_rows = Fact<GpuRemappedRows>::absent("not supported");
    each.change(node);
    const Findings findings = judge(node);
    const auto found = std::ranges::find(findings, "gpu1", &Finding::device);
    ASSERT_NE(found, findings.end()) << each.what;
    EXPECT_EQ(found->outcome, Outcome::skip) << each.what;
    EXPECT_EQ(*found, skips("gpu1")) << each.what;
  }
}

}  // namespace
}  // namespace muster::gpu_ecc_remapped_rows_test
