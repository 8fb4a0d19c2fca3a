// SPDX-License-Identifier: Apache-2.0
// What the kernel log says of InfiniBand links that went down.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lib/node/snapshot.hpp"

namespace muster::checks {

// One event may be written several times: by the driver for the port and for its interface, and by
// systemd-networkd.
enum class LinkWriter { port, interface, network_manager };

struct LinkDown {
  LinkWriter writer = LinkWriter::port;
  std::string address;  // the adapter's PCI address; empty where the line names none
  std::string name;     // of the adapter or its interface: "mlx5_ib0", "ib6"
  std::uint64_t last_us = 0;
  std::uint64_t times = 1;

  bool operator==(const LinkDown&) const = default;
};

// In the log's order; links of Ethernet as well.
[[nodiscard]] std::vector<LinkDown> link_downs(const KernelLog& log);

// How often each adapter lost its link since `begin_us`, by its verbs name, else by the name that
// the log uses; only adapters with an InfiniBand port where that is known, and otherwise
// interfaces called ib….
[[nodiscard]] std::map<std::string, std::uint64_t> link_downs_by_adapter(const Snapshot& snapshot,
                                                                         double begin_us);

}  // namespace muster::checks
