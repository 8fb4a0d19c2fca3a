// SPDX-License-Identifier: Apache-2.0
// The driver, what it requests, and the firmware of GPUs.
#include "tests/checks/ask.hpp"
#include "tests/checks/gpu/gpu_node.hpp"
#include "tests/checks/gpu/linked_node.hpp"

namespace muster::gpu_driver_test {
namespace {

constexpr AskedCheck judge{checks::gpu_driver::check, gpu_node::profile};

Snapshot with_driver(std::string driver) {
  Snapshot node = gpu_node::node();
  node.nvml->driver = driver;
  node.nvml->module = std::move(driver);
  return node;
}

TEST(GpuDriverTest, ANodeThatShouldHaveGpusAndHasNoNvmlFails) {
  Snapshot node = gpu_node::node();
  node.nvml = {.status = Status::absent, .reason = "libnvidia-ml.so.1: cannot open"};
  EXPECT_EQ(checks::gpu_driver::check.not_applicable(node, gpu_node::profile()), std::nullopt);
  EXPECT_THAT(judge(node), ElementsAre(fails("node", Remedy::fix_config)));
}

TEST(GpuDriverTest, ALibraryThatWasNamedAndIsNotThereFailsBelowAForeignRootToo) {
  Snapshot node = gpu_node::node();
  node.identity->foreign_root = true;
  node.nvml = observed(Nvml{.trouble = "x.so: cannot open", .trouble_code = 12});
  EXPECT_EQ(checks::gpu_driver::check.not_applicable(node, gpu_node::profile()), std::nullopt);
  EXPECT_THAT(judge(node), ElementsAre(fails("node", Remedy::fix_config)));
}

TEST(GpuDriverTest, WithoutGpusToExpectItIsSkipped) {
  Snapshot node = gpu_node::node();
  node.nvml = {.status = Status::absent, .reason = "libnvidia-ml.so.1: cannot open"};
  EXPECT_EQ(checks::gpu_driver::check.not_applicable(node, Profile{})->outcome, Outcome::skip);
}

TEST(GpuDriverTest, BelowAForeignRootWithoutALibraryItIsSkipped) {
  Snapshot node = gpu_node::node();
  node.identity->foreign_root = true;
  node.nvml = {.status = Status::absent, .reason = "name one with --nvml"};
  EXPECT_EQ(*checks::gpu_driver::check.not_applicable(node, gpu_node::profile()), skips());
}

TEST(GpuDriverTest, JudgesEachChange) {
  const std::vector<NodeChange> changes{
      {"more GPUs than muster reads are unknown and nothing to mend",
       [](Snapshot& node) {
         node.nvml = observed(
             Nvml{.trouble = "nvmlDeviceGetCount_v2 returns 65 GPUs, and muster reads at most 64"});
       },
       {unknown()}},
      {"any other trouble of NVML calls for a reboot",
       [](Snapshot& node) {
         node.nvml =
             observed(Nvml{.trouble = "nvmlInit_v2: Unknown Error (999)", .trouble_code = 999});
       },
       {fails("node", Remedy::reboot)}},
  };
  expect_findings(judge, gpu_node::node(), changes);
}

TEST(GpuDriverTest, ADriverThatIsTooOldOrNotAllowedFails) {
  Profile profile = gpu_node::profile();
  profile.gpu->driver = {.minimum = std::string("535.161.08"), .allowed = {"550.*", "570.*"}};
  EXPECT_THAT(judge(with_driver("535.54.03"), profile),
              ElementsAre(fails("node", Remedy::fix_config, {"535.54.03", "535.161.08"}),
                          fails("node", Remedy::fix_config, {"535.54.03", "550.* or 570.*"})));
}

TEST(GpuDriverTest, ConfidentialGpusMustBeSetReady) {
  Snapshot node = gpu_node::node();
  node.nvml->driver = std::string("580.65.06");
  node.nvml->confidential = true;
  node.nvml->confidential_ready = false;
  const auto findings = ask(checks::gpu_driver::check, node, gpu_node::profile());
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings.front().outcome, Outcome::fail);
  EXPECT_EQ(findings.front().remedy, Remedy::restart_service);
  node.nvml->confidential_ready = true;
  EXPECT_EQ(ask(checks::gpu_driver::check, node, gpu_node::profile()).front().outcome,
            Outcome::pass);
}

}  // namespace
}  // namespace muster::gpu_driver_test

