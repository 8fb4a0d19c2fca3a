// SPDX-License-Identifier: Apache-2.0

#include "tests/checks/ask.hpp"
#include "tests/checks/pci/bus_fixture.hpp"

namespace muster::pci_link_test {
namespace {

Findings judged(const Snapshot& snapshot, const Profile& profile = one_gpu_and_hca()) {
  return ask(checks::pci_link::check, snapshot, profile);
}

PciDevice& device(Snapshot& snapshot, std::size_t index) {
  return snapshot.pci.facts.devices[index];
}

const Expected kPass{.device = "node", .outcome = Outcome::pass};

TEST(PciLinkTest, JudgesOneChange) {
  expect_findings(checks::pci_link::check, small_node(), one_gpu_and_hca(),
                  {
                      {"passes at full width and speed", [](Snapshot&) {}, {kPass}},
                      {"an idle GPU may slow its link down",
                       [](Snapshot& node) { device(node, kGpu).link_speed_gts = 2.5; },
                       {kPass}},
                      {"fails a narrow link",
                       [](Snapshot& node) { device(node, kGpu).link_width = 8U; },
                       {fails("0000:02:00.0", Remedy::reseat_or_replace,
                              {std::int64_t{8}, std::int64_t{16}, "lanes"})}},
                      {"fails a GPU that could never reach the profiles speed",
                       [](Snapshot& node) { device(node, kGpu).link_speed_max_gts = 16.0; },
                       {fails("0000:02:00.0", Remedy::reseat_or_replace, {16.0, 32.0, "GT/s"})}},
                  });
}

TEST(PciLinkTest, AGpuAtWorkHasItsFullSpeed) {
  auto node = small_node();
  Gpu gpu{.address = "0000:02:00.0"};
  gpu.utilisation = 97U;
  gpu.clocks.performance_state = 0U;
  gpu.link.generation = 3U;
  node.nvml = observed(Nvml{.gpus = {gpu}});
  device(node, kGpu).link_speed_max_gts = 32.0;
  const auto found = judged(node).front();
  EXPECT_EQ(found.outcome, Outcome::fail);
  EXPECT_EQ(found, fails("0000:02:00.0", Remedy::reseat_or_replace, {8.0, 32.0, "GT/s"}));
  auto& seen = node.nvml->gpus.front();
  for (const unsigned generation : {0U, 5U, 9U}) {
    seen.link.generation = generation;
    EXPECT_THAT(judged(node), ElementsAre(kPass)) << generation;
  }
  seen.link.generation = 3U;
  seen.link.generation_max = 3U;
  EXPECT_THAT(judged(node), ElementsAre(kPass));
  seen.link.generation_max = 5U;
  seen.utilisation = 20U;
  EXPECT_THAT(judged(node), ElementsAre(kPass));
  seen.utilisation = 97U;
  seen.clocks.performance_state = 2U;
  EXPECT_THAT(judged(node), ElementsAre(kPass));
  seen.clocks.performance_state = 0U;
  seen.utilisation = Fact<unsigned>::absent("Not Supported (3)");
  EXPECT_THAT(judged(node), ElementsAre(kPass));
}

TEST(PciLinkTest, ReportsWidthAndSpeedOfOneLinkTogether) {
  auto guest = small_guest();
  device(guest, 1).link_width = 8U;
  device(guest, 1).link_speed_gts = 16.0;
  EXPECT_THAT(judged(guest), ElementsAre(fails("0000:03:00.0", Remedy::report_to_provider,
                                               {std::int64_t{8}, std::int64_t{16}, "lanes"})));
}

TEST(PciLinkTest, WithoutLimitsTheDevicesOwnMaximumCounts) {
  auto node = small_node();
  device(node, kHca).link_speed_gts = 8.0;
  const auto findings = judged(node, Profile{});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0], warns("0000:03:00.0", Remedy::reseat_or_replace, {8.0, 32.0, "GT/s"}));
}

TEST(PciLinkTest, TheProfileDecidesAboutMissingFacts) {
  auto node = small_node();
  device(node, kHca).link_width = Fact<unsigned>::absent("current_link_width says 0");
  auto profile = one_gpu_and_hca();
  EXPECT_THAT(judged(node, profile), ElementsAre(unknown("0000:03:00.0"), passes()));
  profile.pci->link.unmeasurable = Unmeasurable::skip;
  EXPECT_EQ(judged(node, profile).front().outcome, Outcome::skip);
}

TEST(PciLinkTest, NvmlAddsFactsThatTheKernelLacks) {
  auto node = small_node();
  auto& gpu = device(node, kGpu);
  gpu.link_width = gpu.link_width_max = Fact<unsigned>::absent("says Unknown");
  gpu.link_speed_gts = gpu.link_speed_max_gts = Fact<double>::absent("says Unknown");
  Nvml nvml;
  nvml.gpus.push_back(
      {.address = gpu.address,
       .link = {.generation = 5U, .generation_max = 5U, .width = 16U, .width_max = 16U}});
  node.nvml = observed(std::move(nvml));
  EXPECT_THAT(judged(node), ElementsAre(is(Outcome::pass)));
  node.nvml->gpus.front().link.width = 8U;
  EXPECT_EQ(judged(node).front().outcome, Outcome::fail);
  EXPECT_EQ(judged(node).front(),
            fails("0000:02:00.0", Remedy::reseat_or_replace, {8, 16, "lanes"}));
}

TEST(PciLinkTest, UnreadableIsUnknownForAnyProfile) {
  auto node = small_node();
  device(node, kHca).link_width = Fact<unsigned>::unreadable("not a link width");
  auto profile = one_gpu_and_hca();
  profile.pci->link.unmeasurable = Unmeasurable::skip;
  EXPECT_THAT(judged(node, profile), ElementsAre(unknown("0000:03:00.0")));
}

TEST(PciLinkTest, ADeviceThatDoesNotAnswerIsNotJudgedTwice) {
  auto node = small_node();
  for (const auto index : {kGpu, kHca}) {
    device(node, index).responding = false;
    device(node, index).link_width = 8U;
  }
  EXPECT_THAT(judged(node), ElementsAre(skips()));
}

TEST(PciLinkTest, AsksNothingOfTheVirtualFunctionsOfAHost) {
  auto node = small_node();
  auto part = pci_device("0000:03:00.2", PciKind::hca);
  part.virtual_function = true;
  part.link_width = Fact<unsigned>::absent("width 0");
  node.pci.facts.devices.push_back(part);
  EXPECT_EQ(ask(checks::pci_link::check, node, one_gpu_and_hca()),
            ask(checks::pci_link::check, small_node(), one_gpu_and_hca()));
}

}  // namespace
}  // namespace muster::pci_link_test
