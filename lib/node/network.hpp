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
  MUSTER_FIELD(Fact<unsigned>, type, "1 Ethernet, 32 InfiniBand");
  MUSTER_FIELD(Fact<std::string>, operstate, "up, down, unknown …");
  MUSTER_FIELD(Fact<bool>, carrier, "link present");
  MUSTER_FIELD(Fact<std::uint64_t>, speed_mbps, "Mb/s; absent if the driver does not know it");
  MUSTER_FIELD(Fact<std::uint64_t>, mtu, "bytes");
  MUSTER_FIELD(Fact<std::uint64_t>, carrier_down_count,
               "losses of the link since the interface was created");
  MUSTER_FIELD(Fact<std::string>, address, "PCI address");
  MUSTER_FIELD(std::string, hca, "verbs device on the same PCI function; empty for none");
};

struct Network {
  MUSTER_DESCRIBED(Network);
  MUSTER_FIELD(std::vector<Interface>, interfaces, "network interfaces except the loopback");
};

}  // namespace muster
