// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/catalogue.hpp"
#include "lib/profile/limits/gpu.hpp"
#include "tests/checks/ask.hpp"
#include "tests/support/printers.hpp"

namespace muster::gpu_ras_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::uint64_t kMemory = 206141652992;

Snapshot node() {
  Snapshot snapshot;
  snapshot.identity = observed(Identity{.hypervisor = true});
  Pci pci;
  for (const auto* address : {"0002:00:00.0", "0003:00:00.0"}) {
    PciDevice device{.address = address, .kind = PciKind::gpu, .vendor = 0x1002, .device = 0x74b5};
    device.driver = "amdgpu";
    device.responding = true;
    pci.devices.push_back(device);
    AmdGpu gpu{.address = address};
    gpu.memory_bytes = kMemory;
    gpu.ras = std::map<std::string, RasCounts>{{"gfx", {}}, {"umc", {.corrected = 3}}};
    pci.amd_gpus.push_back(gpu);
  }
  snapshot.pci = observed(std::move(pci));
  return snapshot;
}

Profile profile() {
  Profile profile;
  profile.gpu->present.count = 2;
  profile.gpu->present.vendor = GpuVendor::amd;
  profile.gpu->present.memory = Bytes{static_cast<double>(kMemory)};
  profile.gpu->present.tolerance = Percent{2};
  return profile;
}

Findings judge(const Snapshot& snapshot, const Profile& by = profile()) {
  return ask(checks::gpu_ras::check, snapshot, by);
}

RasCounts& umc(Snapshot& snapshot) { return (*snapshot.pci->amd_gpus.at(1).ras)["umc"]; }

const Expected kWell{.device = "node", .outcome = Outcome::pass};

TEST(GpuRasTest, PassesCorrectedErrors) {
  EXPECT_THAT(judge(node()), ElementsAre(kWell));
  EXPECT_THAT(judge(node(), Profile{}), ElementsAre(kWell));
}

TEST(GpuRasTest, FailsAnUncorrectableError) {
  Snapshot sick = node();
  umc(sick).uncorrected = 1;
  const Finding found = judge(sick).front();
  EXPECT_EQ(found.device, "0003:00:00.0");
  EXPECT_EQ(found.outcome, Outcome::fail);
  EXPECT_EQ(found.remedy, Remedy::reboot);
  EXPECT_EQ(found, fails("0003:00:00.0", Remedy::reboot, {1, 0}));
  sick.identity->hypervisor = false;
  EXPECT_EQ(judge(sick).front().remedy, Remedy::reset_gpu);
}

TEST(GpuRasTest, WarnsOfManyCorrectedErrorsWhereALimitIsSet) {
  Snapshot many = node();
  umc(many).corrected = 101;
  EXPECT_THAT(judge(many), ElementsAre(kWell));
  Profile limited = profile();
  limited.gpu->ras.corrected_warn_above = 100;
  EXPECT_EQ(judge(many, limited).front().outcome, Outcome::warn);
  EXPECT_EQ(judge(many, limited).front(), warns("0003:00:00.0", Remedy::watch, {101, 100}));
}

TEST(GpuRasTest, FailsAGpuThatLacksItsDriverOrItsMemory) {
  Snapshot bare = node();
  bare.pci->devices.at(0).driver = "";
  bare.pci->amd_gpus.erase(bare.pci->amd_gpus.begin());
  EXPECT_EQ(judge(bare).front(), fails("0002:00:00.0", Remedy::reboot, {"", "amdgpu"}));
  EXPECT_EQ(judge(bare, Profile{}).front().outcome, Outcome::pass);
  Snapshot small = node();
  small.pci->amd_gpus.at(0).memory_bytes = kMemory / 2;
  EXPECT_EQ(judge(small).front(), fails("0002:00:00.0", Remedy::report_to_provider,
                                        {103070826496.0, 206141652992.0, "B"}));
}

TEST(GpuRasTest, IsUnknownForUnknownFacts) {
  Snapshot untold = node();
  auto& ras = untold.pci->amd_gpus.at(0).ras;
  ras = Fact<std::map<std::string, RasCounts>>::unreadable("read umc_err_count: I/O error");
  EXPECT_EQ(judge(untold).front().outcome, Outcome::unknown);
  ras = Fact<std::map<std::string, RasCounts>>::absent("no such file");
  EXPECT_EQ(judge(untold).front().outcome, Outcome::skip);
}

TEST(GpuRasTest, SkipsWithoutAmdGpus) {
  Snapshot other = node();
  other.pci->amd_gpus.clear();
  EXPECT_EQ(judge(other, Profile{}).front(), skips());
}

}  // namespace
}  // namespace muster::gpu_ras_test
