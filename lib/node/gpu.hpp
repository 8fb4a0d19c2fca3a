// SPDX-License-Identifier: Apache-2.0
// Facts about GPUs, as NVML tells them. What a GPU or its driver does not offer is absent, with
// NVML's word for it; it is never a zero.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lib/base/fact.hpp"
#include "lib/base/fields.hpp"

namespace muster {

// Errors of the memories, as the driver counts them.
struct GpuEcc {
  Fact<std::uint64_t> dram_corrected;
  Fact<std::uint64_t> dram_uncorrected;
  Fact<std::uint64_t> sram_corrected;
  Fact<std::uint64_t> sram_uncorrected;

  template <class Self = GpuEcc>
  static constexpr auto fields() {
    return std::tuple{
        field("dram_corrected", &Self::dram_corrected, "corrected errors of the DRAM"),
        field("dram_uncorrected", &Self::dram_uncorrected, "uncorrected errors of the DRAM"),
        field("sram_corrected", &Self::sram_corrected, "corrected errors of the SRAMs"),
        field("sram_uncorrected", &Self::sram_uncorrected, "uncorrected errors of the SRAMs")};
  }

  bool operator==(const GpuEcc&) const = default;
};

// What the driver knows of the SRAMs over the life of the GPU.
struct GpuSram {
  std::uint64_t unique_uncorrected = 0;
  bool threshold_exceeded = false;

  template <class Self = GpuSram>
  static constexpr auto fields() {
    return std::tuple{
        field("unique_uncorrected",
              &Self::unique_uncorrected,
              "unique uncorrected errors, parity and SEC-DED together"),
        field("threshold_exceeded", &Self::threshold_exceeded, "the driver calls for replacement")};
  }

  bool operator==(const GpuSram&) const = default;
};

// Before Ampere.
struct GpuRetiredPages {
  Fact<std::uint64_t> single_bit;
  Fact<std::uint64_t> double_bit;
  Fact<bool> pending;

  template <class Self = GpuRetiredPages>
  static constexpr auto fields() {
    return std::tuple{
        field("single_bit", &Self::single_bit, "pages retired for several single-bit errors"),
        field("double_bit", &Self::double_bit, "pages retired for a double-bit error"),
        field("pending", &Self::pending, "pages wait for a reset to be retired")};
  }

  bool operator==(const GpuRetiredPages&) const = default;
};

// Since Ampere.
struct GpuRemappedRows {
  std::uint64_t corrected = 0;
  std::uint64_t uncorrected = 0;
  bool pending = false;
  bool failed = false;

  template <class Self = GpuRemappedRows>
  static constexpr auto fields() {
    return std::tuple{
        field("corrected", &Self::corrected, "rows remapped for corrected errors"),
        field("uncorrected", &Self::uncorrected, "rows remapped for uncorrected errors"),
        field("pending", &Self::pending, "a remapping waits for a reset"),
        field("failed", &Self::failed, "a remapping failed: no spare row was left")};
  }

  bool operator==(const GpuRemappedRows&) const = default;
};

// Banks of memory by the spare rows that are left to them.
struct GpuSpareRows {
  std::uint64_t all = 0;
  std::uint64_t high = 0;
  std::uint64_t partial = 0;
  std::uint64_t low = 0;
  std::uint64_t none = 0;

  template <class Self = GpuSpareRows>
  static constexpr auto fields() {
    return std::tuple{field("all", &Self::all, "banks with every spare row"),
                      field("high", &Self::high, "banks with many"),
                      field("partial", &Self::partial, "banks with some"),
                      field("low", &Self::low, "banks with few"),
                      field("none", &Self::none, "banks without any")};
  }

  bool operator==(const GpuSpareRows&) const = default;
};

struct GpuRepairs {
  bool channel_pending = false;
  bool tpc_pending = false;

  template <class Self = GpuRepairs>
  static constexpr auto fields() {
    return std::tuple{field("channel_pending",
                            &Self::channel_pending,
                            "a repair of a memory channel waits for a reset"),
                      field("tpc_pending",
                            &Self::tpc_pending,
                            "a repair of a processing cluster waits for a reset")};
  }

