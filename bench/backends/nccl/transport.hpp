// SPDX-License-Identifier: Apache-2.0
// Which transports a run used, parsed from NCCL's own log. Written for NCCL 2.18 to 2.30; lines in
// an unknown format are ignored.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace muster::bench {

// Begins a line that a rank adds to its shortened log: why it cannot use the node's HCAs.
inline constexpr std::string_view kAccessLine = "muster: ";

// Pairs of ranks as rows of a matrix: pairs[from][to].
using RankPairs = std::map<int, std::vector<bool>>;

struct Transport {
  // By transport: "P2P/CUMEM", "P2P/IPC", "P2P/MNNVL", "P2P/direct", "P2P/indirect", "SHM",
  // "NET/IB", "NET/IB/GDRDMA", "NET/Socket"; "NET/x" for a plugin x; with "/PXN" at the end if
  // another GPU's HCA is used. At most 16 of them.
  std::map<std::string, RankPairs> pairs;
  std::set<std::string> networks;    // "IB", "Socket", a plugin's name
  std::set<std::string> hcas;        // "mlx5_ib0:1/IB"
  std::set<std::string> interfaces;  // of NET/Socket: "eth0:10.0.0.4<0>"
  std::set<std::string> in_network;  // "COLLNET/SHARP/GDRDMA": reductions in switches
  std::map<std::string, std::set<std::string>> algorithms;  // AllReduce: "RING/SIMPLE"
  std::map<std::string, std::string> settings;  // the NCCL_… variables that NCCL has read
  std::set<std::string> links;                  // of GPUs: "NVL", "PCI", "C2C"
  std::set<std::string> without_gdr;            // HCAs without GPUDirect RDMA
  std::set<std::string> with_gdr;
  std::set<std::string> plugins;      // lines about network plugins that are missing or failed
  std::set<std::string> refused;      // lines about GPUs that cannot be peers
  std::set<std::string> warnings;     // WARN lines
  std::set<std::string> without_hca;  // hosts where NCCL found none
  std::set<std::string> denied;       // why ranks cannot use HCAs
  bool no_hca = false;                // "NET/IB : No device found."
  bool nvls_missing = false;
  bool nvls_connected = false;
  bool collnet_connected = false;

  bool operator==(const Transport&) const = default;

  [[nodiscard]] bool empty() const { return *this == Transport{}; }
};

void add_pair(Transport& transport, int from, int to, const std::string& name);

// The pairs that use at least one of the selected transports.
[[nodiscard]] RankPairs pairs_using(const Transport& transport,
                                    const std::function<bool(const std::string& name)>& selects);

// Calls `use(from, to)` for each pair, in order.
template <class Use>
void for_each_pair(const RankPairs& pairs, Use use) {
  for (const auto& [from, row] : pairs) {
    for (std::size_t to = 0; to < row.size(); ++to) {
      if (row[to]) use(from, static_cast<int>(to));
    }
  }
}

[[nodiscard]] Transport parse_transport(std::string_view log);

// Adds the log of another rank.
void add_log(Transport& transport, std::string_view log);

// The interfaces of NET/Socket, without their addresses: "eth0".
[[nodiscard]] std::set<std::string> interfaces_of(const Transport& transport);

// The transports with their interfaces, if these are known: "NET/Socket (eth0)".
[[nodiscard]] std::set<std::string> with_interfaces(const std::set<std::string>& names,
                                                    const Transport& transport);

// Shortens a log to what parse_transport() needs, before it is sent to rank 0: each line once,
// without its prefix, and the pairs at the end: "Pairs 0-4,6 -> 5 via SHM".
[[nodiscard]] std::string shorten_log(std::string_view log);

}  // namespace muster::bench
