// SPDX-License-Identifier: Apache-2.0
// The NVML probe with a fake library: it returns the facts of a scenario for three driver branches,
// and a hung call affects only one GPU.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "lib/node/snapshot.hpp"
#include "lib/probes/attributes.hpp"
#include "lib/probes/gpu/caller.hpp"
#include "lib/probes/gpu/library.hpp"
#include "lib/probes/probes.hpp"
#include "tests/fakes/nvml/scenario.hpp"
#include "tests/support/printers.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster {
namespace {

using namespace std::literals;  // NOLINT(google-build-using-namespace): literals only
using fakes::Scenario;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::vector<NvLink> whole_nvlinks() {
  std::vector<NvLink> links;
  for (unsigned link = 0; link < 18; ++link) {
    links.push_back({.link = link,
                     .state = 1U,
                     .speed_mbps = 26562U,
                     .remote_type = 2U,
                     .remote_address = fmt::format("0000:c{}:00.0", link % 4),
                     .replays = 17U,
                     .recoveries = 18U,
                     .crc = 19U,
                     .ber = 0.0,
                     .failed_recoveries = 21U,
                     .receive_errors = 22U,
                     .integrity_errors = 23U});
  }
  return links;
}

// Every fact is known and has a distinct value.
Gpu whole_gpu(unsigned index) {
  Gpu gpu{.index = index};
  gpu.address = fmt::format("000{}:00:00.0", index + 1);
  gpu.uuid = fmt::format("GPU-{}", index);
  gpu.serial = fmt::format("165092301234{}", index);
  gpu.model = "NVIDIA H100 80GB HBM3"s;
  gpu.architecture = 9U;
  gpu.minor = index;
  gpu.firmware = {.vbios = "96.00.89.00.01"s,
                  .inforom = "G520.0200.00.05"s,
                  .inforom_valid = true,
                  .gsp = "580.65.06"s,
                  .gsp_enabled = true,
                  .gsp_default = true};
  gpu.modes = {.ecc = true,
               .ecc_pending = true,
               .mig = false,
               .mig_pending = false,
               .persistence = true,
               .compute = 3U};
  gpu.memory = GpuMemory{.total = 1000, .reserved = 100U, .used = 200, .free = 700};
  gpu.ecc_volatile = {
      .dram_corrected = 1U, .dram_uncorrected = 2U, .sram_corrected = 3U, .sram_uncorrected = 4U};
  gpu.ecc_aggregate = {
      .dram_corrected = 5U, .dram_uncorrected = 6U, .sram_corrected = 7U, .sram_uncorrected = 8U};
  gpu.sram = GpuSram{.unique_uncorrected = 9, .threshold_exceeded = true};
  gpu.retired_pages = {.single_bit = 10U, .double_bit = 0U, .pending = true};
  gpu.remapped_rows =
      GpuRemappedRows{.corrected = 11, .uncorrected = 12, .pending = true, .failed = false};
  gpu.spare_rows = GpuSpareRows{.all = 640, .high = 13, .partial = 14, .low = 15, .none = 16};
  gpu.repairs = GpuRepairs{.channel_pending = true, .tpc_pending = false};
  gpu.recovery_action = 1U;
  gpu.nvlinks = whole_nvlinks();
  gpu.fabric = GpuFabric{.state = 3,
                         .status = 0,
                         .cluster = "0123456789abcdef0123456789abcdef",
                         .clique = 7,
                         .health_mask = 0x1aaU,
                         .health_summary = 1U};
  gpu.clocks = {.reasons = 4U,
                .sm_mhz = 345U,
                .sm_max_mhz = 1980U,
                .application_sm_mhz = 1980U,
                .default_sm_mhz = 1980U,
                .performance_state = 0U,
                .hardware_thermal_ns = 24U,
                .software_thermal_ns = 25U,
                .power_brake_ns = 26U,
                .thermal_ns = 27U};
  gpu.heat = {.gpu_c = 34, .memory_c = 45, .memory_max_c = 95, .margin_c = 53};
  gpu.power = {
      .usage_mw = 72000U, .enforced_mw = 700000U, .default_mw = 700000U, .set_mw = 690000U};
  gpu.link = {
      .generation = 5U, .generation_max = 5U, .width = 16U, .width_max = 16U, .replays = 20U};
  gpu.processes = std::vector<GpuProcess>{};
  gpu.peers = std::map<std::string, unsigned>{};
  gpu.graphics = std::vector<GpuProcess>{};
  gpu.utilisation = 97U;
  gpu.numa_node = 8 + index;
  return gpu;
}

class NvmlTest : public ::testing::Test {
 protected:
  NvmlTest() {
    for (unsigned index = 0; index < 2; ++index) scenario_.nvml.gpus.push_back(whole_gpu(index));
    for (auto& gpu : scenario_.nvml.gpus) {
      for (const auto& peer : scenario_.nvml.gpus) {
        if (peer.address != gpu.address) gpu.peers->emplace(peer.address, 0U);
      }
    }
    scenario_.nvml.driver = "580.65.06"s;
    scenario_.nvml.cuda = 13000U;
    dir_.write("node/sys/module/nvidia/version", "580.65.06\n");
    scenario_.nvml.module = "580.65.06"s;
    name_module("NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build");
    scenario_.nvml.open_module = true;
    scenario_.nvml.confidential = true;
    scenario_.nvml.confidential_ready = false;
    dir_.write("node/etc/nvidia-imex/nodes_config.cfg", "# the rack\n10.0.0.4\n\n10.0.0.5 # b\n");
    scenario_.nvml.imex_nodes = std::vector<std::string>{"10.0.0.4", "10.0.0.5"};
    dir_.write("node/dev/nvidia-caps-imex-channels/channel0", "");
    scenario_.nvml.imex_channel = true;
    setenv("MUSTER_FAKE_NVML", (dir_.path() / "scenario").c_str(), 1);
  }