  bool operator==(const GpuRepairs&) const = default;
};

struct NvLink {
  unsigned link = 0;
  Fact<unsigned> state;
  Fact<std::uint64_t> speed_mbps;
  Fact<unsigned> remote_type;
  Fact<std::string> remote_address;
  Fact<std::uint64_t> replays;
  Fact<std::uint64_t> recoveries;
  Fact<std::uint64_t> crc;
  Fact<double> ber;

  template <class Self = NvLink>
  static constexpr auto fields() {
    return std::tuple{
        field("link", &Self::link, "number, from 0"),
        field("state", &Self::state, "0 inactive, 1 active, 2 asleep"),
        field("speed_mbps", &Self::speed_mbps, "MB/s each way"),
        field("remote_type", &Self::remote_type, "0 GPU, 1 IBM NPU, 2 switch, 255 unknown"),
        field("remote_address", &Self::remote_address, "the peer's PCI address"),
        field("replays", &Self::replays, "data-link replays"),
        field("recoveries", &Self::recoveries, "recoveries"),
        field("crc", &Self::crc, "CRC errors"),
        field("ber", &Self::ber, "effective bit error rate")};
  }

  bool operator==(const NvLink&) const = default;
};

// How the GPU stands in the NVSwitch fabric.
struct GpuFabric {
  unsigned state = 0;
  int status = 0;
  std::string cluster;
  unsigned clique = 0;
  Fact<unsigned> health_mask;
  Fact<unsigned> health_summary;

  template <class Self = GpuFabric>
  static constexpr auto fields() {
    return std::tuple{
        field("state", &Self::state, "0 not supported, 1 not started, 2 in progress, 3 completed"),
        field("status", &Self::status, "NVML's return code of the registration, once completed"),
        field("cluster", &Self::cluster, "UUID of the cluster, empty when all zero"),
        field("clique", &Self::clique, "clique id"),
        field("health_mask", &Self::health_mask, "NVML's bit fields"),
        field("health_summary",
              &Self::health_summary,
              "0 not supported, 1 healthy, 2 unhealthy, 3 limited capacity")};
  }

  bool operator==(const GpuFabric&) const = default;
};

struct GpuClocks {
  Fact<std::uint64_t> reasons;
  Fact<unsigned> sm_mhz;
  Fact<unsigned> sm_max_mhz;
  Fact<unsigned> application_sm_mhz;
  Fact<unsigned> default_sm_mhz;
  Fact<unsigned> performance_state;

  template <class Self = GpuClocks>
  static constexpr auto fields() {
    return std::tuple{
        field("reasons", &Self::reasons, "bit mask of what holds the clocks down"),
        field("sm_mhz", &Self::sm_mhz, "SM clock now"),
        field("sm_max_mhz", &Self::sm_max_mhz, "highest SM clock"),
        field("application_sm_mhz", &Self::application_sm_mhz, "SM clock set for applications"),
        field("default_sm_mhz", &Self::default_sm_mhz, "SM clock for applications by default"),
        field("performance_state", &Self::performance_state, "0 fastest to 15; 32 unknown")};
  }

  bool operator==(const GpuClocks&) const = default;
};

struct GpuHeat {
  Fact<int> gpu_c;
  Fact<int> memory_c;
  Fact<int> margin_c;

  template <class Self = GpuHeat>
  static constexpr auto fields() {
    return std::tuple{field("gpu_c", &Self::gpu_c, "temperature of the GPU"),
                      field("memory_c", &Self::memory_c, "temperature of its memory"),
                      field("margin_c", &Self::margin_c, "degrees left to the GPU's own slowdown")};
  }

  bool operator==(const GpuHeat&) const = default;
};

struct GpuPower {
  Fact<std::uint64_t> usage_mw;
  Fact<std::uint64_t> enforced_mw;
  Fact<std::uint64_t> default_mw;

  template <class Self = GpuPower>
  static constexpr auto fields() {
    return std::tuple{field("usage_mw", &Self::usage_mw, "drawn now"),
                      field("enforced_mw", &Self::enforced_mw, "limit in force"),
                      field("default_mw", &Self::default_mw, "limit by default")};
  }

  bool operator==(const GpuPower&) const = default;
};

struct GpuMemory {
  std::uint64_t total = 0;
  Fact<std::uint64_t> reserved;
  std::uint64_t used = 0;
  std::uint64_t free = 0;

