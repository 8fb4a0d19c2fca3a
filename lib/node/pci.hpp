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
  Fact<int> numa_node;                // -1: the kernel does not know
  Fact<std::string> local_cpus;       // list
  Fact<AerCounts> aer;                // absent where the kernel has no AER for it
  Fact<unsigned> payload_bytes;       // DevCtl
  Fact<unsigned> payload_max_bytes;   // DevCap
  Fact<unsigned> acs_control;         // control word of the ACS capability; absent without one
  std::vector<std::string> upstream;  // bridges between the root and the device, nearest last

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

// What the amdgpu driver tells of a GPU in sysfs.
struct AmdGpu {
  std::string address;
  Fact<std::uint64_t> memory_bytes;
  Fact<std::map<std::string, RasCounts>> ras;

  MUSTER_FIELDS(AmdGpu,
                MUSTER_FIELD(address, "PCI address"),
                MUSTER_FIELD(memory_bytes, "its memory"),
                MUSTER_FIELD(ras, "errors by block (umc, gfx, sdma, xgmi_wafl …)"));
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
