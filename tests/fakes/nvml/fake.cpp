// SPDX-License-Identifier: Apache-2.0
// A libnvidia-ml.so.1 without GPUs: it answers what a scenario says, and is stricter than the real
// one. The scenario is the file that MUSTER_FAKE_NVML names, else `scenario` beside the library; it
// is read at each nvmlInit, so that counters can move between runs. MUSTER_FAKE_BRANCH is the
// driver branch whose symbols it offers.
#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "lib/base/text.hpp"
#include "lib/probes/nvml/abi.hpp"
#include "tests/fakes/nvml/scenario.hpp"

// NVML declares these; a fake needs no header of its own.
#pragma GCC diagnostic ignored "-Wmissing-declarations"
#define FAKE_API extern "C" __attribute__((visibility("default")))

namespace muster::nvml {

// A handle is known by its place in the table below.
struct DeviceHandle {
  char unused = 0;
};

}  // namespace muster::nvml

namespace {

using namespace muster;        // NOLINT(google-build-using-namespace): one file, all of it a fake
using namespace muster::nvml;  // NOLINT(google-build-using-namespace): the same

constexpr int kUninitialised = 1;
constexpr int kInvalidArgument = 2;
constexpr int kUnknownError = 999;
constexpr std::size_t kMostGpus = 64;

struct State {
  std::mutex guard;
  int initialised = 0;
  fakes::Scenario scenario;
  std::array<DeviceHandle, kMostGpus> handles;
};

State& state() {
  static State the_one;
  return the_one;
}

std::filesystem::path scenario_file() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody sets variables meanwhile
  if (const char* named = std::getenv("MUSTER_FAKE_NVML"); named != nullptr) return named;
  Dl_info self{};
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): any address of this library
  if (dladdr(reinterpret_cast<void*>(&scenario_file), &self) == 0) return "scenario";
  return std::filesystem::path(self.dli_fname).parent_path() / "scenario";
}

bool load_scenario() {
  std::ifstream file(scenario_file());
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  auto scenario = fakes::parse_scenario(text);
  if (!scenario) {
    fmt::print(stderr, "fake NVML: {}: {}\n", scenario_file().string(), scenario.error().message);
    return false;
  }
  state().scenario = std::move(*scenario);
  return true;
}

// What stands in the way of an answer: nothing, or a code.
std::optional<int> obstacle(std::string_view call, std::optional<unsigned> gpu) {
  const auto& scenario = state().scenario;
  if (scenario.hangs_in(call, gpu)) {
    for (;;) ::pause();
  }
  return scenario.answer(call, gpu);
}

std::optional<int> system_obstacle(std::string_view call) {
  if (state().initialised == 0) return kUninitialised;
  return obstacle(call, std::nullopt);
}

std::optional<unsigned> index_of(Device device) {
  const auto& handles = state().handles;
  for (unsigned i = 0; i < state().scenario.nvml.gpus.size(); ++i) {
    if (&handles.at(i) == device) return i;
  }
  return std::nullopt;
}

const Gpu& gpu_at(unsigned index) { return state().scenario.nvml.gpus.at(index); }

// Runs `answer` with the GPU's facts, where nothing stands in the way.
template <class Answer>
int on(std::string_view call, Device device, Answer answer) {
  if (state().initialised == 0) return kUninitialised;
  const auto index = index_of(device);
  if (!index) return kInvalidArgument;
  if (const auto code = obstacle(call, *index)) return *code;
  const Gpu& gpu = gpu_at(*index);
  if (!gpu.lost.empty()) return kGpuIsLost;
  return answer(gpu);
}

template <class T>
int code_of(const Fact<T>& fact) {
  if (fact) return kOk;
  return fact.is_absent() ? kNotSupported : kUnknownError;
}

template <class T, class Raw>
int give(const Fact<T>& fact, Raw* out) {
  if (out == nullptr) return kInvalidArgument;
  if (fact) *out = static_cast<Raw>(*fact);
  return code_of(fact);
}

