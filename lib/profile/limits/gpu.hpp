// SPDX-License-Identifier: Apache-2.0
// The limits of the checks gpu.*. The bus, recognition and physical ceilings read them too.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "lib/base/fields.hpp"
#include "lib/base/quantity.hpp"
#include "lib/profile/limits/limit.hpp"
#include "lib/profile/limits/xid.hpp"

namespace muster {

enum class GpuVendor { nvidia, amd };

inline constexpr std::array<std::string_view, 2> kVendorWords{"nvidia", "amd"};

constexpr std::span<const std::string_view> words_of(GpuVendor /*of*/) { return kVendorWords; }

struct GpuPresentLimits {
  Limit<int> count;
  Limit<std::string> model;
  Limit<GpuVendor> vendor;
  Limit<Bytes> memory;
  Percent tolerance{};

  MUSTER_FIELDS(GpuPresentLimits,
                MUSTER_FIELD(count, "GPUs"),
                MUSTER_FIELD(model, "NVML's name"),
                MUSTER_FIELD(vendor, "nvidia or amd"),
                MUSTER_FIELD(memory, "memory of one GPU"),
                MUSTER_FIELD(tolerance, "band around the memory, both ways"));
};

struct GpuDriverLimits {
  Limit<std::string> minimum;
  Words allowed;

  MUSTER_FIELDS(GpuDriverLimits,
                MUSTER_FIELD(minimum, "oldest driver, such as 535.161.08"),
                MUSTER_FIELD(allowed, "drivers that may be used, as globs"));
};

struct GpuFirmwareLimits {
  Words vbios, inforom;

  MUSTER_FIELDS(GpuFirmwareLimits,
                MUSTER_FIELD(vbios, "VBIOS versions that may be used, as globs; empty for any"),
                MUSTER_FIELD(inforom,
                             "InfoROM image versions that may be used, as globs; empty for any"));
};

// `enabled` in any check's block is the policy's word (run it at all), so a mode is `expected`.
struct GpuEccModeLimits {
  Limit<bool> expected;

  MUSTER_FIELDS(GpuEccModeLimits, MUSTER_FIELD(expected, "ECC mode; true for on"));
};

struct GpuEccCorrectedLimits {
  Limit<int> dram_warn_above, sram_warn_above;

  MUSTER_FIELDS(GpuEccCorrectedLimits,
                MUSTER_FIELD(dram_warn_above, "corrected errors"),
                MUSTER_FIELD(sram_warn_above, "corrected errors"));
};

struct GpuRemappedRowsLimits {
  Limit<int> watch_above;

  MUSTER_FIELDS(GpuRemappedRowsLimits, MUSTER_FIELD(watch_above, "remapped rows"));
};

struct GpuRetiredPagesLimits {
  Limit<int> fail_above;

  MUSTER_FIELDS(GpuRetiredPagesLimits, MUSTER_FIELD(fail_above, "retired pages"));
};

struct GpuNvlinkLimits {
  Limit<int> links;
  Limit<BytesPerSecond> speed;

  MUSTER_FIELDS(GpuNvlinkLimits,
                MUSTER_FIELD(links, "active links of one GPU"),
                MUSTER_FIELD(speed, "of one link, each way"));
};

struct GpuNvlinkErrorLimits {
  Limit<double> crc_fail_from_per_second, ber_fail_above;
  Limit<int> replays_warn_above, recoveries_warn_above;
  Limit<int> failed_recoveries_fail_above, damaged_warn_above;
  Seconds window{};

  MUSTER_FIELDS(
      GpuNvlinkErrorLimits,
      MUSTER_FIELD(crc_fail_from_per_second,
                   "CRC errors of a link per second, on average over the last hour, that fail"),
      MUSTER_FIELD(ber_fail_above, "effective bit error rate of a link"),
      MUSTER_FIELD(replays_warn_above, "replays of a link in the window"),
      MUSTER_FIELD(recoveries_warn_above, "recoveries of a link in the window"),
      MUSTER_FIELD(failed_recoveries_fail_above, "recoveries of a link that failed, in the window"),
      MUSTER_FIELD(damaged_warn_above, "packets that arrived damaged over a link, in the window"),
      MUSTER_FIELD(window, "how far back these count"));
};

struct GpuReplayLimits {
  Limit<double> warn_above_per_minute;

  MUSTER_FIELDS(
      GpuReplayLimits,
      MUSTER_FIELD(
          warn_above_per_minute,
          "PCIe replays per minute, on average over the last hour; else by the link's speed"));
};

struct GpuFabricLimits {
  Limit<Seconds> register_within;
  Limit<bool> cluster, imex;

  MUSTER_FIELDS(GpuFabricLimits,
                MUSTER_FIELD(register_within,
                             "time after the boot, or the driver's load, that registration has"),
                MUSTER_FIELD(cluster, "the fabric spans nodes, and has a cluster's UUID"),
                MUSTER_FIELD(imex, "nodes share memory of GPUs by nvidia-imex"));
};

struct GpuPersistenceLimits {
  Limit<bool> expected;

  MUSTER_FIELDS(GpuPersistenceLimits,
                MUSTER_FIELD(expected, "persistence mode; not set: the same on all GPUs"));
};

struct GpuRasLimits {
  Limit<int> corrected_warn_above;

  MUSTER_FIELDS(GpuRasLimits,
                MUSTER_FIELD(corrected_warn_above, "corrected errors of one block of an AMD GPU"));
};

struct GpuClockLimits {
  Limit<Hertz> application_sm;
  Limit<Percent> slowed_fail_above;

