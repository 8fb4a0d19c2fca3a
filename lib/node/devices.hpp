// SPDX-License-Identifier: Apache-2.0
// Facts about devices: the PCI bus, InfiniBand as sysfs and as the verbs library see it, and where
// everything sits in the machine.
#pragma once

#include <cstdint>
#include <map>
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

struct IbPort {
  unsigned number = 1;
  std::string link_layer;         // InfiniBand, Ethernet
  Fact<unsigned> state;           // 1 DOWN, 2 INIT, 3 ARMED, 4 ACTIVE, 5 ACTIVE_DEFER
  Fact<unsigned> physical_state;  // 2 Polling, 3 Disabled, 5 LinkUp, 6 LinkErrorRecovery
  Fact<double> rate_gbps;
  Fact<unsigned> width;     // lanes, from the same file
  Fact<std::string> speed;  // SDR … NDR, XDR; absent where the kernel names none
  Fact<unsigned> lid;
  Fact<unsigned> sm_lid;
  Fact<std::vector<unsigned>> pkeys;  // by index, up to the last that is not empty
  Fact<std::string> gid0;
  std::map<std::string, Fact<std::uint64_t>> counters;
  std::map<std::string, Fact<std::uint64_t>> hw_counters;

  template <class Self = IbPort>
  static constexpr auto fields() {
    return std::tuple{
        field("number", &Self::number, "port number"),
        field("link_layer", &Self::link_layer, "InfiniBand or Ethernet"),
        field("state", &Self::state, "1 DOWN, 2 INIT, 3 ARMED, 4 ACTIVE, 5 ACTIVE_DEFER"),
        field("physical_state",
              &Self::physical_state,
              "2 Polling, 3 Disabled, 5 LinkUp, 6 LinkErrorRecovery"),
        field("rate_gbps", &Self::rate_gbps, "Gb/s"),
        field("width", &Self::width, "lanes"),
        field("speed", &Self::speed, "lane speed: SDR … HDR, NDR, XDR"),
        field("lid", &Self::lid, "local identifier, 0 when not assigned"),
        field("sm_lid", &Self::sm_lid, "subnet manager's identifier, 0 when none is known"),
        field("pkeys", &Self::pkeys, "partition keys by index"),
        field("gid0", &Self::gid0, "first GID"),
        field("counters", &Self::counters, "port counters; they saturate"),
        field("hw_counters", &Self::hw_counters, "counters of the function")};
  }

  bool operator==(const IbPort&) const = default;
};

struct Hca {
  std::string name;           // the verbs name
  Fact<std::string> address;  // PCI address
  Fact<std::string> node_guid;
  Fact<std::string> firmware;
  Fact<std::string> type;   // MT4129
  Fact<std::string> board;  // PSID
  bool virtual_function = false;
  Fact<std::vector<std::string>> netdevs;
  Fact<std::vector<IbPort>> ports;

  template <class Self = Hca>
  static constexpr auto fields() {
    return std::tuple{field("name", &Self::name, "verbs name"),
                      field("address", &Self::address, "PCI address"),
                      field("node_guid", &Self::node_guid, "GUID"),
                      field("firmware", &Self::firmware, "firmware version"),
                      field("type", &Self::type, "hca_type: MT and the PCI device id in decimal"),
                      field("board", &Self::board, "PSID"),
                      field("virtual_function",
                            &Self::virtual_function,
                            "an SR-IOV function: its error counters prove nothing"),
                      field("netdevs", &Self::netdevs, "its network interfaces"),
                      field("ports", &Self::ports, "ports")};
  }

  bool operator==(const Hca&) const = default;
};

struct Infiniband {
  std::vector<Hca> hcas;  // all RDMA devices, Ethernet ones too; sorted by PCI address

  template <class Self = Infiniband>
  static constexpr auto fields() {
    return std::tuple{
        field("hcas", &Self::hcas, "RDMA devices, those with an Ethernet link layer too")};
  }

  bool operator==(const Infiniband&) const = default;
};

struct VerbsPort {
  unsigned number = 1;
  unsigned state = 0;
  unsigned physical_state = 0;
  unsigned active_mtu_bytes = 0;
  unsigned width = 0;         // lanes
  unsigned active_speed = 0;  // the library's number: 64 HDR, 128 NDR …
  unsigned lid = 0;
  unsigned sm_lid = 0;

  template <class Self = VerbsPort>
  static constexpr auto fields() {
    return std::tuple{field("number", &Self::number, "port number"),
                      field("state", &Self::state, "as sysfs"),
                      field("physical_state", &Self::physical_state, "as sysfs"),
                      field("active_mtu_bytes", &Self::active_mtu_bytes, "bytes"),
                      field("width", &Self::width, "lanes"),
                      field("active_speed",
                            &Self::active_speed,
                            "1 SDR, 2 DDR, 4 QDR, 8 FDR10, 16 FDR, 32 EDR, 64 HDR, 128 NDR"),
                      field("lid", &Self::lid, "local identifier"),
                      field("sm_lid", &Self::sm_lid, "subnet manager's identifier")};
  }

  bool operator==(const VerbsPort&) const = default;
};

struct VerbsDevice {
  std::string name;
  Fact<std::vector<VerbsPort>> ports;  // unreadable: why the device could not be opened or asked
  Fact<bool> registers;                // unreadable: why memory could not be registered

  template <class Self = VerbsDevice>
  static constexpr auto fields() {
    return std::tuple{field("name", &Self::name, "verbs name"),
                      field("ports", &Self::ports, "ports, once the device was opened"),
                      field("registers", &Self::registers, "a page could be registered")};
  }

  bool operator==(const VerbsDevice&) const = default;
};

struct Verbs {
  std::vector<VerbsDevice> devices;  // those libibverbs lists, sorted by name

  template <class Self = Verbs>
  static constexpr auto fields() {
    return std::tuple{field("devices", &Self::devices, "devices that libibverbs lists")};
  }

  bool operator==(const Verbs&) const = default;
};

struct Placement {
  std::string address;               // PCI address of a GPU, HCA or NVMe
  std::string os_device;             // mlx5_ib0, ib0, nvme0n1; empty for GPUs
  std::vector<unsigned> numa_nodes;  // hwloc's word, from local_cpus; several when it is not one
  std::vector<std::string> bridges;  // hwloc's bridges above it, nearest last, as PCI addresses

  template <class Self = Placement>
  static constexpr auto fields() {
    return std::tuple{field("address", &Self::address, "PCI address"),
                      field("os_device", &Self::os_device, "the operating system's name"),
                      field("numa_nodes", &Self::numa_nodes, "NUMA nodes it is local to, by hwloc"),
                      field("bridges", &Self::bridges, "bridges above it, nearest last")};
  }

  bool operator==(const Placement&) const = default;
};

struct Topology {
  std::vector<Placement> devices;  // GPUs, HCAs and NVMe, sorted by address

  template <class Self = Topology>
  static constexpr auto fields() {
    return std::tuple{field("devices", &Self::devices, "GPUs, HCAs and NVMe as hwloc places them")};
  }

  bool operator==(const Topology&) const = default;
};

}  // namespace muster