int give_text(const Fact<std::string>& fact, char* out, unsigned size) {
  if (out == nullptr) return kInvalidArgument;
  if (!fact) return code_of(fact);
  if (fact->size() + 1 > size) return kInsufficientSize;
  std::memcpy(out, fact->c_str(), fact->size() + 1);
  return kOk;
}

PciInfo pci_of(std::string_view address) {
  PciInfo info{};
  const auto parts = split(address, ':');
  if (parts.size() != 3) return info;
  info.domain = static_cast<unsigned>(parse_hex(parts[0]).value_or(0));
  info.bus = static_cast<unsigned>(parse_hex(parts[1]).value_or(0));
  info.device = static_cast<unsigned>(parse_hex(parts[2].substr(0, 2)).value_or(0));
  const auto id = fmt::format("{:08X}:{:02X}:{:02X}.0", info.domain, info.bus, info.device);
  std::memcpy(info.bus_id.data(), id.c_str(), id.size() + 1);
  return info;
}

const NvLink* link_of(const Gpu& gpu, unsigned number) {
  if (!gpu.nvlinks) return nullptr;
  for (const auto& link : *gpu.nvlinks) {
    if (link.link == number) return &link;
  }
  return nullptr;
}

void set(FieldValue& field, const Fact<std::uint64_t>& fact) {
  field.code = code_of(fact);
  field.type = kCounter;
  field.value.counter = fact.value_or(0);
}

template <class T>
Fact<std::uint64_t> wide(const Fact<T>& fact) {
  if (fact) return static_cast<std::uint64_t>(*fact);
  return fact.is_absent() ? Fact<std::uint64_t>::absent("") : Fact<std::uint64_t>::unreadable("");
}

Fact<std::uint64_t> link_field(const NvLink& link, unsigned field) {
  switch (field) {
    case kNvlinkState:
      return wide(link.state);
    case kNvlinkSpeed:
      return link.speed_mbps;
    case kNvlinkReplays:
      return link.replays;
    case kNvlinkRecoveries:
      return link.recoveries;
    case kNvlinkCrc:
      return link.crc;
    case kNvlinkEffectiveBer: {
      if (!link.ber) return wide(link.ber);
      // One digit is enough: 1e-13 is mantissa 1, exponent 13.
      std::uint64_t exponent = 0;
      double mantissa = *link.ber;
      while (mantissa > 0 && mantissa < 0.95) {
        mantissa *= 10;
        ++exponent;
      }
      return (static_cast<std::uint64_t>(mantissa + 0.5) << 8U) | exponent;
    }
    default:
      return Fact<std::uint64_t>::absent("");
  }
}

Fact<std::uint64_t> field_of(const Gpu& gpu, const FieldValue& field) {
  const NvLink* link = link_of(gpu, field.scope);
  switch (field.field) {
    case kMemoryTemperature:
      return wide(gpu.heat.memory_c);
    case kNvlinkCount:
      return gpu.nvlinks ? Fact<std::uint64_t>(gpu.nvlinks->size()) : wide(Fact<int>::absent(""));
#if MUSTER_FAKE_BRANCH >= 570
    case kRecoveryAction:
      return wide(gpu.recovery_action);
#endif
    case kNvlinkCommonSpeed:
      return link_of(gpu, 0) == nullptr ? wide(Fact<int>::absent(""))
                                        : link_field(*link_of(gpu, 0), kNvlinkSpeed);
    default:
#if MUSTER_FAKE_BRANCH >= 535
      if (link != nullptr) return link_field(*link, field.field);
#else
      static_cast<void>(link);
#endif
      return Fact<std::uint64_t>::absent("");
  }
}

int give_memory(const Gpu& gpu, Memory* out) {
  if (out == nullptr) return kInvalidArgument;
  if (!gpu.memory) return code_of(gpu.memory);
  *out = {.total = gpu.memory->total,
          .free = gpu.memory->free,
          .used = gpu.memory->used + gpu.memory->reserved.value_or(0)};
  return kOk;
}

