// SPDX-License-Identifier: Apache-2.0
// host.hugepages judged on literal nodes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/catalogue.hpp"
#include "lib/profile/limits/host.hpp"
#include "tests/checks/ask.hpp"
#include "tests/support/printers.hpp"

namespace muster::host_hugepages_test {
namespace {

using ::testing::ElementsAre;

const Bytes kTwoMib{2.0 * 1024 * 1024};

Findings judge(Fact<std::vector<HugePages>> pages, std::vector<HugePageLimit> limits) {
  return ask(checks::host_hugepages::check,
             {.memory = observed(Memory{.huge_pages = std::move(pages)})},
             {.host = HostLimits{.hugepages = {.pages = std::move(limits)}}});
}

std::vector<HugePages> pages_of_2_mib(std::uint64_t total, std::uint64_t free) {
  return {{.size_kib = 2048, .total = total, .free = free}};
}

TEST(HostHugepagesTest, PassesWithTheExpectedPages) {
  EXPECT_THAT(judge(pages_of_2_mib(512, 500), {{.size = kTwoMib, .count = 512, .free = 500}}),
              ElementsAre(passes()));
}

TEST(HostHugepagesTest, WarnsOfAnotherNumberOfPages) {
  EXPECT_THAT(judge(pages_of_2_mib(511, 511), {{.size = kTwoMib, .count = 512, .free = 512}}),
              ElementsAre(warns("hugepages-2048kB", Remedy::fix_config,
                                {std::int64_t{511}, std::int64_t{512}, "pages"})));
}

TEST(HostHugepagesTest, WarnsOfPagesThatAreNotFree) {
  EXPECT_THAT(judge(pages_of_2_mib(512, 1), {{.size = kTwoMib, .free = 500}}),
              ElementsAre(warns("hugepages-2048kB", Remedy::fix_config,
                                {std::int64_t{1}, std::int64_t{500}, "pages"})));
}

TEST(HostHugepagesTest, WarnsOfASizeThatTheKernelDoesNotOffer) {
  EXPECT_THAT(judge(pages_of_2_mib(0, 0), {{.size = Bytes{1024.0 * 1024 * 1024}, .count = 16}}),
              ElementsAre(warns("hugepages-1048576kB", Remedy::fix_config,
                                {std::int64_t{0}, std::int64_t{16}, "pages"})));
}

TEST(HostHugepagesTest, IsUndecidedWhereTheNumberCouldNotBeRead) {
  EXPECT_THAT(
      judge(
          std::vector<HugePages>{
              {.size_kib = 2048, .total = Fact<std::uint64_t>::unreadable("nr_hugepages: empty")}},
          {{.size = kTwoMib, .count = 512}}),
      ElementsAre(unknown("hugepages-2048kB")));
}

TEST(HostHugepagesTest, IsUndecidedWhereNothingIsKnown) {
  EXPECT_THAT(judge(Fact<std::vector<HugePages>>::absent("no hugepages directory"),
                    {{.size = kTwoMib, .count = 512}}),
              ElementsAre(unknown()));
}

TEST(HostHugepagesTest, IsSkippedWithoutLimits) {
  EXPECT_THAT(judge(pages_of_2_mib(1, 1), {}), ElementsAre(skips()));
}

}  // namespace
}  // namespace muster::host_hugepages_test
