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
  MUSTER_DESCRIBED(Interface);
  MUSTER_FIELD(std::string, name, "name");
  // 1 Ethernet, 32 InfiniBand, 772 loopback.
  MUSTER_FIELD(Fact<unsigned>, type, "1 Ethernet, 32 InfiniBand");
  MUSTER_FIELD(Fact<std::string>, operstate, "up, down, unknown …");
  MUSTER_FIELD(Fact<bool>, carrier, "link present");
  MUSTER_FIELD(Fact<std::uint64_t>, speed_mbps, "Mb/s");  // absent where the driver does not know
  MUSTER_FIELD(Fact<std::uint64_t>, mtu, "bytes");
  MUSTER_FIELD(Fact<std::uint64_t>, carrier_down_count,
               "times the link was lost since the interface exists");
  MUSTER_FIELD(Fact<std::string>, address, "PCI address");
  // Verbs name of the device it belongs to; empty when none.
  MUSTER_FIELD(std::string, hca, "verbs device on the same function");
};

struct Socket {
  MUSTER_DESCRIBED(Socket);
  MUSTER_FIELD(std::string, protocol, "tcp, tcp6, udp, udp6, unix");
  MUSTER_FIELD(std::string, type, "of unix: STREAM, DGRAM, SEQPACKET; else empty");
  MUSTER_FIELD(std::string, state, "LISTEN, ESTABLISHED …; empty for unconnected UDP");
  // "0.0.0.0:22", ":::22"; of unix its path.
  MUSTER_FIELD(std::string, local, "own address and port; of unix the path");
  MUSTER_FIELD(std::string, remote, "the other end's");
  MUSTER_FIELD(Fact<std::uint64_t>, user, "user id of who opened it; absent for unix");
  MUSTER_FIELD(Fact<std::vector<std::string>>, programs,
               "names of the processes that have it open");
};

struct Network {
  MUSTER_DESCRIBED(Network);
  MUSTER_FIELD(std::vector<Interface>, interfaces, "network interfaces but the loopback");
  MUSTER_FIELD(Fact<std::vector<Socket>>, sockets,
               "of TCP, UDP and unix; absent where nobody asked for them");
};

}  // namespace muster
