// SPDX-License-Identifier: Apache-2.0
#include "lib/probes/gpu/reader.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <tuple>

namespace muster::nvml {
namespace {

constexpr std::size_t kName = 96;
constexpr std::size_t kSerial = 30;
constexpr std::size_t kVbios = 32;
constexpr std::size_t kInforom = 16;
constexpr std::size_t kGsp = 80;

Fact<int> margin_below(unsigned slowdown_c, int now_c) {
  const std::int64_t margin = std::int64_t{slowdown_c} - now_c;
  if (std::in_range<int>(margin)) return static_cast<int>(margin);
  return make_error("NVML reports {} C, and a slowdown at {} C", now_c, slowdown_c);
}

// A PCI address as sysfs writes it.
std::string address_of(const PciInfo& info) {
  return fmt::format("{:04x}:{:02x}:{:02x}.0", info.domain, info.bus, info.device);
}

// A GPU, and the means to query NVML about it.
struct QueriedGpu {
  const Functions& functions;
  Caller call;
  Device handle = nullptr;

  template <class To, class Signature, class... Arguments>
  [[nodiscard]] Fact<To> number(const Function<Signature>& function, Arguments... arguments) {
    return call.number<To>(function, handle, arguments...);
  }

  template <std::size_t Size, class Signature>
  [[nodiscard]] Fact<std::string> text(const Function<Signature>& function) {
    return call.text<Size>(function, handle);
  }

  // The two flags that the function writes to its last arguments.
  template <class Raw>
  [[nodiscard]] std::pair<Fact<bool>, Fact<bool>> flags(
      const Function<int(Device, Raw*, Raw*)>& function) {
    Raw first{};
    Raw second{};
    const int code = call(function, handle, &first, &second);
    return {call.fact(function, code, first != 0), call.fact(function, code, second != 0)};
  }

  // Queries all fields in one call; each has its own return code.
  void query(std::span<FieldValue> fields) {
    const int code = call(functions.fields, handle, static_cast<int>(fields.size()), fields.data());
    if (code == kOk) return;
    for (auto& field : fields) field.code = code;
  }

