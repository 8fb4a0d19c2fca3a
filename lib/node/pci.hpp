// SPDX-License-Identifier: Apache-2.0
// Facts about devices on the PCI bus.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/base/fact.hpp"
#include "lib/base/fields.hpp"

namespace muster {

struct AerCounts {
  std::uint64_t fatal = 0;
  std::uint64_t non_fatal = 0;
  std::uint64_t correctable = 0;

  template <class Self = AerCounts>
  static constexpr auto fields() {
    return std::tuple{field("fatal", &Self::fatal, "uncorrectable fatal errors"),
                      field("non_fatal", &Self::non_fatal, "uncorrectable non-fatal errors"),
                      field("correctable", &Self::correctable, "correctable errors")};
  }

  bool operator==(const AerCounts&) const = default;
};

enum class PciKind { gpu, nvswitch, hca, ethernet, nvme, bridge };

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

  template <class Self = PciDevice>
  static constexpr auto fields() {
    return std::tuple{
        field("address", &Self::address, "domain:bus:device.function"),
        field("kind", &Self::kind, "gpu, nvswitch, hca, ethernet, nvme or bridge"),
        field("vendor", &Self::vendor, "PCI vendor id"),
        field("device", &Self::device, "PCI device id"),
        field("driver", &Self::driver, "bound driver, empty when none"),
        field("virtual_function",
              &Self::virtual_function,
              "a virtual function of a device that is here, too (physfn); false in a guest"),
        field("responding", &Self::responding, "config space does not read all ones"),
        field("link_speed_gts", &Self::link_speed_gts, "current speed in GT/s"),
        field("link_speed_max_gts", &Self::link_speed_max_gts, "maximum speed in GT/s"),
        field("link_width", &Self::link_width, "current lanes"),
        field("link_width_max", &Self::link_width_max, "maximum lanes"),
        field("numa_node", &Self::numa_node, "sysfs numa_node; -1 unknown"),
        field("local_cpus", &Self::local_cpus, "local_cpulist"),
        field("aer", &Self::aer, "advanced error reporting, totals since boot"),
        field("payload_bytes", &Self::payload_bytes, "maximum payload in force"),
        field("payload_max_bytes", &Self::payload_max_bytes, "maximum payload the device can do"),
        field("acs_control", &Self::acs_control, "access control services, control word"),
        field("upstream", &Self::upstream, "bridges above it, nearest last")};
  }

  bool operator==(const PciDevice&) const = default;
};

struct Pci {
  std::vector<PciDevice>
      devices;  // GPUs, NVSwitches, HCAs, NICs, NVMe, and bridges above GPUs and HCAs

  template <class Self = Pci>
  static constexpr auto fields() {
    return std::tuple{
        field("devices", &Self::devices, "devices that matter for work, sorted by address")};
  }

  bool operator==(const Pci&) const = default;
};

}  // namespace muster
