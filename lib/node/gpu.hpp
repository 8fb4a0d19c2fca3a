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

  MUSTER_FIELDS(GpuEcc,
                MUSTER_FIELD(dram_corrected, "corrected errors of the DRAM"),
                MUSTER_FIELD(dram_uncorrected, "uncorrected errors of the DRAM"),
                MUSTER_FIELD(sram_corrected, "corrected errors of the SRAMs"),
                MUSTER_FIELD(sram_uncorrected, "uncorrected errors of the SRAMs"));
};

// What the driver knows of the SRAMs over the life of the GPU.
struct GpuSram {
  std::uint64_t unique_uncorrected = 0;
  bool threshold_exceeded = false;

  MUSTER_FIELDS(GpuSram,
                MUSTER_FIELD(unique_uncorrected,
                             "unique uncorrected errors, parity and SEC-DED together"),
                MUSTER_FIELD(threshold_exceeded, "the driver calls for replacement"));
};

// Before Ampere.
struct GpuRetiredPages {
  Fact<std::uint64_t> single_bit;
  Fact<std::uint64_t> double_bit;
  Fact<bool> pending;

  MUSTER_FIELDS(GpuRetiredPages,
                MUSTER_FIELD(single_bit, "pages retired for several single-bit errors"),
                MUSTER_FIELD(double_bit, "pages retired for a double-bit error"),
                MUSTER_FIELD(pending, "pages wait for a reset to be retired"));
};

// Since Ampere.
struct GpuRemappedRows {
  std::uint64_t corrected = 0;
  std::uint64_t uncorrected = 0;
  bool pending = false;
  bool failed = false;

  MUSTER_FIELDS(GpuRemappedRows,
                MUSTER_FIELD(corrected, "rows remapped for corrected errors"),
                MUSTER_FIELD(uncorrected, "rows remapped for uncorrected errors"),
                MUSTER_FIELD(pending, "a remapping waits for a reset"),
                MUSTER_FIELD(failed, "a remapping failed: no spare row was left"));
};

// Banks of memory by the spare rows that are left to them.
struct GpuSpareRows {
  std::uint64_t all = 0;
  std::uint64_t high = 0;
  std::uint64_t partial = 0;
  std::uint64_t low = 0;
  std::uint64_t none = 0;

  MUSTER_FIELDS(GpuSpareRows,
                MUSTER_FIELD(all, "banks with every spare row"),
                MUSTER_FIELD(high, "banks with many"),
                MUSTER_FIELD(partial, "banks with some"),
                MUSTER_FIELD(low, "banks with few"),
                MUSTER_FIELD(none, "banks without any"));
};

struct GpuRepairs {
  bool channel_pending = false;
  bool tpc_pending = false;

  MUSTER_FIELDS(GpuRepairs,
                MUSTER_FIELD(channel_pending, "a repair of a memory channel waits for a reset"),
                MUSTER_FIELD(tpc_pending, "a repair of a processing cluster waits for a reset"));
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
  Fact<std::uint64_t> failed_recoveries;
  Fact<std::uint64_t> receive_errors;
  Fact<std::uint64_t> integrity_errors;

  MUSTER_FIELDS(NvLink,
                MUSTER_FIELD(link, "number, from 0"),
                MUSTER_FIELD(state, "0 inactive, 1 active, 2 asleep"),
                MUSTER_FIELD(speed_mbps, "MB/s each way"),
                MUSTER_FIELD(remote_type, "0 GPU, 1 IBM NPU, 2 switch, 255 unknown"),
                MUSTER_FIELD(remote_address, "the peer's PCI address"),
                MUSTER_FIELD(replays, "data-link replays"),
                MUSTER_FIELD(recoveries, "recoveries"),
                MUSTER_FIELD(crc, "CRC errors"),
                MUSTER_FIELD(ber, "effective bit error rate"),
                MUSTER_FIELD(failed_recoveries, "recoveries that failed; since Blackwell"),
                MUSTER_FIELD(receive_errors, "packets that arrived damaged; since Blackwell"),
                MUSTER_FIELD(integrity_errors,
                             "times that errors of the wire were too many; since Blackwell"));
};

// How the GPU stands in the NVSwitch fabric.
struct GpuFabric {
  unsigned state = 0;
  int status = 0;
  std::string cluster;
  unsigned clique = 0;
  Fact<unsigned> health_mask;
  Fact<unsigned> health_summary;

  MUSTER_FIELDS(GpuFabric,
                MUSTER_FIELD(state, "0 not supported, 1 not started, 2 in progress, 3 completed"),
                MUSTER_FIELD(status, "NVML's return code of the registration, once completed"),
                MUSTER_FIELD(cluster, "UUID of the cluster, empty when all zero"),
                MUSTER_FIELD(clique, "clique id"),
                MUSTER_FIELD(health_mask, "NVML's bit fields"),
                MUSTER_FIELD(health_summary,
                             "0 not supported, 1 healthy, 2 unhealthy, 3 limited capacity"));
};