  [[nodiscard]] Fact<std::uint64_t> answer(const FieldValue& field) {
    if (field.code == kOk) return number_of(field);
    auto error = call.error(functions.fields, field.code);
    error.message = fmt::format("field {}, {}", field.field, error.message);
    return Fact<std::uint64_t>::failed(error);
  }
};

constexpr unsigned kMaxLinks = 36;

// Bits 0 to 7 are the exponent, 8 to 11 the mantissa: mantissa times 10 to the -exponent.
double bit_error_rate(std::uint64_t encoded) {
  const auto exponent = static_cast<double>(encoded & 0xffU);
  const auto mantissa = static_cast<double>((encoded >> 8U) & 0xfU);
  return mantissa * std::pow(10.0, -exponent);
}

Fact<unsigned> count_links(QueriedGpu& gpu, const Fact<unsigned>& known) {
  if (known) return std::min(*known, kMaxLinks);
  unsigned count = 0;
  while (count < kMaxLinks) {
    const auto state = gpu.number<int>(gpu.functions.nvlink_state, count);
    if (!state && count == 0) return as<unsigned>(state);
    if (!state) break;
    ++count;
  }
  return count;
}

Fact<std::uint64_t> errors_of_link(QueriedGpu& gpu, const FieldValue& field, int counter) {
  auto value = gpu.answer(field);
  if (value) return value;
  return gpu.number<std::uint64_t>(gpu.functions.nvlink_errors, field.scope, counter);
}

NvLink read_link(QueriedGpu& gpu, unsigned number_of_link, const FieldValue* fields,
                 const Fact<std::uint64_t>& common_speed) {
  NvLink link{.link = number_of_link};
  link.state = as<unsigned>(gpu.answer(fields[0]));
  if (!link.state) {
    link.state = gpu.number<unsigned>(gpu.functions.nvlink_state, number_of_link);
  }
  link.speed_mbps = gpu.answer(fields[1]);
  if (!link.speed_mbps) link.speed_mbps = common_speed;
  link.replays = errors_of_link(gpu, fields[2], kReplayCounter);
  // Blackwell has its own field.
  link.recoveries = gpu.answer(fields[6]);
  if (!link.recoveries) link.recoveries = errors_of_link(gpu, fields[3], kRecoveryCounter);
  link.crc = errors_of_link(gpu, fields[4], kCrcFlitCounter);
  const auto rate = gpu.answer(fields[5]);
  link.ber = rate ? Fact<double>(bit_error_rate(*rate)) : as<double>(rate);
  link.failed_recoveries = gpu.answer(fields[7]);
  link.receive_errors = gpu.answer(fields[8]);
  link.integrity_errors = gpu.answer(fields[9]);
  link.remote_type = gpu.number<unsigned>(gpu.functions.nvlink_peer_type, number_of_link);
  PciInfo peer{};
  const int code = gpu.call(gpu.functions.nvlink_peer, gpu.handle, number_of_link, &peer);
  link.remote_address = gpu.call.fact(gpu.functions.nvlink_peer, code, address_of(peer));
  return link;
}

std::string cluster_of(const std::array<unsigned char, 16>& bytes) {
  if (std::ranges::all_of(bytes, [](unsigned char byte) { return byte == 0; })) return {};
  return fmt::format("{:02x}", fmt::join(bytes, ""));
}

Fact<std::vector<NvLink>> read_links(QueriedGpu& gpu, const Fact<std::uint64_t>& common_speed,
                                     const Fact<unsigned>& known_count) {
  constexpr std::array kPerLink{
      kNvlinkState,         kNvlinkSpeed,          kNvlinkReplays,       kNvlinkRecoveries,
      kNvlinkCrc,           kNvlinkEffectiveBer,   kNvlinkAllRecoveries, kNvlinkFailedRecoveries,
      kNvlinkReceiveErrors, kNvlinkIntegrityErrors};
  const auto count = count_links(gpu, known_count);
  if (!count) return as<std::vector<NvLink>>(count);
  std::vector<FieldValue> fields;
  for (unsigned link = 0; link < *count; ++link) {
    for (const auto field : kPerLink) fields.push_back({.field = field, .scope = link});
  }
  if (!fields.empty()) gpu.query(fields);
  std::vector<NvLink> links;
  for (unsigned link = 0; link < *count; ++link) {
    links.push_back(read_link(gpu, link, &fields[link * kPerLink.size()], common_speed));
  }
  return links;
}

Fact<GpuFabric> read_fabric(QueriedGpu& gpu) {
  FabricV3 third{.version = version_word<FabricV3>(3)};
  int code = gpu.call(gpu.functions.fabric_v, gpu.handle, &third);
  const bool second = code == kVersionMismatch;
  if (second) {
    third = {.version = version_word<FabricV2>(2)};
    code = gpu.call(gpu.functions.fabric_v, gpu.handle, &third);
  }
  if (code == kOk) {
    GpuFabric fabric{.state = third.state,
                     .status = third.status,
                     .cluster = cluster_of(third.cluster),
                     .clique = third.clique,
                     .health_mask = third.health_mask};
    fabric.health_summary = second ? Fact<unsigned>::absent("this driver does not report it")
                                   : Fact<unsigned>(third.health_summary);
    return fabric;
  }
  if (gpu.functions.fabric_v.call != nullptr) {
    return Fact<GpuFabric>::failed(gpu.call.error(gpu.functions.fabric_v, code));
  }
  Fabric first{};
  code = gpu.call(gpu.functions.fabric, gpu.handle, &first);
  return gpu.call.fact(gpu.functions.fabric, code,
                       GpuFabric{.state = first.state,
                                 .status = first.status,
                                 .cluster = cluster_of(first.cluster),
                                 .clique = first.clique});
}

class GpuReader : QueriedGpu {
 public:
  GpuReader(const Functions& library, unsigned index, NvmlParts parts, Watched<GpuFacts>& watched)
      : QueriedGpu{library, {library, [&](std::string_view name) { watched.calling(name); }}},
        parts_(parts),
        watched_(watched) {
    facts_.gpu.index = index;
  }