  template <class Self = GpuMemory>
  static constexpr auto fields() {
    return std::tuple{
        field("total", &Self::total, "bytes"),
        field("reserved", &Self::reserved, "bytes the driver keeps for itself"),
        field("used",
              &Self::used,
              "bytes in use, without those reserved where the driver tells them apart"),
        field("free", &Self::free, "bytes")};
  }

  bool operator==(const GpuMemory&) const = default;
};

// The PCI link as NVML sees it.
struct GpuLink {
  Fact<unsigned> generation;
  Fact<unsigned> generation_max;
  Fact<unsigned> width;
  Fact<unsigned> width_max;
  Fact<std::uint64_t> replays;

  template <class Self = GpuLink>
  static constexpr auto fields() {
    return std::tuple{field("generation", &Self::generation, "now"),
                      field("generation_max", &Self::generation_max, "of GPU and slot together"),
                      field("width", &Self::width, "lanes now"),
                      field("width_max", &Self::width_max, "of GPU and slot together"),
                      field("replays", &Self::replays, "replays since the driver was loaded")};
  }

  bool operator==(const GpuLink&) const = default;
};

struct GpuProcess {
  unsigned pid = 0;
  std::string name;
  Fact<unsigned> user;
  std::string job;
  Fact<std::uint64_t> memory_bytes;

  template <class Self = GpuProcess>
  static constexpr auto fields() {
    return std::tuple{
        field("pid", &Self::pid, "process id as the driver tells it"),
        field("name", &Self::name, "command, empty when the process is not to be seen"),
        field("user", &Self::user, "user id"),
        field("job", &Self::job, "Slurm job it belongs to, empty when none"),
        field("memory_bytes", &Self::memory_bytes, "GPU memory it holds")};
  }

  bool operator==(const GpuProcess&) const = default;
};

struct GpuFirmware {
  Fact<std::string> vbios;
  Fact<std::string> inforom;
  Fact<bool> inforom_valid;
  Fact<std::string> gsp;
  Fact<bool> gsp_enabled;
  Fact<bool> gsp_default;

  template <class Self = GpuFirmware>
  static constexpr auto fields() {
    return std::tuple{field("vbios", &Self::vbios, "version"),
                      field("inforom", &Self::inforom, "image version"),
                      field("inforom_valid", &Self::inforom_valid, "its checksum is right"),
                      field("gsp", &Self::gsp, "version of the GSP firmware"),
                      field("gsp_enabled", &Self::gsp_enabled, "the GSP runs"),
                      field("gsp_default", &Self::gsp_default, "it should by default")};
  }

  bool operator==(const GpuFirmware&) const = default;
};

struct GpuModes {
  Fact<bool> ecc;
  Fact<bool> ecc_pending;
  Fact<bool> mig;
  Fact<bool> mig_pending;
  Fact<bool> persistence;
  Fact<unsigned> compute;

  template <class Self = GpuModes>
  static constexpr auto fields() {
    return std::tuple{
        field("ecc", &Self::ecc, "error correction is on"),
        field("ecc_pending", &Self::ecc_pending, "it will be after the next reset"),
        field("mig", &Self::mig, "MIG mode is on"),
        field("mig_pending", &Self::mig_pending, "it will be after the next reset"),
        field("persistence", &Self::persistence, "the driver keeps the GPU initialised"),
        field("compute",
              &Self::compute,
              "0 default, 1 exclusive thread, 2 prohibited, 3 exclusive process")};
  }

  bool operator==(const GpuModes&) const = default;
};

struct Gpu {
  unsigned index = 0;
  std::string address;
  std::string no_address;
  std::string lost;
  std::string stuck;
  std::vector<std::string> troubles;
  Fact<std::string> uuid;
  Fact<std::string> serial;
  Fact<std::string> model;
  Fact<unsigned> architecture;
  Fact<unsigned> minor;
  GpuFirmware firmware;
  GpuModes modes;
  Fact<GpuMemory> memory;
  GpuEcc ecc_volatile;
  GpuEcc ecc_aggregate;
  Fact<GpuSram> sram;
  GpuRetiredPages retired_pages;
  Fact<GpuRemappedRows> remapped_rows;
  Fact<GpuSpareRows> spare_rows;
  Fact<GpuRepairs> repairs;
  Fact<unsigned> recovery_action;
  Fact<std::vector<NvLink>> nvlinks;
  Fact<GpuFabric> fabric;
  GpuClocks clocks;
  GpuHeat heat;
  GpuPower power;
  GpuLink link;
  Fact<std::vector<GpuProcess>> processes;
  Fact<std::map<std::string, unsigned>> peers;

