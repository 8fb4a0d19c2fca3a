// SPDX-License-Identifier: Apache-2.0
// host.nvme judged on literal nodes.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/catalogue.hpp"
#include "lib/profile/limits/host.hpp"
#include "tests/checks/ask.hpp"
#include "tests/support/printers.hpp"

namespace muster::host_nvme_test {
namespace {

using ::testing::ElementsAre;

constexpr std::uint64_t kGib = 1024UL * 1024 * 1024;

Nvme nvme(unsigned number) {
  return {.name = fmt::format("nvme{}n1", number),
          .controller = fmt::format("nvme{}", number),
          .state = std::string("live"),
          .size_bytes = 3500 * kGib,
          .read_only = false};
}

Raid raid(std::string state, Fact<unsigned> degraded) {
  return {.name = "md0",
          .level = std::string("raid1"),
          .state = std::move(state),
          .disks = 2U,
          .degraded = std::move(degraded)};
}

Findings judge(Disks disks,
               NvmeLimits limits = {
                   .count = 2, .size = Bytes{3500.0 * kGib}, .tolerance = Percent{5}}) {
  return ask(checks::host_nvme::check, {.disks = observed(std::move(disks))},
             {.host = HostLimits{.nvme = limits}});
}

Expected failure(std::string device, Value seen, Value limit, std::string unit = {}) {
  return {.device = std::move(device),
          .outcome = Outcome::fail,
          .observed = std::move(seen),
          .limit = std::move(limit),
          .unit = std::move(unit),
          .remedy = Remedy::reseat_or_replace};
}

TEST(HostNvmeTest, CountsADeviceWithTwoNamespacesOnce) {
  Nvme second = nvme(1);
  second.name = "nvme1n2";
  EXPECT_THAT(judge({.nvme = {nvme(0), nvme(1), second}}), ElementsAre(passes()));
}

TEST(HostNvmeTest, FailsAControllerThatIsNotLive) {
  Nvme dead = nvme(1);
  dead.state = std::string("dead");
  dead.size_bytes = std::uint64_t{0};
  EXPECT_THAT(judge({.nvme = {nvme(0), dead}}), ElementsAre(failure("nvme1", "dead", "live")));
}

TEST(HostNvmeTest, FailsAnotherSize) {
  Nvme small = nvme(1);
  small.size_bytes = 900 * kGib;
  EXPECT_THAT(
      judge({.nvme = {nvme(0), small}}),
      ElementsAre(failure("nvme1n1", std::int64_t{900 * kGib}, std::int64_t{3500 * kGib}, "B")));
}

// Eight drives of one model, and two others that the machine boots from.
Snapshot ten_drives() {
  Snapshot node{.disks = observed(Disks{})};
  for (unsigned i = 0; i < 10; ++i) {
    auto disk = nvme(i);
    const bool boots = i >= 8;
    disk.model = std::string(boots ? "BOOT 960" : "DATA 3840");
    disk.firmware = std::string(boots ? "B1" : "D7");
    if (boots) disk.size_bytes = 894 * kGib;
    disk.address = fmt::format("0000:{:02x}:00.0", 0x20 + i);
    disk.link_speed_gts = boots ? 8.0 : 32.0;
    disk.link_width = boots ? 2U : 4U;
    node.disks->nvme.push_back(disk);
  }
  return node;
}

Findings compare(const Snapshot& node, const NvmeLimits& limits = {}) {
  return ask(checks::host_nvme::check, node, {.host = HostLimits{.nvme = limits}});
}

TEST(HostNvmeTest, EqualDrivesAreComparedIfNoLimitIsSet) {
  EXPECT_EQ(compare(ten_drives()).front().outcome, Outcome::pass);
  auto node = ten_drives();
  node.disks->nvme[3].link_width = 1U;
  EXPECT_THAT(compare(node), ElementsAre(failure("nvme3n1", "1", "4")));
  node = ten_drives();
  node.disks->nvme[3].link_speed_gts = 8.0;
  EXPECT_THAT(compare(node), ElementsAre(failure("nvme3n1", "8 GT/s", "32 GT/s")));
  node = ten_drives();
  node.disks->nvme[5].size_bytes = std::uint64_t{1'900'000'000'000};
  ASSERT_EQ(compare(node).size(), 1U);
  EXPECT_EQ(compare(node).front().outcome, Outcome::fail);
  EXPECT_EQ(compare(node).front().device, "nvme5n1");
  node = ten_drives();
  node.disks->nvme[5].firmware = std::string("D6");
  EXPECT_THAT(compare(node), ElementsAre(warns("nvme5n1", Remedy::fix_config, {"D6", "D7"})));
  node = ten_drives();
  node.disks->nvme[5].model = std::string("OTHER 3840");
  ASSERT_EQ(compare(node).size(), 1U);
  EXPECT_EQ(compare(node).front(),
            warns("nvme5n1", Remedy::fix_config, {"OTHER 3840", "DATA 3840"}));
}

TEST(HostNvmeTest, ComparesOnlyThreeOrMoreDrivesWithoutNamespaces) {
  auto node = ten_drives();
  node.disks->nvme[9].firmware = std::string("B2");
  node.disks->nvme[9].link_width = 1U;
  for (const auto& finding : compare(node)) EXPECT_NE(finding.outcome, Outcome::fail);
  node = ten_drives();
  node.disks->nvme[5].size_bytes = 1000 * kGib;
  auto second = node.disks->nvme[5];
  second.name = "nvme5n2";
  node.disks->nvme.push_back(second);
  EXPECT_EQ(compare(node).front().outcome, Outcome::pass);
}

TEST(HostNvmeTest, UnreadableStatesAreUnknown) {
  Nvme silent = nvme(0);
  silent.state = Fact<std::string>::unreadable("state: Input/output error");
  silent.size_bytes = Fact<std::uint64_t>::unreadable("size: garbled");
  EXPECT_THAT(judge({.nvme = {silent, nvme(1)}, .raid = {raid("odd", 0U)}}),
              ElementsAre(unknown("nvme0"), unknown("nvme0n1"), unknown("md0")));
}

TEST(HostNvmeTest, IsSkippedIfThereIsNothingAndNothingIsExpected) {
  EXPECT_THAT(judge({}, {}), ElementsAre(skips()));
}

}  // namespace
}  // namespace muster::host_nvme_test
