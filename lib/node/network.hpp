// SPDX-License-Identifier: Apache-2.0
// Facts about network interfaces.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/base/fact.hpp"
#include "lib/base/fields.hpp"

namespace muster {

struct Interface {
  std::string name;
  Fact<unsigned> type;          // 1 Ethernet, 32 InfiniBand, 772 loopback
  Fact<std::string> operstate;  // up, down, unknown …
  Fact<bool> carrier;
  Fact<std::uint64_t> speed_mbps;  // absent where the driver does not know
  Fact<std::uint64_t> mtu;
  Fact<std::uint64_t> carrier_down_count;
  Fact<std::string> address;  // PCI address of its device
  std::string hca;            // verbs name of the device it belongs to; empty when none

  MUSTER_FIELDS(Interface,
                MUSTER_FIELD(name, "name"),
                MUSTER_FIELD(type, "1 Ethernet, 32 InfiniBand"),
                MUSTER_FIELD(operstate, "up, down, unknown …"),
                MUSTER_FIELD(carrier, "link present"),
                MUSTER_FIELD(speed_mbps, "Mb/s"),
                MUSTER_FIELD(mtu, "bytes"),
                MUSTER_FIELD(carrier_down_count,
                             "times the link was lost since the interface exists"),
                MUSTER_FIELD(address, "PCI address"),
                MUSTER_FIELD(hca, "verbs device on the same function"));
};

struct Socket {
  std::string protocol;  // tcp, tcp6, udp, udp6, unix
  std::string type;      // of unix: STREAM, DGRAM, SEQPACKET; else empty
  std::string state;     // as netstat names it: LISTEN, ESTABLISHED …; empty for unconnected UDP
  std::string local;     // "0.0.0.0:22", ":::22"; of unix its path
  std::string remote;
  Fact<std::uint64_t> user;                 // absent for unix
  Fact<std::vector<std::string>> programs;  // names of the processes that have it open

  MUSTER_FIELDS(Socket,
                MUSTER_FIELD(protocol, "tcp, tcp6, udp, udp6, unix"),
                MUSTER_FIELD(type, "of unix: STREAM, DGRAM, SEQPACKET; else empty"),
                MUSTER_FIELD(state, "LISTEN, ESTABLISHED …; empty for unconnected UDP"),
                MUSTER_FIELD(local, "own address and port; of unix the path"),
                MUSTER_FIELD(remote, "the other end's"),
                MUSTER_FIELD(user, "user id of who opened it; absent for unix"),
                MUSTER_FIELD(programs, "names of the processes that have it open"));
};

struct Network {
  std::vector<Interface> interfaces;  // without lo
  Fact<std::vector<Socket>> sockets;  // read only where somebody asks for them

  MUSTER_FIELDS(Network,
                MUSTER_FIELD(interfaces, "network interfaces but the loopback"),
                MUSTER_FIELD(sockets, "of TCP, UDP and unix; absent where nobody asked for them"));
};

}  // namespace muster
