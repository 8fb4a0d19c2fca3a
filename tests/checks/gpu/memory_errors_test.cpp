// SPDX-License-Identifier: Apache-2.0
// The checks gpu.ecc_*: errors of GPU memory.
#include "tests/checks/ask.hpp"
#include "tests/checks/gpu/gpu_node.hpp"

namespace muster::gpu_memory_errors_test {
namespace {

constexpr unsigned kVolta = 5;
constexpr unsigned kAmpere = 7;

// Its GPUs need not report every counter.
Snapshot node_of_v100s() {
  Snapshot node = gpu_node::node();
  for (auto& gpu : node.nvml->gpus) gpu.architecture = kVolta;
  return node;
}

constexpr AskedCheck judge_corrected{checks::gpu_ecc_corrected::check, gpu_node::profile};

TEST(GpuEccCorrectedTest, WarnsAboveTheLimits) {
  Snapshot node = gpu_node::node();
  gpu_of(node, 0).ecc_aggregate.dram_corrected = 1000U;
  gpu_of(node, 1).ecc_aggregate.sram_corrected = 11U;
  EXPECT_THAT(judge_corrected(node),
              ElementsAre(warns("gpu1", Remedy::watch, {11, 10, "errors"}), passes()));
  EXPECT_THAT(judge_corrected(node, Profile{}), ElementsAre(skips()));
}

TEST(GpuEccCorrectedTest, AGpuThatCountsNothingIsSkippedUnlessOthersOfItsModelCount) {
  Snapshot node = node_of_v100s();
  gpu_of(node, 1).ecc_aggregate = {};
  EXPECT_EQ(judge_corrected(node).front(), (unknown("gpu1")));
  gpu_of(node, 0).ecc_aggregate = {};
  EXPECT_EQ(judge_corrected(node).front().outcome, Outcome::skip);
}

constexpr AskedCheck judge_rows{checks::gpu_ecc_remapped_rows::check, gpu_node::profile};

TEST(GpuEccRemappedRowsTest, AFactMissingUnlikePeersIsUnknown) {
  Snapshot node = node_of_v100s();
  gpu_of(node, 1).remapped_rows = absent();
  EXPECT_THAT(judge_rows(node), ElementsAre(unknown("gpu1"), passes()));
}

TEST(GpuEccRemappedRowsTest, AFailureIsWorseThanAPendingRow) {
  Snapshot node = gpu_node::bare_metal();
  gpu_of(node, 0).remapped_rows->pending = true;
  *gpu_of(node, 1).remapped_rows = {.pending = true, .failed = true};
  EXPECT_THAT(judge_rows(node),
              ElementsAre(fails("gpu0", Remedy::reset_gpu, {true, false}),
                          fails("gpu1", Remedy::reseat_or_replace, {true, false})));
}

TEST(GpuEccRemappedRowsTest, WithUnexpectedMigRowsAreUnknown) {
  Snapshot node = gpu_node::node();
  gpu_of(node, 0).remapped_rows = absent();
  gpu_of(node, 0).modes.mig = true;
  EXPECT_EQ(judge_rows(node).front().outcome, Outcome::unknown);
}

TEST(GpuEccRemappedRowsTest, IfMigIsExpectedTheyAreSkippedOnceUnlessUnreadable) {
  Profile profile = gpu_node::profile();
  profile.gpu->mig.expected = true;
  Snapshot node = gpu_node::node();
  for (auto& gpu : node.nvml->gpus) {
    gpu.modes.mig = true;
    gpu.remapped_rows = absent();
  }
  EXPECT_THAT(judge_rows(node, profile), ElementsAre(skips()));
  gpu_of(node, 1).remapped_rows = unreadable();
  EXPECT_THAT(judge_rows(node, profile), ElementsAre(unknown("gpu1"), skips()));
  gpu_of(node, 1).remapped_rows = GpuRemappedRows{.failed = true};
  EXPECT_EQ(judge_rows(node, profile).front().outcome, Outcome::fail);
}

TEST(GpuEccRemappedRowsTest, AFactMissingWithoutPeersIsSkipped) {
  struct Case {
    const char* what;
    void (*change)(Snapshot&);
  };

  const std::vector<Case> cases{
      Case{"no other tells", [](Snapshot& node) { gpu_of(node, 0).remapped_rows = absent(); }},
      Case{"the other is of another model",
           [](Snapshot& node) { gpu_of(node, 0).model = "Tesla"s; }},
      Case{"its own model is not known",
           [](Snapshot& node) { gpu_of(node, 1).model = unreadable(); }},
      Case{"the other is lost", [](Snapshot& node) { gpu_of(node, 0).lost = "GPU is lost (15)"; }},
      Case{"it has no ECC", [](Snapshot& node) { gpu_of(node, 1).modes.ecc = false; }}};
  for (const Case& each : cases) {
    Snapshot node = node_of_v100s();
    gpu_of(node, 1).remapped_rows = absent();
    each.change(node);
    EXPECT_THAT(judge_rows(node), Contains(skips("gpu1"))) << each.what;
  }
}

constexpr AskedCheck judge_pages{checks::gpu_ecc_retired_pages::check, gpu_node::profile};

GpuRetiredPages pages(std::uint64_t single_bit, std::uint64_t double_bit, bool pending) {
  return {.single_bit = single_bit, .double_bit = double_bit, .pending = pending};
}

TEST(GpuEccRetiredPagesTest, FailsWithTooManyOrAPendingOne) {
  Snapshot node = gpu_node::bare_metal();
  for (auto& gpu : node.nvml->gpus) gpu.retired_pages = pages(30, 30, false);
  EXPECT_THAT(judge_pages(node), ElementsAre(passes()));
  gpu_of(node, 0).retired_pages = pages(59, 2, true);
  gpu_of(node, 1).retired_pages = pages(0, 1, true);
  EXPECT_THAT(judge_pages(node),
              ElementsAre(fails("gpu0", Remedy::reseat_or_replace, {61, 60, "pages"}),
                          fails("gpu1", Remedy::reset_gpu, {1, 60, "pages"})));
}

TEST(GpuEccRetiredPagesTest, AFactMissingUnlikePeersIsUnknown) {
  Snapshot node = gpu_node::node();
  gpu_of(node, 0).retired_pages = pages(0, 0, false);
  EXPECT_EQ(judge_pages(node).front(), (unknown("gpu1")));
  gpu_of(node, 1).retired_pages.single_bit = 0U;
  gpu_of(node, 1).retired_pages.double_bit = 0U;
  EXPECT_EQ(judge_pages(node).front(), (unknown("gpu1")));
}

constexpr AskedCheck judge_sram{checks::gpu_ecc_sram::check, gpu_node::profile};

TEST(GpuEccSramTest, AnOlderDriversAggregateCounterServesToo) {
  Snapshot node = gpu_node::node();
  gpu_of(node, 0).sram = absent();
  auto& counter = gpu_of(node, 0).ecc_aggregate.sram_uncorrected;
  counter = 1U;
  EXPECT_EQ(judge_sram(node).front().outcome, Outcome::warn);
  counter = unreadable();
  EXPECT_THAT(judge_sram(node), ElementsAre(unknown("gpu0"), passes()));
}

TEST(GpuEccSramTest, TheDriversFlagCallsForReplacementAndNoNumberDoes) {
  Snapshot node = gpu_node::bare_metal();
  gpu_of(node, 0).sram->unique_uncorrected = 40;
  gpu_of(node, 1).sram->threshold_exceeded = true;
  EXPECT_THAT(judge_sram(node),
              ElementsAre(warns("gpu0", Remedy::watch, {40, 0, "errors"}),
                          fails("gpu1", Remedy::reseat_or_replace, {0, 0, "errors"})));
}

TEST(GpuEccSramTest, AMissingFactIsSkippedOnlyIfNoPeerReportsIt) {
  Snapshot node = node_of_v100s();
  gpu_of(node, 1).sram = absent();
  gpu_of(node, 1).ecc_aggregate.sram_uncorrected = absent();
  EXPECT_EQ(judge_sram(node).front(), (unknown("gpu1")));
  gpu_of(node, 0).sram = gpu_of(node, 1).sram;
  EXPECT_EQ(judge_sram(node).front().outcome, Outcome::unknown) << "the other has the counter";
  gpu_of(node, 1).modes.mig = true;
  EXPECT_EQ(judge_sram(node).front().outcome, Outcome::skip) << "MIG hides it";
  gpu_of(node, 1).modes.mig = false;
  gpu_of(node, 0).ecc_aggregate = gpu_of(node, 1).ecc_aggregate;
  EXPECT_EQ(judge_sram(node).front().outcome, Outcome::skip);
}

constexpr AskedCheck judge_uncorrectable{checks::gpu_ecc_uncorrectable::check, gpu_node::profile};

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
    EXPECT_EQ(judge_uncorrectable(node).front().seen_by, each.seen_by)
        << each.dram << " and " << each.sram;
  }
}

