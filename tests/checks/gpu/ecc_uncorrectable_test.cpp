// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "checks/catalogue.hpp"
#include "tests/checks/ask.hpp"
#include "tests/checks/gpu/gpu_node.hpp"
#include "tests/support/printers.hpp"

namespace muster::gpu_ecc_uncorrectable_test {
namespace {

using ::testing::ElementsAre;

Findings judge(const Snapshot& snapshot, const Profile& profile = gpu_node::profile()) {
  return ask(checks::gpu_ecc_uncorrectable::check, snapshot, profile);
}

TEST(GpuEccUncorrectableTest, PassesWithoutErrors) {
  EXPECT_THAT(judge(gpu_node::node()), ElementsAre(passes()));
}

TEST(GpuEccUncorrectableTest, OneErrorFails) {
  Snapshot node = gpu_node::bare_metal();
  gpu_node::gpu(node, 1).ecc_volatile.sram_uncorrected = 1U;
  EXPECT_EQ(judge(node).front(), (Expected{.device = "gpu1",
                                           .outcome = Outcome::fail,
                                           .observed = std::int64_t{1},
                                           .limit = std::int64_t{0},
                                           .unit = "errors",
                                           .remedy = Remedy::reset_gpu,
                                           .seen_by = {{"gpu.ecc_sram", "gpu1"}}}));
}

TEST(GpuEccUncorrectableTest, RefersToRepairsOfTheSameMemory) {
  struct Case {
    std::uint64_t dram;
    std::uint64_t sram;
    bool tpc_pending;
    std::vector<SeenBy> seen_by;
  };

  const SeenBy rows{"gpu.ecc_remapped_rows", "gpu0"};
  const SeenBy pages{"gpu.ecc_retired_pages", "gpu0"};
  const SeenBy srams{"gpu.ecc_sram", "gpu0"};
  for (const Case& each :
       {Case{1, 0, false, {rows, pages}}, Case{0, 1, false, {srams}},
        Case{0, 1, true, {rows, srams}}, Case{1, 1, false, {rows, pages, srams}}}) {
    Snapshot node = gpu_node::node();
    gpu_node::gpu(node, 0).ecc_volatile.dram_uncorrected = each.dram;
    gpu_node::gpu(node, 0).ecc_volatile.sram_uncorrected = each.sram;
    gpu_node::gpu(node, 0).repairs->tpc_pending = each.tpc_pending;
    EXPECT_EQ(judge(node).front().seen_by, each.seen_by) << each.dram << " and " << each.sram;
  }
}

TEST(GpuEccUncorrectableTest, ACounterThatCannotBeReadIsUnknown) {
  Snapshot node = gpu_node::node();
  gpu_node::gpu(node, 0).ecc_volatile.sram_uncorrected =
      Fact<std::uint64_t>::unreadable("unknown error");
  EXPECT_EQ(judge(node).front().outcome, Outcome::unknown);
}

TEST(GpuEccUncorrectableTest, AKnownErrorFailsEvenIfTheOtherCounterIsUnknown) {
  for (const auto& other : {Fact<std::uint64_t>::unreadable("unknown error"),
                            Fact<std::uint64_t>::absent("not supported")}) {
    Snapshot node = gpu_node::node();
    gpu_node::gpu(node, 0).ecc_volatile.dram_uncorrected = 3U;
    gpu_node::gpu(node, 0).ecc_volatile.sram_uncorrected = other;
    gpu_node::gpu(node, 1).ecc_volatile.dram_uncorrected = other;
    gpu_node::gpu(node, 1).ecc_volatile.sram_uncorrected = 1U;
    const Findings findings = judge(node);
    ASSERT_EQ(findings.size(), 2U);
    EXPECT_EQ(findings[0].outcome, Outcome::fail);
    EXPECT_EQ(findings[0].observed, Value(std::int64_t{3}));
    EXPECT_EQ(findings[0], (Expected{.device = "gpu0",
                                     .outcome = Outcome::fail,
                                     .observed = 3,
                                     .limit = 0,
                                     .unit = "errors",
                                     .remedy = Remedy::reboot,
                                     .seen_by = {{"gpu.ecc_remapped_rows", "gpu0"},
                                                 {"gpu.ecc_retired_pages", "gpu0"}}}));
    EXPECT_EQ(findings[1].outcome, Outcome::fail);
    EXPECT_EQ(findings[1], (Expected{.device = "gpu1",
                                     .outcome = Outcome::fail,
                                     .observed = 1,
                                     .limit = 0,
                                     .unit = "errors",
                                     .remedy = Remedy::reboot,
                                     .seen_by = {{"gpu.ecc_sram", "gpu1"}}}));
  }
}

TEST(GpuEccUncorrectableTest, CountsWhoseSumWrapsFail) {
  Snapshot node = gpu_node::node();
  gpu_node::gpu(node, 0).ecc_volatile.dram_uncorrected = std::uint64_t{1} << 63U;
  gpu_node::gpu(node, 0).ecc_volatile.sram_uncorrected = std::uint64_t{1} << 63U;
  EXPECT_EQ(judge(node).front().outcome, Outcome::fail);
  EXPECT_EQ(judge(node).front().observed, Value(std::numeric_limits<std::int64_t>::max()));
}

TEST(GpuEccUncorrectableTest, AGpuThatCountsOneKindOnlyIsJudgedByIt) {
  Snapshot node = gpu_node::node();
  gpu_node::gpu(node, 0).ecc_volatile.sram_uncorrected =
      Fact<std::uint64_t>::absent("not supported");
  EXPECT_THAT(judge(node), ElementsAre(passes()));
}

TEST(GpuEccUncorrectableTest, AGpuThatCountsNothingIsSkippedUnlessOthersOfItsModelCount) {
  Snapshot node = gpu_node::node();
  gpu_node::gpu(node, 0).ecc_volatile = {};
  EXPECT_EQ(judge(node).front(), (unknown("gpu0")));
  gpu_node::gpu(node, 1).ecc_volatile = {};
  EXPECT_EQ(judge(node).front().outcome, Outcome::skip);
}

}  // namespace
}  // namespace muster::gpu_ecc_uncorrectable_test