struct GpuClocks {
  Fact<std::uint64_t> reasons;
  Fact<unsigned> sm_mhz;
  Fact<unsigned> sm_max_mhz;
  Fact<unsigned> application_sm_mhz;
  Fact<unsigned> default_sm_mhz;
  Fact<unsigned> performance_state;
  Fact<std::uint64_t> hardware_thermal_ns;
  Fact<std::uint64_t> software_thermal_ns;
  Fact<std::uint64_t> power_brake_ns;
  Fact<std::uint64_t> thermal_ns;

  MUSTER_FIELDS(GpuClocks,
                MUSTER_FIELD(reasons, "bit mask of what holds the clocks down"),
                MUSTER_FIELD(sm_mhz, "SM clock now"),
                MUSTER_FIELD(sm_max_mhz, "highest SM clock"),
                MUSTER_FIELD(application_sm_mhz, "SM clock set for applications"),
                MUSTER_FIELD(default_sm_mhz, "SM clock for applications by default"),
                MUSTER_FIELD(performance_state, "0 fastest to 15; 32 unknown"),
                MUSTER_FIELD(hardware_thermal_ns,
                             "time in the hardware's slowdown for heat, since the driver was "
                             "loaded"),
                MUSTER_FIELD(software_thermal_ns, "time in the driver's slowdown for heat"),
                MUSTER_FIELD(power_brake_ns, "time in the hardware's power brake"),
                MUSTER_FIELD(thermal_ns, "time in either slowdown for heat"));
};

struct GpuHeat {
  Fact<int> gpu_c;
  Fact<int> memory_c;
  Fact<int> memory_max_c;
  Fact<int> margin_c;

  MUSTER_FIELDS(GpuHeat,
                MUSTER_FIELD(gpu_c, "temperature of the GPU"),
                MUSTER_FIELD(memory_c, "temperature of its memory"),
                MUSTER_FIELD(memory_max_c, "highest temperature that the memory may have"),
                MUSTER_FIELD(margin_c, "degrees left to the GPU's own slowdown"));
};

struct GpuPower {
  Fact<std::uint64_t> usage_mw;
  Fact<std::uint64_t> enforced_mw;
  Fact<std::uint64_t> default_mw;
  Fact<std::uint64_t> set_mw;

  MUSTER_FIELDS(GpuPower,
                MUSTER_FIELD(usage_mw, "drawn now"),
                MUSTER_FIELD(enforced_mw, "limit in force"),
                MUSTER_FIELD(default_mw, "limit by default"),
                MUSTER_FIELD(set_mw, "limit that was set"));
};

struct GpuMemory {
  std::uint64_t total = 0;
  Fact<std::uint64_t> reserved;
  std::uint64_t used = 0;
  std::uint64_t free = 0;

  MUSTER_FIELDS(
      GpuMemory,
      MUSTER_FIELD(total, "bytes"),
      MUSTER_FIELD(reserved, "bytes the driver keeps for itself"),
      MUSTER_FIELD(used, "bytes in use, without those reserved where the driver tells them apart"),
      MUSTER_FIELD(free, "bytes"));
};

// The PCI link as NVML sees it.
struct GpuLink {
  Fact<unsigned> generation;
  Fact<unsigned> generation_max;
  Fact<unsigned> width;
  Fact<unsigned> width_max;
  Fact<std::uint64_t> replays;

  MUSTER_FIELDS(GpuLink,
                MUSTER_FIELD(generation, "now"),
                MUSTER_FIELD(generation_max, "of GPU and slot together"),
                MUSTER_FIELD(width, "lanes now"),
                MUSTER_FIELD(width_max, "of GPU and slot together"),
                MUSTER_FIELD(replays, "replays since the driver was loaded"));
};

struct GpuProcess {
  unsigned pid = 0;
  std::string name;
  Fact<unsigned> user;
  std::string job;
  std::string unit;
  Fact<std::uint64_t> memory_bytes;

  MUSTER_FIELDS(GpuProcess,
                MUSTER_FIELD(pid, "process id as the driver tells it"),
                MUSTER_FIELD(name, "command, empty when the process is not to be seen"),
                MUSTER_FIELD(user, "user id"),
                MUSTER_FIELD(job, "Slurm job it belongs to, empty when none"),
                MUSTER_FIELD(unit, "unit of systemd's system.slice it runs in, empty when none"),
                MUSTER_FIELD(memory_bytes, "GPU memory it holds"));
};

struct GpuFirmware {
  Fact<std::string> vbios;
  Fact<std::string> inforom;
  Fact<bool> inforom_valid;
  Fact<std::string> gsp;
  Fact<bool> gsp_enabled;
  Fact<bool> gsp_default;

