// SPDX-License-Identifier: Apache-2.0
// Facts about devices on the PCI bus.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/fact.hpp"
#include "lib/base/fields.hpp"

namespace muster {

struct AerCounts {
  std::uint64_t fatal = 0;
  std::uint64_t non_fatal = 0;
  std::uint64_t correctable = 0;

  MUSTER_FIELDS(AerCounts,
                MUSTER_FIELD(fatal, "uncorrectable fatal errors"),
                MUSTER_FIELD(non_fatal, "uncorrectable non-fatal errors"),
                MUSTER_FIELD(correctable, "correctable errors"));
};

enum class PciKind { gpu, nvswitch, hca, ethernet, nvme, bridge };

// The kinds' names in JSON, in their order.
inline constexpr std::array<std::string_view, 6> kPciKinds{
    "gpu", "nvswitch", "hca", "ethernet", "nvme", "bridge"};

struct PciDevice {
  std::string address;  // 0001:00:00.0
  PciKind kind = PciKind::bridge;
  unsigned vendor = 0;
  unsigned device = 0;
  std::string driver;             // empty when none is bound
  bool virtual_function = false;  // of a physical function that this kernel has, too
  Fact<bool> responding;          // config space does not read all ones
  Fact<double> link_speed_gts;    // current; absent where the kernel says Unknown
  Fact<double> link_speed_max_gts;
  Fact<unsigned> link_width;
  Fact<unsigned> link_width_max;
  Fact<int> numa_node;                  // -1: the kernel does not know
  Fact<std::string> local_cpus;         // list
  Fact<AerCounts> aer;                  // absent where the kernel has no AER for it
  Fact<unsigned> uncorrectable_status;  // of HCAs: AER's own register; its bits stay until cleared
  Fact<unsigned> payload_bytes;         // DevCtl
  Fact<unsigned> payload_max_bytes;     // DevCap
  Fact<unsigned> acs_control;           // control word of the ACS capability; absent without one
  std::vector<std::string> upstream;    // bridges between the root and the device, nearest last

  MUSTER_FIELDS(
      PciDevice,
      MUSTER_FIELD(address, "domain:bus:device.function"),
      MUSTER_FIELD(kind, "gpu, nvswitch, hca, ethernet, nvme or bridge"),
      MUSTER_FIELD(vendor, "PCI vendor id"),
      MUSTER_FIELD(device, "PCI device id"),
      MUSTER_FIELD(driver, "bound driver, empty when none"),
      MUSTER_FIELD(virtual_function,
                   "a virtual function of a device that is here, too (physfn); false in a guest"),
      MUSTER_FIELD(responding, "config space does not read all ones"),
      MUSTER_FIELD(link_speed_gts, "current speed in GT/s"),
      MUSTER_FIELD(link_speed_max_gts, "maximum speed in GT/s"),
      MUSTER_FIELD(link_width, "current lanes"),
      MUSTER_FIELD(link_width_max, "maximum lanes"),
      MUSTER_FIELD(numa_node, "sysfs numa_node; -1 unknown"),
      MUSTER_FIELD(local_cpus, "local_cpulist"),
      MUSTER_FIELD(aer, "advanced error reporting, totals since boot"),
      MUSTER_FIELD(uncorrectable_status,
                   "of HCAs: the AER register of uncorrectable errors; bits stay until cleared"),
      MUSTER_FIELD(payload_bytes, "maximum payload in force"),
      MUSTER_FIELD(payload_max_bytes, "maximum payload the device can do"),
      MUSTER_FIELD(acs_control, "access control services, control word"),
      MUSTER_FIELD(upstream, "bridges above it, nearest last"));
};

// Errors of one block of an AMD GPU.
struct RasCounts {
  std::uint64_t uncorrected = 0;
  std::uint64_t corrected = 0;

  MUSTER_FIELDS(RasCounts,
                MUSTER_FIELD(uncorrected, "uncorrectable errors since the driver was loaded"),
                MUSTER_FIELD(corrected, "corrected errors since the driver was loaded"));
};

// One sensor of temperature of an AMD GPU.
struct AmdSensor {
  std::string name;  // edge, junction, mem
  double now_c = 0;
  Fact<double> critical_c;  // the GPU slows itself down from there

  MUSTER_FIELDS(AmdSensor,
                MUSTER_FIELD(name, "edge, junction or mem"),
                MUSTER_FIELD(now_c, "temperature"),
                MUSTER_FIELD(critical_c, "temperature from which the GPU slows itself down"));
};

// Pages of an AMD GPU's memory that errors took out of use.
struct AmdBadPages {
  std::uint64_t retired = 0;
  std::uint64_t pending = 0;
  std::uint64_t failed = 0;

  MUSTER_FIELDS(AmdBadPages,
                MUSTER_FIELD(retired, "out of use"),
                MUSTER_FIELD(pending, "to be taken out of use"),
                MUSTER_FIELD(failed, "could not be taken out of use"));
};

// What the amdgpu driver tells of a GPU in sysfs.
struct AmdGpu {
  std::string address;
  Fact<std::uint64_t> memory_bytes;
  Fact<std::uint64_t> memory_used_bytes;
  Fact<std::map<std::string, RasCounts>> ras;
  Fact<AmdBadPages> bad_pages;
  Fact<std::string> vbios;
  Fact<std::string> serial;
  Fact<std::string> compute_partition;
  Fact<std::string> memory_partition;
  Fact<std::string> performance_level;
  Fact<std::string> hive;
  Fact<unsigned> utilisation;
  Fact<std::uint64_t> replays;
  Fact<std::vector<AmdSensor>> temperatures;
  Fact<double> power_w;
  Fact<double> power_cap_w;
  Fact<double> power_cap_default_w;

  MUSTER_FIELDS(AmdGpu,
                MUSTER_FIELD(address, "PCI address"),
                MUSTER_FIELD(memory_bytes, "its memory"),
                MUSTER_FIELD(memory_used_bytes, "of it in use"),
                MUSTER_FIELD(ras, "errors by block (umc, gfx, sdma, xgmi_wafl …)"),
                MUSTER_FIELD(bad_pages, "pages of memory that errors took out of use"),
                MUSTER_FIELD(vbios, "version"),
                MUSTER_FIELD(serial, "number of the chip (unique_id)"),
                MUSTER_FIELD(compute_partition, "SPX where the GPU is one device; DPX, QPX, CPX …"),
                MUSTER_FIELD(memory_partition, "NPS1 where its memory is one; NPS4 …"),
                MUSTER_FIELD(performance_level, "auto, or the clocks that were forced"),
                MUSTER_FIELD(hive,
                             "the GPUs that its xGMI links lead to have the same; absent without"),
                MUSTER_FIELD(utilisation, "percent"),
                MUSTER_FIELD(replays, "of its PCI link"),
                MUSTER_FIELD(temperatures, "by sensor"),
                MUSTER_FIELD(power_w, "drawn"),
                MUSTER_FIELD(power_cap_w, "limit in force"),
                MUSTER_FIELD(power_cap_default_w, "limit by default"));
};

struct Pci {
  std::vector<PciDevice>
      devices;  // GPUs, NVSwitches, HCAs, NICs, NVMe, and bridges above GPUs and HCAs
  std::vector<AmdGpu> amd_gpus;

  MUSTER_FIELDS(Pci,
                MUSTER_FIELD(devices, "devices that matter for work, sorted by address"),
                MUSTER_FIELD(amd_gpus, "GPUs that the amdgpu driver has, by address"));
};

}  // namespace muster