  // Publishes after each step, because the next one may hang.
  void read() {
    for (const auto step :
         {&GpuReader::open, &GpuReader::identity, &GpuReader::firmware, &GpuReader::inforom,
          &GpuReader::modes, &GpuReader::memory, &GpuReader::errors, &GpuReader::rows,
          &GpuReader::single_fields, &GpuReader::nvlinks, &GpuReader::fabric, &GpuReader::clocks,
          &GpuReader::heat_and_power, &GpuReader::pci_link, &GpuReader::processes}) {
      (this->*step)();
      publish();
      if (handle == nullptr) return;
    }
  }

 private:
  void publish() {
    facts_.gpu.lost = call.lost().empty() ? refused_ : call.lost();
    facts_.gpu.troubles = call.troubles();
    watched_.publish(facts_);
  }

  void open() {
    int code = call(functions.handle, facts_.gpu.index, &handle);
    if (code != kOk) {
      // A refused handle is a fault of this GPU, whatever the reason.
      refused_ = call.error(functions.handle, code).message;
      handle = nullptr;
      return;
    }
    facts_.handle = handle;
    PciInfo info{};
    code = call(functions.pci, handle, &info);
    if (code == kOk) facts_.gpu.address = address_of(info);
    if (code != kOk) facts_.gpu.no_address = call.error(functions.pci, code).message;
  }

  void identity() {
    auto& gpu = facts_.gpu;
    gpu.uuid = text<kName>(functions.uuid);
    gpu.serial = text<kSerial>(functions.serial);
    gpu.model = text<kName>(functions.name);
    gpu.architecture = number<unsigned>(functions.architecture);
    gpu.minor = number<unsigned>(functions.minor);
  }

  void firmware() {
    auto& firmware = facts_.gpu.firmware;
    firmware.vbios = text<kVbios>(functions.vbios);
    firmware.inforom = text<kInforom>(functions.inforom);
    firmware.gsp = text<kGsp>(functions.gsp_version);
    std::tie(firmware.gsp_enabled, firmware.gsp_default) = flags(functions.gsp_mode);
  }

  void inforom() {
    auto& is_valid = facts_.gpu.firmware.inforom_valid;
    if (!parts_.inforom) {
      is_valid = make_missing("read in the contexts manual and boot only, for gpu.firmware");
      return;
    }
    const int code = call(functions.validate_inforom, handle);
    is_valid = code == kCorruptedInforom ? Fact<bool>(false)
                                         : call.fact(functions.validate_inforom, code, true);
  }

  void modes() {
    auto& modes = facts_.gpu.modes;
    std::tie(modes.ecc, modes.ecc_pending) = flags(functions.ecc_mode);
    std::tie(modes.mig, modes.mig_pending) = flags(functions.mig);
    modes.persistence = number<bool>(functions.persistence);
    modes.compute = number<unsigned>(functions.compute_mode);
  }

  void memory() {
    MemoryV2 second{.version = version_word<MemoryV2>(2)};
    if (call(functions.memory_v2, handle, &second) == kOk) {
      facts_.gpu.memory = GpuMemory{.total = second.total,
                                    .reserved = std::uint64_t{second.reserved},
                                    .used = second.used,
                                    .free = second.free};
    } else {
      Memory first{};
      const int code = call(functions.memory, handle, &first);
      facts_.gpu.memory = call.fact(functions.memory, code,
                                    GpuMemory{.total = first.total,
                                              .reserved = make_missing("part of what is used"),
                                              .used = first.used,
                                              .free = first.free});
    }
    facts_.gpu.numa_node = number<unsigned>(functions.numa_node);
  }

  Fact<std::uint64_t> errors_of(int type, int since, int location) {
    return number<std::uint64_t>(functions.memory_errors, type, since, location);
  }

  GpuEcc errors_since(int since) {
    return {.dram_corrected = errors_of(kCorrected, since, kDram),
            .dram_uncorrected = errors_of(kUncorrected, since, kDram),
            .sram_corrected = errors_of(kCorrected, since, kSram),
            .sram_uncorrected = errors_of(kUncorrected, since, kSram)};
  }