  MUSTER_FIELDS(GpuFirmware,
                MUSTER_FIELD(vbios, "version"),
                MUSTER_FIELD(inforom, "image version"),
                MUSTER_FIELD(inforom_valid, "its checksum is right"),
                MUSTER_FIELD(gsp, "version of the GSP firmware"),
                MUSTER_FIELD(gsp_enabled, "the GSP runs"),
                MUSTER_FIELD(gsp_default, "it should by default"));
};

struct GpuModes {
  Fact<bool> ecc;
  Fact<bool> ecc_pending;
  Fact<bool> mig;
  Fact<bool> mig_pending;
  Fact<bool> persistence;
  Fact<unsigned> compute;

  MUSTER_FIELDS(GpuModes,
                MUSTER_FIELD(ecc, "error correction is on"),
                MUSTER_FIELD(ecc_pending, "it will be after the next reset"),
                MUSTER_FIELD(mig, "MIG mode is on"),
                MUSTER_FIELD(mig_pending, "it will be after the next reset"),
                MUSTER_FIELD(persistence, "the driver keeps the GPU initialised"),
                MUSTER_FIELD(compute,
                             "0 default, 1 exclusive thread, 2 prohibited, 3 exclusive process"));
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
  Fact<std::vector<GpuProcess>> graphics;
  Fact<unsigned> utilisation;
  Fact<unsigned> numa_node;

  MUSTER_FIELDS(
      Gpu,
      MUSTER_FIELD(index, "NVML's own number: gpu<index>"),
      MUSTER_FIELD(address, "PCI address, empty when NVML refused even that"),
      MUSTER_FIELD(no_address,
                   "the call that did not tell the address, and its answer; empty when it did"),
      MUSTER_FIELD(lost,
                   "the call that found the GPU lost, and its answer; empty when it is there"),
      MUSTER_FIELD(stuck, "the call that did not return; empty when all did"),
      MUSTER_FIELD(troubles,
                   "answers that are faults of the GPU: \"nvmlDeviceGetX: GPU requires reset\""),
      MUSTER_FIELD(uuid, "UUID"),
      MUSTER_FIELD(serial, "serial number of the board"),
      MUSTER_FIELD(model, "NVML's name"),
      MUSTER_FIELD(architecture, "5 Volta, 7 Ampere, 9 Hopper, 10 Blackwell"),
      MUSTER_FIELD(minor, "the N of /dev/nvidiaN"),
      MUSTER_FIELD(firmware, ""),
      MUSTER_FIELD(modes, ""),
      MUSTER_FIELD(memory, ""),
      MUSTER_FIELD(ecc_volatile, "since the driver was loaded"),
      MUSTER_FIELD(ecc_aggregate, "over the life of the GPU"),
      MUSTER_FIELD(sram, ""),
      MUSTER_FIELD(retired_pages, ""),
      MUSTER_FIELD(remapped_rows, ""),
      MUSTER_FIELD(spare_rows, ""),
      MUSTER_FIELD(repairs, ""),
      MUSTER_FIELD(recovery_action,
                   "0 none, 1 reset the GPU, 2 reboot, 3 stop peer-to-peer, 4 drain and reset"),
      MUSTER_FIELD(nvlinks, ""),
      MUSTER_FIELD(fabric, ""),
      MUSTER_FIELD(clocks, ""),
      MUSTER_FIELD(heat, ""),
      MUSTER_FIELD(power, ""),
      MUSTER_FIELD(link, ""),
      MUSTER_FIELD(processes, "that compute"),
      MUSTER_FIELD(peers, "peer access to each other GPU by address: 0 possible, else why not"),
      MUSTER_FIELD(graphics, "processes that draw, and no more"),
      MUSTER_FIELD(utilisation, "percent of the last second or less in which something ran"),
      MUSTER_FIELD(numa_node, "NUMA node that its memory is; absent where it is none"));
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
  Fact<bool> confidential;
  Fact<bool> confidential_ready;
  Fact<std::vector<std::string>> imex_nodes;
  Fact<bool> imex_channel;

  MUSTER_FIELDS(Nvml,
                MUSTER_FIELD(library, "the file that was opened"),
                MUSTER_FIELD(trouble, "why NVML cannot be used at all; empty when it can"),
                MUSTER_FIELD(trouble_code,
                             "NVML's return code of that; 0 where muster itself cannot go on"),
                MUSTER_FIELD(driver, "version"),
                MUSTER_FIELD(module, "version of the kernel's module"),
                MUSTER_FIELD(open_module, "that module is the open one"),
                MUSTER_FIELD(cuda, "highest CUDA version: 12040 for 12.4"),
                MUSTER_FIELD(gpus, "by PCI address"),
                MUSTER_FIELD(confidential, "confidential computing is on"),
                MUSTER_FIELD(confidential_ready, "its GPUs take work"),
                MUSTER_FIELD(imex_nodes,
                             "nodes of the IMEX domain, as its configuration names them"),
                MUSTER_FIELD(imex_channel, "there is an IMEX channel for programs to use"));
};

}  // namespace muster
