// SPDX-License-Identifier: Apache-2.0
// Facts about InfiniBand and other RDMA devices, from sysfs and from the verbs library.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/base/fact.hpp"
#include "lib/base/fields.hpp"

namespace muster {

struct IbPort {
  MUSTER_DESCRIBED(IbPort);
  MUSTER_FIELD(unsigned, number, "port number") = 1;
  MUSTER_FIELD(std::string, link_layer, "InfiniBand or Ethernet");
  MUSTER_FIELD(Fact<unsigned>, state, "1 DOWN, 2 INIT, 3 ARMED, 4 ACTIVE, 5 ACTIVE_DEFER");
  MUSTER_FIELD(Fact<unsigned>, physical_state,
               "2 Polling, 3 Disabled, 5 LinkUp, 6 LinkErrorRecovery");
  MUSTER_FIELD(Fact<double>, rate_gbps, "Gb/s");
  MUSTER_FIELD(Fact<unsigned>, width, "lanes");
  // SDR … NDR, XDR; absent where the kernel names none.
  MUSTER_FIELD(Fact<std::string>, speed, "lane speed: SDR … HDR, NDR, XDR");
  MUSTER_FIELD(Fact<unsigned>, lid, "local identifier, 0 when not assigned");
  MUSTER_FIELD(Fact<unsigned>, sm_lid, "subnet manager's identifier, 0 when none is known");
  // By index, up to the last that is not empty.
  MUSTER_FIELD(Fact<std::vector<unsigned>>, pkeys, "partition keys by index");
  MUSTER_FIELD(Fact<std::string>, gid0, "first GID");
  MUSTER_FIELD(ByName<Fact<std::uint64_t>>, counters, "port counters; they saturate");
  MUSTER_FIELD(ByName<Fact<std::uint64_t>>, hw_counters, "counters of the function");
  MUSTER_FIELD(ByName<std::uint64_t>, link_errors,
               "bits corrected and symbols lost on the link, as its network "
               "interface counts them (ethtool -S); empty where none does");
};

struct Hca {
  MUSTER_DESCRIBED(Hca);
  MUSTER_FIELD(std::string, name, "verbs name");
  MUSTER_FIELD(Fact<std::string>, address, "PCI address");
  MUSTER_FIELD(Fact<std::string>, node_guid, "GUID");
  MUSTER_FIELD(Fact<std::string>, firmware, "firmware version");
  MUSTER_FIELD(Fact<std::string>, type, "hca_type: MT and the PCI device id in decimal");  // MT4129
  MUSTER_FIELD(Fact<std::string>, board, "PSID");
  MUSTER_FIELD(bool, virtual_function,
               "an SR-IOV function: its error counters prove nothing") = false;
  MUSTER_FIELD(Fact<std::vector<std::string>>, netdevs, "its network interfaces");
  MUSTER_FIELD(Fact<std::vector<IbPort>>, ports, "ports");
};

struct Infiniband {
  MUSTER_DESCRIBED(Infiniband);
  MUSTER_FIELD(std::vector<Hca>, hcas, "RDMA devices, with Ethernet ones, by PCI address");
  MUSTER_FIELD(Fact<std::string>, umad,
               "version of ib_umad's interface; absent if it is not loaded");
};

struct VerbsPort {
  MUSTER_DESCRIBED(VerbsPort);
  MUSTER_FIELD(unsigned, number, "port number") = 1;
  MUSTER_FIELD(unsigned, state, "as sysfs") = 0;
  MUSTER_FIELD(unsigned, physical_state, "as sysfs") = 0;
  MUSTER_FIELD(unsigned, active_mtu_bytes, "bytes") = 0;
  MUSTER_FIELD(unsigned, width, "lanes") = 0;
  MUSTER_FIELD(unsigned, active_speed,
               "1 SDR, 2 DDR, 4 QDR, 8 FDR10, 16 FDR, 32 EDR, 64 HDR, 128 NDR") = 0;
  MUSTER_FIELD(unsigned, lid, "local identifier") = 0;
  MUSTER_FIELD(unsigned, sm_lid, "subnet manager's identifier") = 0;
};

struct VerbsDevice {
  MUSTER_DESCRIBED(VerbsDevice);
  MUSTER_FIELD(std::string, name, "verbs name");
  MUSTER_FIELD(Fact<std::vector<VerbsPort>>, ports, "ports, once the device was opened");
  MUSTER_FIELD(Fact<bool>, registers, "a page could be registered");
};

struct Verbs {
  MUSTER_DESCRIBED(Verbs);
  MUSTER_FIELD(std::vector<VerbsDevice>, devices, "devices that libibverbs lists, by name");
};

}  // namespace muster