  void errors() {
    facts_.gpu.ecc_volatile = errors_since(kVolatile);
    facts_.gpu.ecc_aggregate = errors_since(kAggregate);
    Sram sram{.version = version_word<Sram>(1)};
    const int code = call(functions.sram, handle, &sram);
    facts_.gpu.sram =
        call.fact(functions.sram, code,
                  GpuSram{.unique_uncorrected = sram.aggregate_parity + sram.aggregate_sec_ded,
                          .threshold_exceeded = sram.threshold_exceeded != 0});
  }

  // Without a buffer for addresses NVML returns only the count.
  Fact<std::uint64_t> retired(int cause) {
    unsigned count = 0;
    Counter* const no_addresses = nullptr;
    const int code = call(functions.retired_pages, handle, cause, &count, no_addresses);
    if (code == kInsufficientSize) return std::uint64_t{count};
    return call.fact(functions.retired_pages, code, std::uint64_t{count});
  }

  void rows() {
    auto& gpu = facts_.gpu;
    gpu.retired_pages = {.single_bit = retired(kSeveralSingleBit),
                         .double_bit = retired(kDoubleBit),
                         .pending = number<bool>(functions.retired_pending)};
    unsigned corrected = 0;
    unsigned uncorrected = 0;
    unsigned pending = 0;
    unsigned failed = 0;
    int code = call(functions.remapped_rows, handle, &corrected, &uncorrected, &pending, &failed);
    gpu.remapped_rows = call.fact(functions.remapped_rows, code,
                                  GpuRemappedRows{.corrected = corrected,
                                                  .uncorrected = uncorrected,
                                                  .pending = pending != 0,
                                                  .failed = failed != 0});
    Histogram banks{};
    code = call(functions.spare_rows, handle, &banks);
    gpu.spare_rows = call.fact(functions.spare_rows, code,
                               GpuSpareRows{.all = banks.max,
                                            .high = banks.high,
                                            .partial = banks.partial,
                                            .low = banks.low,
                                            .none = banks.none});
    Repair repair{.version = version_word<Repair>(1), .channel_pending = 0, .tpc_pending = 0};
    code = call(functions.repairs, handle, &repair);
    gpu.repairs = call.fact(functions.repairs, code,
                            GpuRepairs{.channel_pending = repair.channel_pending != 0,
                                       .tpc_pending = repair.tpc_pending != 0});
  }

  void single_fields() {
    std::array<FieldValue, 8> fields{{{.field = kMemoryTemperature},
                                      {.field = kNvlinkCommonSpeed},
                                      {.field = kNvlinkCount},
                                      {.field = kRecoveryAction},
                                      {.field = kThermalTime},
                                      {.field = kHardwareThermalTime},
                                      {.field = kSoftwareThermalTime},
                                      {.field = kPowerBrakeTime}}};
    query(fields);
    auto& clocks = facts_.gpu.clocks;
    facts_.gpu.heat.memory_c = as<int>(answer(fields[0]));
    common_speed_ = answer(fields[1]);
    link_count_ = as<unsigned>(answer(fields[2]));
    facts_.gpu.recovery_action = as<unsigned>(answer(fields[3]));
    clocks.thermal_ns = answer(fields[4]);
    clocks.hardware_thermal_ns = answer(fields[5]);
    clocks.software_thermal_ns = answer(fields[6]);
    clocks.power_brake_ns = answer(fields[7]);
  }

  void nvlinks() {
    facts_.gpu.nvlinks = parts_.links ? read_links(*this, common_speed_, link_count_)
                                      : Fact<std::vector<NvLink>>::absent(kNotRequested);
  }

  void fabric() { facts_.gpu.fabric = read_fabric(*this); }

  void clocks() {
    auto& clocks = facts_.gpu.clocks;
    clocks.reasons = number<std::uint64_t>(functions.clock_reasons);
    clocks.sm_mhz = number<unsigned>(functions.clock, kSmClock);
    clocks.sm_max_mhz = number<unsigned>(functions.clock_max, kSmClock);
    clocks.application_sm_mhz = number<unsigned>(functions.clock_applications, kSmClock);
    clocks.default_sm_mhz = number<unsigned>(functions.clock_default, kSmClock);
    clocks.performance_state = number<unsigned>(functions.performance_state);
    Utilization utilisation{};
    const int code = call(functions.utilisation, handle, &utilisation);
    facts_.gpu.utilisation = call.fact(functions.utilisation, code, utilisation.gpu);
  }