  [[nodiscard]] static std::string library(int branch) {
    return fmt::format("{}/nvml-{}/libnvidia-ml.so.1", MUSTER_FAKES, branch);
  }

  [[nodiscard]] Section<Nvml> probe(int branch = 580, Clock::duration allowed = 20s,
                                    NvmlParts parts = NvmlParts::all()) {
    dir_.write("scenario", to_text(scenario_));
    return probe_nvml(*Root::below((dir_.path() / "node").string()),
                      {.library = library(branch), .parts = parts}, Clock::now() + allowed);
  }

  void name_module(std::string_view name) {
    dir_.write("node/proc/driver/nvidia/version", fmt::format("NVRM version: {}\nGCC\n", name));
  }

  [[nodiscard]] Gpu& gpu(std::size_t index) { return scenario_.nvml.gpus.at(index); }

  TempDir dir_;
  Scenario scenario_;
};

TEST_F(NvmlTest, ReadsEveryFact) {
  scenario_.nvml.library = library(580);
  const auto section = probe();
  ASSERT_EQ(section.status, Status::ok) << section.reason;
  EXPECT_EQ(*section, scenario_.nvml);
}

// The fake answers what a real driver answered, so the probe finds the recorded facts again.
TEST_F(NvmlTest, FindsRecordedGpusAgain) {
  for (const auto* name : {"h100_sxm_vm", "h200_sxm_vm"}) {
    std::ifstream file(fmt::format("{}/tests/nodes/recorded/{}.json", MUSTER_SOURCE_DIR, name));
    const auto snapshot = parse_snapshot(std::string(std::istreambuf_iterator<char>(file), {}));
    ASSERT_TRUE(snapshot) << snapshot.error().message;
    scenario_.nvml.gpus = snapshot->nvml->gpus;
    const auto section = probe();
    ASSERT_EQ(section.status, Status::ok) << section.reason;
    EXPECT_EQ(section->gpus, snapshot->nvml->gpus) << name;
  }
}

TEST_F(NvmlTest, UnsupportedFactsAreAbsentAndNotZero) {
  gpu(0).remapped_rows = Fact<GpuRemappedRows>::absent("");
  gpu(0).ecc_volatile.sram_corrected = Fact<std::uint64_t>::absent("");
  gpu(0).serial = Fact<std::string>::unreadable("");
  const auto section = probe();
  ASSERT_EQ(section.status, Status::ok) << section.reason;
  const Gpu& seen = section->gpus.at(0);
  EXPECT_TRUE(seen.remapped_rows.is_absent());
  EXPECT_EQ(seen.remapped_rows.why(), "nvmlDeviceGetRemappedRows: Not Supported (3)");
  EXPECT_TRUE(seen.ecc_volatile.sram_corrected.is_absent());
  EXPECT_TRUE(seen.serial.is_unreadable());
  EXPECT_EQ(seen.serial.why(), "nvmlDeviceGetSerial: Unknown Error (999)");
}

TEST_F(NvmlTest, MissingFunctionsOfOlderDriversAreAbsent) {
  const auto section = probe(470);
  ASSERT_EQ(section.status, Status::ok) << section.reason;
  const Gpu& seen = section->gpus.at(0);
  EXPECT_EQ(seen.uuid, gpu(0).uuid);
  EXPECT_EQ(seen.clocks.reasons, gpu(0).clocks.reasons);
  EXPECT_EQ(seen.clocks.thermal_ns, gpu(0).clocks.thermal_ns);
  EXPECT_TRUE(seen.clocks.hardware_thermal_ns.is_absent());
  EXPECT_EQ(seen.remapped_rows, gpu(0).remapped_rows);
  // The first version of the call does not report reserved memory.
  EXPECT_EQ(seen.memory->used, 300U);
  EXPECT_TRUE(seen.memory->reserved.is_absent());
  EXPECT_TRUE(seen.sram.is_absent());
  EXPECT_THAT(seen.sram.why(), HasSubstr("has no nvmlDeviceGetSramEccErrorStatus"));
  EXPECT_TRUE(seen.recovery_action.is_absent());
  // Computed from the slowdown threshold if the driver does not report the margin.
  EXPECT_EQ(seen.heat.margin_c, gpu(0).heat.margin_c);
  EXPECT_EQ(seen.nvlinks->at(17).state, gpu(0).nvlinks->at(17).state);
}

TEST_F(NvmlTest, AnImplausibleMarginIsUnreadable) {
  gpu(0).heat = {.gpu_c = -2'000'000'000, .margin_c = 1};
  const auto section = probe(470);
  ASSERT_EQ(section.status, Status::ok) << section.reason;
  EXPECT_TRUE(section->gpus.at(0).heat.margin_c.is_unreadable());
  EXPECT_THAT(section->gpus.at(0).heat.margin_c.why(), HasSubstr("a slowdown at 2294967297 C"));
}

TEST_F(NvmlTest, FallsBackToTheSecondFabricVersion) {
  const auto section = probe(535);
  ASSERT_EQ(section.status, Status::ok) << section.reason;
  const auto& fabric = section->gpus.at(1).fabric;
  ASSERT_TRUE(fabric) << fabric.why();
  EXPECT_EQ(fabric->health_mask, Fact<unsigned>(0x1aaU));
  EXPECT_TRUE(fabric->health_summary.is_absent());
}

TEST_F(NvmlTest, ALostGpuDoesNotAffectTheOthers) {
  gpu(1).lost = "yes";
  const auto section = probe();
  ASSERT_EQ(section.status, Status::ok) << section.reason;
  ASSERT_EQ(section->gpus.size(), 2U);
  const auto lost = std::ranges::find(section->gpus, 1U, &Gpu::index);
  EXPECT_EQ(lost->lost, "nvmlDeviceGetPciInfo_v3: GPU is lost (15)");
  const auto whole = std::ranges::find(section->gpus, 0U, &Gpu::index);
  EXPECT_EQ(whole->memory, gpu(0).memory);
  EXPECT_EQ(whole->lost, "");
}

TEST_F(NvmlTest, ARefusedHandleIsAFaultOfThatGpu) {
  scenario_.answers["nvmlDeviceGetHandleByIndex_v2 gpu0"] = 4;
  const auto section = probe();
  const auto refused = std::ranges::find(section->gpus, 0U, &Gpu::index);
  ASSERT_NE(refused, section->gpus.end());
  EXPECT_EQ(refused->lost, "nvmlDeviceGetHandleByIndex_v2: Insufficient Permissions (4)");
}

TEST_F(NvmlTest, RecordsFaultCodesOfAGpu) {
  scenario_.answers["nvmlDeviceGetRemappedRows gpu0"] = 16;
  const auto section = probe();
  EXPECT_THAT(section->gpus.at(0).troubles,
              ::testing::ElementsAre("nvmlDeviceGetRemappedRows: GPU requires reset (16)"));
}

TEST_F(NvmlTest, ReportsWhyADriverIsUnusable) {
  scenario_.answers["nvmlInit_v2"] = 18;
  const auto section = probe();
  ASSERT_EQ(section.status, Status::ok);
  EXPECT_EQ(section->trouble, "nvmlInit_v2: Driver/library version mismatch (18)");
  EXPECT_EQ(section->trouble_code, 18);
  EXPECT_EQ(section->module, Fact<std::string>("580.65.06"s));
}

TEST_F(NvmlTest, DistinguishesTheOpenFromTheClosedModule) {
  name_module("NVIDIA UNIX x86_64 Kernel Module  535.161.08  Tue Mar  5 22:42:15 UTC 2024");
  EXPECT_EQ(probe()->open_module, Fact<bool>(false));
  name_module("");
  EXPECT_TRUE(probe()->open_module.is_unreadable());
  std::filesystem::remove(dir_.path() / "node/proc/driver/nvidia/version");
  EXPECT_TRUE(probe()->open_module.is_absent());
}

TEST_F(NvmlTest, ANamedLibraryMustExist) {
  const auto section =
      probe_nvml(Root(), {.library = "/nowhere/libnvidia-ml.so.1"}, Clock::now() + 5s);
  ASSERT_EQ(section.status, Status::ok);
  EXPECT_THAT(section->trouble, HasSubstr("/nowhere/libnvidia-ml.so.1"));
  EXPECT_EQ(section->trouble_code, 12);
}

TEST_F(NvmlTest, ReadsOnlyTheRequestedParts) {
  scenario_.hangs = {"nvmlDeviceGetP2PStatus", "nvmlDeviceGetComputeRunningProcesses_v3",
                     "nvmlDeviceValidateInforom", "nvmlDeviceGetNvLinkRemotePciInfo_v2"};
  const auto section = probe(580, 20s, {});
  ASSERT_FALSE(section->gpus.empty());
  for (const auto& each : section->gpus) {
    EXPECT_EQ(each.stuck, "");
    EXPECT_TRUE(each.nvlinks.is_absent());
    EXPECT_TRUE(each.peers.is_absent());
    EXPECT_TRUE(each.processes.is_absent());
    EXPECT_TRUE(each.firmware.inforom_valid.is_absent());
    EXPECT_TRUE(each.uuid.known());
  }
}

TEST_F(NvmlTest, RejectsALibraryThatIsNotNvml) {
  const auto section = probe_nvml(Root(), {.library = "libm.so.6"}, Clock::now() + 5s);
  ASSERT_EQ(section.status, Status::ok);
  EXPECT_THAT(section->trouble, HasSubstr("nvmlInit_v2"));
}

TEST_F(NvmlTest, IsAbsentBelowAForeignRoot) {
  const auto section = probe_nvml(*Root::below(dir_.path().string()), {}, Clock::now() + 5s);
  EXPECT_EQ(section.status, Status::absent);
  EXPECT_THAT(section.reason, HasSubstr("--nvml"));
}

TEST_F(NvmlTest, NamesProcessesFromProc) {
  gpu(0).processes = std::vector<GpuProcess>{{.pid = 4242, .memory_bytes = 1048576U}};
  dir_.write("node/proc/4242/comm", "python3\n");
  dir_.write("node/proc/4242/status", "Name:\tpython3\nUid:\t1000\t1000\t1000\t1000\n");
  dir_.write("node/proc/4242/cgroup", "0::/system.slice/slurmstepd.scope/job_77/step_0/user\n");
  const auto section = probe();
  const GpuProcess expected{.pid = 4242,
                            .name = "python3",
                            .user = 1000U,
                            .job = "77",
                            .unit = "slurmstepd.scope",
                            .memory_bytes = 1048576U};
  EXPECT_THAT(*section->gpus.at(0).processes, ::testing::ElementsAre(expected));
}

TEST_F(NvmlTest, NamesGraphicsProcesses) {
  gpu(0).graphics = std::vector<GpuProcess>{{.pid = 4242, .memory_bytes = 1048576U}};
  dir_.write("node/proc/4242/comm", "Xorg\n");
  dir_.write("node/proc/4242/cgroup", "0::/system.slice/gdm.service\n");
  const auto section = probe();
  ASSERT_EQ(section->gpus.at(0).graphics->size(), 1U);
  EXPECT_EQ(section->gpus.at(0).graphics->front().name, "Xorg");
  EXPECT_EQ(section->gpus.at(0).graphics->front().unit, "gdm.service");
}

TEST_F(NvmlTest, ReadsBlackwellsFieldOfRecoveries) {
  gpu(0).architecture = 10U;
  gpu(0).nvlinks->at(5).recoveries = 505U;
  const auto section = probe();
  EXPECT_EQ(section->gpus.at(0).nvlinks->at(5).recoveries, Fact<std::uint64_t>(505U));
  EXPECT_EQ(section->gpus.at(0).nvlinks->at(5).failed_recoveries, Fact<std::uint64_t>(21U));
  EXPECT_EQ(section->gpus.at(1).nvlinks->at(5).recoveries, Fact<std::uint64_t>(18U));
}

TEST_F(NvmlTest, ReadsReadinessOnlyWithConfidentialComputing) {
  scenario_.nvml.confidential = false;
  scenario_.nvml.confidential_ready = true;
  const auto section = probe();
  EXPECT_EQ(section->confidential, Fact<bool>(false));
  EXPECT_FALSE(section->confidential_ready.known());
}

TEST_F(NvmlTest, GrowsTheListOfProcesses) {
  gpu(0).processes = std::vector<GpuProcess>{};
  for (unsigned i = 0; i < 100; ++i) gpu(0).processes->push_back({.pid = 1000 + i});
  const auto section = probe();
  EXPECT_EQ(section->gpus.at(0).processes->size(), 100U);
}

TEST_F(NvmlTest, GivesUpAListOfProcessesThatNeverFits) {
  scenario_.answers["nvmlDeviceGetComputeRunningProcesses_v3 gpu0"] = nvml::kInsufficientSize;
  const auto section = probe();
  const auto& processes = section->gpus.at(0).processes;
  EXPECT_TRUE(processes.is_unreadable());
  EXPECT_THAT(processes.why(), StartsWith("nvmlDeviceGetComputeRunningProcesses_v3: "));
  EXPECT_TRUE(section->gpus.at(1).processes.known());
}

TEST_F(NvmlTest, RefusesMoreThan64Gpus) {
  scenario_.nvml.gpus.clear();
  for (unsigned index = 0; index < 65; ++index) {
    scenario_.nvml.gpus.push_back({.index = index});
  }
  const auto section = probe();
  ASSERT_EQ(section.status, Status::ok) << section.reason;
  EXPECT_EQ(section->trouble, "nvmlDeviceGetCount_v2 reports 65 GPUs, and muster reads at most 64");
  EXPECT_EQ(section->trouble_code, nvml::kOk);
  EXPECT_TRUE(section->gpus.empty());
}

TEST_F(NvmlTest, ReportsAMissingAddress) {
  scenario_.answers["nvmlDeviceGetPciInfo_v3 gpu1"] = nvml::kUnknownError;
  const auto section = probe();
  const auto nameless = std::ranges::find(section->gpus, 1U, &Gpu::index);
  EXPECT_EQ(nameless->address, "");
  EXPECT_EQ(nameless->no_address, "nvmlDeviceGetPciInfo_v3: Unknown Error (999)");
  EXPECT_EQ(nameless->lost, "");
  const auto whole = std::ranges::find(section->gpus, 0U, &Gpu::index);
  EXPECT_EQ(whole->no_address, "");
}

TEST_F(NvmlTest, ForbiddenOrNotReadyIsUnreadable) {
  scenario_.answers["nvmlDeviceGetRemappedRows gpu0"] = nvml::kNoPermission;
  scenario_.answers["nvmlDeviceGetEccMode gpu0"] = nvml::kNotReady;
  const auto section = probe();
  const Gpu& seen = section->gpus.at(0);
  EXPECT_TRUE(seen.remapped_rows.is_unreadable());
  EXPECT_EQ(seen.remapped_rows.why(), "nvmlDeviceGetRemappedRows: Insufficient Permissions (4)");
  EXPECT_TRUE(seen.modes.ecc.is_unreadable());
}

TEST(NvmlCallerTest, RetriesOnceIfTheDriverIsNotReady) {
  static int calls;
  calls = 0;
  const nvml::Functions functions;
  nvml::Caller call(functions, [](std::string_view /*name*/) {});
  const nvml::Function<int(int)> ready_after{.name = "nvmlX", .call = [](int refusals) {
                                               return calls++ < refusals ? nvml::kNotReady : 0;
                                             }};
  EXPECT_EQ(call(ready_after, 1), nvml::kOk);
  EXPECT_EQ(calls, 2);
  calls = 0;
  EXPECT_EQ(call(ready_after, 9), nvml::kNotReady);
  EXPECT_EQ(calls, 2);
}

// Any call may hang: the other GPUs are intact, and the call is named.
class NvmlHangTest : public NvmlTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(NvmlHangTest, AffectsOneGpuAndIsNamed) {
  scenario_.hangs.insert(fmt::format("{} gpu1", GetParam()));
  const auto begin = Clock::now();
  const auto section = probe(580, 2s);
  EXPECT_LT(Clock::now() - begin, 30s);
  ASSERT_EQ(section.status, Status::ok) << section.reason;
  const auto stuck = std::ranges::find(section->gpus, 1U, &Gpu::index);
  EXPECT_EQ(stuck->stuck, GetParam());
  const auto whole = std::ranges::find(section->gpus, 0U, &Gpu::index);
  EXPECT_EQ(whole->stuck, "");
  EXPECT_EQ(whole->memory, gpu(0).memory);
  EXPECT_EQ(whole->link, gpu(0).link);
}

INSTANTIATE_TEST_SUITE_P(Calls, NvmlHangTest,
                         ::testing::Values("nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetUUID",
                                           "nvmlDeviceGetFieldValues",
                                           "nvmlDeviceGetComputeRunningProcesses_v3"));

TEST_F(NvmlTest, KeepsFactsFromBeforeAHang) {
  scenario_.hangs.insert("nvmlDeviceGetPowerUsage gpu0");
  const auto section = probe(580, 2s);
  const auto stuck = std::ranges::find(section->gpus, 0U, &Gpu::index);
  EXPECT_EQ(stuck->stuck, "nvmlDeviceGetPowerUsage");
  EXPECT_EQ(stuck->serial, gpu(0).serial);
  EXPECT_EQ(stuck->remapped_rows, gpu(0).remapped_rows);
}

TEST_F(NvmlTest, AHungDriverIsATimeout) {
  scenario_.hangs.insert("nvmlInit_v2");
  const auto section = probe(580, 200ms);
  EXPECT_EQ(section.status, Status::timeout);
  EXPECT_THAT(section.reason, StartsWith("nvmlInit_v2 did not return within"));
}

TEST_F(NvmlTest, HungPairsAffectOnlyTheirFact) {
  scenario_.hangs.insert("nvmlDeviceGetP2PStatus gpu0");
  const auto section = probe(580, 2s);
  ASSERT_EQ(section.status, Status::ok);
  EXPECT_TRUE(section->gpus.at(0).peers.is_unreadable());
  EXPECT_THAT(section->gpus.at(0).peers.why(), HasSubstr("nvmlDeviceGetP2PStatus"));
  EXPECT_EQ(section->gpus.at(0).memory, gpu(0).memory);
}

TEST(GpuProbeTest, ALibraryThatCouldNotBeOpenedForLackOfDescriptorsIsNotAbsent) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const rlimit none{.rlim_cur = 0, .rlim_max = limit.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &none);
  const auto library = nvml::open_library("libutil.so.1");
  ::setrlimit(RLIMIT_NOFILE, &limit);
  ASSERT_FALSE(library);
  EXPECT_TRUE(is_own_lack(library.error())) << library.error().message;
  EXPECT_FALSE(is_own_lack(nvml::open_library("libnowhere.so.1").error()));
}

}  // namespace
}  // namespace muster
