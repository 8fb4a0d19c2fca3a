// SPDX-License-Identifier: Apache-2.0
// host.swap judged on literal nodes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/catalogue.hpp"
#include "lib/profile/limits/host.hpp"
#include "tests/checks/ask.hpp"
#include "tests/support/printers.hpp"

namespace muster::host_swap_test {
namespace {

using ::testing::ElementsAre;

constexpr std::uint64_t kGib = 1024UL * 1024 * 1024;

Findings judge(Fact<std::uint64_t> total, Limit<Bytes> expected) {
  return ask(checks::host_swap::check,
             {.memory = observed(Memory{.swap_total_bytes = std::move(total)})},
             {.host = HostLimits{.swap = {.total = expected}}});
}

TEST(HostSwapTest, PassesWithoutSwapWhereNoneIsExpected) {
  EXPECT_THAT(judge(std::uint64_t{0}, Bytes{0}), ElementsAre(passes()));
}

TEST(HostSwapTest, WarnsOfSwapWhereNoneIsExpected) {
  EXPECT_THAT(judge(2 * kGib, Bytes{0}),
              ElementsAre(warns("node", Remedy::fix_config,
                                {std::int64_t{2 * kGib}, std::int64_t{0}, "B"})));
}

TEST(HostSwapTest, WarnsOfMissingSwap) {
  EXPECT_THAT(judge(std::uint64_t{0}, Bytes{2.0 * kGib}),
              ElementsAre(warns("node", Remedy::fix_config,
                                {std::int64_t{0}, std::int64_t{2 * kGib}, "B"})));
}

TEST(HostSwapTest, ForgivesThePageThatTheHeaderTakes) {
  EXPECT_THAT(judge(2 * kGib - 4096, Bytes{2.0 * kGib}), ElementsAre(passes()));
}

TEST(HostSwapTest, IsUndecidedWhereTheSizeCouldNotBeRead) {
  EXPECT_THAT(judge(Fact<std::uint64_t>::unreadable("meminfo: no SwapTotal"), Bytes{0}),
              ElementsAre(unknown()));
}

TEST(HostSwapTest, IsSkippedWithoutALimit) {
  EXPECT_THAT(judge(2 * kGib, {}), ElementsAre(skips()));
}

}  // namespace
}  // namespace muster::host_swap_test
