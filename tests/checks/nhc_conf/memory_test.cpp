// SPDX-License-Identifier: Apache-2.0
// check_hw_physmem, check_hw_swap, check_hw_mem and what has to be free, on literal nodes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/nhc_conf/judging.hpp"
#include "tests/checks/nhc_conf/judge_as.hpp"
#include "tests/support/printers.hpp"

namespace muster::nhc::memory_test {
namespace {

using ::testing::ElementsAre;

constexpr std::uint64_t kGib = 1024UL * 1024 * 1024;

Snapshot node(Fact<std::uint64_t> total, Fact<std::uint64_t> swap = std::uint64_t{0},
              Fact<std::uint64_t> available = 50 * kGib,
              Fact<std::uint64_t> swap_free = std::uint64_t{0}) {
  return {.memory = observed(Memory{.total_bytes = std::move(total),
                                    .available_bytes = std::move(available),
                                    .swap_total_bytes = std::move(swap),
                                    .swap_free_bytes = std::move(swap_free)})};
}

Finding passed(std::string message) {
  return {.device = "node", .outcome = Outcome::pass, .message = std::move(message)};
}

Finding undecided(std::string message) {
  return {.device = "node", .outcome = Outcome::unknown, .message = std::move(message)};
}

Finding missed(std::string message, std::uint64_t observed, std::uint64_t limit, Remedy remedy) {
  return {.device = "node",
          .outcome = Outcome::fail,
          .message = std::move(message),
          .observed = static_cast<std::int64_t>(observed),
          .limit = static_cast<std::int64_t>(limit),
          .unit = "B",
          .remedy = remedy};
}

TEST(NhcPhysmemTest, PassesBetweenItsLimits) {
  EXPECT_THAT(judge_as("check_hw_physmem", node(100 * kGib), {"100GB", "100GB"}),
              ElementsAre(passed("100.0 GiB of memory")));
  EXPECT_THAT(judge_as("check_hw_physmem", node(100 * kGib), {"1k", ""}),
              ElementsAre(passed("100.0 GiB of memory")));
}

TEST(NhcPhysmemTest, FailsBelowAndAboveThem) {
  EXPECT_THAT(judge_as("check_hw_physmem", node(99 * kGib), {"100GB", "200GB"}),
              ElementsAre(missed("99.0 GiB of memory, less than the 100.0 GiB wanted", 99 * kGib,
                                 100 * kGib, Remedy::reseat_or_replace)));
  EXPECT_THAT(judge_as("check_hw_physmem", node(99 * kGib), {"1GB", "50GB"}),
              ElementsAre(missed("99.0 GiB of memory, more than the 50.0 GiB wanted", 99 * kGib,
                                 50 * kGib, Remedy::fix_config)));
}

TEST(NhcPhysmemTest, AShareIsOfWhatWasFound) {
  EXPECT_THAT(judge_as("check_hw_physmem", node(96 * kGib), {"100GB", "100GB", "5%"}),
              ElementsAre(passed("96.0 GiB of memory")));
  EXPECT_THAT(judge_as("check_hw_physmem", node(95 * kGib), {"100GB", "100GB", "5%"}),
              ElementsAre(missed("95.0 GiB of memory, less than the 100.0 GiB wanted within 5%",
                                 95 * kGib, 100 * kGib, Remedy::reseat_or_replace)));
}

TEST(NhcPhysmemTest, ATolerancesMayBeASize) {
  EXPECT_THAT(judge_as("check_hw_physmem", node(98 * kGib), {"100GB", "100GB", "2GB"}),
              ElementsAre(passed("98.0 GiB of memory")));
}

TEST(NhcPhysmemTest, IsUndecidedWhereTheArgumentOrTheSizeIsNotKnown) {
  EXPECT_THAT(judge_as("check_hw_physmem", node(kGib), {"lots", ""}),
              ElementsAre(undecided("not judged: expects a size as 512MB, got \"lots\"")));
  EXPECT_THAT(judge_as("check_hw_physmem", node(kGib), {"1", "x"}),
              ElementsAre(undecided("not judged: expects a size as 512MB, got \"x\"")));
  EXPECT_THAT(judge_as("check_hw_physmem", node(kGib), {"1", "2", "x%"}),
              ElementsAre(undecided("not judged: expects a share as 5%, got \"x%\"")));
  EXPECT_THAT(judge_as("check_hw_physmem", node(Fact<std::uint64_t>::unreadable("garbled")), {"1"}),
              ElementsAre(undecided("the size of memory is not known: garbled")));
}

TEST(NhcSwapTest, IsJudgedAsASetting) {
  EXPECT_THAT(judge_as("check_hw_swap", node(kGib), {"0kB", "0kB", "3%"}),
              ElementsAre(passed("0 kB of swap")));
  EXPECT_THAT(
      judge_as("check_hw_swap", node(kGib), {"1b", "1TB"}),
      ElementsAre(missed("0 kB of swap, less than the 1 kB wanted", 0, 1024, Remedy::fix_config)));
}

TEST(NhcMemTest, IsMemoryAndSwapTogether) {
  EXPECT_THAT(judge_as("check_hw_mem", node(3 * kGib, kGib), {"4GB", "4GB"}),
              ElementsAre(passed("4.0 GiB of memory and swap")));
  EXPECT_THAT(judge_as("check_hw_mem", node(3 * kGib, kGib), {"5GB", ""}),
              ElementsAre(missed("4.0 GiB of memory and swap, less than the 5.0 GiB wanted",
                                 4 * kGib, 5 * kGib, Remedy::fix_config)));
  EXPECT_THAT(judge_as("check_hw_mem", node(kGib, Fact<std::uint64_t>::absent("gone")), {"1"}),
              ElementsAre(undecided("the size of memory and swap is not known: gone")));
}

TEST(NhcFreeMemoryTest, IsWhatTheKernelCallsAvailable) {
  EXPECT_THAT(judge_as("check_hw_physmem_free", node(100 * kGib), {"50GB"}),
              ElementsAre(passed("50.0 GiB of memory free")));
  EXPECT_THAT(judge_as("check_hw_physmem_free", node(100 * kGib), {"51GB"}),
              ElementsAre(missed("50.0 GiB of memory free, less than the 51.0 GiB wanted",
                                 50 * kGib, 51 * kGib, Remedy::watch)));
}

TEST(NhcFreeSwapTest, IsComparedAndNotNeededWhereNoneIsWanted) {
  EXPECT_THAT(
      judge_as("check_hw_swap_free", node(kGib), {"1"}),
      ElementsAre(missed("0 kB of swap free, less than the 1 kB wanted", 0, 1024, Remedy::watch)));
  EXPECT_THAT(judge_as("check_hw_swap_free", node(kGib, kGib), {"0"}),
              ElementsAre(passed("no swap has to be free")));
  EXPECT_THAT(judge_as("check_hw_swap_free", node(kGib, 2 * kGib, kGib, kGib), {"1GB"}),
              ElementsAre(passed("1.0 GiB of swap free")));
  EXPECT_THAT(judge_as("check_hw_swap_free", node(kGib, kGib, kGib, Fact<std::uint64_t>()), {"1"}),
              ElementsAre(undecided("how much swap is free is not known: not observed")));
  EXPECT_THAT(judge_as("check_hw_swap_free", node(kGib), {"x"}),
              ElementsAre(undecided("not judged: expects a size as 512MB, got \"x\"")));
}

TEST(NhcFreeMemTest, IsBothTogether) {
  EXPECT_THAT(judge_as("check_hw_mem_free", node(kGib, 3 * kGib, 2 * kGib, kGib), {"3GB"}),
              ElementsAre(passed("3.0 GiB of memory and swap free")));
}

}  // namespace
}  // namespace muster::nhc::memory_test
