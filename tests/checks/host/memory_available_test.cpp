// SPDX-License-Identifier: Apache-2.0
// host.memory_available judged on literal nodes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/catalogue.hpp"
#include "lib/profile/limits/host.hpp"
#include "tests/checks/ask.hpp"
#include "tests/support/printers.hpp"

namespace muster::host_memory_available_test {
namespace {

using ::testing::ElementsAre;

constexpr std::uint64_t kGib = 1024UL * 1024 * 1024;
const Profile kFivePercent{.host = HostLimits{.memory_available = {.warn_below = Percent{5}}}};

Findings judge(Memory memory, const Profile& profile = kFivePercent) {
  return ask(checks::host_memory_available::check, {.memory = observed(std::move(memory))},
             profile);
}

TEST(HostMemoryAvailableTest, PassesAtTheLimit) {
  EXPECT_THAT(judge({.total_bytes = 100 * kGib, .available_bytes = 5 * kGib}),
              ElementsAre(passes()));
}

TEST(HostMemoryAvailableTest, WarnsBelowTheLimit) {
  EXPECT_THAT(judge({.total_bytes = 100 * kGib, .available_bytes = 4 * kGib}),
              ElementsAre(warns("node", Remedy::watch, {4.0, 5.0, "%"})));
}

TEST(HostMemoryAvailableTest, IsUndecidedWhereEitherNumberIsMissing) {
  EXPECT_THAT(
      judge({.total_bytes = 100 * kGib,
             .available_bytes = Fact<std::uint64_t>::unreadable("meminfo: no MemAvailable")}),
      ElementsAre(unknown()));
  EXPECT_THAT(judge({.total_bytes = Fact<std::uint64_t>::unreadable("meminfo: empty"),
                     .available_bytes = kGib}),
              ElementsAre(unknown()));
}

TEST(HostMemoryAvailableTest, IsUnknownForANodeWithoutMemory) {
  EXPECT_THAT(judge({.total_bytes = std::uint64_t{0}, .available_bytes = std::uint64_t{0}}),
              ElementsAre(unknown()));
}

TEST(HostMemoryAvailableTest, IsSkippedWithoutALimit) {
  EXPECT_THAT(judge({.total_bytes = kGib, .available_bytes = kGib}, {}), ElementsAre(skips()));
}

}  // namespace
}  // namespace muster::host_memory_available_test
