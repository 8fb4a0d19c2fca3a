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
  std::map<std::string, std::uint64_t> link_errors;

  MUSTER_FIELDS(IbPort,
                MUSTER_FIELD(number, "port number"),
                MUSTER_FIELD(link_layer, "InfiniBand or Ethernet"),
                MUSTER_FIELD(state, "1 DOWN, 2 INIT, 3 ARMED, 4 ACTIVE, 5 ACTIVE_DEFER"),
                MUSTER_FIELD(physical_state,
                             "2 Polling, 3 Disabled, 5 LinkUp, 6 LinkErrorRecovery"),
                MUSTER_FIELD(rate_gbps, "Gb/s"),
                MUSTER_FIELD(width, "lanes"),
                MUSTER_FIELD(speed, "lane speed: SDR … HDR, NDR, XDR"),
                MUSTER_FIELD(lid, "local identifier, 0 when not assigned"),
                MUSTER_FIELD(sm_lid, "subnet manager's identifier, 0 when none is known"),
                MUSTER_FIELD(pkeys, "partition keys by index"),
                MUSTER_FIELD(gid0, "first GID"),
                MUSTER_FIELD(counters, "port counters; they saturate"),
                MUSTER_FIELD(hw_counters, "counters of the function"),
                MUSTER_FIELD(link_errors,
                             "bits corrected and symbols lost on the link, as its network "
                             "interface counts them (ethtool -S); empty where none does"));
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

  MUSTER_FIELDS(Hca,
                MUSTER_FIELD(name, "verbs name"),
                MUSTER_FIELD(address, "PCI address"),
                MUSTER_FIELD(node_guid, "GUID"),
                MUSTER_FIELD(firmware, "firmware version"),
                MUSTER_FIELD(type, "hca_type: MT and the PCI device id in decimal"),
                MUSTER_FIELD(board, "PSID"),
                MUSTER_FIELD(virtual_function,
                             "an SR-IOV function: its error counters prove nothing"),
                MUSTER_FIELD(netdevs, "its network interfaces"),
                MUSTER_FIELD(ports, "ports"));
};

struct Infiniband {
  std::vector<Hca> hcas;   // all RDMA devices, Ethernet ones too; sorted by PCI address
  Fact<std::string> umad;  // the version of ib_umad, which libibumad's tools need

  MUSTER_FIELDS(Infiniband,
                MUSTER_FIELD(hcas, "RDMA devices, those with an Ethernet link layer too"),
                MUSTER_FIELD(umad,
                             "version of ib_umad's interface; absent where it is not loaded"));
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

  MUSTER_FIELDS(VerbsPort,
                MUSTER_FIELD(number, "port number"),
                MUSTER_FIELD(state, "as sysfs"),
                MUSTER_FIELD(physical_state, "as sysfs"),
                MUSTER_FIELD(active_mtu_bytes, "bytes"),
                MUSTER_FIELD(width, "lanes"),
                MUSTER_FIELD(active_speed,
                             "1 SDR, 2 DDR, 4 QDR, 8 FDR10, 16 FDR, 32 EDR, 64 HDR, 128 NDR"),
                MUSTER_FIELD(lid, "local identifier"),
                MUSTER_FIELD(sm_lid, "subnet manager's identifier"));
};

struct VerbsDevice {
  std::string name;
  Fact<std::vector<VerbsPort>> ports;  // unreadable: why the device could not be opened or asked
  Fact<bool> registers;                // unreadable: why memory could not be registered

  MUSTER_FIELDS(VerbsDevice,
                MUSTER_FIELD(name, "verbs name"),
                MUSTER_FIELD(ports, "ports, once the device was opened"),
                MUSTER_FIELD(registers, "a page could be registered"));
};

struct Verbs {
  std::vector<VerbsDevice> devices;  // those libibverbs lists, sorted by name

  MUSTER_FIELDS(Verbs, MUSTER_FIELD(devices, "devices that libibverbs lists"));
};

}  // namespace muster