  template <class Self = Gpu>
  static constexpr auto fields() {
    return std::tuple{
        field("index", &Self::index, "NVML's own number: gpu<index>"),
        field("address", &Self::address, "PCI address, empty when NVML refused even that"),
        field("no_address",
              &Self::no_address,
              "the call that did not tell the address, and its answer; empty when it did"),
        field("lost",
              &Self::lost,
              "the call that found the GPU lost, and its answer; empty when it is there"),
        field("stuck", &Self::stuck, "the call that did not return; empty when all did"),
        field("troubles",
              &Self::troubles,
              "answers that are faults of the GPU: \"nvmlDeviceGetX: GPU requires reset\""),
        field("uuid", &Self::uuid, "UUID"),
        field("serial", &Self::serial, "serial number of the board"),
        field("model", &Self::model, "NVML's name"),
        field("architecture", &Self::architecture, "5 Volta, 7 Ampere, 9 Hopper, 10 Blackwell"),
        field("minor", &Self::minor, "the N of /dev/nvidiaN"),
        field("firmware", &Self::firmware, ""),
        field("modes", &Self::modes, ""),
        field("memory", &Self::memory, ""),
        field("ecc_volatile", &Self::ecc_volatile, "since the driver was loaded"),
        field("ecc_aggregate", &Self::ecc_aggregate, "over the life of the GPU"),
        field("sram", &Self::sram, ""),
        field("retired_pages", &Self::retired_pages, ""),
        field("remapped_rows", &Self::remapped_rows, ""),
        field("spare_rows", &Self::spare_rows, ""),
        field("repairs", &Self::repairs, ""),
        field("recovery_action",
              &Self::recovery_action,
              "0 none, 1 reset the GPU, 2 reboot, 3 drain peer-to-peer, 4 drain and reset"),
        field("nvlinks", &Self::nvlinks, ""),
        field("fabric", &Self::fabric, ""),
        field("clocks", &Self::clocks, ""),
        field("heat", &Self::heat, ""),
        field("power", &Self::power, ""),
        field("link", &Self::link, ""),
        field("processes", &Self::processes, "that compute"),
        field("peers",
              &Self::peers,
              "peer access to each other GPU by address: 0 possible, else why not")};
  }

  bool operator==(const Gpu&) const = default;
};

// Facts of GPUs that cost calls of their own, and are read only where somebody asks for them.
struct NvmlParts {
  bool inforom = false;  // its checksum, from the GPU's flash: that takes long
  bool links = false;    // NVLinks
  bool pairs = false;    // peer access
  bool processes = false;

  [[nodiscard]] static constexpr NvmlParts all() {
    return {.inforom = true, .links = true, .pairs = true, .processes = true};
  }

  [[nodiscard]] constexpr NvmlParts operator|(NvmlParts other) const {
    return {.inforom = inforom || other.inforom,
            .links = links || other.links,
            .pairs = pairs || other.pairs,
            .processes = processes || other.processes};
  }

  bool operator==(const NvmlParts&) const = default;
};

struct Nvml {
  std::string library;
  std::string trouble;
  int trouble_code = 0;
  Fact<std::string> driver;
  Fact<std::string> module;
  Fact<bool> open_module;
  Fact<unsigned> cuda;
  std::vector<Gpu> gpus;

  template <class Self = Nvml>
  static constexpr auto fields() {
    return std::tuple{
        field("library", &Self::library, "the file that was opened"),
        field("trouble", &Self::trouble, "why NVML cannot be used at all; empty when it can"),
        field("trouble_code",
              &Self::trouble_code,
              "NVML's return code of that; 0 where muster itself cannot go on"),
        field("driver", &Self::driver, "version"),
        field("module", &Self::module, "version of the kernel's module"),
        field("open_module", &Self::open_module, "that module is the open one"),
        field("cuda", &Self::cuda, "highest CUDA version: 12040 for 12.4"),
        field("gpus", &Self::gpus, "by PCI address")};
  }

  bool operator==(const Nvml&) const = default;
};

}  // namespace muster
