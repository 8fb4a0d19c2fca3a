// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/catalogue.hpp"
#include "lib/profile/limits/gpu.hpp"
#include "lib/profile/limits/topology.hpp"
#include "tests/checks/ask.hpp"
#include "tests/checks/gpu/linked_node.hpp"
#include "tests/support/printers.hpp"

namespace muster::gpu_nvlink_state_test {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;

Findings judge(const Snapshot& snapshot, const Profile& profile = linked_node::profile()) {
  return ask(checks::gpu_nvlink_state::check, snapshot, profile);
}

Finding well(std::string_view gpus = "1 GPU") {
  return {.device = "node",
          .outcome = Outcome::pass,
          .message = fmt::format("{} with 18 NVLinks active", gpus)};
}

Finding too_few(std::int64_t up, std::string message) {
  return {.device = "gpu0",
          .outcome = Outcome::fail,
          .message = fmt::format("{} (serial 165092300)", message),
          .observed = up,
          .limit = std::int64_t{18},
          .unit = "links",
          .remedy = Remedy::reboot};
}

Finding unclear(std::string message) {
  return {.device = "gpu0", .outcome = Outcome::unknown, .message = std::move(message)};
}

Finding skip(std::string device, std::string message) {
  return {.device = std::move(device), .outcome = Outcome::skip, .message = std::move(message)};
}

void bring_down(Snapshot& node, std::size_t gpu) {
  for (auto& link : *gpu_node::gpu(node, gpu).nvlinks) link.state = 0U;
}

TEST(GpuNvlinkStateTest, PassesGpusWithAllLinks) {
  EXPECT_THAT(judge(linked_node::node()), ElementsAre(well("2 GPUs")));
}

TEST(GpuNvlinkStateTest, ALinkThatSleepsIsFineWhateverItsSpeed) {
  Snapshot node = linked_node::node();
  linked_node::link_of(node, 0, 4).state = 2U;
  linked_node::link_of(node, 0, 4).speed_mbps = 0U;
  EXPECT_THAT(judge(node), ElementsAre(well("2 GPUs")));
}

TEST(GpuNvlinkStateTest, NamesTheLinksThatWereLostInOneFinding) {
  Snapshot node = linked_node::node();
  linked_node::link_of(node, 0, 4).state = 0U;
  EXPECT_THAT(
      judge(node),
      ElementsAre(too_few(17, "17 of 18 expected NVLinks are active: link 4 is inactive"), well()));
  linked_node::link_of(node, 0, 11).state = 0U;
  EXPECT_THAT(
      judge(node),
      ElementsAre(too_few(16, "16 of 18 expected NVLinks are active: links 4 and 11 are inactive"),
                  well()));
  linked_node::link_of(node, 0, 12).state = 0U;
  EXPECT_EQ(judge(node).front().message,
            "15 of 18 expected NVLinks are active: links 4, 11 and 12 are inactive (serial "
            "165092300)");
}

TEST(GpuNvlinkStateTest, OnBareMetalTheGpuIsReset) {
  Snapshot node = linked_node::node();
  node.identity->hypervisor = false;
  linked_node::link_of(node, 0, 4).state = 0U;
  EXPECT_EQ(judge(node).front().remedy, Remedy::reset_gpu);
}

TEST(GpuNvlinkStateTest, LinksThatAreNotWiredNeedNotBeActive) {
  Profile profile = linked_node::profile();
  profile.gpu->nvlink_state.links = 12;
  Snapshot node = linked_node::node();
  for (std::size_t i = 12; i < 18; ++i) {
    linked_node::link_of(node, 0, i).state = 0U;
    linked_node::link_of(node, 1, i).state = Fact<unsigned>::absent("Not Supported (3)");
  }
  EXPECT_EQ(judge(node, profile).front().outcome, Outcome::pass);
  linked_node::link_of(node, 0, 17).state = 1U;
  linked_node::link_of(node, 0, 17).remote_type = 255U;
  EXPECT_EQ(judge(node, profile).front().outcome, Outcome::pass);
  linked_node::link_of(node, 1, 3).state = 0U;
  EXPECT_EQ(judge(node, profile).front().message,
            "11 of 12 expected NVLinks are active: link 3 is inactive (serial 165092301)");
}

TEST(GpuNvlinkStateTest, FailsAGpuThatListsFewerLinksThanExpected) {
  Snapshot node = linked_node::node();
  gpu_node::gpu(node, 0).nvlinks->resize(12);
  EXPECT_EQ(judge(node).front(), too_few(12, "12 of 18 expected NVLinks are active"));
}

TEST(GpuNvlinkStateTest, FailsOneGpuWithoutNvlinkBesideOthersThatHaveIt) {
  for (const auto& none :
       {Fact<std::vector<NvLink>>(std::vector<NvLink>()),
        Fact<std::vector<NvLink>>::absent("nvmlDeviceGetNvLinkState: Not Supported (3)")}) {
    Snapshot node = linked_node::node();
    gpu_node::gpu(node, 0).nvlinks = none;
    EXPECT_THAT(judge(node), ElementsAre(too_few(0, "no NVLink, expected 18"), well()));
  }
}

Finding dead(Remedy remedy) {
  return {.device = "node",
          .outcome = Outcome::fail,
          .message = "no NVLink is active on any of 2 GPUs, expected 18 on each",
          .observed = std::int64_t{0},
          .limit = std::int64_t{18},
          .unit = "links",
          .remedy = remedy,
          .seen_by = {{.check = "gpu.fabric", .device = "node"},
                      {.check = "host.services", .device = "nvidia-fabricmanager*"}}};
}

TEST(GpuNvlinkStateTest, SaysOnceThatNoGpuHasAnyLink) {
  Snapshot node = linked_node::node();
  bring_down(node, 0);
  bring_down(node, 1);
  EXPECT_THAT(judge(node), ElementsAre(dead(Remedy::restart_service)));
  gpu_node::gpu(node, 1).nvlinks =
      Fact<std::vector<NvLink>>::absent("nvmlDeviceGetNvLinkState: Not Supported (3)");
  EXPECT_THAT(judge(node), ElementsAre(dead(Remedy::restart_service)));
  Profile without_switches = linked_node::profile();
  without_switches.topo->nvlink_matrix.ends_in = NvlinkEnd::gpu;
  EXPECT_THAT(judge(node, without_switches), ElementsAre(dead(Remedy::reboot)));
}

TEST(GpuNvlinkStateTest, ADriverThatCannotTellIsNoFault) {
  Snapshot node = linked_node::node();
  for (std::size_t i = 0; i < 2; ++i) {
    gpu_node::gpu(node, i).nvlinks =
        Fact<std::vector<NvLink>>::absent("this driver has no nvmlDeviceGetNvLinkState");
  }
  EXPECT_THAT(judge(node), ElementsAre(skip("gpu0",
                                            "the state of NVLinks is not known: this driver has no "
                                            "nvmlDeviceGetNvLinkState"),
                                       Field(&Finding::outcome, Outcome::skip)));
  for (std::size_t i = 0; i < 2; ++i) {
    linked_node::complete(gpu_node::gpu(node, i));
    for (auto& link : *gpu_node::gpu(node, i).nvlinks) {
      link.state = Fact<unsigned>::absent("no permission (4)");
    }
  }
  EXPECT_THAT(judge(node),
              ElementsAre(skip("gpu0", "the state of NVLinks is not known: no permission (4)"),
                          Field(&Finding::outcome, Outcome::skip)));
}

TEST(GpuNvlinkStateTest, DoesNotKnowLinksThatCouldNotBeRead) {
  Snapshot node = linked_node::node();
  gpu_node::gpu(node, 0).nvlinks = Fact<std::vector<NvLink>>::unreadable("Unknown Error (999)");
  EXPECT_THAT(
      judge(node),
      ElementsAre(unclear("the state of NVLinks is not known: Unknown Error (999)"), well()));
}

TEST(GpuNvlinkStateTest, DoesNotKnowWhenAnUnclearLinkDecides) {
  Snapshot node = linked_node::node();
  auto& state = linked_node::link_of(node, 0, 4).state;
  state = Fact<unsigned>::unreadable("Unknown Error (999)");
  EXPECT_THAT(
      judge(node),
      ElementsAre(unclear("the state of link 4 is not known: Unknown Error (999)"), well()));
  state = 7U;
  EXPECT_THAT(judge(node),
              ElementsAre(unclear("the state of link 4 is not known: NVML calls it 7"), well()));
  linked_node::link_of(node, 0, 5).state = 0U;
  EXPECT_EQ(judge(node).front(),
            too_few(16, "16 of 18 expected NVLinks are active: link 5 is inactive"));
}

TEST(GpuNvlinkStateTest, FailsLinksThatRunSlow) {
  Snapshot node = linked_node::node();
  linked_node::link_of(node, 0, 4).speed_mbps = 12500U;
  Finding slow{.device = "gpu0",
               .outcome = Outcome::fail,
               .message = "link 4 runs at 12.5 GB/s, expected 26.562 GB/s (serial 165092300)",
               .observed = 12.5,
               .limit = 26.562,
               .unit = "GB/s",
               .remedy = Remedy::reboot};
  EXPECT_THAT(judge(node), ElementsAre(slow, well()));
  linked_node::link_of(node, 0, 5).speed_mbps = 20000U;
  slow.message = "links 4 and 5 run at down to 12.5 GB/s, expected 26.562 GB/s (serial 165092300)";
  EXPECT_THAT(judge(node), ElementsAre(slow, well()));
}

TEST(GpuNvlinkStateTest, ASpeedThatIsFasterRoundedOrNotToldIsFine) {
  Snapshot node = linked_node::node();
  linked_node::link_of(node, 0, 1).speed_mbps = 53125U;
  linked_node::link_of(node, 0, 2).speed_mbps = 26550U;
  linked_node::link_of(node, 0, 3).speed_mbps = 0U;
  linked_node::link_of(node, 0, 4).speed_mbps = Fact<std::uint64_t>::absent("Not Supported (3)");
  EXPECT_THAT(judge(node), ElementsAre(well("2 GPUs")));
}

TEST(GpuNvlinkStateTest, WithoutAnExpectedSpeedOnlyLinksAreCounted) {
  Profile profile = linked_node::profile();
  profile.gpu->nvlink_state.speed = {};
  Snapshot node = linked_node::node();
  linked_node::link_of(node, 0, 1).speed_mbps = 1000U;
  linked_node::link_of(node, 0, 2).speed_mbps = Fact<std::uint64_t>::unreadable("N/A");
  EXPECT_THAT(judge(node, profile), ElementsAre(well("2 GPUs")));
}

TEST(GpuNvlinkStateTest, DoesNotKnowASpeedThatCouldNotBeRead) {
  Snapshot node = linked_node::node();
  linked_node::link_of(node, 0, 1).speed_mbps = Fact<std::uint64_t>::unreadable("N/A");
  EXPECT_THAT(judge(node), ElementsAre(unclear("the speed of link 1 is not known: N/A"), well()));
}

TEST(GpuNvlinkStateTest, FailsActiveLinksWithoutAPeer) {
  Snapshot node = linked_node::node();
  linked_node::link_of(node, 0, 4).remote_type = 255U;
  Finding alone{.device = "gpu0",
                .outcome = Outcome::fail,
                .message = "link 4 is active and has no peer that NVML knows (serial 165092300)",
                .observed = std::int64_t{1},
                .limit = std::int64_t{0},
                .unit = "links",
                .remedy = Remedy::reboot};
  EXPECT_THAT(judge(node), ElementsAre(alone, well()));
  linked_node::link_of(node, 0, 5).remote_type = 255U;
  alone.message = "links 4 and 5 are active and have no peer that NVML knows (serial 165092300)";
  alone.observed = std::int64_t{2};
  EXPECT_THAT(judge(node), ElementsAre(alone, well()));
}

TEST(GpuNvlinkStateTest, WhereNvmlKnowsNoPeerAtAllNoneIsMissing) {
  Snapshot node = linked_node::node();
  for (auto& gpu : node.nvml->gpus) {
    for (auto& link : *gpu.nvlinks) link.remote_type = 255U;
  }
  EXPECT_THAT(judge(node), ElementsAre(well("2 GPUs")));
}

TEST(GpuNvlinkStateTest, DoesNotKnowAPeerThatCouldNotBeRead) {
  Snapshot node = linked_node::node();
  linked_node::link_of(node, 0, 4).remote_type = Fact<unsigned>::unreadable("Unknown Error (999)");
  EXPECT_THAT(judge(node),
              ElementsAre(unclear("the peer of link 4 is not known: Unknown Error (999)"), well()));
}

TEST(GpuNvlinkStateTest, LeavesSlicesAndVirtualGpusAlone) {
  Snapshot node = linked_node::node();
  bring_down(node, 0);
  gpu_node::gpu(node, 0).modes.mig = true;
  EXPECT_THAT(
      judge(node),
      ElementsAre(skip("gpu0", "NVLinks are not judged: MIG is on, and its slices use no NVLink"),
                  well()));
  for (const auto* model : {"NVIDIA A100-40C", "GRID V100D-8Q", "NVIDIA A100-1-5CME"}) {
    gpu_node::gpu(node, 0).modes.mig = false;
    gpu_node::gpu(node, 0).model = std::string(model);
    EXPECT_THAT(judge(node),
                ElementsAre(skip("gpu0", "NVLinks are not judged: it is a virtual GPU"), well()));
  }
  for (const auto* model : {"NVIDIA A100-SXM4-40GB", "Tesla V100-SXM2-32GB", "NVIDIA H200", ""}) {
    gpu_node::gpu(node, 0).model = std::string(model);
    EXPECT_EQ(judge(node).front().outcome, Outcome::fail) << model;
  }
}

TEST(GpuNvlinkStateTest, LeavesALostGpuToGpuPresent) {
  Snapshot node = linked_node::node();
  bring_down(node, 0);
  gpu_node::gpu(node, 0).lost = "nvmlDeviceGetName: GPU is lost (15)";
  EXPECT_THAT(judge(node), ElementsAre(well()));
}

TEST(GpuNvlinkStateTest, SkipsWhereNoNvlinkIsExpected) {
  Profile profile = linked_node::profile();
  profile.gpu->nvlink_state.links = 0;
  EXPECT_THAT(judge(linked_node::node(), profile),
              ElementsAre(skip("node", "no NVLink expected by this profile")));
}

}  // namespace
}  // namespace muster::gpu_nvlink_state_test
