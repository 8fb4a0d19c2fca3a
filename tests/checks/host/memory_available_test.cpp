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
              ElementsAre(Finding{.device = "node",
                                  .outcome = Outcome::pass,
                                  .message = "5.0 GiB of memory available, 5.0% of all"}));
}

TEST(HostMemoryAvailableTest, WarnsBelowTheLimit) {
  EXPECT_THAT(judge({.total_bytes = 100 * kGib, .available_bytes = 4 * kGib}),
              ElementsAre(Finding{
                  .device = "node",
                  .outcome = Outcome::warn,
                  .message = "4.0 GiB of memory available, 4.0% of all; expected at least 5%",
                  .observed = 4.0,
                  .limit = 5.0,
                  .unit = "%",
                  .remedy = Remedy::watch}));
}

TEST(HostMemoryAvailableTest, IsUndecidedWhereEitherNumberIsMissing) {
  EXPECT_THAT(
      judge({.total_bytes = 100 * kGib,
             .available_bytes = Fact<std::uint64_t>::unreadable("meminfo: no MemAvailable")}),
      ElementsAre(
          Finding{.device = "node",
                  .outcome = Outcome::unknown,
                  .message = "the available memory is not known: meminfo: no MemAvailable"}));
  EXPECT_THAT(judge({.total_bytes = Fact<std::uint64_t>::unreadable("meminfo: empty"),
                     .available_bytes = kGib}),
              ElementsAre(Finding{.device = "node",
                                  .outcome = Outcome::unknown,
                                  .message = "the memory size is not known: meminfo: empty"}));
}

TEST(HostMemoryAvailableTest, IsUndecidedOfANodeThatSaysItHasNoMemory) {
  EXPECT_THAT(judge({.total_bytes = std::uint64_t{0}, .available_bytes = std::uint64_t{0}}),
              ElementsAre(Finding{.device = "node",
                                  .outcome = Outcome::unknown,
                                  .message = "the memory size is not known: MemTotal is 0"}));
}

TEST(HostMemoryAvailableTest, IsSkippedWithoutALimit) {
  EXPECT_THAT(
      judge({.total_bytes = kGib, .available_bytes = kGib}, {}),
      ElementsAre(Finding{.device = "node",
                          .outcome = Outcome::skip,
                          .message = "this profile sets no limit for the available memory"}));
}

}  // namespace
}  // namespace muster::host_memory_available_test
