// SPDX-License-Identifier: Apache-2.0
// If several checks see the same GPU fault, only the one closest to the cause reports it.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "checks/run.hpp"
#include "tests/checks/gpu/linked_node.hpp"
#include "tests/support/matchers.hpp"

namespace muster::gpu_one_incident_test {
namespace {

// Outcome, check, device and code of each finding that is neither a pass nor a skip.
std::vector<std::string> faults(const Snapshot& snapshot, const Profile& profile) {
  const Selection selection{.only = {"gpu.*", "topo.nvlink_matrix", "host.services"},
                            .skip = {"gpu.driver"}};
  std::vector<std::string> found;
  for (const auto& each : judge(snapshot, profile, selection).findings) {
    if (each.outcome == Outcome::pass || each.outcome == Outcome::skip) continue;
    found.push_back(
        fmt::format("{} {} {} {}", to_string(each.outcome), each.check, each.device, each.code));
  }
  return found;
}

Profile profile() {
  Profile profile = linked_node::profile();
  profile.host->services.active = {"nvidia-fabricmanager.service"};
  profile.gpu->clocks.slowed_fail_above = Percent{10};
  return profile;
}

Snapshot node() {
  Snapshot snapshot = linked_node::node();
  linked_node::all_seen_before(snapshot);
  Services services;
  services.active = std::vector<std::string>{"nvidia-fabricmanager.service"};
  snapshot.services = observed(std::move(services));
  snapshot.kernel_log = observed(KernelLog{});
  return snapshot;
}

TEST(OneIncidentTest, ALostLinkAndItsFabricStateAreOneFault) {
  Snapshot lost = node();
  auto& link = link_of(lost, 0, 4);
  link.state = 0U;
  link.remote_type = 255U;
  link.recoveries = 9U;
  link.crc = 9999999U;
  auto& fabric = *gpu_of(lost, 0).fabric;
  fabric.health_mask = 0x5a9U;
  fabric.health_summary = 2U;
  EXPECT_THAT(faults(lost, profile()), ElementsAre("fail gpu.nvlink_state gpu0 NHC2016"));
}

TEST(OneIncidentTest, AGpuThatIsGoneTakesDirectLinksToItDown) {
  Snapshot gone = node();
  gpu_of(gone, 1).lost = "nvmlDeviceGetName: GPU is lost (15)";
  for (auto& link : *gpu_of(gone, 0).nvlinks) link.state = 0U;
  Profile direct = profile();
  direct.topo->nvlink_matrix = {.ends_in = NvlinkEnd::gpu, .neighbours = 1};
  EXPECT_THAT(faults(gone, direct), ElementsAre("fail gpu.present gpu1 NHC2009"));
  EXPECT_THAT(faults(gone, profile()),
              ElementsAre("fail gpu.present gpu1 NHC2009", "fail gpu.nvlink_state gpu0 NHC2016"));
}

TEST(OneIncidentTest, WithoutTheFabricManagerNeitherFabricNorLinksAreAtFault) {
  Snapshot stopped = node();
  stopped.services->active = std::vector<std::string>();
  for (auto& gpu : stopped.nvml->gpus) {
    gpu.fabric->state = 2;
    for (auto& link : *gpu.nvlinks) link.state = 0U;
  }
  EXPECT_THAT(faults(stopped, profile()),
              ElementsAre("fail host.services nvidia-fabricmanager.service "));
  stopped.services->active = std::vector<std::string>{"nvidia-fabricmanager.service"};
  EXPECT_THAT(faults(stopped, profile()), ElementsAre("fail gpu.fabric node NHC2016"));
}

TEST(OneIncidentTest, HeatIsTheTemperaturesFaultAndWithoutItTheClocks) {
  Snapshot hot = node();
  hot.identity->uptime_s = 7200.0;
  gpu_of(hot, 0).clocks.reasons = 0x48U;
  gpu_of(hot, 0).clocks.hardware_thermal_ns = 3600000000000U;
  EXPECT_THAT(faults(hot, profile()), ElementsAre("fail gpu.clocks gpu0 NHC2017"));
  gpu_of(hot, 0).heat.gpu_c = 95;
  EXPECT_THAT(faults(hot, profile()), ElementsAre("fail gpu.temperature gpu0 NHC2017"));
}

TEST(OneIncidentTest, ACorruptInforomIsTheFirmwaresFault) {
  Snapshot corrupt = node();
  gpu_of(corrupt, 0).firmware.inforom_valid = false;
  gpu_of(corrupt, 0).troubles = {"nvmlDeviceValidateInforom: infoROM is corrupted (14)"};
  EXPECT_THAT(faults(corrupt, profile()), ElementsAre("fail gpu.firmware gpu0 NHC2008"));
  gpu_of(corrupt, 0).troubles.emplace_back("nvmlDeviceGetEccMode: GPU requires reset (16)");
  EXPECT_THAT(faults(corrupt, profile()),
              ElementsAre("fail gpu.firmware gpu0 NHC2008", "fail gpu.recovery_action gpu0 "));
}

// Each case also has the uncorrected error that caused it.
TEST(OneIncidentTest, AnUncorrectedErrorAndItsRepairAreOneFault) {
  struct Case {
    void (*change)(Gpu&);
    const char* fault;
  };

  const std::vector<Case> cases{
      Case{[](Gpu& gpu) { gpu.remapped_rows->pending = true; },
           "fail gpu.ecc_remapped_rows gpu0 NHC2007"},
      Case{[](Gpu& gpu) { gpu.remapped_rows->failed = true; },
           "fail gpu.ecc_remapped_rows gpu0 NHC2007"},
      Case{[](Gpu& gpu) { gpu.sram->threshold_exceeded = true; }, "fail gpu.ecc_sram gpu0 NHC2019"},
      Case{[](Gpu& gpu) { gpu.sram->unique_uncorrected = 1; },
           "fail gpu.ecc_uncorrectable gpu0 NHC2019"},
      Case{[](Gpu&) {}, "fail gpu.ecc_uncorrectable gpu0 NHC2019"}};
  for (const Case& each : cases) {
    Snapshot bad = node();
    Gpu& gpu = gpu_of(bad, 0);
    each.change(gpu);
    const bool in_sram = gpu.sram->threshold_exceeded || gpu.sram->unique_uncorrected > 0;
    (in_sram ? gpu.ecc_volatile.sram_uncorrected : gpu.ecc_volatile.dram_uncorrected) = 1U;
    EXPECT_THAT(faults(bad, profile()), ElementsAre(each.fault));
  }
}

TEST(OneIncidentTest, UncorrectedErrorsAndRetiredPagesAreOneFaultOfAnOlderGpu) {
  Snapshot bad = node();
  for (auto& gpu : bad.nvml->gpus) {
    gpu.architecture = 5U;
    gpu.remapped_rows = Fact<GpuRemappedRows>::absent("not supported");
    gpu.retired_pages = {.single_bit = 0U, .double_bit = 1U, .pending = false};
  }
  gpu_of(bad, 0).retired_pages.pending = true;
  gpu_of(bad, 0).ecc_volatile.dram_uncorrected = 1U;
  EXPECT_THAT(faults(bad, profile()), ElementsAre("fail gpu.ecc_retired_pages gpu0 NHC2018"));
}

TEST(OneIncidentTest, TheMemoryOfAnotherGpuIsAnotherFault) {
  Snapshot bad = node();
  gpu_of(bad, 0).ecc_volatile.dram_uncorrected = 1U;
  gpu_of(bad, 1).remapped_rows->pending = true;
  EXPECT_THAT(faults(bad, profile()), ElementsAre("fail gpu.ecc_uncorrectable gpu0 NHC2019",
                                                  "fail gpu.ecc_remapped_rows gpu1 NHC2007"));
}

}  // namespace
}  // namespace muster::gpu_one_incident_test