TEST(GpuEccUncorrectableTest, ACounterThatCannotBeReadIsUnknown) {
  Snapshot node = gpu_node::node();
  gpu_of(node, 0).ecc_volatile.sram_uncorrected = unreadable();
  EXPECT_EQ(judge_uncorrectable(node).front().outcome, Outcome::unknown);
}

TEST(GpuEccUncorrectableTest, AKnownErrorFailsEvenIfTheOtherCounterIsUnknown) {
  for (const auto& other : {Fact<std::uint64_t>::unreadable("unknown error"),
                            Fact<std::uint64_t>::absent("not supported")}) {
    Snapshot node = gpu_node::node();
    gpu_of(node, 0).ecc_volatile.dram_uncorrected = 3U;
    gpu_of(node, 0).ecc_volatile.sram_uncorrected = other;
    gpu_of(node, 1).ecc_volatile.dram_uncorrected = other;
    gpu_of(node, 1).ecc_volatile.sram_uncorrected = 1U;
    Findings findings = judge_uncorrectable(node);
    for (auto& finding : findings) finding.seen_by.clear();
    EXPECT_THAT(findings, ElementsAre(fails("gpu0", Remedy::reboot, {3, 0, "errors"}),
                                      fails("gpu1", Remedy::reboot, {1, 0, "errors"})));
  }
}

