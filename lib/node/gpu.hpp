// SPDX-License-Identifier: Apache-2.0
// Facts about GPUs, from NVML. Unsupported values are absent, with NVML's reason; they are never
// zero.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/fact.hpp"
#include "lib/base/fields.hpp"

namespace muster {

// Memory errors, as counted by the driver.
struct GpuEcc {
  MUSTER_DESCRIBED(GpuEcc);
  MUSTER_FIELD(Fact<std::uint64_t>, dram_corrected, "corrected errors of the DRAM");
  MUSTER_FIELD(Fact<std::uint64_t>, dram_uncorrected, "uncorrected errors of the DRAM");
  MUSTER_FIELD(Fact<std::uint64_t>, sram_corrected, "corrected errors of the SRAMs");
  MUSTER_FIELD(Fact<std::uint64_t>, sram_uncorrected, "uncorrected errors of the SRAMs");
};

// Errors of the SRAMs over the life of the GPU.
struct GpuSram {
  MUSTER_DESCRIBED(GpuSram);
  MUSTER_FIELD(std::uint64_t, unique_uncorrected,
               "unique uncorrected errors, parity and SEC-DED together") = 0;
  MUSTER_FIELD(bool, threshold_exceeded, "the driver asks for a replacement") = false;
};

// GPUs before Ampere.
struct GpuRetiredPages {
  MUSTER_DESCRIBED(GpuRetiredPages);
  MUSTER_FIELD(Fact<std::uint64_t>, single_bit, "pages retired for several single-bit errors");
  MUSTER_FIELD(Fact<std::uint64_t>, double_bit, "pages retired for a double-bit error");
  MUSTER_FIELD(Fact<bool>, pending, "pages wait for a reset to be retired");
};

// GPUs since Ampere.
struct GpuRemappedRows {
  MUSTER_DESCRIBED(GpuRemappedRows);
  MUSTER_FIELD(std::uint64_t, corrected, "rows remapped for corrected errors") = 0;
  MUSTER_FIELD(std::uint64_t, uncorrected, "rows remapped for uncorrected errors") = 0;
  MUSTER_FIELD(bool, pending, "a remapping waits for a reset") = false;
  MUSTER_FIELD(bool, failed, "a remapping failed: no spare row was left") = false;
};

// Memory banks by their remaining spare rows.
struct GpuSpareRows {
  MUSTER_DESCRIBED(GpuSpareRows);
  MUSTER_FIELD(std::uint64_t, all, "banks with every spare row") = 0;
  MUSTER_FIELD(std::uint64_t, high, "banks with many") = 0;
  MUSTER_FIELD(std::uint64_t, partial, "banks with some") = 0;
  MUSTER_FIELD(std::uint64_t, low, "banks with few") = 0;
  MUSTER_FIELD(std::uint64_t, none, "banks without any") = 0;
};

struct GpuRepairs {
  MUSTER_DESCRIBED(GpuRepairs);
  MUSTER_FIELD(bool, channel_pending, "a repair of a memory channel waits for a reset") = false;
  MUSTER_FIELD(bool, tpc_pending, "a repair of a processing cluster waits for a reset") = false;
};

struct NvLink {
  MUSTER_DESCRIBED(NvLink);
  MUSTER_FIELD(unsigned, link, "number, from 0") = 0;
  MUSTER_FIELD(Fact<unsigned>, state, "0 inactive, 1 active, 2 asleep");
  MUSTER_FIELD(Fact<std::uint64_t>, speed_mbps, "MB/s each way");
  MUSTER_FIELD(Fact<unsigned>, remote_type, "0 GPU, 1 IBM NPU, 2 switch, 255 unknown");
  MUSTER_FIELD(Fact<std::string>, remote_address, "the peer's PCI address");
  MUSTER_FIELD(Fact<std::uint64_t>, replays, "data-link replays");
  MUSTER_FIELD(Fact<std::uint64_t>, recoveries, "recoveries");
  MUSTER_FIELD(Fact<std::uint64_t>, crc, "CRC errors");
  MUSTER_FIELD(Fact<double>, ber, "effective bit error rate");
  MUSTER_FIELD(Fact<std::uint64_t>, failed_recoveries, "recoveries that failed; since Blackwell");
  MUSTER_FIELD(Fact<std::uint64_t>, receive_errors, "damaged packets received; since Blackwell");
  MUSTER_FIELD(Fact<std::uint64_t>, integrity_errors,
               "how often there were too many errors on the wire; since Blackwell");
};

// The state of the GPU in the NVSwitch fabric.
struct GpuFabric {
  MUSTER_DESCRIBED(GpuFabric);
  MUSTER_FIELD(unsigned, state, "0 not supported, 1 not started, 2 in progress, 3 completed") = 0;
  MUSTER_FIELD(int, status, "NVML's return code of the registration, once completed") = 0;
  MUSTER_FIELD(std::string, cluster, "UUID of the cluster; empty if all zero");
  MUSTER_FIELD(unsigned, clique, "clique id") = 0;
  MUSTER_FIELD(Fact<unsigned>, health_mask, "NVML's bit fields");
  MUSTER_FIELD(Fact<unsigned>, health_summary,
               "0 not supported, 1 healthy, 2 unhealthy, 3 limited capacity");
};

struct GpuClocks {
  MUSTER_DESCRIBED(GpuClocks);
  MUSTER_FIELD(Fact<std::uint64_t>, reasons, "bit mask of reasons for low clocks");
  MUSTER_FIELD(Fact<unsigned>, sm_mhz, "SM clock now");
  MUSTER_FIELD(Fact<unsigned>, sm_max_mhz, "highest SM clock");
  MUSTER_FIELD(Fact<unsigned>, application_sm_mhz, "SM clock set for applications");
  MUSTER_FIELD(Fact<unsigned>, default_sm_mhz, "SM clock for applications by default");
  MUSTER_FIELD(Fact<unsigned>, performance_state, "0 fastest to 15; 32 unknown");
  MUSTER_FIELD(Fact<std::uint64_t>, hardware_thermal_ns,
               "time in the hardware's slowdown for heat, since the driver was loaded");
  MUSTER_FIELD(Fact<std::uint64_t>, software_thermal_ns, "time in the driver's slowdown for heat");
  MUSTER_FIELD(Fact<std::uint64_t>, power_brake_ns, "time in the hardware's power brake");
  MUSTER_FIELD(Fact<std::uint64_t>, thermal_ns, "time in either slowdown for heat");
};

struct GpuHeat {
  MUSTER_DESCRIBED(GpuHeat);
  MUSTER_FIELD(Fact<int>, gpu_c, "temperature of the GPU");
  MUSTER_FIELD(Fact<int>, memory_c, "temperature of its memory");
  MUSTER_FIELD(Fact<int>, memory_max_c, "highest temperature that the memory may have");
  MUSTER_FIELD(Fact<int>, margin_c, "degrees left to the GPU's own slowdown");
};

struct GpuPower {
  MUSTER_DESCRIBED(GpuPower);
  MUSTER_FIELD(Fact<std::uint64_t>, usage_mw, "power drawn now");
  MUSTER_FIELD(Fact<std::uint64_t>, enforced_mw, "limit in force");
  MUSTER_FIELD(Fact<std::uint64_t>, default_mw, "limit by default");
  MUSTER_FIELD(Fact<std::uint64_t>, set_mw, "limit that was set");
};

struct GpuMemory {
  MUSTER_DESCRIBED(GpuMemory);
  MUSTER_FIELD(std::uint64_t, total, "bytes") = 0;
  MUSTER_FIELD(Fact<std::uint64_t>, reserved, "bytes the driver keeps for itself");
  MUSTER_FIELD(std::uint64_t, used,
               "bytes in use, without reserved ones if the driver distinguishes them") = 0;
  MUSTER_FIELD(std::uint64_t, free, "bytes") = 0;
};

// The PCI link as NVML sees it.
struct GpuLink {
  MUSTER_DESCRIBED(GpuLink);
  MUSTER_FIELD(Fact<unsigned>, generation, "now");
  MUSTER_FIELD(Fact<unsigned>, generation_max, "of GPU and slot together");
  MUSTER_FIELD(Fact<unsigned>, width, "lanes now");
  MUSTER_FIELD(Fact<unsigned>, width_max, "of GPU and slot together");
  MUSTER_FIELD(Fact<std::uint64_t>, replays, "replays since the driver was loaded");
};

struct GpuProcess {
  MUSTER_DESCRIBED(GpuProcess);
  MUSTER_FIELD(unsigned, pid, "process id as the driver reports it") = 0;
  MUSTER_FIELD(std::string, name, "command; empty if the process is not visible");
  MUSTER_FIELD(Fact<unsigned>, user, "user id");
  MUSTER_FIELD(std::string, job, "its Slurm job; empty for none");
  MUSTER_FIELD(std::string, unit, "its unit in systemd's system.slice; empty for none");
  MUSTER_FIELD(Fact<std::uint64_t>, memory_bytes, "GPU memory it holds");
};

struct GpuFirmware {
  MUSTER_DESCRIBED(GpuFirmware);
  MUSTER_FIELD(Fact<std::string>, vbios, "version");
  MUSTER_FIELD(Fact<std::string>, inforom, "image version");
  MUSTER_FIELD(Fact<bool>, inforom_valid, "its checksum is correct");
  MUSTER_FIELD(Fact<std::string>, gsp, "version of the GSP firmware");
  MUSTER_FIELD(Fact<bool>, gsp_enabled, "the GSP runs");
  MUSTER_FIELD(Fact<bool>, gsp_default, "it runs by default");
};

struct GpuModes {
  MUSTER_DESCRIBED(GpuModes);
  MUSTER_FIELD(Fact<bool>, ecc, "error correction is on");
  MUSTER_FIELD(Fact<bool>, ecc_pending, "after the next reset");
  MUSTER_FIELD(Fact<bool>, mig, "MIG mode is on");
  MUSTER_FIELD(Fact<bool>, mig_pending, "after the next reset");
  MUSTER_FIELD(Fact<bool>, persistence, "the driver keeps the GPU initialised");
  MUSTER_FIELD(Fact<unsigned>, compute,
               "0 default, 1 exclusive thread, 2 prohibited, 3 exclusive process");
};

// Ends the reason of an unreadable fact if the call for it hangs: "nvmlDeviceGetX did not return".
inline constexpr std::string_view kDidNotReturn = " did not return";

struct Gpu {
  MUSTER_DESCRIBED(Gpu);
  MUSTER_FIELD(unsigned, index, "NVML's own number: gpu<index>") = 0;
  MUSTER_FIELD(std::string, address, "PCI address; empty if NVML refuses even that");
  MUSTER_FIELD(std::string, no_address,
               "the call that failed to return the address, and its result; else empty");
  MUSTER_FIELD(std::string, lost, "the call that found the GPU lost, and its result; else empty");
  MUSTER_FIELD(std::string, stuck, "the call that did not return; empty if all did");
  MUSTER_FIELD(std::vector<std::string>, troubles,
               "results that are faults of the GPU: \"nvmlDeviceGetX: GPU requires reset\"");
  MUSTER_FIELD(Fact<std::string>, uuid, "UUID");
  MUSTER_FIELD(Fact<std::string>, serial, "serial number of the board");
  MUSTER_FIELD(Fact<std::string>, model, "NVML's name");
  MUSTER_FIELD(Fact<unsigned>, architecture, "5 Volta, 7 Ampere, 9 Hopper, 10 Blackwell");
  MUSTER_FIELD(Fact<unsigned>, minor, "the N of /dev/nvidiaN");
  MUSTER_FIELD(GpuFirmware, firmware, "");
  MUSTER_FIELD(GpuModes, modes, "");
  MUSTER_FIELD(Fact<GpuMemory>, memory, "");
  MUSTER_FIELD(GpuEcc, ecc_volatile, "since the driver was loaded");
  MUSTER_FIELD(GpuEcc, ecc_aggregate, "over the life of the GPU");
  MUSTER_FIELD(Fact<GpuSram>, sram, "");
  MUSTER_FIELD(GpuRetiredPages, retired_pages, "");
  MUSTER_FIELD(Fact<GpuRemappedRows>, remapped_rows, "");
  MUSTER_FIELD(Fact<GpuSpareRows>, spare_rows, "");
  MUSTER_FIELD(Fact<GpuRepairs>, repairs, "");
  MUSTER_FIELD(Fact<unsigned>, recovery_action,
               "0 none, 1 reset the GPU, 2 reboot, 3 stop peer-to-peer, 4 drain and reset");
  MUSTER_FIELD(Fact<std::vector<NvLink>>, nvlinks, "");
  MUSTER_FIELD(Fact<GpuFabric>, fabric, "");
  MUSTER_FIELD(GpuClocks, clocks, "");
  MUSTER_FIELD(GpuHeat, heat, "");
  MUSTER_FIELD(GpuPower, power, "");
  MUSTER_FIELD(GpuLink, link, "");
  MUSTER_FIELD(Fact<std::vector<GpuProcess>>, processes, "processes that compute");
  MUSTER_FIELD(Fact<ByName<unsigned>>, peers,
               "peer access to each other GPU by address: 0 possible, else why not");
  MUSTER_FIELD(Fact<std::vector<GpuProcess>>, graphics, "processes that only draw");
  MUSTER_FIELD(Fact<unsigned>, utilisation,
               "percent of the last second, or less, in which a kernel ran");
  MUSTER_FIELD(Fact<unsigned>, numa_node, "NUMA node of its memory; absent if it has none");
};

// Facts that cost extra calls and are read only on request.
struct NvmlParts {
  bool inforom = false;  // its checksum: reading the GPU's flash takes long
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
  MUSTER_DESCRIBED(Nvml);
  MUSTER_FIELD(std::string, library, "the file that was opened");
  MUSTER_FIELD(std::string, trouble, "why NVML cannot be used; empty if it can");
  MUSTER_FIELD(int, trouble_code, "NVML's return code for it; 0 if the reason is muster's own") = 0;
  MUSTER_FIELD(Fact<std::string>, driver, "version");
  MUSTER_FIELD(Fact<std::string>, module, "version of the kernel module");
  MUSTER_FIELD(Fact<bool>, open_module, "it is the open kernel module");
  MUSTER_FIELD(Fact<unsigned>, cuda, "highest CUDA version: 12040 for 12.4");
  MUSTER_FIELD(std::vector<Gpu>, gpus, "by PCI address");
  MUSTER_FIELD(Fact<bool>, confidential, "confidential computing is on");
  MUSTER_FIELD(Fact<bool>, confidential_ready, "its GPUs accept work");
  MUSTER_FIELD(Fact<std::vector<std::string>>, imex_nodes,
               "nodes of the IMEX domain, as its configuration names them");
  MUSTER_FIELD(Fact<bool>, imex_channel, "an IMEX channel for programs exists");
};

}  // namespace muster
