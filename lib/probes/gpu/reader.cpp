// SPDX-License-Identifier: Apache-2.0
#include "lib/probes/gpu/reader.hpp"

#include <fmt/format.h>

#include <tuple>

#include "lib/probes/gpu/caller.hpp"

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
  return make_error(fmt::format("NVML reports {} C, and a slowdown at {} C", now_c, slowdown_c));
}

class GpuReader {
 public:
  GpuReader(const Functions& functions, unsigned index, NvmlParts parts, Watched<GpuFacts>& watched)
      : functions_(functions),
        parts_(parts),
        watched_(watched),
        call_(functions, [&watched](std::string_view name) { watched.calling(name); }) {
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
      if (facts_.handle == nullptr) return;
    }
  }

 private:
  void publish() {
    facts_.gpu.lost = call_.lost().empty() ? refused_ : call_.lost();
    facts_.gpu.troubles = call_.troubles();
    watched_.publish(facts_);
  }

  void open() {
    Device handle = nullptr;
    const int code = call_(functions_.handle, facts_.gpu.index, &handle);
    if (code != kOk) {
      // A refused handle is a fault of this GPU, whatever the reason.
      refused_ = call_.error(functions_.handle, code).message;
      return;
    }
    facts_.handle = handle;
    PciInfo info{};
    const int answer = call_(functions_.pci, handle, &info);
    if (answer == kOk) facts_.gpu.address = address_of(info);
    if (answer != kOk) facts_.gpu.no_address = call_.error(functions_.pci, answer).message;
  }

  void identity() {
    auto& gpu = facts_.gpu;
    gpu.uuid = call_.text<kName>(functions_.uuid, facts_.handle);
    gpu.serial = call_.text<kSerial>(functions_.serial, facts_.handle);
    gpu.model = call_.text<kName>(functions_.name, facts_.handle);
    gpu.architecture = number<unsigned>(functions_.architecture);
    gpu.minor = number<unsigned>(functions_.minor);
  }

  void firmware() {
    auto& firmware = facts_.gpu.firmware;
    firmware.vbios = call_.text<kVbios>(functions_.vbios, facts_.handle);
    firmware.inforom = call_.text<kInforom>(functions_.inforom, facts_.handle);
    firmware.gsp = call_.text<kGsp>(functions_.gsp_version, facts_.handle);
    std::tie(firmware.gsp_enabled, firmware.gsp_default) = flags<unsigned>(functions_.gsp_mode);
  }

  void inforom() {
    auto& is_valid = facts_.gpu.firmware.inforom_valid;
    if (!parts_.inforom) {
      is_valid = make_missing("read in the contexts manual and boot only, for gpu.firmware");
      return;
    }
    const int code = call_(functions_.validate_inforom, facts_.handle);
    is_valid = code == kCorruptedInforom ? Fact<bool>(false)
                                         : call_.fact(functions_.validate_inforom, code, true);
  }

  void modes() {
    auto& modes = facts_.gpu.modes;
    std::tie(modes.ecc, modes.ecc_pending) = flags<int>(functions_.ecc_mode);
    std::tie(modes.mig, modes.mig_pending) = flags<unsigned>(functions_.mig);
    modes.persistence = as<bool>(number<int>(functions_.persistence));
    modes.compute = as<unsigned>(number<int>(functions_.compute_mode));
  }

  void memory() {
    MemoryV2 second{.version = version_word<MemoryV2>(2)};
    if (call_(functions_.memory_v2, facts_.handle, &second) == kOk) {
      facts_.gpu.memory = GpuMemory{.total = second.total,
                                    .reserved = std::uint64_t{second.reserved},
                                    .used = second.used,
                                    .free = second.free};
    } else {
      Memory first{};
      const int code = call_(functions_.memory, facts_.handle, &first);
      facts_.gpu.memory = call_.fact(functions_.memory, code,
                                     GpuMemory{.total = first.total,
                                               .reserved = make_missing("part of what is used"),
                                               .used = first.used,
                                               .free = first.free});
    }
    facts_.gpu.numa_node = number<unsigned>(functions_.numa_node);
  }

  Fact<std::uint64_t> errors_of(int type, int since, int location) {
    return as<std::uint64_t>(number<Counter>(functions_.memory_errors, type, since, location));
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
    const int code = call_(functions_.sram, facts_.handle, &sram);
    facts_.gpu.sram =
        call_.fact(functions_.sram, code,
                   GpuSram{.unique_uncorrected = sram.aggregate_parity + sram.aggregate_sec_ded,
                           .threshold_exceeded = sram.threshold_exceeded != 0});
  }

  // Without a buffer for addresses NVML returns only the count.
  Fact<std::uint64_t> retired(int cause) {
    unsigned count = 0;
    Counter* const no_addresses = nullptr;
    const int code = call_(functions_.retired_pages, facts_.handle, cause, &count, no_addresses);
    if (code == kInsufficientSize) return std::uint64_t{count};
    return call_.fact(functions_.retired_pages, code, std::uint64_t{count});
  }

  void rows() {
    auto& gpu = facts_.gpu;
    gpu.retired_pages = {.single_bit = retired(kSeveralSingleBit),
                         .double_bit = retired(kDoubleBit),
                         .pending = as<bool>(number<int>(functions_.retired_pending))};
    unsigned corrected = 0;
    unsigned uncorrected = 0;
    unsigned pending = 0;
    unsigned failed = 0;
    int code =
        call_(functions_.remapped_rows, facts_.handle, &corrected, &uncorrected, &pending, &failed);
    gpu.remapped_rows = call_.fact(functions_.remapped_rows, code,
                                   GpuRemappedRows{.corrected = corrected,
                                                   .uncorrected = uncorrected,
                                                   .pending = pending != 0,
                                                   .failed = failed != 0});
    Histogram banks{};
    code = call_(functions_.spare_rows, facts_.handle, &banks);
    gpu.spare_rows = call_.fact(functions_.spare_rows, code,
                                GpuSpareRows{.all = banks.max,
                                             .high = banks.high,
                                             .partial = banks.partial,
                                             .low = banks.low,
                                             .none = banks.none});
    Repair repair{.version = version_word<Repair>(1), .channel_pending = 0, .tpc_pending = 0};
    code = call_(functions_.repairs, facts_.handle, &repair);
    gpu.repairs = call_.fact(functions_.repairs, code,
                             GpuRepairs{.channel_pending = repair.channel_pending != 0,
                                        .tpc_pending = repair.tpc_pending != 0});
  }

  void single_fields() {
    std::array<FieldValue, 8> fields{};
    auto& [memory, speed, links, action, thermal, hardware, software, brake] = fields;
    memory.field = kMemoryTemperature;
    speed.field = kNvlinkCommonSpeed;
    links.field = kNvlinkCount;
    action.field = kRecoveryAction;
    thermal.field = kThermalTime;
    hardware.field = kHardwareThermalTime;
    software.field = kSoftwareThermalTime;
    brake.field = kPowerBrakeTime;
    const QueriedGpu gpu = queried();
    gpu.query(fields);
    facts_.gpu.heat.memory_c = as<int>(gpu.answer(memory));
    common_speed_ = gpu.answer(speed);
    link_count_ = as<unsigned>(gpu.answer(links));
    facts_.gpu.recovery_action = as<unsigned>(gpu.answer(action));
    auto& clocks = facts_.gpu.clocks;
    clocks.thermal_ns = gpu.answer(thermal);
    clocks.hardware_thermal_ns = gpu.answer(hardware);
    clocks.software_thermal_ns = gpu.answer(software);
    clocks.power_brake_ns = gpu.answer(brake);
  }

  void nvlinks() {
    facts_.gpu.nvlinks = parts_.links ? read_links(queried(), common_speed_, link_count_)
                                      : Fact<std::vector<NvLink>>::absent(kNotRequested);
  }

  void fabric() { facts_.gpu.fabric = read_fabric(queried()); }

  void clocks() {
    auto& clocks = facts_.gpu.clocks;
    clocks.reasons = as<std::uint64_t>(number<Counter>(functions_.clock_reasons));
    clocks.sm_mhz = number<unsigned>(functions_.clock, kSmClock);
    clocks.sm_max_mhz = number<unsigned>(functions_.clock_max, kSmClock);
    clocks.application_sm_mhz = number<unsigned>(functions_.clock_applications, kSmClock);
    clocks.default_sm_mhz = number<unsigned>(functions_.clock_default, kSmClock);
    clocks.performance_state = as<unsigned>(number<int>(functions_.performance_state));
    Utilization utilisation{};
    const int code = call_(functions_.utilisation, facts_.handle, &utilisation);
    facts_.gpu.utilisation = call_.fact(functions_.utilisation, code, utilisation.gpu);
  }

  void heat_and_power() {
    auto& heat = facts_.gpu.heat;
    Temperature now{.version = version_word<Temperature>(1), .sensor = 0, .celsius = 0};
    if (call_(functions_.temperature_v, facts_.handle, &now) == kOk) {
      heat.gpu_c = now.celsius;
    } else {
      heat.gpu_c = as<int>(number<unsigned>(functions_.temperature, 0));
    }
    heat.memory_max_c =
        as<int>(number<unsigned>(functions_.temperature_threshold, kThresholdMemoryMax));
    Margin margin{.version = version_word<Margin>(1), .celsius = 0};
    const int code = call_(functions_.margin, facts_.handle, &margin);
    heat.margin_c = call_.fact(functions_.margin, code, margin.celsius);
    if (!heat.margin_c && heat.gpu_c) {
      const auto slowdown = number<unsigned>(functions_.temperature_threshold, kThresholdSlowdown);
      if (slowdown) heat.margin_c = margin_below(*slowdown, *heat.gpu_c);
    }
    facts_.gpu.power = {
        .usage_mw = as<std::uint64_t>(number<unsigned>(functions_.power)),
        .enforced_mw = as<std::uint64_t>(number<unsigned>(functions_.power_enforced)),
        .default_mw = as<std::uint64_t>(number<unsigned>(functions_.power_default)),
        .set_mw = as<std::uint64_t>(number<unsigned>(functions_.power_set))};
  }

  void pci_link() {
    facts_.gpu.link = {.generation = number<unsigned>(functions_.link_generation),
                       .generation_max = number<unsigned>(functions_.link_generation_max),
                       .width = number<unsigned>(functions_.link_width),
                       .width_max = number<unsigned>(functions_.link_width_max),
                       .replays = as<std::uint64_t>(number<unsigned>(functions_.replays))};
  }

  // The list may grow between two calls. Some drivers' entries are longer than declared, so there
  // is spare room, and implausible answers are rejected.
  template <class Entry, class Signature>
  Fact<std::vector<GpuProcess>> processes_by(const Function<Signature>& function) {
    constexpr unsigned kSpare = 32;
    constexpr unsigned kLargestPid = 1U << 22U;
    constexpr std::uint64_t kMax = 65536;
    std::uint64_t room = 64;
    int code = function.call == nullptr ? kFunctionNotFound : kInsufficientSize;
    for (; room <= kMax && code == kInsufficientSize; room *= 2) {
      std::vector<Entry> entries(room + room * kSpare / sizeof(Entry) + 1);
      auto count = static_cast<unsigned>(room);
      code = call_(function, facts_.handle, &count, entries.data());
      if (code != kOk) continue;
      std::vector<GpuProcess> processes;
      for (unsigned i = 0; i < std::min<std::uint64_t>(count, room); ++i) {
        if (entries[i].pid > kLargestPid) {
          return make_error(fmt::format("{} lists a process {}", function.name, entries[i].pid));
        }
        GpuProcess process{.pid = entries[i].pid};
        process.memory_bytes = entries[i].memory == kNotAvailable
                                   ? Fact<std::uint64_t>::absent("NVML does not report it")
                                   : Fact<std::uint64_t>(std::uint64_t{entries[i].memory});
        processes.push_back(std::move(process));
      }
      return processes;
    }
    return Fact<std::vector<GpuProcess>>::failed(call_.error(function, code));
  }

  void processes() {
    if (!parts_.processes) {
      facts_.gpu.processes = make_missing(kNotRequested);
      facts_.gpu.graphics = facts_.gpu.processes;
      return;
    }
    facts_.gpu.processes = functions_.processes.call != nullptr
                               ? processes_by<Process>(functions_.processes)
                               : processes_by<ProcessV1>(functions_.processes_v1);
    facts_.gpu.graphics = processes_by<Process>(functions_.graphics);
  }

  [[nodiscard]] QueriedGpu queried() {
    return {.functions = functions_, .call = call_, .handle = facts_.handle};
  }

  template <class Raw, class Signature, class... Arguments>
  Fact<Raw> number(const Function<Signature>& function, Arguments... arguments) {
    return queried().number<Raw>(function, arguments...);
  }

  // The two flags that the function writes to its last arguments.
  template <class Raw, class Signature>
  std::pair<Fact<bool>, Fact<bool>> flags(const Function<Signature>& function) {
    Raw first{};
    Raw second{};
    const int code = call_(function, facts_.handle, &first, &second);
    return {call_.fact(function, code, first != 0), call_.fact(function, code, second != 0)};
  }

  const Functions& functions_;
  const NvmlParts parts_;
  Watched<GpuFacts>& watched_;
  GpuFacts facts_;
  Caller call_;
  std::string refused_;  // why NVML refused a handle
  Fact<std::uint64_t> common_speed_;
  Fact<unsigned> link_count_;
};

}  // namespace

void read_gpu(const Functions& functions, unsigned index, NvmlParts parts,
              Watched<GpuFacts>& watched) {
  GpuReader(functions, index, parts, watched).read();
}

std::string address_of(const PciInfo& info) {
  return fmt::format("{:04x}:{:02x}:{:02x}.0", info.domain, info.bus, info.device);
}

}  // namespace muster::nvml