Fact<std::uint64_t> ecc_of(const Gpu& gpu, int type, int since, int location) {
  const GpuEcc& ecc = since == kVolatile ? gpu.ecc_volatile : gpu.ecc_aggregate;
  if (location == kDram) return type == kCorrected ? ecc.dram_corrected : ecc.dram_uncorrected;
  if (location == kSram) return type == kCorrected ? ecc.sram_corrected : ecc.sram_uncorrected;
  return Fact<std::uint64_t>::absent("");
}

template <class Entry>
int give_processes(const Gpu& gpu, unsigned* count, Entry* out) {
  if (count == nullptr) return kInvalidArgument;
  if (!gpu.processes) return code_of(gpu.processes);
  const auto& processes = *gpu.processes;
  const unsigned room = std::exchange(*count, static_cast<unsigned>(processes.size()));
  if (processes.empty()) return kOk;
  if (out == nullptr) return kInvalidArgument;
  if (room < processes.size()) return kInsufficientSize;
  for (std::size_t i = 0; i < processes.size(); ++i) {
    out[i] = {.pid = processes[i].pid, .memory = processes[i].memory_bytes.value_or(kNotAvailable)};
  }
  return kOk;
}

// Older branches have no fabric.
[[maybe_unused]] void copy_cluster(const GpuFabric& fabric, std::array<unsigned char, 16>& out) {
  for (std::size_t i = 0; i < out.size() && 2 * i + 1 < fabric.cluster.size(); ++i) {
    out.at(i) = static_cast<unsigned char>(parse_hex(fabric.cluster.substr(2 * i, 2)).value_or(0));
  }
}

}  // namespace

FAKE_API const char* nvmlErrorString(int code) {
  switch (code) {
    case kOk:
      return "Success";
    case kUninitialised:
      return "Uninitialized";
    case kInvalidArgument:
      return "Invalid Argument";
    case kNotSupported:
      return "Not Supported";
    case kNoPermission:
      return "Insufficient Permissions";
    case 9:
      return "Driver Not Loaded";
    case kGpuIsLost:
      return "GPU is lost";
    case kResetRequired:
      return "GPU requires reset";
    case 18:
      return "Driver/library version mismatch";
    default:
      return "Unknown Error";
  }
}

FAKE_API int nvmlInit_v2() {
  {
    const std::lock_guard lock(state().guard);
    if (!load_scenario()) return kUnknownError;
  }
  if (const auto code = obstacle("nvmlInit_v2", std::nullopt)) return *code;
  const std::lock_guard lock(state().guard);
  ++state().initialised;
  return kOk;
}

FAKE_API int nvmlShutdown() {
  const std::lock_guard lock(state().guard);
  if (state().initialised == 0) return kUninitialised;
  --state().initialised;
  return kOk;
}

FAKE_API int nvmlSystemGetDriverVersion(char* version, unsigned size) {
  if (const auto code = system_obstacle("nvmlSystemGetDriverVersion")) return *code;
  return give_text(state().scenario.nvml.driver, version, size);
}

FAKE_API int nvmlSystemGetCudaDriverVersion_v2(int* version) {
  if (const auto code = system_obstacle("nvmlSystemGetCudaDriverVersion_v2")) return *code;
  return give(state().scenario.nvml.cuda, version);
}

FAKE_API int nvmlDeviceGetCount_v2(unsigned* count) {
  if (const auto code = system_obstacle("nvmlDeviceGetCount_v2")) return *code;
  if (count == nullptr) return kInvalidArgument;
  *count = static_cast<unsigned>(state().scenario.nvml.gpus.size());
  return kOk;
}

FAKE_API int nvmlDeviceGetHandleByIndex_v2(unsigned index, Device* device) {
  if (state().initialised == 0) return kUninitialised;
  if (device == nullptr || index >= state().scenario.nvml.gpus.size()) return kInvalidArgument;
  if (const auto code = obstacle("nvmlDeviceGetHandleByIndex_v2", index)) return *code;
  *device = &state().handles.at(index);
  return kOk;
}

