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

  template <class Self = Interface>
  static constexpr auto fields() {
    return std::tuple{field("name", &Self::name, "name"),
                      field("type", &Self::type, "1 Ethernet, 32 InfiniBand"),
                      field("operstate", &Self::operstate, "up, down, unknown …"),
                      field("carrier", &Self::carrier, "link present"),
                      field("speed_mbps", &Self::speed_mbps, "Mb/s"),
                      field("mtu", &Self::mtu, "bytes"),
                      field("carrier_down_count",
                            &Self::carrier_down_count,
                            "times the link was lost since the interface exists"),
                      field("address", &Self::address, "PCI address"),
                      field("hca", &Self::hca, "verbs device on the same function")};
  }

  bool operator==(const Interface&) const = default;
};

struct Network {
  std::vector<Interface> interfaces;  // without lo

  template <class Self = Network>
  static constexpr auto fields() {
    return std::tuple{
        field("interfaces", &Self::interfaces, "network interfaces but the loopback")};
  }

  bool operator==(const Network&) const = default;
};

}  // namespace muster
