// SPDX-License-Identifier: Apache-2.0
// The links of the PCI bus and their errors.
#include "lib/state/counters.hpp"
#include "tests/checks/ask.hpp"
#include "tests/checks/pci/bus_fixture.hpp"

namespace muster::pci_links_test {
namespace {

Profile limits() {
  Profile profile = one_gpu_and_hca();
  profile.pci->errors = {.correctable_warn_above_per_hour = 100, .window = Seconds{24 * kHour}};
  return profile;
}

constexpr AskedCheck judged_errors{checks::pci_errors::check, limits};

// Seen an hour ago with every counter as it is now.
Snapshot seen_before() {
  Snapshot node = small_node();
  node.earlier.last_uptime_s = kHour;
  for (const auto& [key, value] : counters_of(node)) {
    node.earlier.counters[key] = {{.uptime_s = kHour, .value = value}};
  }
  return node;
}

TEST(PciErrorsTest, JudgesEachChange) {
  const std::vector<NodeChange> changes{
      {"passes when no counter moved", [](Snapshot&) {}, {passes()}},
      {"fails the worst uncorrected error once",
       [](Snapshot& node) {
         device(node, kGpu).aer = AerCounts{.fatal = 1, .non_fatal = 2, .correctable = 5000};
         device(node, kHca).aer = AerCounts{.non_fatal = 2};
       },
       {fails("0000:02:00.0", Remedy::reseat_or_replace, {1, 0, "errors"}),
        fails("0000:03:00.0", Remedy::reseat_or_replace, {2, 0, "errors"})}},
      {"counters that cannot be read are unknown",
       [](Snapshot& node) { device(node, kHca).aer = unreadable(); },
       {unknown("0000:03:00.0")}},
      {"asks nothing of the virtual functions of a host",
       [](Snapshot& node) {
         auto part = pci_device("0000:03:00.2", PciKind::hca);
         part.virtual_function = true;
         part.aer = absent();
         node.pci->devices.push_back(part);
       },
       {passes()}},
  };
  expect_findings(judged_errors, seen_before(), changes);
}

TEST(PciErrorsTest, AFirstObservationHasNoRate) {
  EXPECT_THAT(judged_errors(small_node()), Each(is(Outcome::skip)));
}

TEST(PciErrorsTest, WarnsOfCorrectedErrorsAboveTheRate) {
  auto node = seen_before();
  device(node, kSwitch).aer = AerCounts{.correctable = 100};
  EXPECT_EQ(judged_errors(node).front().outcome, Outcome::pass);
  device(node, kSwitch).aer = AerCounts{.correctable = 101};
  EXPECT_THAT(judged_errors(node),
              ElementsAre(warns("0000:01:00.0", Remedy::watch, {101.0, 100.0, "errors/h"})));
}

TEST(PciErrorsTest, TheRateIsThatOfTheTimeSinceTheLastRun) {
  auto node = seen_before();
  node.identity->uptime_s = 49 * kHour;
  device(node, kSwitch).aer = AerCounts{.correctable = 4800};
  EXPECT_EQ(judged_errors(node).front().outcome, Outcome::pass);
  device(node, kSwitch).aer = AerCounts{.correctable = 4801};
  EXPECT_EQ(judged_errors(node).front().outcome, Outcome::warn);
}

TEST(PciErrorsTest, WarnsAboutErrorsInAnHcasRegister) {
  auto node = seen_before();
  auto& hca = device(node, kHca);
  hca.uncorrectable_status =
      1U << 20U;  // an unsupported request, as looking for devices makes them
  EXPECT_EQ(judged_errors(node).front().outcome, Outcome::pass);
  hca.uncorrectable_status = 1U << 18U | 1U << 22U;
  EXPECT_THAT(judged_errors(node), ElementsAre(warns("0000:03:00.0", Remedy::watch, {0x440000})));
  hca.uncorrectable_status = 0xffffffffU;
  EXPECT_EQ(judged_errors(node).front().outcome, Outcome::pass);
}

TEST(PciErrorsTest, ASaturatedCounterWarns) {
  for (auto node : {seen_before(), small_node()}) {
    device(node, kGpu).aer = AerCounts{.correctable = 0xffffffffffffffffU};
    EXPECT_THAT(judged_errors(node).front(), is(Outcome::warn, "0000:02:00.0"));
  }
}

TEST(PciErrorsTest, ErrorsBeforeTheWindowDoNotCount) {
  auto node = seen_before();
  node.identity->uptime_s = 30 * kHour;
  node.earlier.last_uptime_s = 29 * kHour;
  device(node, kGpu).aer = AerCounts{.fatal = 1};
  node.earlier.counters["pci.0000:02:00.0.fatal"].push_back({.uptime_s = 2 * kHour, .value = 1});
  EXPECT_EQ(judged_errors(node).front().outcome, Outcome::pass);
}

TEST(PciErrorsTest, WithoutCountersAGuestSkipsAndBareMetalIsUnknown) {
  EXPECT_THAT(judged_errors(small_guest()), ElementsAre(skips()));
  auto node = seen_before();
  device(node, kGpu).aer = absent();
  EXPECT_EQ(judged_errors(node).front(), (unknown("0000:02:00.0")));
}

TEST(PciErrorsTest, IsUnknownWithoutUptime) {
  auto node = seen_before();
  node.identity->uptime_s = unreadable();
  EXPECT_EQ(judged_errors(node).front().outcome, Outcome::unknown);
}

constexpr AskedCheck judged_link{checks::pci_link::check, one_gpu_and_hca};

TEST(PciLinkTest, AnIdleGpuMaySlowItsLinkDown) {
  auto node = small_node();
  device(node, kGpu).link_speed_gts = 2.5;
  EXPECT_THAT(judged_link(node), ElementsAre(passes()));
  device(node, kGpu).link_speed_max_gts = 16.0;
  EXPECT_THAT(judged_link(node),
              ElementsAre(fails("0000:02:00.0", Remedy::reseat_or_replace, {16.0, 32.0, "GT/s"})));
}

TEST(PciLinkTest, AGpuAtWorkHasItsFullSpeed) {
  auto node = small_node();
  Gpu gpu{.address = "0000:02:00.0"};
  gpu.utilisation = 97U;
  gpu.clocks.performance_state = 0U;
  gpu.link.generation = 3U;
  node.nvml = observed(Nvml{.gpus = {gpu}});
  device(node, kGpu).link_speed_max_gts = 32.0;
  EXPECT_EQ(judged_link(node).front(),
            fails("0000:02:00.0", Remedy::reseat_or_replace, {8.0, 32.0, "GT/s"}));
  auto& seen = node.nvml->gpus.front();
  const auto passes_with = [&](auto& fact, auto value) {
    const auto before = std::exchange(fact, value);
    EXPECT_THAT(judged_link(node), ElementsAre(passes()));
    fact = before;
  };
  for (const unsigned generation : {0U, 5U, 9U}) passes_with(seen.link.generation, generation);
  passes_with(seen.link.generation_max, 3U);
  passes_with(seen.utilisation, 20U);
  passes_with(seen.clocks.performance_state, 2U);
  passes_with(seen.utilisation, Fact<unsigned>::absent("Not Supported (3)"));
}

TEST(PciLinkTest, WithoutLimitsTheDevicesOwnMaximumCounts) {
  auto node = small_node();
  device(node, kHca).link_speed_gts = 8.0;
  EXPECT_THAT(judged_link(node, Profile{}),
              ElementsAre(warns("0000:03:00.0", Remedy::reseat_or_replace, {8.0, 32.0, "GT/s"})));
}

// GPUs of one model without limits, as the kernel and NVML see them.
Snapshot node_of_gpus(std::size_t count) {
  Snapshot node = small_node();
  auto& devices = node.pci->devices;
  devices.clear();
  Nvml nvml;
  for (std::size_t i = 0; i < count; ++i) {
    devices.push_back(pci_device(fmt::format("0000:{:02x}:00.0", 0x10 + i), PciKind::gpu));
    devices.back().device = 0x2330;
    devices.back().link_speed_gts = 2.5;
    nvml.gpus.push_back({.address = devices.back().address, .link = {.generation_max = 5U}});
  }
  node.nvml = observed(std::move(nvml));
  return node;
}

TEST(PciLinkTest, AGpuWithALowerMaximumThanOthersLikeItFails) {
  for (const double gts : {2.5, 8.0, 16.0}) {
    Snapshot node = node_of_gpus(8);
    device(node, 3).link_speed_max_gts = gts;
    EXPECT_THAT(judged_link(node, Profile{}),
                ElementsAre(fails("0000:13:00.0", Remedy::reseat_or_replace, {gts, 32.0, "GT/s"})));
  }
  Snapshot node = node_of_gpus(4);
  device(node, 0).link_speed_max_gts = 16.0;
  device(node, 0).device = 0x20b0;
  EXPECT_THAT(judged_link(node, Profile{}), ElementsAre(passes())) << "another model";
  device(node, 1).link_speed_max_gts = 16.0;
  EXPECT_THAT(judged_link(node, Profile{}), ElementsAre(passes())) << "two others are too few";
}

TEST(PciLinkTest, NvmlKnowsASlotThatIsSlowerThanThoseOfOtherGpus) {
  for (const unsigned generation : {1U, 3U, 4U}) {
    Snapshot node = node_of_gpus(8);
    node.nvml->gpus[3].link.generation_max = generation;
    EXPECT_THAT(judged_link(node, Profile{}), ElementsAre(is(Outcome::fail, "0000:13:00.0")));
  }
  Snapshot node = node_of_gpus(8);
  for (auto& gpu : node.nvml->gpus) gpu.link.generation_max = 4U;
  EXPECT_THAT(judged_link(node, Profile{}), ElementsAre(passes())) << "all slots are alike";
  EXPECT_THAT(judged_link(node, one_gpu_and_hca()), ElementsAre(passes()));
  node.nvml->gpus[3].link.generation_max = 3U;
  EXPECT_EQ(judged_link(node, Profile{}).front().observed, Value(8.0));
  node.nvml->gpus[3].link.generation_max = 9U;
  EXPECT_THAT(judged_link(node, Profile{}), ElementsAre(passes())) << "an unknown generation";
}

TEST(PciLinkTest, TheProfileDecidesAboutMissingFacts) {
  auto node = small_node();
  device(node, kHca).link_width = absent();
  auto profile = one_gpu_and_hca();
  EXPECT_THAT(judged_link(node, profile), ElementsAre(unknown("0000:03:00.0"), passes()));
  profile.pci->link.unmeasurable = Unmeasurable::skip;
  EXPECT_EQ(judged_link(node, profile).front().outcome, Outcome::skip);
}

TEST(PciLinkTest, NvmlAddsFactsThatTheKernelLacks) {
  auto node = small_node();
  auto& gpu = device(node, kGpu);
  gpu.link_width = gpu.link_width_max = absent();
  gpu.link_speed_gts = gpu.link_speed_max_gts = absent();
  Nvml nvml;
  nvml.gpus.push_back(
      {.address = gpu.address,
       .link = {.generation = 5U, .generation_max = 5U, .width = 16U, .width_max = 16U}});
  node.nvml = observed(std::move(nvml));
  EXPECT_THAT(judged_link(node), ElementsAre(is(Outcome::pass)));
  node.nvml->gpus.front().link.width = 8U;
  EXPECT_EQ(judged_link(node).front(),
            fails("0000:02:00.0", Remedy::reseat_or_replace, {8, 16, "lanes"}));
}

TEST(PciLinkTest, UnreadableIsUnknownForAnyProfile) {
  auto node = small_node();
  device(node, kHca).link_width = unreadable();
  auto profile = one_gpu_and_hca();
  profile.pci->link.unmeasurable = Unmeasurable::skip;
  EXPECT_THAT(judged_link(node, profile), ElementsAre(unknown("0000:03:00.0")));
}

TEST(PciLinkTest, ADeviceThatDoesNotAnswerIsNotJudgedTwice) {
  auto node = small_node();
  for (const auto index : {kGpu, kHca}) {
    device(node, index).responding = false;
    device(node, index).link_width = 8U;
  }
  EXPECT_THAT(judged_link(node), ElementsAre(skips()));
}

TEST(PciLinkTest, AsksNothingOfTheVirtualFunctionsOfAHost) {
  auto node = small_node();
  auto part = pci_device("0000:03:00.2", PciKind::hca);
  part.virtual_function = true;
  part.link_width = absent();
  node.pci->devices.push_back(part);
  EXPECT_EQ(ask(checks::pci_link::check, node, one_gpu_and_hca()),
            ask(checks::pci_link::check, small_node(), one_gpu_and_hca()));
}

}  // namespace
}  // namespace muster::pci_links_test
