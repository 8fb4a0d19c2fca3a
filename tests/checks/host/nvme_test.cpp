// SPDX-License-Identifier: Apache-2.0
// host.nvme judged on literal nodes.

#include "tests/checks/ask.hpp"

namespace muster::host_nvme_test {
namespace {

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

Expected failure(std::string device, checks::Values values) {
  return fails(std::move(device), Remedy::reseat_or_replace, std::move(values));
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
  EXPECT_THAT(judge({.nvme = {nvme(0), dead}}), ElementsAre(failure("nvme1", {"dead", "live"})));
}

TEST(HostNvmeTest, FailsAnotherSize) {
  Nvme small = nvme(1);
  small.size_bytes = 900 * kGib;
  EXPECT_THAT(
      judge({.nvme = {nvme(0), small}}),
      ElementsAre(failure("nvme1n1", {std::int64_t{900 * kGib}, std::int64_t{3500 * kGib}, "B"})));
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

TEST(HostNvmeTest, EqualDrivesAreComparedIfNoLimitIsSet) {
  expect_findings(
      checks::host_nvme::check, ten_drives(), Profile{},
      {{"equal drives", [](Snapshot&) {}, {passes()}},
       {"fewer lanes",
        [](Snapshot& node) { node.disks->nvme[3].link_width = 1U; },
        {failure("nvme3n1", {"1", "4"})}},
       {"a slower link",
        [](Snapshot& node) { node.disks->nvme[3].link_speed_gts = 8.0; },
        {failure("nvme3n1", {"8 GT/s", "32 GT/s"})}},
       {"another size",
        [](Snapshot& node) { node.disks->nvme[5].size_bytes = std::uint64_t{1'900'000'000'000}; },
        {failure("nvme5n1", {"1900 GB", "3758.1 GB"})}},
       {"another firmware",
        [](Snapshot& node) { node.disks->nvme[5].firmware = std::string("D6"); },
        {warns("nvme5n1", Remedy::fix_config, {"D6", "D7"})}},
       {"another model",
        [](Snapshot& node) { node.disks->nvme[5].model = std::string("OTHER 3840"); },
        {warns("nvme5n1", Remedy::fix_config, {"OTHER 3840", "DATA 3840"})}},
       {"two drives have no majority",
        [](Snapshot& node) {
          node.disks->nvme[9].firmware = std::string("B2");
          node.disks->nvme[9].link_width = 1U;
        },
        {passes()}},
       {"a drive that the site split into namespaces",
        [](Snapshot& node) {
          node.disks->nvme[5].size_bytes = 1000 * kGib;
          auto second = node.disks->nvme[5];
          second.name = "nvme5n2";
          node.disks->nvme.push_back(second);
        },
        {passes()}}});
}

TEST(HostNvmeTest, AnArrayThatServesNoDataFails) {
  for (const auto* const state : {"clear", "inactive", "broken", "readonly", "suspended"}) {
    EXPECT_THAT(judge({.nvme = {nvme(0), nvme(1)}, .raid = {raid(state, absent())}}),
                ElementsAre(failure("md0", {state, "clean"})))
        << state;
  }
  EXPECT_THAT(judge({.nvme = {nvme(0), nvme(1)}, .raid = {raid("active-idle", 0U)}}),
              ElementsAre(passes()));
}

TEST(HostNvmeTest, UnreadableStatesAreUnknown) {
  Nvme silent = nvme(0);
  silent.state = make_error("state: Input/output error");
  silent.size_bytes = make_error("size: garbled");
  EXPECT_THAT(judge({.nvme = {silent, nvme(1)}, .raid = {raid("odd", 0U)}}),
              ElementsAre(unknown("nvme0"), unknown("nvme0n1"), unknown("md0")));
}

TEST(HostNvmeTest, IsSkippedIfThereIsNothingAndNothingIsExpected) {
  EXPECT_THAT(judge({}, {}), ElementsAre(skips()));
}

}  // namespace
}  // namespace muster::host_nvme_test