TEST(GpuEccUncorrectableTest, CountsWhoseSumWrapsFail) {
  Snapshot node = gpu_node::node();
  gpu_of(node, 0).ecc_volatile.dram_uncorrected = std::uint64_t{1} << 63U;
  gpu_of(node, 0).ecc_volatile.sram_uncorrected = std::uint64_t{1} << 63U;
  EXPECT_EQ(judge_uncorrectable(node).front().observed,
            Value(std::numeric_limits<std::int64_t>::max()));
}

TEST(GpuEccUncorrectableTest, AGpuThatCountsOneKindOnlyIsJudgedByIt) {
  Snapshot node = node_of_v100s();
  gpu_of(node, 0).ecc_volatile.sram_uncorrected = absent();
  EXPECT_THAT(judge_uncorrectable(node), ElementsAre(passes()));
}

TEST(GpuEccUncorrectableTest, AGpuThatCountsNothingIsSkippedUnlessOthersOfItsModelCount) {
  Snapshot node = node_of_v100s();
  gpu_of(node, 0).ecc_volatile = {};
  EXPECT_EQ(judge_uncorrectable(node).front(), (unknown("gpu0")));
  gpu_of(node, 1).ecc_volatile = {};
  EXPECT_EQ(judge_uncorrectable(node).front().outcome, Outcome::skip);
}

// A counter that every GPU since Ampere has, and the check that needs it.
struct Counter {
  const char* what;
  void (*remove)(Gpu&);
  const AskedCheck& judge;
};

