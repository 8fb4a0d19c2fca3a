// SPDX-License-Identifier: Apache-2.0
// The checks gpu.ecc_*: errors of GPU memory.
#include "tests/checks/ask.hpp"
#include "tests/checks/gpu/gpu_node.hpp"

namespace muster::gpu_ecc_corrected_test {
namespace {

constexpr AskedCheck judge{checks::gpu_ecc_corrected::check, gpu_node::profile};

TEST(GpuEccCorrectedTest, PassesBelowTheLimits) {
  Snapshot node = gpu_node::node();
  gpu_of(node, 0).ecc_aggregate.dram_corrected = 1000U;
  EXPECT_THAT(judge(node), ElementsAre(passes()));
}

TEST(GpuEccCorrectedTest, WarnsAboveThem) {
  Snapshot node = gpu_node::node();
  gpu_of(node, 0).ecc_aggregate.dram_corrected = 1001U;
  gpu_of(node, 1).ecc_aggregate.sram_corrected = 11U;
  EXPECT_THAT(judge(node), ElementsAre(warns("gpu0", Remedy::watch, {1001, 1000, "errors"}),
                                       warns("gpu1", Remedy::watch, {11, 10, "errors"})));
}

TEST(GpuEccCorrectedTest, WithoutLimitsNothingIsJudged) {
  EXPECT_EQ(judge(gpu_node::node(), Profile{}).front().outcome, Outcome::skip);
}

TEST(GpuEccCorrectedTest, AGpuThatCountsNothingIsSkippedUnlessOthersOfItsModelCount) {
  Snapshot node = gpu_node::node();
  gpu_of(node, 1).ecc_aggregate = {};
  EXPECT_EQ(judge(node).front(), (unknown("gpu1")));
  gpu_of(node, 0).ecc_aggregate = {};
  EXPECT_EQ(judge(node).front().outcome, Outcome::skip);
}

}  // namespace
}  // namespace muster::gpu_ecc_corrected_test

