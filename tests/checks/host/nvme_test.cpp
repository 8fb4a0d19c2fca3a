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

Finding failure(std::string device, std::string message, Value seen, Value limit,
                std::string unit = {}) {
  return {.device = std::move(device),
          .outcome = Outcome::fail,
          .message = std::move(message),
          .observed = std::move(seen),
          .limit = std::move(limit),
          .unit = std::move(unit),
          .remedy = Remedy::reseat_or_replace};
}

TEST(HostNvmeTest, PassesWithTheExpectedDevices) {
  EXPECT_THAT(judge({.nvme = {nvme(0), nvme(1)}, .raid = {raid("active", 0U)}}),
              ElementsAre(Finding{.device = "node",
                                  .outcome = Outcome::pass,
                                  .message = "2 local NVMe devices and 1 RAID array in order"}));
}

TEST(HostNvmeTest, FailsAMissingDevice) {
  EXPECT_THAT(judge({.nvme = {nvme(0)}}),
              ElementsAre(failure("node", "1 local NVMe device, expected 2", std::int64_t{1},
                                  std::int64_t{2}, "devices")));
}

TEST(HostNvmeTest, FailsADeadControllerOnceAndNotTheCountItSpoils) {
  EXPECT_THAT(
      judge({.nvme = {nvme(0)}, .dead_controllers = {"nvme1"}}),
      ElementsAre(failure("nvme1", "NVMe controller nvme1 offers no disk", "no namespace", {})));
}

TEST(HostNvmeTest, CountsADeviceWithTwoNamespacesOnce) {
  Nvme second = nvme(1);
  second.name = "nvme1n2";
  EXPECT_THAT(judge({.nvme = {nvme(0), nvme(1), second}}),
              ElementsAre(Finding{.device = "node",
                                  .outcome = Outcome::pass,
                                  .message = "2 local NVMe devices and 0 RAID arrays in order"}));
}

TEST(HostNvmeTest, FailsAControllerThatIsNotLive) {
  Nvme dead = nvme(1);
  dead.state = std::string("dead");
  dead.size_bytes = std::uint64_t{0};
  EXPECT_THAT(judge({.nvme = {nvme(0), dead}}),
              ElementsAre(failure("nvme1", "NVMe controller nvme1 is dead, expected live", "dead",
                                  "live")));
}

TEST(HostNvmeTest, FailsAReadOnlyDevice) {
  Nvme locked = nvme(1);
  locked.read_only = true;
  EXPECT_THAT(
      judge({.nvme = {nvme(0), locked}}),
      ElementsAre(failure("nvme1n1", "the device allows reads only", "read-only", "writable")));
}

TEST(HostNvmeTest, FailsAnotherSize) {
  Nvme small = nvme(1);
  small.size_bytes = 900 * kGib;
  EXPECT_THAT(judge({.nvme = {nvme(0), small}}),
              ElementsAre(failure("nvme1n1", "900.0 GiB, expected 3500.0 GiB within 5%",
                                  std::int64_t{900 * kGib}, std::int64_t{3500 * kGib}, "B")));
}

TEST(HostNvmeTest, FailsADegradedArray) {
  EXPECT_THAT(judge({.raid = {raid("clean", 1U)}}, {}),
              ElementsAre(failure("md0", "the array misses 1 member of 2", std::int64_t{1},
                                  std::int64_t{0}, "members")));
}

TEST(HostNvmeTest, FailsABrokenArray) {
  EXPECT_THAT(
      judge({.raid = {raid("broken", Fact<unsigned>::absent("raid0 has no degraded file"))}}, {}),
      ElementsAre(
          failure("md0", "the array is broken, expected clean or active", "broken", "clean")));
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

TEST(HostNvmeTest, EqualDrivesAreComparedWhereNoLimitIsSet) {
  EXPECT_EQ(compare(ten_drives()).front().outcome, Outcome::pass);
  auto node = ten_drives();
  node.disks->nvme[3].link_width = 1U;
  EXPECT_THAT(
      compare(node),
      ElementsAre(failure("nvme3n1", "lanes 1, but 4 on 7 of 8 NVMe drives like it", "1", "4")));
  node = ten_drives();
  node.disks->nvme[3].link_speed_gts = 8.0;
  EXPECT_THAT(
      compare(node),
      ElementsAre(failure("nvme3n1", "link speed 8 GT/s, but 32 GT/s on 7 of 8 NVMe drives like it",
                          "8 GT/s", "32 GT/s")));
  node = ten_drives();
  node.disks->nvme[5].size_bytes = std::uint64_t{1'900'000'000'000};
  ASSERT_EQ(compare(node).size(), 1U);
  EXPECT_EQ(compare(node).front().outcome, Outcome::fail);
  EXPECT_EQ(compare(node).front().device, "nvme5n1");
  node = ten_drives();
  node.disks->nvme[5].firmware = std::string("D6");
  EXPECT_THAT(compare(node),
              ElementsAre(Finding{.device = "nvme5n1",
                                  .outcome = Outcome::warn,
                                  .message = "firmware D6, but D7 on 7 of 8 NVMe drives like it",
                                  .observed = "D6",
                                  .limit = "D7",
                                  .remedy = Remedy::fix_config}));
  node = ten_drives();
  node.disks->nvme[5].model = std::string("OTHER 3840");
  ASSERT_EQ(compare(node).size(), 1U);
  EXPECT_EQ(compare(node).front().message,
            "model OTHER 3840, but DATA 3840 on 7 of 8 NVMe drives like it");
}

TEST(HostNvmeTest, NobodyIsAccusedAmongTwoDrivesOrForTheSitesNamespaces) {
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

TEST(HostNvmeTest, IsUndecidedAboutStatesThatCouldNotBeReadOrUnderstood) {
  Nvme silent = nvme(0);
  silent.state = Fact<std::string>::unreadable("state: Input/output error");
  silent.size_bytes = Fact<std::uint64_t>::unreadable("size: garbled");
  EXPECT_THAT(
      judge({.nvme = {silent, nvme(1)}, .raid = {raid("odd", 0U)}}),
      ElementsAre(
          Finding{.device = "nvme0",
                  .outcome = Outcome::unknown,
                  .message = "the state of the controller is not known: state: Input/output error"},
          Finding{.device = "nvme0n1",
                  .outcome = Outcome::unknown,
                  .message = "the size of the device is not known: size: garbled"},
          Finding{
              .device = "md0",
              .outcome = Outcome::unknown,
              .message =
                  "the state of the array is not known: \"odd\" is no state that muster knows"}));
}

TEST(HostNvmeTest, IsSkippedWhereThereIsNothingAndNothingIsExpected) {
  EXPECT_THAT(
      judge({}, {}),
      ElementsAre(Finding{
          .device = "node",
          .outcome = Outcome::skip,
          .message =
              "no local NVMe devices or RAID arrays here, and none expected by this profile"}));
}

}  // namespace
}  // namespace muster::host_nvme_test
