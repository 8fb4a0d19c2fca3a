// SPDX-License-Identifier: Apache-2.0
// The limits of the checks gpu.*, with the meaning of each XID and SXID (configs/xids.yaml).
#pragma once

#include <string>
#include <vector>

#include "lib/base/fields.hpp"
#include "lib/base/outcome.hpp"
#include "lib/base/quantity.hpp"
#include "lib/profile/limits/limit.hpp"

namespace muster {

// The meaning of some numbers. `kind` is the class in xids.yaml.
struct XidRule {
  MUSTER_DESCRIBED(XidRule);
  MUSTER_FIELD(Words, xids, "the numbers");
  MUSTER_FIELD(std::string, meaning, "in a few words");
  MUSTER_KEY(std::string, kind, "class", "fatal, degraded, application, ignore or decode");
  MUSTER_FIELD(Remedy, remedy, "what to do") = Remedy::none;
  MUSTER_FIELD(Limit<Remedy>, remedy_in_vm, "what to do in a virtual machine, if it differs");
  MUSTER_FIELD(std::string, code, "Azure's fault code, if this number has its own");
  MUSTER_FIELD(std::string, context, "further advice");
  MUSTER_FIELD(Words, settled_by,
               "numbers that make it degraded at most if they occur in the same incident");
  MUSTER_FIELD(Words, seen_by, "checks that find the same fault in the GPU's facts");
};

// The remedy that the driver requests with an XID 154.
struct XidAction {
  MUSTER_DESCRIBED(XidAction);
  MUSTER_FIELD(std::string, meaning, "in a few words");
  MUSTER_FIELD(Limit<Remedy>, remedy, "what to do; unset if all is well");
};

// A unit of NVLink 5, and the actions for the bits of its error status.
struct NvlinkUnit {
  MUSTER_DESCRIBED(NvlinkUnit);
  MUSTER_FIELD(Words, units, "its names in the log");
  MUSTER_FIELD(Words, reset, "status words that call for a reset of the GPU");
  MUSTER_FIELD(
      Words, reset_if_flagged,
      "status words that call for a reset if the first word's flag is set: bit 7, or bit 10 "
      "before driver 575");
  MUSTER_FIELD(Words, evaluate, "status words for which an XID 154 decides");
  MUSTER_FIELD(Words, ignore, "status words that call for nothing");
};

// A reason why a link of NVLink 5 went down.
struct NvlinkReason {
  MUSTER_DESCRIBED(NvlinkReason);
  MUSTER_FIELD(Words, reasons, "bits 20 to 25 of the first word");
  MUSTER_FIELD(bool, reset, "calls for a reset of the GPU") = true;
  MUSTER_FIELD(std::string, context, "where to look");
};

// The meaning of bits in the registers of an NVLink error up to Hopper (XID 74).
struct NvlinkBits {
  MUSTER_DESCRIBED(NvlinkBits);
  MUSTER_KEY(int, number, "register", "register 1 to 7") = 1;
  MUSTER_FIELD(Words, bits, "bit numbers from 0, the least significant");
  MUSTER_KEY(std::string, kind, "class", "class if the line says fatal: fatal or degraded");
  MUSTER_FIELD(bool, hardware, "three times on one link: replace") = false;
  MUSTER_FIELD(std::string, context, "where to look");
};

struct XidLimits {
  MUSTER_DESCRIBED(XidLimits);
  MUSTER_FIELD(Seconds, window, "how far back XIDs that are not fatal count") = {};
  MUSTER_FIELD(Seconds, coalesce, "XIDs of one GPU within this time are one incident") = {};
  MUSTER_FIELD(int, jobs,
               "an application's XID in this many jobs on one GPU is degraded; 0 for never") = 0;
  MUSTER_FIELD(Seconds, jobs_window, "time for `jobs`, across reboots") = {};
  MUSTER_FIELD(bool, of_programs,
               "also accept lines that programs wrote to /dev/kmsg, for trials") = false;
  MUSTER_FIELD(ByName<Outcome>, kinds, "class to outcome: fail, warn or pass");
  MUSTER_FIELD(ByName<std::string>, classes, "number to class, overriding the rules");
  MUSTER_FIELD(std::vector<XidRule>, rules, "what each number means");
  MUSTER_FIELD(ByName<XidAction>, actions, "remedy of an XID 154, by its value");
  MUSTER_FIELD(std::vector<NvlinkUnit>, nvlink_units, "XIDs 144 to 150, by unit and status");
  MUSTER_FIELD(std::vector<NvlinkReason>, nvlink_reasons,
               "XID 149, by the reason why a link is down");
  MUSTER_FIELD(std::vector<NvlinkBits>, nvlink_bits, "XID 74, by the bits of its registers");
};

struct SxidLimits {
  MUSTER_DESCRIBED(SxidLimits);
  MUSTER_FIELD(Seconds, window, "how far back XIDs that are not fatal count") = {};
  MUSTER_FIELD(Seconds, coalesce, "SXIDs of one NVSwitch within this time are one incident") = {};
  MUSTER_FIELD(ByName<Outcome>, kinds, "class to outcome: fail, warn or pass");
  MUSTER_FIELD(ByName<std::string>, classes, "number to class, overriding the rules");
  MUSTER_FIELD(std::vector<XidRule>, rules, "what each number means if the line does not say");
};

enum class GpuVendor { nvidia, amd };
MUSTER_WORDS(GpuVendor, "nvidia", "amd");

struct GpuPresentLimits {
  MUSTER_DESCRIBED(GpuPresentLimits);
  MUSTER_FIELD(Limit<int>, count, "GPUs");
  MUSTER_FIELD(Limit<std::string>, model, "NVML's name");
  MUSTER_FIELD(Limit<GpuVendor>, vendor, "nvidia or amd");
  MUSTER_FIELD(Limit<Bytes>, memory, "memory of one GPU");
  MUSTER_FIELD(Percent, tolerance, "allowed deviation of the memory, both ways") = {};
};

struct GpuDriverLimits {
  MUSTER_DESCRIBED(GpuDriverLimits);
  MUSTER_FIELD(Limit<std::string>, minimum, "oldest driver, such as 535.161.08");
  MUSTER_FIELD(Words, allowed, "allowed drivers, globs");
};

struct GpuFirmwareLimits {
  MUSTER_DESCRIBED(GpuFirmwareLimits);
  MUSTER_FIELD(Words, vbios, "allowed VBIOS versions, globs; empty for any");
  MUSTER_FIELD(Words, inforom, "allowed InfoROM image versions, globs; empty for any");
};

// `enabled` is a key of every check's policy, so a mode is `expected`.
struct GpuEccModeLimits {
  MUSTER_DESCRIBED(GpuEccModeLimits);
  MUSTER_FIELD(Limit<bool>, expected, "ECC mode; true for on");
};

struct GpuEccCorrectedLimits {
  MUSTER_DESCRIBED(GpuEccCorrectedLimits);
  MUSTER_FIELD(Limit<int>, dram_warn_above, "corrected errors");
  MUSTER_FIELD(Limit<int>, sram_warn_above, "corrected errors");
};

struct GpuRemappedRowsLimits {
  MUSTER_DESCRIBED(GpuRemappedRowsLimits);
  MUSTER_FIELD(Limit<int>, watch_above, "remapped rows");
};

struct GpuRetiredPagesLimits {
  MUSTER_DESCRIBED(GpuRetiredPagesLimits);
  MUSTER_FIELD(Limit<int>, fail_above, "retired pages");
};

struct GpuNvlinkLimits {
  MUSTER_DESCRIBED(GpuNvlinkLimits);
  MUSTER_FIELD(Limit<int>, links, "active links of one GPU");
  MUSTER_FIELD(Limit<BytesPerSecond>, speed, "of one link, each way");
};

struct GpuNvlinkErrorLimits {
  MUSTER_DESCRIBED(GpuNvlinkErrorLimits);
  MUSTER_FIELD(Limit<double>, crc_fail_from_per_second,
               "CRC errors of a link per second, on average over the last hour, that fail");
  MUSTER_FIELD(Limit<double>, ber_fail_above, "effective bit error rate of a link");
  MUSTER_FIELD(Limit<int>, replays_warn_above, "replays of a link in the window");
  MUSTER_FIELD(Limit<int>, recoveries_warn_above, "recoveries of a link in the window");
  MUSTER_FIELD(Limit<int>, failed_recoveries_fail_above,
               "recoveries of a link that failed, in the window");
  MUSTER_FIELD(Limit<int>, damaged_warn_above, "packets that a link damaged, in the window");
  MUSTER_FIELD(Seconds, window, "how far back counters are compared") = {};
};

struct GpuReplayLimits {
  MUSTER_DESCRIBED(GpuReplayLimits);
  MUSTER_FIELD(Limit<double>, warn_above_per_minute,
               "PCIe replays per minute, on average over the last hour; unset for a limit by the "
               "link's speed");
};

struct GpuFabricLimits {
  MUSTER_DESCRIBED(GpuFabricLimits);
  MUSTER_FIELD(Limit<Seconds>, register_within,
               "time for registration after the boot or the driver's load");
  MUSTER_FIELD(Limit<bool>, cluster, "the fabric spans nodes and has a cluster UUID");
  MUSTER_FIELD(Limit<bool>, imex, "nodes share GPU memory through nvidia-imex");
};

struct GpuPersistenceLimits {
  MUSTER_DESCRIBED(GpuPersistenceLimits);
  MUSTER_FIELD(Limit<bool>, expected, "persistence mode; unset for the same on all GPUs");
};

struct GpuRasLimits {
  MUSTER_DESCRIBED(GpuRasLimits);
  MUSTER_FIELD(Limit<int>, corrected_warn_above, "corrected errors of one block of an AMD GPU");
};

struct GpuClockLimits {
  MUSTER_DESCRIBED(GpuClockLimits);
  MUSTER_FIELD(Limit<Percent>, slowed_fail_above,
               "share of the last hour in which the hardware slowed the clocks");
  MUSTER_FIELD(Limit<Hertz>, application_sm,
               "SM clock of applications; unset for the GPU's default");
};

struct GpuTemperatureLimits {
  MUSTER_DESCRIBED(GpuTemperatureLimits);
  MUSTER_FIELD(Limit<Celsius>, warn_above, "temperature of the GPU");
  MUSTER_FIELD(Limit<Celsius>, fail_above, "temperature of the GPU");
  MUSTER_FIELD(Limit<Celsius>, warn_margin_below, "distance to the GPU's own slowdown threshold");
  MUSTER_FIELD(Limit<Celsius>, memory_warn_above, "temperature of its memory");
  MUSTER_FIELD(Limit<Celsius>, memory_fail_above,
               "temperature of its memory; unset for the highest that the GPU allows");
};

struct GpuPowerLimits {
  MUSTER_DESCRIBED(GpuPowerLimits);
  MUSTER_FIELD(Limit<Watts>, limit, "enforced power limit; unset for the GPU's default");
};

struct GpuMigLimits {
  MUSTER_DESCRIBED(GpuMigLimits);
  MUSTER_FIELD(Limit<bool>, expected, "MIG mode; true for on");
};

struct GpuProcessLimits {
  MUSTER_DESCRIBED(GpuProcessLimits);
  MUSTER_FIELD(Words, allowed, "system commands that may always use a GPU, globs");
};

struct GpuMemoryUsedLimits {
  MUSTER_DESCRIBED(GpuMemoryUsedLimits);
  MUSTER_FIELD(Limit<Bytes>, warn_above, "memory in use without a process");
  MUSTER_FIELD(Limit<Bytes>, fail_above, "memory in use without a process");
  MUSTER_FIELD(Limit<Bytes>, driver_reserve,
               "added to both where the driver counts its own memory as used");
};

struct GpuP2pLimits {
  MUSTER_DESCRIBED(GpuP2pLimits);
  MUSTER_FIELD(Limit<bool>, expected, "each GPU can read the memory of every other");
};

struct GpuDirectRdmaLimits {
  MUSTER_DESCRIBED(GpuDirectRdmaLimits);
  MUSTER_FIELD(Limit<bool>, expected, "HCAs reach GPU memory; unset for nodes with both");
};

enum class ComputeMode { standard, exclusive_process, prohibited };
MUSTER_WORDS(ComputeMode, "default", "exclusive_process", "prohibited");

struct GpuComputeModeLimits {
  MUSTER_DESCRIBED(GpuComputeModeLimits);
  MUSTER_FIELD(Limit<ComputeMode>, expected, "default, exclusive_process or prohibited");
};

struct GpuLimits {
  MUSTER_DESCRIBED(GpuLimits);
  MUSTER_FIELD(GpuPresentLimits, present, "");
  MUSTER_FIELD(GpuDriverLimits, driver, "");
  MUSTER_FIELD(GpuFirmwareLimits, firmware, "");
  MUSTER_FIELD(GpuEccModeLimits, ecc_mode, "");
  MUSTER_FIELD(GpuEccCorrectedLimits, ecc_corrected, "");
  MUSTER_FIELD(GpuRemappedRowsLimits, ecc_remapped_rows, "");
  MUSTER_FIELD(GpuRetiredPagesLimits, ecc_retired_pages, "");
  MUSTER_FIELD(XidLimits, xid, "");
  MUSTER_FIELD(SxidLimits, sxid, "");
  MUSTER_FIELD(GpuNvlinkLimits, nvlink_state, "");
  MUSTER_FIELD(GpuNvlinkErrorLimits, nvlink_errors, "");
  MUSTER_FIELD(GpuFabricLimits, fabric, "");
  MUSTER_FIELD(GpuReplayLimits, pcie_replay, "");
  MUSTER_FIELD(GpuClockLimits, clocks, "");
  MUSTER_FIELD(GpuTemperatureLimits, temperature, "");
  MUSTER_FIELD(GpuPowerLimits, power, "");
  MUSTER_FIELD(GpuPersistenceLimits, persistence, "");
  MUSTER_FIELD(GpuMigLimits, mig, "");
  MUSTER_FIELD(GpuProcessLimits, processes, "");
  MUSTER_FIELD(GpuMemoryUsedLimits, memory_used, "");
  MUSTER_FIELD(GpuP2pLimits, p2p, "");
  MUSTER_FIELD(GpuDirectRdmaLimits, direct_rdma, "");
  MUSTER_FIELD(GpuComputeModeLimits, compute_mode, "");
  MUSTER_FIELD(GpuRasLimits, ras, "");
};

}  // namespace muster