const std::vector<Counter>& counters() {
  static const std::vector<Counter> all{
      {"corrected DRAM", [](Gpu& gpu) { gpu.ecc_aggregate.dram_corrected = absent(); },
       judge_corrected},
      {"corrected SRAM", [](Gpu& gpu) { gpu.ecc_aggregate.sram_corrected = absent(); },
       judge_corrected},
      {"all lifetime counters", [](Gpu& gpu) { gpu.ecc_aggregate = {}; }, judge_corrected},
      {"uncorrected DRAM", [](Gpu& gpu) { gpu.ecc_volatile.dram_uncorrected = absent(); },
       judge_uncorrectable},
      {"uncorrected SRAM", [](Gpu& gpu) { gpu.ecc_volatile.sram_uncorrected = absent(); },
       judge_uncorrectable},
      {"all volatile counters", [](Gpu& gpu) { gpu.ecc_volatile = {}; }, judge_uncorrectable},
      {"lifetime SRAM",
       [](Gpu& gpu) { gpu.sram = absent(), gpu.ecc_aggregate.sram_uncorrected = absent(); },
       judge_sram},
      {"remapped rows", [](Gpu& gpu) { gpu.remapped_rows = absent(); }, judge_rows}};
  return all;
}

TEST(GpuEccTest, WithoutACounterThatGpusSinceAmpereHaveItIsUnknown) {
  for (const Counter& counter : counters()) {
    for (const unsigned architecture : {kAmpere, 9U, 10U}) {
      Snapshot node = gpu_node::node();
      for (auto& gpu : node.nvml->gpus) {
        gpu.architecture = architecture;
        counter.remove(gpu);
      }
      EXPECT_THAT(counter.judge(node), ElementsAre(unknown("gpu0"), unknown("gpu1")))
          << counter.what << " of architecture " << architecture;
    }
  }
}

TEST(GpuEccTest, OlderGpusWithoutEccOrInSlicesNeedNotHaveEveryCounter) {
  struct Case {
    const char* what;
    void (*change)(Gpu&);
  };

  const std::vector<Case> cases{
      {"V100", [](Gpu& gpu) { gpu.architecture = kVolta; }},
      {"unknown architecture", [](Gpu& gpu) { gpu.architecture = 0xffffffffU; }},
      {"architecture not reported", [](Gpu& gpu) { gpu.architecture = absent(); }},
      {"ECC off", [](Gpu& gpu) { gpu.modes.ecc = false; }},
      {"ECC mode not reported", [](Gpu& gpu) { gpu.modes.ecc = absent(); }}};
  for (const Counter& counter : counters()) {
    for (const Case& each : cases) {
      Snapshot node = gpu_node::node();
      for (auto& gpu : node.nvml->gpus) {
        each.change(gpu);
        counter.remove(gpu);
      }
      EXPECT_THAT(counter.judge(node), Each(AnyOf(is(Outcome::skip), is(Outcome::pass))))
          << counter.what << ", " << each.what;
    }
    Snapshot unexpected = gpu_node::node();
    for (auto& gpu : unexpected.nvml->gpus) counter.remove(gpu);
    Profile profile = gpu_node::profile();
    profile.gpu->present.count = std::nullopt;
    EXPECT_THAT(counter.judge(unexpected, profile),
                Each(AnyOf(is(Outcome::skip), is(Outcome::pass))))
        << counter.what << ", not expected";
    if (&counter.judge == &judge_rows) continue;  // unknown with MIG in any case
    Snapshot sliced = gpu_node::node();
    for (auto& gpu : sliced.nvml->gpus) {
      gpu.modes.mig = true;
      counter.remove(gpu);
    }
    EXPECT_THAT(counter.judge(sliced), Each(AnyOf(is(Outcome::skip), is(Outcome::pass))))
        << counter.what << ", MIG";
  }
}

}  // namespace
}  // namespace muster::gpu_memory_errors_test