  void heat_and_power() {
    auto& heat = facts_.gpu.heat;
    Temperature now{.version = version_word<Temperature>(1), .sensor = 0, .celsius = 0};
    if (call(functions.temperature_v, handle, &now) == kOk) {
      heat.gpu_c = now.celsius;
    } else {
      heat.gpu_c = number<int>(functions.temperature, 0);
    }
    heat.memory_max_c = number<int>(functions.temperature_threshold, kThresholdMemoryMax);
    Margin margin{.version = version_word<Margin>(1), .celsius = 0};
    const int code = call(functions.margin, handle, &margin);
    heat.margin_c = call.fact(functions.margin, code, margin.celsius);
    if (!heat.margin_c && heat.gpu_c) {
      const auto slowdown = number<unsigned>(functions.temperature_threshold, kThresholdSlowdown);
      if (slowdown) heat.margin_c = margin_below(*slowdown, *heat.gpu_c);
    }
    facts_.gpu.power = {.usage_mw = number<std::uint64_t>(functions.power),
                        .enforced_mw = number<std::uint64_t>(functions.power_enforced),
                        .default_mw = number<std::uint64_t>(functions.power_default),
                        .set_mw = number<std::uint64_t>(functions.power_set)};
  }

  void pci_link() {
    facts_.gpu.link = {.generation = number<unsigned>(functions.link_generation),
                       .generation_max = number<unsigned>(functions.link_generation_max),
                       .width = number<unsigned>(functions.link_width),
                       .width_max = number<unsigned>(functions.link_width_max),
                       .replays = number<std::uint64_t>(functions.replays)};
  }

  // The list may grow between two calls. Some drivers' entries are longer than declared, so there
  // is spare room, and implausible answers are rejected.
  template <class Entry>
  Fact<std::vector<GpuProcess>> processes_by(
      const Function<int(Device, unsigned*, Entry*)>& function) {
    constexpr unsigned kSpare = 32;
    constexpr unsigned kLargestPid = 1U << 22U;
    constexpr std::uint64_t kMax = 65536;
    std::uint64_t room = 64;
    int code = function.call == nullptr ? kFunctionNotFound : kInsufficientSize;
    for (; room <= kMax && code == kInsufficientSize; room *= 2) {
      std::vector<Entry> entries(room + room * kSpare / sizeof(Entry) + 1);
      auto count = static_cast<unsigned>(room);
      code = call(function, handle, &count, entries.data());
      if (code != kOk) continue;
      std::vector<GpuProcess> processes;
      for (unsigned i = 0; i < std::min<std::uint64_t>(count, room); ++i) {
        if (entries[i].pid > kLargestPid) {
          return make_error("{} lists a process {}", function.name, entries[i].pid);
        }
        GpuProcess process{.pid = entries[i].pid};
        process.memory_bytes = entries[i].memory == kNotAvailable
                                   ? Fact<std::uint64_t>::absent("NVML does not report it")
                                   : Fact<std::uint64_t>(std::uint64_t{entries[i].memory});
        processes.push_back(std::move(process));
      }
      return processes;
    }
    return Fact<std::vector<GpuProcess>>::failed(call.error(function, code));
  }

  void processes() {
    if (!parts_.processes) {
      facts_.gpu.processes = make_missing(kNotRequested);
      facts_.gpu.graphics = facts_.gpu.processes;
      return;
    }
    facts_.gpu.processes = functions.processes.call != nullptr
                               ? processes_by(functions.processes)
                               : processes_by(functions.processes_v1);
    facts_.gpu.graphics = processes_by(functions.graphics);
  }

  const NvmlParts parts_;
  Watched<GpuFacts>& watched_;
  GpuFacts facts_;
  std::string refused_;  // why NVML refused a handle
  Fact<std::uint64_t> common_speed_;
  Fact<unsigned> link_count_;
};

}  // namespace

void read_gpu(const Functions& functions, unsigned index, NvmlParts parts,
              Watched<GpuFacts>& watched) {
  GpuReader(functions, index, parts, watched).read();
}

}  // namespace muster::nvml
