// SPDX-License-Identifier: Apache-2.0
// The NVML probe with a fake library: it returns the facts of a scenario for three driver branches,
// and a hung call affects only one GPU.
#include <fmt/format.h>
#include <sys/resource.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include "lib/node/snapshot.hpp"
#include "lib/probes/attributes.hpp"
#include "lib/probes/gpu/library.hpp"
#include "lib/probes/probes.hpp"
#include "tests/fakes/nvml/scenario.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/printers.hpp"
#include "tests/support/saved_node.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster {
namespace {

using namespace std::literals;  // NOLINT(google-build-using-namespace): literals only
using fakes::Scenario;

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
    return probe_nvml(*Root::below(dir_.path() / "node"),
                      {.library = library(branch), .parts = parts}, Clock::now() + allowed);
  }

  // The facts of a driver branch, which must be usable.
  [[nodiscard]] Nvml facts(int branch = 580, Clock::duration allowed = 20s,
                           NvmlParts parts = NvmlParts::all()) {
    const auto section = probe(branch, allowed, parts);
    EXPECT_EQ(section.status, Status::ok) << section.reason;
    return *section;
  }

  // A GPU as the probe sees it; `gpu()` is the GPU of the scenario.
  [[nodiscard]] static Gpu seen(const Nvml& nvml, unsigned index) {
    const auto found = std::ranges::find(nvml.gpus, index, &Gpu::index);
    EXPECT_NE(found, nvml.gpus.end()) << index;
    return found == nvml.gpus.end() ? Gpu{} : *found;
  }

  [[nodiscard]] Gpu seen(unsigned index, int branch = 580) { return seen(facts(branch), index); }

  void name_module(std::string_view name) {
    dir_.write("node/proc/driver/nvidia/version", fmt::format("NVRM version: {}\nGCC\n", name));
  }

  [[nodiscard]] Gpu& gpu(std::size_t index) { return scenario_.nvml.gpus.at(index); }

  TempDir dir_;
  Scenario scenario_;
};

TEST_F(NvmlTest, ReadsEveryFact) {
  scenario_.nvml.library = library(580);
  EXPECT_EQ(facts(), scenario_.nvml);
}

// The fake answers what a real driver answered, so the probe finds the recorded facts again.
TEST_F(NvmlTest, FindsRecordedGpusAgain) {
  for (const auto* name : {"recorded/h100_sxm_vm", "recorded/h200_sxm_vm"}) {
    scenario_.nvml.gpus = saved_node(name).nvml->gpus;
    EXPECT_THAT(scenario_.nvml.gpus, Not(IsEmpty())) << name;
    EXPECT_EQ(facts().gpus, scenario_.nvml.gpus) << name;
  }
}

TEST_F(NvmlTest, UnsupportedFactsAreAbsentAndFailuresUnreadable) {
  gpu(0).remapped_rows = Fact<GpuRemappedRows>::absent("");
  gpu(0).ecc_volatile.sram_corrected = Fact<std::uint64_t>::absent("");
  gpu(0).serial = Fact<std::string>::unreadable("");
  scenario_.answers["nvmlDeviceGetRowRemapperHistogram gpu0"] = nvml::kNoPermission;
  scenario_.answers["nvmlDeviceGetEccMode gpu0"] = nvml::kNotReady;
  const Gpu found = seen(0);
  EXPECT_EQ(found.remapped_rows,
            Fact<GpuRemappedRows>::absent("nvmlDeviceGetRemappedRows: Not Supported (3)"));
  EXPECT_TRUE(found.ecc_volatile.sram_corrected.is_absent());
  EXPECT_EQ(found.serial,
            Fact<std::string>::unreadable("nvmlDeviceGetSerial: Unknown Error (999)"));
  EXPECT_EQ(found.spare_rows,
            Fact<GpuSpareRows>::unreadable(
                "nvmlDeviceGetRowRemapperHistogram: Insufficient Permissions (4)"));
  EXPECT_TRUE(found.modes.ecc.is_unreadable());
}