namespace muster::gpu_firmware_test {
namespace {

constexpr AskedCheck judge{checks::gpu_firmware::check, linked_node::profile};

GpuFirmware& firmware_of(Snapshot& node, std::size_t index) { return gpu_of(node, index).firmware; }

Expected odd(Value observed, Value limit) {
  return warns("gpu0", Remedy::fix_config, {std::move(observed), std::move(limit)});
}

const Expected kCorrupt = fails("gpu0", Remedy::report_to_provider, {false, true}, "NHC2008");

TEST(GpuFirmwareTest, JudgesEachChange) {
  const std::vector<NodeChange> changes{
      {"does not call an inforom valid that was not read",
       [](Snapshot& node) {
         firmware_of(node, 1).inforom_valid =
             Fact<bool>::absent("read in the contexts manual and boot only");
       },
       {passes()}},
      {"without a majority the node is named",
       [](Snapshot& node) { firmware_of(node, 0).vbios = std::string("96.00.30.00.01"); },
       {warns("node", Remedy::fix_config)}},
  };
  expect_findings(judge, linked_node::node(), changes);
}

TEST(GpuFirmwareTest, FailsACorruptInforom) {
  Snapshot node = linked_node::node();
  firmware_of(node, 0).inforom_valid = false;
  EXPECT_THAT(judge(node), ElementsAre(kCorrupt, passes()));
  node.identity->hypervisor = false;
  EXPECT_EQ(judge(node).front().remedy, Remedy::reseat_or_replace);
}

TEST(GpuFirmwareTest, AnyCallMayHaveFoundItCorrupt) {
  Snapshot node = linked_node::node();
  gpu_of(node, 0).troubles = {"nvmlDeviceGetInforomImageVersion: corrupted (14)"};
  EXPECT_EQ(judge(node).front(), kCorrupt);
  gpu_of(node, 0).troubles = {"nvmlDeviceGetEccMode: GPU requires reset (16)"};
  EXPECT_THAT(judge(node), ElementsAre(passes()));
}

TEST(GpuFirmwareTest, ABoardThatDiffersInSeveralPartsIsOneFinding) {
  Snapshot node = linked_node::node_of(4);
  firmware_of(node, 0).vbios = std::string("96.00.30.00.01");
  firmware_of(node, 0).inforom = std::string("G520.0100.00.01");
  firmware_of(node, 0).gsp = std::string("535.1");
  EXPECT_THAT(
      judge(node),
      ElementsAre(odd(std::string("96.00.30.00.01"), std::string("96.00.61.00.01")), passes()));
}

TEST(GpuFirmwareTest, AnotherModelHasAnotherVersion) {
  Snapshot node = linked_node::node_of(3);
  gpu_of(node, 0).model = std::string("NVIDIA A100 80GB PCIe");
  firmware_of(node, 0).vbios = std::string("92.00");
  EXPECT_THAT(judge(node), ElementsAre(passes()));
}

TEST(GpuFirmwareTest, TheProfilesListGoesBeforeTheNeighbours) {
  Profile profile = linked_node::profile();
  profile.gpu->firmware = {.vbios = {"96.00.30.*", "96.00.61.*"}, .inforom = {"G520.0200.*"}};
  Snapshot node = linked_node::node_of(4);
  firmware_of(node, 0).vbios = std::string("96.00.30.00.01");
  EXPECT_THAT(judge(node, profile), ElementsAre(passes()));
  firmware_of(node, 0).vbios = std::string("95.00");
  firmware_of(node, 0).inforom = std::string("G520.0100.00.01");
  EXPECT_THAT(
      judge(node, profile),
      ElementsAre(odd(std::string("95.00"), std::string("96.00.30.*, 96.00.61.*")), passes()));
}

TEST(GpuFirmwareTest, WarnsOfAGspThatIsOff) {
  Snapshot node = linked_node::node();
  firmware_of(node, 0).gsp_enabled = false;
  EXPECT_THAT(judge(node), ElementsAre(odd(false, true), passes()));
  firmware_of(node, 1).gsp_enabled = false;
  EXPECT_THAT(judge(node), ElementsAre(warns("node", Remedy::fix_config, {false, true})));
  for (std::size_t i = 0; i < 2; ++i) firmware_of(node, i).gsp_default = false;
  EXPECT_THAT(judge(node), ElementsAre(passes()));
}

TEST(GpuFirmwareTest, IsUnknownForUnknownFacts) {
  const auto unclear = []() { return unknown("gpu0"); };
  Snapshot node = linked_node::node();
  firmware_of(node, 0).gsp_enabled = Fact<bool>::unreadable("N/A");
  EXPECT_EQ(judge(node).front(), unclear());
  firmware_of(node, 0).vbios = Fact<std::string>::unreadable("N/A");
  EXPECT_EQ(judge(node).front(), unclear());
  firmware_of(node, 0).inforom_valid = Fact<bool>::unreadable("N/A");
  EXPECT_EQ(judge(node).front(), unclear());
}

TEST(GpuFirmwareTest, SkipsAGpuWithoutFirmwareFacts) {
  Snapshot node = linked_node::node();
  firmware_of(node, 0) = {};
  EXPECT_EQ(judge(node).front(), (skips("gpu0")));
  firmware_of(node, 0).gsp = std::string("550.54.15");
  EXPECT_THAT(judge(node), ElementsAre(is(Outcome::pass)));
}

}  // namespace
}  // namespace muster::gpu_firmware_test

namespace muster::gpu_recovery_action_test {
namespace {

Findings judge(const Snapshot& snapshot, const Profile& profile = gpu_node::profile()) {
  Findings findings = ask(checks::gpu_recovery_action::check, snapshot, profile);
  for (auto& finding : findings) finding.seen_by.clear();
  return findings;
}

TEST(GpuRecoveryActionTest, FailsWithTheRemedyThatTheDriverAsksFor) {
  Snapshot node = gpu_node::bare_metal();
  gpu_of(node, 0).recovery_action = 1U;
  gpu_of(node, 1).recovery_action = 2U;
  EXPECT_THAT(judge(node), ElementsAre(Expected{.device = "gpu0",
                                                .outcome = Outcome::fail,
                                                .observed = std::int64_t{1},
                                                .limit = std::int64_t{0},
                                                .remedy = Remedy::reset_gpu,
                                                .category = "Resource.Hpc.Reset"},
                                       Expected{.device = "gpu1",
                                                .outcome = Outcome::fail,
                                                .observed = std::int64_t{2},
                                                .limit = std::int64_t{0},
                                                .remedy = Remedy::reboot,
                                                .category = "Resource.Hpc.Reboot"}));
}

TEST(GpuRecoveryActionTest, AnUnknownActionIsNoneOfTheHarmlessOnes) {
  Snapshot node = gpu_node::node();
  gpu_of(node, 0).recovery_action = 42U;
  EXPECT_EQ(judge(node).front().outcome, Outcome::fail);
}

}  // namespace
}  // namespace muster::gpu_recovery_action_test
