// SPDX-License-Identifier: Apache-2.0
// Facts about InfiniBand and other RDMA devices, as sysfs and as the verbs library see them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lib/base/fact.hpp"
#include "lib/base/fields.hpp"

namespace muster {

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

}  // namespace muster