// clang-format off
// A function with one output of one fact.
#define FAKE_VALUE(name, Raw, fact) \
  FAKE_API int name(Device device, Raw* out) { return on(#name, device, [&](const Gpu& gpu) { return give(fact, out); }); }
#define FAKE_TEXT(name, fact) \
  FAKE_API int name(Device device, char* out, unsigned size) { \
    return on(#name, device, [&](const Gpu& gpu) { return give_text(fact, out, size); }); }
#define FAKE_CLOCK(name, fact) \
  FAKE_API int name(Device device, int clock, unsigned* out) { \
    return on(#name, device, [&](const Gpu& gpu) { \
      return clock == kSmClock ? give(fact, out) : int{kNotSupported}; }); }

FAKE_TEXT(nvmlDeviceGetUUID, gpu.uuid)
FAKE_TEXT(nvmlDeviceGetName, gpu.model)
FAKE_TEXT(nvmlDeviceGetSerial, gpu.serial)
FAKE_TEXT(nvmlDeviceGetVbiosVersion, gpu.firmware.vbios)
FAKE_TEXT(nvmlDeviceGetInforomImageVersion, gpu.firmware.inforom)
FAKE_VALUE(nvmlDeviceGetArchitecture, unsigned, gpu.architecture)
FAKE_VALUE(nvmlDeviceGetMinorNumber, unsigned, gpu.minor)
FAKE_VALUE(nvmlDeviceGetCurrPcieLinkGeneration, unsigned, gpu.link.generation)
FAKE_VALUE(nvmlDeviceGetMaxPcieLinkGeneration, unsigned, gpu.link.generation_max)
FAKE_VALUE(nvmlDeviceGetCurrPcieLinkWidth, unsigned, gpu.link.width)
FAKE_VALUE(nvmlDeviceGetMaxPcieLinkWidth, unsigned, gpu.link.width_max)
FAKE_VALUE(nvmlDeviceGetPcieReplayCounter, unsigned, gpu.link.replays)
FAKE_VALUE(nvmlDeviceGetRetiredPagesPendingStatus, int, gpu.retired_pages.pending)
FAKE_VALUE(nvmlDeviceGetPerformanceState, int, gpu.clocks.performance_state)
FAKE_VALUE(nvmlDeviceGetPowerUsage, unsigned, gpu.power.usage_mw)
FAKE_VALUE(nvmlDeviceGetEnforcedPowerLimit, unsigned, gpu.power.enforced_mw)
FAKE_VALUE(nvmlDeviceGetPowerManagementDefaultLimit, unsigned, gpu.power.default_mw)
FAKE_VALUE(nvmlDeviceGetPersistenceMode, int, gpu.modes.persistence)
FAKE_VALUE(nvmlDeviceGetComputeMode, int, gpu.modes.compute)
FAKE_CLOCK(nvmlDeviceGetClockInfo, gpu.clocks.sm_mhz)
FAKE_CLOCK(nvmlDeviceGetMaxClockInfo, gpu.clocks.sm_max_mhz)
FAKE_CLOCK(nvmlDeviceGetApplicationsClock, gpu.clocks.application_sm_mhz)
FAKE_CLOCK(nvmlDeviceGetDefaultApplicationsClock, gpu.clocks.default_sm_mhz)
#if MUSTER_FAKE_BRANCH >= 535
FAKE_VALUE(nvmlDeviceGetCurrentClocksEventReasons, Counter, gpu.clocks.reasons)
#else
FAKE_VALUE(nvmlDeviceGetCurrentClocksThrottleReasons, Counter, gpu.clocks.reasons)
#endif

// clang-format on

FAKE_API int nvmlDeviceGetPciInfo_v3(Device device, PciInfo* out) {
  return on("nvmlDeviceGetPciInfo_v3", device, [&](const Gpu& gpu) -> int {
    if (out == nullptr) return kInvalidArgument;
    *out = pci_of(gpu.address);
    return kOk;
  });
}

FAKE_API int nvmlDeviceValidateInforom(Device device) {
  return on("nvmlDeviceValidateInforom", device, [&](const Gpu& gpu) -> int {
    if (!gpu.firmware.inforom_valid) return code_of(gpu.firmware.inforom_valid);
    return *gpu.firmware.inforom_valid ? kOk : kCorruptedInforom;
  });
}

FAKE_API int nvmlDeviceGetMemoryInfo(Device device, Memory* out) {
  return on("nvmlDeviceGetMemoryInfo", device, [&](const Gpu& gpu) -> int {
    return give_memory(gpu, out);
  });
}

FAKE_API int nvmlDeviceGetEccMode(Device device, int* current, int* pending) {
  return on("nvmlDeviceGetEccMode", device, [&](const Gpu& gpu) -> int {
    const int code = give(gpu.modes.ecc, current);
    return code == kOk ? give(gpu.modes.ecc_pending, pending) : code;
  });
}

FAKE_API int nvmlDeviceGetMigMode(Device device, unsigned* current, unsigned* pending) {
  return on("nvmlDeviceGetMigMode", device, [&](const Gpu& gpu) -> int {
    const int code = give(gpu.modes.mig, current);
    return code == kOk ? give(gpu.modes.mig_pending, pending) : code;
  });
}

FAKE_API int nvmlDeviceGetMemoryErrorCounter(
    Device device, int type, int since, int location, Counter* out) {
  return on("nvmlDeviceGetMemoryErrorCounter", device, [&](const Gpu& gpu) -> int {
    return give(ecc_of(gpu, type, since, location), out);
  });
}

FAKE_API int nvmlDeviceGetRetiredPages(Device device, int cause, unsigned* count, Counter* out) {
  return on("nvmlDeviceGetRetiredPages", device, [&](const Gpu& gpu) -> int {
    const auto& fact =
        cause == kDoubleBit ? gpu.retired_pages.double_bit : gpu.retired_pages.single_bit;
    const int code = give(fact, count);
    // Without room for the addresses only their number is told.
    return code == kOk && out == nullptr && *count > 0 ? kInsufficientSize : code;
  });
}

FAKE_API int nvmlDeviceGetRemappedRows(Device device,
                                       unsigned* corrected,
                                       unsigned* uncorrected,
                                       unsigned* pending,
                                       unsigned* failed) {
  return on("nvmlDeviceGetRemappedRows", device, [&](const Gpu& gpu) -> int {
    if (corrected == nullptr || uncorrected == nullptr || pending == nullptr || failed == nullptr) {
      return kInvalidArgument;
    }
    if (!gpu.remapped_rows) return code_of(gpu.remapped_rows);
    *corrected = static_cast<unsigned>(gpu.remapped_rows->corrected);
    *uncorrected = static_cast<unsigned>(gpu.remapped_rows->uncorrected);
    *pending = gpu.remapped_rows->pending ? 1 : 0;
    *failed = gpu.remapped_rows->failed ? 1 : 0;
    return kOk;
  });
}

FAKE_API int nvmlDeviceGetRowRemapperHistogram(Device device, Histogram* out) {
  return on("nvmlDeviceGetRowRemapperHistogram", device, [&](const Gpu& gpu) -> int {
    if (out == nullptr) return kInvalidArgument;
    if (!gpu.spare_rows) return code_of(gpu.spare_rows);
    const auto& rows = *gpu.spare_rows;
    *out = {.max = static_cast<unsigned>(rows.all),
            .high = static_cast<unsigned>(rows.high),
            .partial = static_cast<unsigned>(rows.partial),
            .low = static_cast<unsigned>(rows.low),
            .none = static_cast<unsigned>(rows.none)};
    return kOk;
  });
}

FAKE_API int nvmlDeviceGetTemperature(Device device, int sensor, unsigned* out) {
  return on("nvmlDeviceGetTemperature", device, [&](const Gpu& gpu) -> int {
    return sensor == 0 ? give(gpu.heat.gpu_c, out) : kInvalidArgument;
  });
}

FAKE_API int nvmlDeviceGetTemperatureThreshold(Device device, int threshold, unsigned* out) {
  return on("nvmlDeviceGetTemperatureThreshold", device, [&](const Gpu& gpu) -> int {
    if (threshold != kThresholdSlowdown || !gpu.heat.margin_c || !gpu.heat.gpu_c) {
      return kNotSupported;
    }
    return give(Fact<int>(*gpu.heat.gpu_c + *gpu.heat.margin_c), out);
  });
}

FAKE_API int nvmlDeviceGetNvLinkState(Device device, unsigned number, int* out) {
  return on("nvmlDeviceGetNvLinkState", device, [&](const Gpu& gpu) -> int {
    const auto* link = link_of(gpu, number);
    if (link == nullptr) return gpu.nvlinks ? kInvalidArgument : code_of(gpu.nvlinks);
    return give(link->state, out);
  });
}

FAKE_API int nvmlDeviceGetNvLinkErrorCounter(Device device,
                                             unsigned number,
                                             int counter,
                                             Counter* out) {
  return on("nvmlDeviceGetNvLinkErrorCounter", device, [&](const Gpu& gpu) -> int {
    const auto* link = link_of(gpu, number);
    if (link == nullptr) return kInvalidArgument;
    if (counter == kReplayCounter) return give(link->replays, out);
    if (counter == kRecoveryCounter) return give(link->recoveries, out);
    return counter == kCrcFlitCounter ? give(link->crc, out) : kNotSupported;
  });
}

FAKE_API int nvmlDeviceGetNvLinkRemoteDeviceType(Device device, unsigned number, int* out) {
  return on("nvmlDeviceGetNvLinkRemoteDeviceType", device, [&](const Gpu& gpu) -> int {
    const auto* link = link_of(gpu, number);
    return link == nullptr ? kInvalidArgument : give(link->remote_type, out);
  });
}

FAKE_API int nvmlDeviceGetNvLinkRemotePciInfo_v2(Device device, unsigned number, PciInfo* out) {
  return on("nvmlDeviceGetNvLinkRemotePciInfo_v2", device, [&](const Gpu& gpu) -> int {
    const auto* link = link_of(gpu, number);
    if (link == nullptr || out == nullptr) return kInvalidArgument;
    if (link->remote_address) *out = pci_of(*link->remote_address);
    return code_of(link->remote_address);
  });
}

FAKE_API int nvmlDeviceGetP2PStatus(Device device, Device other, int capability, int* out) {
  return on("nvmlDeviceGetP2PStatus", device, [&](const Gpu& gpu) -> int {
    const auto peer = index_of(other);
    if (!peer || capability != kPeerRead || out == nullptr) return kInvalidArgument;
    if (!gpu.peers) return code_of(gpu.peers);
    const auto found = gpu.peers->find(gpu_at(*peer).address);
    if (found == gpu.peers->end()) return kNotSupported;
    *out = static_cast<int>(found->second);
    return kOk;
  });
}

FAKE_API int nvmlDeviceGetFieldValues(Device device, int count, FieldValue* fields) {
  return on("nvmlDeviceGetFieldValues", device, [&](const Gpu& gpu) -> int {
    if (fields == nullptr || count <= 0) return kInvalidArgument;
    std::for_each(
        fields, fields + count, [&](FieldValue& field) { set(field, field_of(gpu, field)); });
    return kOk;
  });
}

#if MUSTER_FAKE_BRANCH >= 535
FAKE_API int nvmlDeviceGetComputeRunningProcesses_v3(Device device, unsigned* count, Process* out) {
  return on("nvmlDeviceGetComputeRunningProcesses_v3", device, [&](const Gpu& gpu) -> int {
    return give_processes(gpu, count, out);
  });
}

FAKE_API int nvmlDeviceGetMemoryInfo_v2(Device device, MemoryV2* out) {
  return on("nvmlDeviceGetMemoryInfo_v2", device, [&](const Gpu& gpu) -> int {
    if (out == nullptr) return kInvalidArgument;
    if (out->version != version_word<MemoryV2>(2)) return kVersionMismatch;
    if (!gpu.memory) return code_of(gpu.memory);
    const auto& memory = *gpu.memory;
    *out = {.version = out->version,
            .total = memory.total,
            .reserved = memory.reserved.value_or(0),
            .free = memory.free,
            .used = memory.used};
    return kOk;
  });
}

FAKE_API int nvmlDeviceGetGspFirmwareVersion(Device device, char* out) {
  return on("nvmlDeviceGetGspFirmwareVersion", device, [&](const Gpu& gpu) -> int {
    return give_text(gpu.firmware.gsp, out, 80);
  });
}

FAKE_API int nvmlDeviceGetGspFirmwareMode(Device device, unsigned* enabled, unsigned* by_default) {
  return on("nvmlDeviceGetGspFirmwareMode", device, [&](const Gpu& gpu) -> int {
    const int code = give(gpu.firmware.gsp_enabled, enabled);
    return code == kOk ? give(gpu.firmware.gsp_default, by_default) : code;
  });
}

FAKE_API int nvmlDeviceGetSramEccErrorStatus(Device device, Sram* out) {
  return on("nvmlDeviceGetSramEccErrorStatus", device, [&](const Gpu& gpu) -> int {
    if (out == nullptr) return kInvalidArgument;
    if (out->version != version_word<Sram>(1)) return kVersionMismatch;
    if (!gpu.sram) return code_of(gpu.sram);
    out->aggregate_parity = gpu.sram->unique_uncorrected;
    out->threshold_exceeded = gpu.sram->threshold_exceeded ? 1 : 0;
    return kOk;
  });
}

FAKE_API int nvmlDeviceGetGpuFabricInfoV(Device device, FabricV3* out) {
  return on("nvmlDeviceGetGpuFabricInfoV", device, [&](const Gpu& gpu) -> int {
    if (out == nullptr) return kInvalidArgument;
#if MUSTER_FAKE_BRANCH >= 570
    const bool third = out->version == version_word<FabricV3>(3);
#else
    const bool third = false;
#endif
    if (!third && out->version != version_word<FabricV2>(2)) return kVersionMismatch;
    if (!gpu.fabric) return code_of(gpu.fabric);
    copy_cluster(*gpu.fabric, out->cluster);
    out->status = gpu.fabric->status;
    out->clique = gpu.fabric->clique;
    out->state = static_cast<unsigned char>(gpu.fabric->state);
    out->health_mask = gpu.fabric->health_mask.value_or(0);
    if (third) {
      out->health_summary = static_cast<unsigned char>(gpu.fabric->health_summary.value_or(0));
    }
    return kOk;
  });
}
#else
FAKE_API int nvmlDeviceGetComputeRunningProcesses(Device device, unsigned* count, ProcessV1* out) {
  return on("nvmlDeviceGetComputeRunningProcesses", device, [&](const Gpu& gpu) -> int {
    return give_processes(gpu, count, out);
  });
}
#endif

#if MUSTER_FAKE_BRANCH >= 570
FAKE_API int nvmlDeviceGetRepairStatus(Device device, Repair* out) {
  return on("nvmlDeviceGetRepairStatus", device, [&](const Gpu& gpu) -> int {
    if (out == nullptr) return kInvalidArgument;
    if (out->version != version_word<Repair>(1)) return kVersionMismatch;
    if (!gpu.repairs) return code_of(gpu.repairs);
    out->channel_pending = gpu.repairs->channel_pending ? 1 : 0;
    out->tpc_pending = gpu.repairs->tpc_pending ? 1 : 0;
    return kOk;
  });
}

FAKE_API int nvmlDeviceGetTemperatureV(Device device, Temperature* out) {
  return on("nvmlDeviceGetTemperatureV", device, [&](const Gpu& gpu) -> int {
    if (out == nullptr || out->sensor != 0) return kInvalidArgument;
    if (out->version != version_word<Temperature>(1)) return kVersionMismatch;
    return give(gpu.heat.gpu_c, &out->celsius);
  });
}

FAKE_API int nvmlDeviceGetMarginTemperature(Device device, Margin* out) {
  return on("nvmlDeviceGetMarginTemperature", device, [&](const Gpu& gpu) -> int {
    if (out == nullptr) return kInvalidArgument;
    if (out->version != version_word<Margin>(1)) return kVersionMismatch;
    return give(gpu.heat.margin_c, &out->celsius);
  });
}
#endif