  MUSTER_FIELDS(GpuClockLimits,
                MUSTER_FIELD(slowed_fail_above,
                             "part of the last hour that the hardware held the clocks down"),
                MUSTER_FIELD(application_sm,
                             "SM clock that applications may use; else the GPU's own default"));
};

struct GpuTemperatureLimits {
  Limit<Celsius> warn_above, fail_above, warn_margin_below;
  Limit<Celsius> memory_warn_above, memory_fail_above;

  MUSTER_FIELDS(GpuTemperatureLimits,
                MUSTER_FIELD(warn_above, "temperature of the GPU"),
                MUSTER_FIELD(fail_above, "temperature of the GPU"),
                MUSTER_FIELD(warn_margin_below, "distance to the GPU's own slowdown threshold"),
                MUSTER_FIELD(memory_warn_above, "temperature of its memory"),
                MUSTER_FIELD(memory_fail_above,
                             "temperature of its memory; else the highest that the GPU allows"));
};

struct GpuPowerLimits {
  Limit<Watts> limit;

  MUSTER_FIELDS(GpuPowerLimits,
                MUSTER_FIELD(limit, "enforced power limit; else the GPU's own default"));
};

struct GpuMigLimits {
  Limit<bool> expected;

  MUSTER_FIELDS(GpuMigLimits, MUSTER_FIELD(expected, "MIG mode; true for on"));
};

struct GpuProcessLimits {
  Words allowed;

  MUSTER_FIELDS(GpuProcessLimits,
                MUSTER_FIELD(allowed,
                             "commands of the system that may use a GPU at any time, globs"));
};

struct GpuMemoryUsedLimits {
  Limit<Bytes> warn_above, fail_above, driver_reserve;

  MUSTER_FIELDS(GpuMemoryUsedLimits,
                MUSTER_FIELD(warn_above, "memory in use without a process"),
                MUSTER_FIELD(fail_above, "memory in use without a process"),
                MUSTER_FIELD(driver_reserve,
                             "added to both where the driver counts its own memory as used"));
};

struct GpuP2pLimits {
  Limit<bool> expected;

  MUSTER_FIELDS(GpuP2pLimits,
                MUSTER_FIELD(expected, "each GPU can read the memory of each other one"));
};

struct GpuDirectRdmaLimits {
  Limit<bool> expected;

  MUSTER_FIELDS(GpuDirectRdmaLimits,
                MUSTER_FIELD(expected,
                             "HCAs reach the memory of GPUs; not set: where both are expected"));
};

inline constexpr std::array<std::string_view, 3> kComputeModeWords{
    "default", "exclusive_process", "prohibited"};

struct GpuComputeModeLimits {
  Limit<std::string> expected;

  MUSTER_FIELDS(GpuComputeModeLimits,
                MUSTER_CHOICE(expected,
                              kComputeModeWords,
                              "default, exclusive_process or prohibited"));
};

struct GpuLimits {
  GpuPresentLimits present;
  GpuDriverLimits driver;
  GpuFirmwareLimits firmware;
  GpuEccModeLimits ecc_mode;
  GpuEccCorrectedLimits ecc_corrected;
  GpuRemappedRowsLimits ecc_remapped_rows;
  GpuRetiredPagesLimits ecc_retired_pages;
  XidLimits xid;
  SxidLimits sxid;
  GpuNvlinkLimits nvlink_state;
  GpuNvlinkErrorLimits nvlink_errors;
  GpuFabricLimits fabric;
  GpuReplayLimits pcie_replay;
  GpuClockLimits clocks;
  GpuTemperatureLimits temperature;
  GpuPowerLimits power;
  GpuPersistenceLimits persistence;
  GpuMigLimits mig;
  GpuProcessLimits processes;
  GpuMemoryUsedLimits memory_used;
  GpuP2pLimits p2p;
  GpuDirectRdmaLimits direct_rdma;
  GpuComputeModeLimits compute_mode;
  GpuRasLimits ras;

  MUSTER_FIELDS(GpuLimits,
                MUSTER_FIELD(present, ""),
                MUSTER_FIELD(driver, ""),
                MUSTER_FIELD(firmware, ""),
                MUSTER_FIELD(ecc_mode, ""),
                MUSTER_FIELD(ecc_corrected, ""),
                MUSTER_FIELD(ecc_remapped_rows, ""),
                MUSTER_FIELD(ecc_retired_pages, ""),
                MUSTER_FIELD(xid, ""),
                MUSTER_FIELD(sxid, ""),
                MUSTER_FIELD(nvlink_state, ""),
                MUSTER_FIELD(nvlink_errors, ""),
                MUSTER_FIELD(fabric, ""),
                MUSTER_FIELD(pcie_replay, ""),
                MUSTER_FIELD(clocks, ""),
                MUSTER_FIELD(temperature, ""),
                MUSTER_FIELD(power, ""),
                MUSTER_FIELD(persistence, ""),
                MUSTER_FIELD(mig, ""),
                MUSTER_FIELD(processes, ""),
                MUSTER_FIELD(memory_used, ""),
                MUSTER_FIELD(p2p, ""),
                MUSTER_FIELD(direct_rdma, ""),
                MUSTER_FIELD(compute_mode, ""),
                MUSTER_FIELD(ras, ""));
};

}  // namespace muster