namespace muster::gpu_ecc_remapped_rows_test {
namespace {

constexpr AskedCheck judge{checks::gpu_ecc_remapped_rows::check, gpu_node::profile};

TEST(GpuEccRemappedRowsTest, JudgesEachChange) {
  const std::vector<NodeChange> changes{
      {"a fact missing unlike peers is unknown",
       [](Snapshot& node) {
         gpu_of(node, 1).remapped_rows = Fact<GpuRemappedRows>::absent("not supported");
       },
       {unknown("gpu1"), passes()}},
  };
  expect_findings(judge, gpu_node::node(), changes);
}

TEST(GpuEccRemappedRowsTest, JudgesBareMetal) {
  const std::vector<NodeChange> changes{
      {"a failed remapping calls for replacement",
       [](Snapshot& node) {
         gpu_of(node, 1).remapped_rows->failed = true;
         gpu_of(node, 1).remapped_rows->pending = true;
       },
       {fails("gpu1", Remedy::reseat_or_replace, {true, false}), passes()}},
      {"a pending one calls for a reset",
       [](Snapshot& node) { gpu_of(node, 0).remapped_rows->pending = true; },
       {fails("gpu0", Remedy::reset_gpu, {true, false}), passes()}},
  };
  expect_findings(judge, gpu_node::bare_metal(), changes);
}

TEST(GpuEccRemappedRowsTest, WithUnexpectedMigRowsAreUnknown) {
  Snapshot node = gpu_node::node();
  gpu_of(node, 0).remapped_rows = Fact<GpuRemappedRows>::absent("not supported");
  gpu_of(node, 0).modes.mig = true;
  EXPECT_EQ(judge(node).front().outcome, Outcome::unknown);
}

TEST(GpuEccRemappedRowsTest, IfMigIsExpectedTheyAreSkippedOnceUnlessUnreadable) {
  Profile profile = gpu_node::profile();
  profile.gpu->mig.expected = true;
  Snapshot node = gpu_node::node();
  for (auto& gpu : node.nvml->gpus) {
    gpu.modes.mig = true;
    gpu.remapped_rows = Fact<GpuRemappedRows>::absent("not supported");
  }
  const auto skip_of = []() { return skips(); };
  EXPECT_THAT(judge(node, profile), ElementsAre(skip_of()));

  gpu_of(node, 1).remapped_rows = Fact<GpuRemappedRows>::unreadable("unknown error");
  EXPECT_THAT(judge(node, profile), ElementsAre(unknown("gpu1"), skip_of()));

  gpu_of(node, 1).remapped_rows = GpuRemappedRows{.failed = true};
  EXPECT_EQ(judge(node, profile).front().outcome, Outcome::fail);
}

TEST(GpuEccRemappedRowsTest, AFactMissingWithoutPeersIsSkipped) {
  struct Case {
    const char* what;
    void (*change)(Snapshot&);
  };

  const std::vector<Case> cases{
      Case{"no other tells",
           [](Snapshot& node) {
             gpu_of(node, 0).remapped_rows = Fact<GpuRemappedRows>::absent("no");
           }},
      Case{"the other is of another model",
           [](Snapshot& node) { gpu_of(node, 0).model = std::string("Tesla"); }},
      Case{"its own model is not known",
           [](Snapshot& node) { gpu_of(node, 1).model = Fact<std::string>::unreadable("no"); }},
      Case{"the other is lost", [](Snapshot& node) { gpu_of(node, 0).lost = "GPU is lost (15)"; }},
      Case{"it has no ECC", [](Snapshot& node) { gpu_of(node, 1).modes.ecc = false; }}};
  for (const Case& each : cases) {
    Snapshot node = gpu_node::node();
    gpu_of(node, 1).remapped_rows = Fact<GpuRemappedRows>::absent("not supported");
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

namespace muster::gpu_ecc_retired_pages_test {
namespace {

constexpr AskedCheck judge{checks::gpu_ecc_retired_pages::check, gpu_node::profile};

GpuRetiredPages pages(std::uint64_t single_bit, std::uint64_t double_bit, bool pending) {
  return {.single_bit = single_bit, .double_bit = double_bit, .pending = pending};
}

TEST(GpuEccRetiredPagesTest, PassesWithFewPages) {
  Snapshot node = gpu_node::node();
  for (auto& gpu : node.nvml->gpus) gpu.retired_pages = pages(30, 30, false);
  EXPECT_THAT(judge(node), ElementsAre(passes()));
}

TEST(GpuEccRetiredPagesTest, FailsWithTooManyOrWithOneThatWaits) {
  Snapshot node = gpu_node::bare_metal();
  gpu_of(node, 0).retired_pages = pages(59, 2, true);
  gpu_of(node, 1).retired_pages = pages(0, 1, true);
  EXPECT_THAT(judge(node), ElementsAre(fails("gpu0", Remedy::reseat_or_replace, {61, 60, "pages"}),
                                       fails("gpu1", Remedy::reset_gpu, {1, 60, "pages"})));
}

TEST(GpuEccRetiredPagesTest, AFactMissingUnlikePeersIsUnknown) {
  Snapshot node = gpu_node::node();
  gpu_of(node, 0).retired_pages = pages(0, 0, false);
  EXPECT_EQ(judge(node).front(), (unknown("gpu1")));
  gpu_of(node, 1).retired_pages.single_bit = 0U;
  gpu_of(node, 1).retired_pages.double_bit = 0U;
  EXPECT_EQ(judge(node).front(), (unknown("gpu1")));
}

}  // namespace
}  // namespace muster::gpu_ecc_retired_pages_test

namespace muster::gpu_ecc_sram_test {
namespace {

constexpr AskedCheck judge{checks::gpu_ecc_sram::check, gpu_node::profile};

TEST(GpuEccSramTest, JudgesEachChange) {
  const std::vector<NodeChange> changes{
      {"a counter that cannot be read is unknown",
       [](Snapshot& node) {
         gpu_of(node, 0).sram = Fact<GpuSram>::absent("no such call");
         gpu_of(node, 0).ecc_aggregate.sram_uncorrected =
             Fact<std::uint64_t>::unreadable("unknown error");
       },
       {unknown("gpu0"), passes()}},
  };
  expect_findings(judge, gpu_node::node(), changes);
}

TEST(GpuEccSramTest, TheDriversFlagCallsForReplacementAndNoNumberDoes) {
  Snapshot node = gpu_node::bare_metal();
  gpu_of(node, 0).sram->unique_uncorrected = 40;
  gpu_of(node, 1).sram->threshold_exceeded = true;
  const auto findings = judge(node);
  EXPECT_THAT(findings, ElementsAre(warns("gpu0", Remedy::watch, {40, 0, "errors"}),
                                    fails("gpu1", Remedy::reseat_or_replace, {0, 0, "errors"})));
}

TEST(GpuEccSramTest, AnOlderDriversAggregateCounterServesToo) {
  Snapshot node = gpu_node::node();
  gpu_of(node, 0).sram = Fact<GpuSram>::absent("no such call");
  gpu_of(node, 0).ecc_aggregate.sram_uncorrected = 1U;
  EXPECT_EQ(judge(node).front().outcome, Outcome::warn);
}

TEST(GpuEccSramTest, AMissingFactIsSkippedOnlyIfNoPeerReportsIt) {
  Snapshot node = gpu_node::node();
  gpu_of(node, 1).sram = Fact<GpuSram>::absent("no such call");
  gpu_of(node, 1).ecc_aggregate.sram_uncorrected = Fact<std::uint64_t>::absent("not supported");
  EXPECT_EQ(judge(node).front(), (unknown("gpu1")));
  gpu_of(node, 0).sram = gpu_of(node, 1).sram;
  EXPECT_EQ(judge(node).front().outcome, Outcome::unknown) << "the other has the counter";
  gpu_of(node, 1).modes.mig = true;
  EXPECT_EQ(judge(node).front().outcome, Outcome::skip) << "MIG hides it";
  gpu_of(node, 1).modes.mig = false;
  gpu_of(node, 0).ecc_aggregate = gpu_of(node, 1).ecc_aggregate;
  EXPECT_EQ(judge(node).front().outcome, Outcome::skip);
}

}  // namespace
}  // namespace muster::gpu_ecc_sram_test

namespace muster::gpu_ecc_uncorrectable_test {
namespace {

constexpr AskedCheck judge{checks::gpu_ecc_uncorrectable::check, gpu_node::profile};

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
    gpu_of(node, 0).ecc_volatile.dram_uncorrected = each.dram;
    gpu_of(node, 0).ecc_volatile.sram_uncorrected = each.sram;
    gpu_of(node, 0).repairs->tpc_pending = each.tpc_pending;
    EXPECT_EQ(judge(node).front().seen_by, each.seen_by) << each.dram << " and " << each.sram;
  }
}

TEST(GpuEccUncorrectableTest, ACounterThatCannotBeReadIsUnknown) {
  Snapshot node = gpu_node::node();
  gpu_of(node, 0).ecc_volatile.sram_uncorrected = Fact<std::uint64_t>::unreadable("unknown error");
  EXPECT_EQ(judge(node).front().outcome, Outcome::unknown);
}

TEST(GpuEccUncorrectableTest, AKnownErrorFailsEvenIfTheOtherCounterIsUnknown) {
  for (const auto& other : {Fact<std::uint64_t>::unreadable("unknown error"),
                            Fact<std::uint64_t>::absent("not supported")}) {
    Snapshot node = gpu_node::node();
    gpu_of(node, 0).ecc_volatile.dram_uncorrected = 3U;
    gpu_of(node, 0).ecc_volatile.sram_uncorrected = other;
    gpu_of(node, 1).ecc_volatile.dram_uncorrected = other;
    gpu_of(node, 1).ecc_volatile.sram_uncorrected = 1U;
    const Findings findings = judge(node);
    ASSERT_EQ(findings.size(), 2U);
    EXPECT_EQ(findings[0], (Expected{.device = "gpu0",
                                     .outcome = Outcome::fail,
                                     .observed = 3,
                                     .limit = 0,
                                     .unit = "errors",
                                     .remedy = Remedy::reboot,
                                     .seen_by = {{"gpu.ecc_remapped_rows", "gpu0"},
                                                 {"gpu.ecc_retired_pages", "gpu0"}}}));
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
  gpu_of(node, 0).ecc_volatile.dram_uncorrected = std::uint64_t{1} << 63U;
  gpu_of(node, 0).ecc_volatile.sram_uncorrected = std::uint64_t{1} << 63U;
  EXPECT_EQ(judge(node).front().outcome, Outcome::fail);
  EXPECT_EQ(judge(node).front().observed, Value(std::numeric_limits<std::int64_t>::max()));
}

TEST(GpuEccUncorrectableTest, AGpuThatCountsOneKindOnlyIsJudgedByIt) {
  Snapshot node = gpu_node::node();
  gpu_of(node, 0).ecc_volatile.sram_uncorrected = Fact<std::uint64_t>::absent("not supported");
  EXPECT_THAT(judge(node), ElementsAre(passes()));
}

TEST(GpuEccUncorrectableTest, AGpuThatCountsNothingIsSkippedUnlessOthersOfItsModelCount) {
  Snapshot node = gpu_node::node();
  gpu_of(node, 0).ecc_volatile = {};
  EXPECT_EQ(judge(node).front(), (unknown("gpu0")));
  gpu_of(node, 1).ecc_volatile = {};
  EXPECT_EQ(judge(node).front().outcome, Outcome::skip);
}

}  // namespace
}  // namespace muster::gpu_ecc_uncorrectable_test