TEST_F(NvmlTest, MissingFunctionsOfOlderDriversAreAbsent) {
  const Gpu found = seen(0, 470);
  EXPECT_EQ(found.uuid, gpu(0).uuid);
  EXPECT_EQ(found.clocks.reasons, gpu(0).clocks.reasons);
  EXPECT_EQ(found.clocks.thermal_ns, gpu(0).clocks.thermal_ns);
  EXPECT_TRUE(found.clocks.hardware_thermal_ns.is_absent());
  EXPECT_EQ(found.remapped_rows, gpu(0).remapped_rows);
  // The first version of the call does not report reserved memory.
  EXPECT_EQ(found.memory->used, 300U);
  EXPECT_TRUE(found.memory->reserved.is_absent());
  EXPECT_TRUE(found.sram.is_absent());
  EXPECT_THAT(found.sram.why(), HasSubstr("has no nvmlDeviceGetSramEccErrorStatus"));
  EXPECT_TRUE(found.recovery_action.is_absent());
  // Computed from the slowdown threshold if the driver does not report the margin.
  EXPECT_EQ(found.heat.margin_c, gpu(0).heat.margin_c);
  EXPECT_EQ(found.nvlinks->at(17).state, gpu(0).nvlinks->at(17).state);
}

TEST_F(NvmlTest, AnImplausibleMarginIsUnreadable) {
  gpu(0).heat = {.gpu_c = -2'000'000'000, .margin_c = 1};
  const auto margin = seen(0, 470).heat.margin_c;
  EXPECT_TRUE(margin.is_unreadable());
  EXPECT_THAT(margin.why(), HasSubstr("a slowdown at 2294967297 C"));
}

TEST_F(NvmlTest, FallsBackToTheSecondFabricVersion) {
  const auto fabric = seen(1, 535).fabric;
  ASSERT_TRUE(fabric) << fabric.why();
  EXPECT_EQ(fabric->health_mask, Fact<unsigned>(0x1aaU));
  EXPECT_TRUE(fabric->health_summary.is_absent());
}

TEST_F(NvmlTest, ALostGpuDoesNotAffectTheOthers) {
  gpu(1).lost = "yes";
  const auto nvml = facts();
  EXPECT_EQ(seen(nvml, 1).lost, "nvmlDeviceGetPciInfo_v3: GPU is lost (15)");
  EXPECT_EQ(seen(nvml, 0).lost, "");
  EXPECT_EQ(seen(nvml, 0).memory, gpu(0).memory);
}

TEST_F(NvmlTest, ARefusedHandleIsAFaultOfThatGpu) {
  scenario_.answers["nvmlDeviceGetHandleByIndex_v2 gpu0"] = 4;
  EXPECT_EQ(seen(0).lost, "nvmlDeviceGetHandleByIndex_v2: Insufficient Permissions (4)");
}

TEST_F(NvmlTest, ReportsAMissingAddress) {
  scenario_.answers["nvmlDeviceGetPciInfo_v3 gpu1"] = nvml::kUnknownError;
  const auto nvml = facts();
  EXPECT_EQ(seen(nvml, 1).address, "");
  EXPECT_EQ(seen(nvml, 1).no_address, "nvmlDeviceGetPciInfo_v3: Unknown Error (999)");
  EXPECT_EQ(seen(nvml, 1).lost, "");
  EXPECT_EQ(seen(nvml, 0).no_address, "");
}

TEST_F(NvmlTest, RecordsFaultCodesOfAGpu) {
  scenario_.answers["nvmlDeviceGetRemappedRows gpu0"] = 16;
  EXPECT_THAT(seen(0).troubles, ElementsAre("nvmlDeviceGetRemappedRows: GPU requires reset (16)"));
}

TEST_F(NvmlTest, ReportsWhyADriverIsUnusable) {
  scenario_.answers["nvmlInit_v2"] = 18;
  const auto nvml = facts();
  EXPECT_EQ(nvml.trouble, "nvmlInit_v2: Driver/library version mismatch (18)");
  EXPECT_EQ(nvml.trouble_code, 18);
  EXPECT_EQ(nvml.module, Fact<std::string>("580.65.06"s));
}

TEST_F(NvmlTest, DistinguishesTheOpenFromTheClosedModule) {
  name_module("NVIDIA UNIX x86_64 Kernel Module  535.161.08  Tue Mar  5 22:42:15 UTC 2024");
  EXPECT_EQ(probe()->open_module, Fact<bool>(false));
  name_module("");
  EXPECT_TRUE(probe()->open_module.is_unreadable());
  dir_.remove("node/proc/driver/nvidia/version");
  EXPECT_TRUE(probe()->open_module.is_absent());
}

TEST_F(NvmlTest, ANamedLibraryMustExistAndBeNvml) {
  const auto missing =
      probe_nvml(Root(), {.library = "/nowhere/libnvidia-ml.so.1"}, Clock::now() + 5s);
  EXPECT_EQ(missing.status, Status::ok);
  EXPECT_THAT(missing->trouble, HasSubstr("/nowhere/libnvidia-ml.so.1"));
  EXPECT_EQ(missing->trouble_code, nvml::kLibraryNotFound);
  const auto other = probe_nvml(Root(), {.library = "libm.so.6"}, Clock::now() + 5s);
  EXPECT_EQ(other.status, Status::ok);
  EXPECT_THAT(other->trouble, HasSubstr("nvmlInit_v2"));
}

TEST_F(NvmlTest, IsAbsentBelowAForeignRoot) {
  const auto section = probe_nvml(*Root::below(dir_.path()), {}, Clock::now() + 5s);
  EXPECT_EQ(section.status, Status::absent);
  EXPECT_THAT(section.reason, HasSubstr("--nvml"));
}

TEST_F(NvmlTest, TheFakeRefusesCallsThatAreNeverMade) {
  const auto error_with = [&](std::string_view line) {
    const auto scenario = fakes::parse_scenario(to_text(scenario_) + std::string(line));
    return scenario ? "" : scenario.error().message;
  };
  EXPECT_EQ(error_with("answer nvmlDeviceGetUUID gpu1 3"), "");
  EXPECT_EQ(error_with("hang * gpu1"), "");
  EXPECT_EQ(error_with("answer nvmlDeviceGetUuid 3"), "unknown call \"nvmlDeviceGetUuid\"");
  EXPECT_EQ(error_with("hang nvmlDeviceGetUUID gpu2"), "unknown GPU \"gpu2\"");
  EXPECT_EQ(error_with("hangs nvmlInit_v2"), "unknown line \"hangs nvmlInit_v2\"");
}

TEST_F(NvmlTest, ReadsOnlyTheRequestedParts) {
  scenario_.hangs = {"nvmlDeviceGetP2PStatus", "nvmlDeviceGetComputeRunningProcesses_v3",
                     "nvmlDeviceValidateInforom", "nvmlDeviceGetNvLinkRemotePciInfo_v2"};
  const Gpu found = seen(facts(580, 20s, {}), 0);
  EXPECT_EQ(found.stuck, "");
  EXPECT_TRUE(found.nvlinks.is_absent());
  EXPECT_TRUE(found.peers.is_absent());
  EXPECT_TRUE(found.processes.is_absent());
  EXPECT_TRUE(found.firmware.inforom_valid.is_absent());
  EXPECT_TRUE(found.uuid.known());
}

TEST_F(NvmlTest, NamesProcessesFromProc) {
  gpu(0).processes = std::vector<GpuProcess>{{.pid = 4242, .memory_bytes = 1048576U}};
  gpu(0).graphics = std::vector<GpuProcess>{{.pid = 4243, .memory_bytes = 1048576U}};
  dir_.write("node/proc/4242/comm", "python3\n");
  dir_.write("node/proc/4242/status", "Name:\tpython3\nUid:\t1000\t1000\t1000\t1000\n");
  dir_.write("node/proc/4242/cgroup", "0::/system.slice/slurmstepd.scope/job_77/step_0/user\n");
  dir_.write("node/proc/4243/comm", "Xorg\n");
  const Gpu found = seen(0);
  const GpuProcess expected{.pid = 4242,
                            .name = "python3",
                            .user = 1000U,
                            .job = "77",
                            .unit = "slurmstepd.scope",
                            .memory_bytes = 1048576U};
  EXPECT_THAT(*found.processes, ElementsAre(expected));
  ASSERT_EQ(found.graphics->size(), 1U);
  EXPECT_EQ(found.graphics->front().name, "Xorg");
}

TEST_F(NvmlTest, ReadsBlackwellsFieldOfRecoveries) {
  gpu(0).architecture = 10U;
  gpu(0).nvlinks->at(5).recoveries = 505U;
  const auto nvml = facts();
  EXPECT_EQ(seen(nvml, 0).nvlinks->at(5).recoveries, Fact<std::uint64_t>(505U));
  EXPECT_EQ(seen(nvml, 1).nvlinks->at(5).recoveries, Fact<std::uint64_t>(18U));
}

TEST_F(NvmlTest, ReadsReadinessOnlyWithConfidentialComputing) {
  scenario_.nvml.confidential = false;
  scenario_.nvml.confidential_ready = true;
  const auto nvml = facts();
  EXPECT_EQ(nvml.confidential, Fact<bool>(false));
  EXPECT_FALSE(nvml.confidential_ready.known());
}

TEST_F(NvmlTest, GrowsTheListOfProcesses) {
  gpu(0).processes = std::vector<GpuProcess>{};
  for (unsigned i = 0; i < 100; ++i) gpu(0).processes->push_back({.pid = 1000 + i});
  EXPECT_EQ(seen(0).processes->size(), 100U);
}

TEST_F(NvmlTest, GivesUpAListOfProcessesThatNeverFits) {
  scenario_.answers["nvmlDeviceGetComputeRunningProcesses_v3 gpu0"] = nvml::kInsufficientSize;
  const auto nvml = facts();
  EXPECT_TRUE(seen(nvml, 0).processes.is_unreadable());
  EXPECT_THAT(seen(nvml, 0).processes.why(),
              StartsWith("nvmlDeviceGetComputeRunningProcesses_v3: "));
  EXPECT_TRUE(seen(nvml, 1).processes.known());
}

TEST_F(NvmlTest, RefusesMoreThan64Gpus) {
  scenario_.nvml.gpus.assign(65, {});
  const auto nvml = facts();
  EXPECT_EQ(nvml.trouble, "nvmlDeviceGetCount_v2 reports 65 GPUs, and muster reads at most 64");
  EXPECT_EQ(nvml.trouble_code, nvml::kOk);
  EXPECT_TRUE(nvml.gpus.empty());
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
  const auto nvml = facts(580, 2s);
  EXPECT_LT(Clock::now() - begin, 30s);
  EXPECT_EQ(seen(nvml, 1).stuck, GetParam());
  EXPECT_EQ(seen(nvml, 0).stuck, "");
  EXPECT_EQ(seen(nvml, 0).memory, gpu(0).memory);
  EXPECT_EQ(seen(nvml, 0).link, gpu(0).link);
}

INSTANTIATE_TEST_SUITE_P(Calls, NvmlHangTest,
                         ::testing::Values("nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetUUID",
                                           "nvmlDeviceGetFieldValues",
                                           "nvmlDeviceGetComputeRunningProcesses_v3"));

TEST_F(NvmlTest, KeepsFactsFromBeforeAHang) {
  scenario_.hangs.insert("nvmlDeviceGetPowerUsage gpu0");
  const Gpu stuck = seen(facts(580, 2s), 0);
  EXPECT_EQ(stuck.stuck, "nvmlDeviceGetPowerUsage");
  EXPECT_EQ(stuck.serial, gpu(0).serial);
  EXPECT_EQ(stuck.remapped_rows, gpu(0).remapped_rows);
}

TEST_F(NvmlTest, AHungDriverIsATimeout) {
  scenario_.hangs.insert("nvmlInit_v2");
  const auto section = probe(580, 200ms);
  EXPECT_EQ(section.status, Status::timeout);
  EXPECT_THAT(section.reason, StartsWith("nvmlInit_v2 did not return within"));
}

TEST_F(NvmlTest, HungPairsAffectOnlyTheirFact) {
  scenario_.hangs.insert("nvmlDeviceGetP2PStatus gpu0");
  const Gpu found = seen(facts(580, 2s), 0);
  EXPECT_TRUE(found.peers.is_unreadable());
  EXPECT_THAT(found.peers.why(), HasSubstr("nvmlDeviceGetP2PStatus"));
  EXPECT_EQ(found.memory, gpu(0).memory);
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
